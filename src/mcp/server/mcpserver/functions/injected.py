"""Parameters that the library fills in, and that no caller sees."""

from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

__all__ = ["InjectedContext", "is_context"]


class InjectedContext:
    """Base of `Context`, by which a parameter that wants one is recognised.

    It stands here, below everything that reads signatures, so that the module of `Context` can use what they use.
    """

    __slots__ = ()


def is_context(annotation: Any) -> bool:
    """Whether a parameter of this type wants the context: `Context` plain, subscripted, optional or annotated."""
    return any(isinstance(kind, type) and issubclass(kind, InjectedContext) for kind in _classes(annotation))


def _classes(annotation: Any) -> Iterable[Any]:
    annotation = getattr(annotation, "__value__", annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _classes(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _classes(member)
    else:
        yield origin or annotation
