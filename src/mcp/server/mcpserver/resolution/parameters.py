"""Which parameters of a function are resolved, by their annotations."""

import sys
from collections.abc import Callable, Iterable
from inspect import Parameter
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, DeclinedElicitation
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.injected import injected_by, unaliased
from mcp.server.mcpserver.functions.signature import MISSING, Signature
from mcp.server.mcpserver.resolution.markers import Resolve

__all__ = ["find_resolved_parameters", "resolved_parameter", "resolved_parameters", "returns_input_required"]


def find_resolved_parameters(fn: Callable[..., Any]) -> dict[str, tuple[Resolve, bool]]:
    """The parameters that are annotated with `Annotated[T, Resolve(...)]`.

    Args:
        fn: Any callable.

    Returns:
        For each, its marker, and whether it takes every outcome of a question (`ElicitationResult`) instead of answers
        only.

    Raises:
        InvalidSignature: A marker stands where it has no effect, or not alone; or the callable cannot be inspected.
    """
    return resolved_parameters(Signature(fn))


def resolved_parameters(signature: Signature) -> dict[str, tuple[Resolve, bool]]:
    """The same, where the signature has been read already.

    Raises:
        InvalidSignature: As `find_resolved_parameters` does.
    """
    found: dict[str, tuple[Resolve, bool]] = {}
    for name, parameter in signature.parameters.items():
        resolved = resolved_parameter(signature, parameter)
        if resolved is not None:
            found[name] = resolved
    return found


def resolved_parameter(signature: Signature, parameter: Parameter) -> tuple[Resolve, bool] | None:
    """The marker of a parameter, and whether it takes every outcome; None for other parameters.

    Raises:
        InvalidSignature: As `find_resolved_parameters` does.
    """
    if _is_class(parameter.annotation) and not isinstance(parameter.default, Resolve):
        return None
    what = f"Parameter {parameter.name!r} of {signature.name!r}"
    if isinstance(parameter.default, Resolve):
        raise InvalidSignature(
            f"{what} has {parameter.default!r} as its default, which fills in nothing; "
            f"annotate the parameter as `Annotated[T, Resolve(...)]`"
        )
    annotation = unaliased(_annotation(signature, parameter))
    if get_origin(annotation) is not Annotated:
        _refuse_inner_marker(what, annotation)
        return None
    kind, *metadata = get_args(annotation)
    _refuse_inner_marker(what, kind)
    markers = [item for item in metadata if _is_marker(item)]
    if not markers:
        return None
    if len(markers) > 1 or not isinstance(markers[0], Resolve):
        raise InvalidSignature(f"{what} takes exactly one Resolve(fn), got {', '.join(map(repr, markers))}")
    return markers[0], any(member in _OUTCOMES for member in _classes(kind))


_OUTCOMES = (AcceptedElicitation, DeclinedElicitation, CancelledElicitation)


def _is_class(annotation: Any) -> bool:
    # Python 3.10 takes `list[int]` for a class.
    return isinstance(annotation, type) and not isinstance(annotation, GenericAlias)


def _annotation(signature: Signature, parameter: Parameter) -> Any:
    """The annotation; while a name in it does not exist yet, one that has nothing to resolve."""
    annotation = parameter.annotation
    try:
        return signature.scope.evaluate(annotation)
    except NameError:
        if "Resolve(" not in repr(annotation):
            return MISSING
    except (AttributeError, SyntaxError, TypeError):
        pass  # said in words below
    return signature.evaluate(annotation, f"parameter {parameter.name!r}")


def _is_marker(item: Any) -> bool:
    return isinstance(item, Resolve) or item is Resolve


def _refuse_inner_marker(what: str, annotation: Any) -> None:
    if injected_by(annotation) is None:
        return
    for part in map(unaliased, get_args(annotation)):
        if get_origin(part) is Annotated and any(_is_marker(item) for item in get_args(part)[1:]):
            wrapper = "a union" if get_origin(annotation) in (Union, UnionType) else f"{annotation}"
            raise InvalidSignature(
                f"{what} wraps `Resolve(...)` in {wrapper}; annotate the parameter directly as "
                f"`Annotated[T, Resolve(...)]`"
            )
        _refuse_inner_marker(what, part)


def _classes(annotation: Any) -> Iterable[Any]:
    """The classes that a value can have by its annotation; a generic one without what is in its brackets."""
    origin = get_origin(annotation)
    alias = getattr(annotation, "__value__", None) or getattr(origin, "__value__", None)
    if alias is not None:
        yield from _classes(alias)
    elif origin is Annotated:
        yield from _classes(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _classes(member)
    else:
        generic: Any = getattr(annotation, "__pydantic_generic_metadata__", None) or {}
        yield generic.get("origin") or origin or annotation


def returns_input_required(fn: Callable[..., Any]) -> bool:
    """Whether a function says that it may return an `InputRequiredResult`, by its return annotation.

    Args:
        fn: Any callable.

    Raises:
        InvalidSignature: The callable cannot be inspected.
    """
    # To register a function loads none of the protocol's types. An annotation that names this one has loaded it.
    module = sys.modules.get("mcp.types.input_required")
    signature = Signature(fn)
    if module is None or signature.returns is MISSING or not signature.resolves(signature.returns):
        return False
    returned = _classes(signature.evaluate(signature.returns, "what it returns"))
    return any(isinstance(it, type) and issubclass(it, module.InputRequiredResult) for it in returned)
