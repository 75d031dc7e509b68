"""Typed dicts of the standard library, which do not tell pydantic all that it has to know before Python 3.12."""

import sys
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from typing_extensions import NotRequired, Required, TypedDict, is_typeddict

from mcp.server.mcpserver.functions.annotations import Scope

__all__ = ["portable"]


def portable(annotation: Any, scope: Scope) -> Any:
    """A type in which pydantic understands the typed dicts.

    Args:
        annotation: A type, evaluated.
        scope: Evaluates the annotations of typed dicts.

    Raises:
        NameError: One of those names what does not exist.
    """
    if sys.version_info >= (3, 12):
        return annotation
    if isinstance(annotation, type) and is_typeddict(annotation):
        return _copy(annotation, scope) if type(annotation).__module__ == "typing" else annotation
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        first = portable(parts[0], scope)
        return annotation if first is parts[0] else Annotated[(first, *parts[1:])]
    changed = tuple(portable(part, scope) for part in parts)
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return annotation
    if origin in (Union, UnionType):
        return Union[changed]  # noqa: UP007
    return GenericAlias(cast("type", origin), changed)


def _copy(cls: Any, scope: Scope) -> Any:
    items = {
        name: (Required if name in cls.__required_keys__ else NotRequired)[portable(hint, scope)]
        for name, hint in scope.hints_of(cls).items()
    }
    copy: Any = TypedDict(cls.__name__, items)  # pyright: ignore[reportArgumentType]
    copy.__doc__ = cls.__doc__
    return copy
