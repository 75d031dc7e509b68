"""Reading the signature of any callable."""

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter
from typing import Any, Final, cast

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.annotations import Scope, innermost

__all__ = ["MISSING", "Signature", "callable_name", "is_async_callable"]

MISSING: Final = Parameter.empty
"""Stands for an annotation or a default that is not there."""

if sys.version_info >= (3, 14):
    from annotationlib import Format

    # Names that do not exist yet are resolved later, and by our own rules.
    _LAZILY: Final[Mapping[str, Any]] = {"annotation_format": Format.FORWARDREF}
else:
    _LAZILY: Final[Mapping[str, Any]] = {}


def callable_name(function: Callable[..., Any]) -> str:
    """What a callable is called: a partial like its function, an object that can be called like its class."""
    while isinstance(function, functools.partial):
        function = cast("Callable[..., Any]", function.func)
    return getattr(function, "__name__", None) or type(function).__name__


def is_async_callable(function: Any) -> bool:
    """Whether a call gives an awaitable: coroutine functions, partials of them, objects with an async `__call__`."""
    while isinstance(function, functools.partial):
        function = cast("Any", function.func)
    return inspect.iscoroutinefunction(function) or (
        not isinstance(function, type) and inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
    )


class Signature:
    """What a callable takes and returns.

    Args:
        function: Any callable.
        skip: Parameters that the library fills in.

    Attributes:
        name: What the callable is called.
        parameters: Those that a caller gives by name, in order.
        extras: The `**kwargs`; None without.
        positional_only: Names that are passed by position all the same.
        returns: The annotation of what it returns, as written; `MISSING` without one.
        skipped: The parameters that the library fills in.
        scope: Where its annotations are evaluated.
        is_late: Some annotation named what did not exist when the function was registered.

    Raises:
        InvalidSignature: The callable cannot be inspected.
    """

    def __init__(self, function: Callable[..., Any], skip: Collection[str] = ()) -> None:
        self.name = callable_name(function)
        self.function = function
        self.skipped = frozenset(skip)
        self.is_late = False
        try:
            signature = inspect.signature(function, **_LAZILY)
        except (ValueError, TypeError) as error:
            raise InvalidSignature(f"Function {self.name}: its signature cannot be read: {error}") from error
        core = innermost(function)
        # What makes an object of a class returns nothing, and says so in some classes.
        self.returns: Any = core if isinstance(core, type) else signature.return_annotation
        self.scope = Scope(function)
        self.extras: Parameter | None = None
        self._star: Parameter | None = None
        self.parameters: dict[str, Parameter] = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind is Parameter.VAR_POSITIONAL:
                self._star = parameter
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self.extras = parameter
            elif name not in self.skipped:
                self.parameters[name] = parameter
        taken = signature.parameters.values()
        self.positional_only = [parameter.name for parameter in taken if parameter.kind is Parameter.POSITIONAL_ONLY]
        if not all(_is_at_home(annotation) for annotation in (self.returns, *(it.annotation for it in taken))):
            self.scope.remember_locals()

    @property
    def docstring(self) -> str:
        """The docstring without the indentation of the code; "" without one."""
        function = self.function
        while isinstance(function, functools.partial):
            function = cast("Callable[..., Any]", function.func)
        return inspect.getdoc(function) or ""

    def check(self) -> None:
        """Refuses what can be called only in Python.

        Raises:
            InvalidSignature: The callable takes `*args`, or is a method that belongs to no object.
        """
        if self._star is not None:
            raise InvalidSignature(
                f"Function {self.name}: *{self._star.name} cannot be filled, because arguments are passed by name; "
                f"take a list instead, such as {self._star.name}: list[str]"
            )
        first = next(iter(self.parameters.values()), None)
        if first is not None and first.name in ("self", "cls") and _is_in_class_body(self.function, first):
            raise InvalidSignature(
                f"Function {self.name}: this is a method without its object, so {first.name!r} would become an "
                f"argument; register the method of an instance instead, such as instance.{self.name}"
            )

    def evaluate(self, annotation: Any, what: str) -> Any:
        """An annotation of this callable with its names resolved.

        Args:
            annotation: As written.
            what: What is annotated, for the message of an error.

        Raises:
            InvalidSignature: A name does not exist, or the annotation is no type.
        """
        try:
            return self.scope.evaluate(annotation)
        except NameError as error:
            problem = f"the name {error.name!r} is not defined where the function is"
        except SyntaxError:
            problem = f"{annotation!r} is no Python expression"
        except (AttributeError, TypeError) as error:
            problem = f"{annotation!r} is no type: {error}"
        raise InvalidSignature(f"Function {self.name}: cannot evaluate the annotation of {what}: {problem}")

    def resolves(self, annotation: Any) -> bool:
        """Whether every name in an annotation exists by now, so that to wait would change nothing."""
        try:
            self.scope.evaluate(annotation)
        except NameError:
            return False
        except (AttributeError, SyntaxError, TypeError):
            return True
        return True


def _is_at_home(annotation: Any) -> bool:
    """Whether an annotation is a class of some module, which names nothing that is local."""
    return isinstance(annotation, type) and "<locals>" not in annotation.__qualname__


def _is_in_class_body(function: Callable[..., Any], parameter: Parameter) -> bool:
    """Whether a function was defined in the body of a class, and its first parameter is the usual one there."""
    core = innermost(function)
    owner = getattr(core, "__qualname__", "").rpartition(".")[0]
    return parameter.annotation is MISSING and owner != "" and not owner.endswith("<locals>")
