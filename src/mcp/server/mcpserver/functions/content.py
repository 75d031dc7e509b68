"""What a model reads of a value: content blocks."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Final, Literal, cast

from pydantic import BaseModel
from pydantic_core import to_json

from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types.content import AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent

__all__ = ["CONTENT_TYPES", "REPLACEMENT", "content_of", "json_text", "text_block"]

REPLACEMENT: Final = "\ufffd".encode()
"""What pydantic writes where a character cannot be encoded, and also a character that a text may hold."""

CONTENT_TYPES: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


def content_of(value: Any) -> list[ContentBlock]:
    """The content blocks of whatever a function returned.

    Blocks are taken as they are, media are made into blocks, the items of a list, tuple or iterator follow each other,
    and None is nothing. A string is its own text, and everything else its JSON text; what JSON does not know is its
    `str`.

    Raises:
        PydanticSerializationError: A value refuses to become JSON.
        UnicodeEncodeError: A text holds half a surrogate pair.
        OSError: The file of an image or a sound cannot be read.
    """
    return list(_blocks(value))


def _blocks(value: Any) -> Iterator[ContentBlock]:
    if value is None:
        return
    if isinstance(value, CONTENT_TYPES):
        yield value
    elif isinstance(value, Image):
        yield value.to_image_content()
    elif isinstance(value, Audio):
        yield value.to_audio_content()
    elif isinstance(value, (list, tuple, Iterator)):
        for item in cast("list[Any]", value):
            yield from _blocks(item)
    elif isinstance(value, str):
        yield text_block(value.value if isinstance(value, Enum) else value)
    else:
        yield TextContent(text=json_text(value))


def text_block(text: str) -> TextContent:
    """A block of text.

    Raises:
        UnicodeEncodeError: It holds half a surrogate pair, which no message can carry.
    """
    if not text.isascii():
        text.encode()
    return TextContent(text=text)


def json_text(value: Any, *, not_finite: Literal["null", "constants"] = "null", source: Any = None) -> str:
    """Any value as JSON text, with bytes in the URL-safe base64 alphabet.

    Args:
        value: What JSON does not know is its `str`.
        not_finite: What becomes of NaN and infinity: null, or words that JSON does not have.
        source: What the value was made from, if it was something else.

    Raises:
        PydanticSerializationError: A value refuses to become JSON, or a text holds half a surrogate pair.
        UnicodeEncodeError: A key of a typed dict does.
    """
    encoded = to_json(value, indent=2, fallback=str, bytes_mode="base64", inf_nan_mode=not_finite)
    if REPLACEMENT in encoded:
        _refuse_broken_keys(value if source is None else source)
    return encoded.decode()


def _refuse_broken_keys(value: Any) -> None:
    """Refuses keys whose half of a surrogate pair pydantic has replaced, as it does where it knows their type."""
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            if isinstance(key, str):
                key.encode()
            _refuse_broken_keys(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("list[Any]", value):
            _refuse_broken_keys(item)
    elif isinstance(value, BaseModel):
        _refuse_broken_keys(dict(value))
    elif is_dataclass(value):
        _refuse_broken_keys(dict(vars(value)))
