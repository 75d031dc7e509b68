"""What a model reads of a value: content blocks."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, cast

from pydantic_core import to_json

from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types.content import AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent

__all__ = ["CONTENT_TYPES", "content_of", "json_text", "text_of"]

CONTENT_TYPES: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


def content_of(value: Any) -> list[ContentBlock]:
    """The content blocks of whatever a function returned.

    Blocks are taken as they are, media are made into blocks, the items of a list, tuple or iterator follow each other,
    and None is nothing. A string is its own text, and everything else its JSON text; what JSON does not know is its
    `str`.

    Raises:
        PydanticSerializationError: A value refuses to become JSON.
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
    else:
        yield TextContent(text=text_of(value))


def text_of(value: Any) -> str:
    """A string as it is, anything else as JSON text."""
    if isinstance(value, str):
        return value.value if isinstance(value, Enum) else str(value)
    return json_text(value)


def json_text(value: Any) -> str:
    """Any value as JSON text: bytes in the URL-safe base64 alphabet, NaN and infinity as null.

    Raises:
        PydanticSerializationError: A value refuses to become JSON.
    """
    return to_json(value, indent=2, fallback=str, bytes_mode="base64", inf_nan_mode="null").decode()
