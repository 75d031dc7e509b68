"""Types that are known to come from JSON, without asking pydantic."""

from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

__all__ = ["is_plain"]

_PLAIN: Final = frozenset({bool, bytes, dict, float, int, list, object, set, str, tuple, NoneType})
_GENERIC: Final = frozenset({dict, frozenset, list, set, tuple, Union, UnionType})


def is_plain(annotation: Any) -> bool:
    """Whether JSON can become a value of this type for certain; False says no more than that it takes a closer look."""
    origin = get_origin(annotation)
    if origin is None:
        return annotation is Any or (isinstance(annotation, type) and annotation in _PLAIN)
    if origin is Literal:
        return True
    if origin is Annotated:
        kind, *metadata = get_args(annotation)
        return is_plain(kind) and all(map(_is_plain_metadata, metadata))
    return origin in _GENERIC and all(is_plain(part) or part is Ellipsis for part in get_args(annotation))


def _is_plain_metadata(item: Any) -> bool:
    # What a field adds to its schema may be wrong.
    return isinstance(item, str) or (isinstance(item, FieldInfo) and item.json_schema_extra is None)
