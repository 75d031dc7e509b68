"""Parameters that the library fills in, and that no caller sees."""

from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

__all__ = ["InjectedContext", "InjectedMarker", "injected_by", "is_context", "unaliased"]


class InjectedContext:
    """Base of `Context`, by which a parameter that wants one is recognised.

    It stands here, below everything that reads signatures, so that the module of `Context` can use what they use.
    """

    __slots__ = ()


class InjectedMarker:
    """Base of `Resolve`, by which a parameter that a function fills in is recognised."""

    __slots__ = ()


def unaliased(annotation: Any) -> Any:
    """The type behind an alias of a `type` statement, unless it is not defined yet; any other annotation as it is."""
    while True:
        try:
            value = getattr(annotation, "__value__", None) or getattr(get_origin(annotation), "__value__", None)
        except NameError:
            return annotation
        if value is None:
            return annotation
        annotation = value


def injected_by(annotation: Any) -> str | None:
    """What in an annotation says that no caller fills the parameter in; None if nothing does."""
    if is_context(annotation):
        return "the context"
    return next((repr(item) for item in _metadata(annotation, set()) if _is_marker(item)), None)


def _is_marker(item: Any) -> bool:
    return isinstance(item, InjectedMarker) or (isinstance(item, type) and issubclass(item, InjectedMarker))


def _metadata(annotation: Any, seen: set[int]) -> Iterator[Any]:
    """Whatever `Annotated` adds, anywhere in a type, which may be recursive."""
    inner = unaliased(annotation)
    if inner is not annotation:
        if id(inner) in seen:
            return
        seen.add(id(inner))
    parts = get_args(inner)
    if get_origin(inner) is Annotated:
        yield from parts[1:]
        parts = parts[:1]
    for part in parts:
        yield from _metadata(part, seen)


def is_context(annotation: Any) -> bool:
    """Whether a parameter of this type wants the context: `Context` plain, subscripted, optional or annotated."""
    return any(isinstance(kind, type) and issubclass(kind, InjectedContext) for kind in _classes(annotation))


def _classes(annotation: Any) -> Iterable[Any]:
    annotation = unaliased(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _classes(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _classes(member)
    else:
        yield origin or annotation
