"""Evaluating the annotations of a function, wherever the classes that they name were defined."""

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType, FunctionType, GenericAlias, MethodType, SimpleNamespace
from typing import Any, cast, get_type_hints

from mcp.server.mcpserver.functions.injected import InjectedContext

__all__ = ["Scope", "innermost"]


class _AnyContext(InjectedContext):
    """Stands in for `Context` where a program imports that name for type checkers only."""

    def __class_getitem__(cls, item: object) -> type["_AnyContext"]:
        return cls


def innermost(function: Callable[..., Any]) -> Any:
    """The function at the core of a callable: behind partials, wrappers, bound methods and `__call__`."""
    while True:
        if isinstance(function, functools.partial):
            function = cast("Callable[..., Any]", function.func)
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
        elif isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, (FunctionType, type)) or not hasattr(type(function).__call__, "__globals__"):
            return function
        else:
            function = type(function).__call__


class Scope:
    """The names that the annotations of a function can use.

    Besides what Python itself would look at (the module, and variables that the function closes over) these are the
    local names of the functions around its definition, if they are still running when the scope is made.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        core = innermost(function)
        self.globals: dict[str, Any] = getattr(core, "__globals__", None) or vars(_module_of(core))
        self._core = core
        self.locals: dict[str, Any] = {}

    @property
    def names(self) -> dict[str, Any]:
        """Everything together; local names hide those of the module."""
        return {**self.globals, **self.locals}

    def remember_locals(self) -> None:
        """Takes down the local names around the function, as far as they exist by now."""
        code: CodeType | None = getattr(self._core, "__code__", None)
        if code is None:
            return
        for frame in _frames():
            if frame.f_globals is self.globals and frame.f_locals is not self.globals and _holds(frame.f_code, code):
                self.locals = {**frame.f_locals, **self.locals}
        for name, cell in zip(code.co_freevars, self._core.__closure__ or (), strict=False):
            try:
                self.locals[name] = cell.cell_contents
            except ValueError:
                continue  # the variable has no value yet

    def evaluate(self, annotation: Any) -> Any:
        """An annotation with every name in it resolved, also within `list["Name"]`.

        Raises:
            NameError: A name is not defined, or not yet.
            SyntaxError: The text of an annotation is no expression.
        """
        if isinstance(annotation, type) and not isinstance(annotation, GenericAlias):
            return annotation
        try:
            return self._hint(annotation, self.locals)
        except NameError as error:
            if error.name != "Context":
                raise
            return self._hint(annotation, {**self.locals, "Context": _AnyContext})

    def hints_of(self, cls: type) -> dict[str, Any]:
        """The annotations of a class and its bases, resolved.

        Raises:
            NameError: A name is not defined, or not yet.
        """
        return get_type_hints(cls, localns=self.locals, include_extras=True)

    def _hint(self, annotation: Any, names: Mapping[str, Any]) -> Any:
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return get_type_hints(holder, self.globals, dict(names), include_extras=True)["it"]


def _module_of(core: Any) -> Any:
    home = core if isinstance(core, type) else type(core)
    return sys.modules.get(getattr(core, "__module__", None) or home.__module__, SimpleNamespace())


def _frames() -> Iterable[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _holds(outer: CodeType, code: CodeType) -> bool:
    return any(const is code or _holds(const, code) for const in outer.co_consts if isinstance(const, CodeType))
