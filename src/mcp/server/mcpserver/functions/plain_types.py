"""Types that are known to come from JSON, without asking pydantic."""

from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

__all__ = ["is_plain"]

_PLAIN: Final = frozenset({bool, bytes, dict, float, int, list, object, set, str, tuple, NoneType})
_LITERALS: Final = (bool, int, str, NoneType)
_DESCRIBING: Final = frozenset({"annotation", "default", "description", "title"})
"""What a field can say that cannot be wrong."""

_RULES: Final = [name for name in FieldInfo.__slots__ if not name.startswith("_") and name not in _DESCRIBING]
_SILENT: Final = FieldInfo()
_PAIR: Final = 2
_GENERIC: Final = frozenset({dict, frozenset, list, set, tuple, Union, UnionType})


def is_plain(annotation: Any) -> bool:
    """Whether JSON can become a value of this type for certain; False says no more than that it takes a closer look."""
    origin = get_origin(annotation)
    if origin is None:
        return annotation is Any or (isinstance(annotation, type) and annotation in _PLAIN)
    if origin is Literal:
        values = get_args(annotation)
        return bool(values) and all(isinstance(value, _LITERALS) for value in values)
    if origin is Annotated:
        kind, *metadata = get_args(annotation)
        return is_plain(kind) and all(map(_is_plain_metadata, metadata))
    parts = get_args(annotation)
    if origin is tuple and parts[1:] == (Ellipsis,):
        parts = parts[:1]
    return origin in _GENERIC and (origin is not dict or len(parts) == _PAIR) and all(map(is_plain, parts))


def _is_plain_metadata(item: Any) -> bool:
    if isinstance(item, FieldInfo):
        return all(getattr(item, name) == getattr(_SILENT, name) for name in _RULES)
    return isinstance(item, str)
