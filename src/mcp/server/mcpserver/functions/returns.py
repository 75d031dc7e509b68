"""What the return type of a function means for the results of its tool."""

import collections.abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import Format, get_annotations, is_typeddict

from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.functions.content import CONTENT_TYPES
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types.input_required import InputRequiredResult
from mcp.types.tools import CallToolResult

__all__ = ["NoSchemaError", "ResultShape", "refuse_mixed_results", "result_shape"]

Shape = Literal["value", "model", "typed dict", "dict", "attributes"]

_SCALARS: Final = (str, int, float, bool, bytes, NoneType)
_READABLE: Final = (*CONTENT_TYPES, Image, Audio)
_COLLECTIONS: Final = (list, tuple, set, frozenset, collections.abc.Sequence)
_STREAMS: Final = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.Generator,
    collections.abc.Iterable,
    collections.abc.Iterator,
)
_AWAITABLES: Final = (collections.abc.Awaitable, collections.abc.Coroutine)
_NO_STRUCTURE: Final = (Enum, *_COLLECTIONS, dict, Image, Audio)


class NoSchemaError(Exception):
    """A return type has no schema. The text says why."""


@dataclass(frozen=True)
class ResultShape:
    """How the structured content of a tool follows from a return type.

    Attributes:
        kind: "value" is wrapped in an object under "result"; the others are objects already.
        annotation: The type of the value.
    """

    kind: Shape
    annotation: Any


def result_shape(function: str, annotation: Any, *, readable_too: bool = False) -> ResultShape | None:
    """How the structured content of a tool follows from a return type.

    Args:
        function: The name of the function, for error messages.
        annotation: The return type, evaluated.
        readable_too: Content blocks become structured content as well; otherwise they are for the model alone.

    Returns:
        None where there is to be none: for content, and where the function makes its results itself.

    Raises:
        InvalidSignature: `CallToolResult` is a member of a union.
        NoSchemaError: The type says nothing about its values.
    """
    annotation = _awaited(_promised(function, annotation))
    if annotation is None or (not readable_too and _holds_readable(annotation)):
        return None
    bare: Any = _bare(annotation)
    if bare in _SCALARS:
        return ResultShape("value", annotation)
    if isinstance(bare, type) and not isinstance(bare, GenericAlias):
        return _shape_of_class(bare)
    if isinstance(bare, GenericAlias) and get_origin(bare) is dict and get_args(bare)[0] is str:
        return ResultShape("dict", bare)
    if get_args(bare) or hasattr(bare, "__supertype__") or hasattr(bare, "__value__"):
        return ResultShape("value", annotation)
    raise NoSchemaError("it says nothing about the values")


def _shape_of_class(cls: Any) -> ResultShape:
    if issubclass(cls, BaseModel):
        return ResultShape("model", cls)
    if is_typeddict(cls):
        return ResultShape("typed dict", cls)
    if issubclass(cls, _NO_STRUCTURE) or not any(_annotations(base) for base in cls.__mro__):
        raise NoSchemaError("the class declares no attributes")
    return ResultShape("attributes", cls)


def _annotations(cls: type) -> dict[str, Any]:
    return get_annotations(cls, format=Format.FORWARDREF)


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _members(annotation: Any) -> tuple[Any, ...] | None:
    """The members of a union; None for any other type."""
    annotation = _bare(annotation)
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else None


def _is(annotation: Any, *classes: type) -> bool:
    bare = _bare(annotation)
    return isinstance(bare, type) and not isinstance(bare, GenericAlias) and issubclass(bare, classes)


def _promised(function: str, annotation: Any) -> Any:
    """The type of what a complete result holds; None if the function makes its result itself."""
    members = _members(annotation)
    if members is not None:
        others = [member for member in members if not _is(member, InputRequiredResult)]
        if others and len(others) < len(members):
            annotation = Union[tuple(others)]  # noqa: UP007
    if _is(annotation, InputRequiredResult):
        return None
    if _is(annotation, CallToolResult):
        # Annotated[CallToolResult, Model] promises the structure that the function itself will put in.
        promises = [it for it in get_args(annotation)[1:] if not isinstance(it, (str, FieldInfo))]
        return promises[0] if promises else None
    refuse_mixed_results(function, annotation)
    return NoneType if annotation is None else annotation


def refuse_mixed_results(function: str, annotation: Any) -> None:
    """Refuses return types by which nobody knows whether there is structured content.

    Raises:
        InvalidSignature: `CallToolResult` is a member of a union with other values.
    """
    members = [member for member in _members(annotation) or () if not _is(member, InputRequiredResult)]
    if len(members) > 1 and any(_is(member, CallToolResult) for member in members):
        raise InvalidSignature(
            f"Function {function}: CallToolResult cannot be used in Union or Optional types. "
            "To return empty results, use: CallToolResult(content=[])"
        )


def _awaited(annotation: Any) -> Any:
    """A stream of items is sent when it has ended, as a list; what has to be awaited, when it has come."""
    origin = get_origin(annotation)
    if origin in _STREAMS:
        items = (*get_args(annotation), Any)[0]
        return list[items]
    if origin in _AWAITABLES and get_args(annotation):
        return get_args(annotation)[-1]
    return annotation


def _holds_readable(annotation: Any) -> bool:
    """Whether it is content for a model to read: a block, a collection of blocks, or a union with one."""
    return _is(annotation, *_READABLE) or any(_holds_readable(part) for part in _parts(annotation))


def _parts(annotation: Any) -> Iterator[Any] | Sequence[Any]:
    annotation = _bare(annotation)
    annotation = getattr(annotation, "__value__", annotation)
    members = _members(annotation)
    if members is not None:
        return members
    return get_args(annotation) if get_origin(annotation) in _COLLECTIONS else ()
