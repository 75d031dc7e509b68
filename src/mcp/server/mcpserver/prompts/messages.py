"""Messages of a prompt, and how what a function returns becomes them."""

from collections.abc import Awaitable, Sequence
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from mcp.engine.workers import run_in_worker
from mcp.server.mcpserver.functions.content import CONTENT_TYPES, json_text, text_block
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types.content import ContentBlock, Role, TaggedContentBlock, TextContent
from mcp.types.input_required import InputRequiredResult
from mcp.types.prompts import GetPromptResult, PromptMessage

__all__ = [
    "AssistantMessage",
    "Message",
    "PromptResult",
    "SyncPromptResult",
    "UserMessage",
    "message_validator",
    "messages_of",
]


class Message(BaseModel):
    """One message of a conversation.

    Args:
        content: A text, a content block, an image or a sound.
        role: Who says it: "user" or "assistant".

    Raises:
        ValidationError: The content is something else, or the role is.
        OSError: The file of an image or a sound cannot be read.
    """

    model_config = ConfigDict(defer_build=True)

    role: Role
    content: TaggedContentBlock

    def __init__(self, content: str | ContentBlock | Image | Audio, **kwargs: Any) -> None:
        super().__init__(content=content, **kwargs)

    @field_validator("content", mode="before")
    @classmethod
    def _block(cls, content: Any) -> Any:
        return _block_of(content) if isinstance(content, (str, Image, Audio)) else content


class UserMessage(Message):
    """What the user says.

    Args:
        content: A text, a content block, an image or a sound.

    Raises:
        ValidationError: The content is something else.
        OSError: The file of an image or a sound cannot be read.
    """

    role: Role = "user"

    def __init__(self, content: str | ContentBlock | Image | Audio, **kwargs: Any) -> None:
        super().__init__(content=content, **kwargs)


class AssistantMessage(Message):
    """What the model says.

    Args:
        content: A text, a content block, an image or a sound.

    Raises:
        ValidationError: The content is something else.
        OSError: The file of an image or a sound cannot be read.
    """

    role: Role = "assistant"

    def __init__(self, content: str | ContentBlock | Image | Audio, **kwargs: Any) -> None:
        super().__init__(content=content, **kwargs)


message_validator: TypeAdapter[UserMessage | AssistantMessage] = TypeAdapter(
    Annotated[UserMessage | AssistantMessage, Field(union_mode="left_to_right")], config=ConfigDict(defer_build=True)
)
"""Makes a message of a dict."""

_Piece = str | ContentBlock | Image | Audio | Message | dict[str, Any]
SyncPromptResult = _Piece | InputRequiredResult | Sequence[_Piece]
"""What the function of a prompt returns: one message, several, or questions. A dict holds `role` and `content`."""
PromptResult = SyncPromptResult | Awaitable[SyncPromptResult]

_CLASSES: Final[dict[Any, type[Message]]] = {"user": UserMessage, "assistant": AssistantMessage}


async def messages_of(result: Any) -> list[Message]:
    """The messages of whatever a function returned.

    Messages are taken as they are. A text, a content block, an image or a sound is a message of the user; so is
    anything else, as JSON text. A list or a tuple is one message for each item.

    Raises:
        ValueError: A dict is no message, or there are questions among the messages.
        OSError: The file of an image or a sound cannot be read.
    """
    if isinstance(result, GetPromptResult):
        result = result.messages
    pieces = cast("Sequence[Any]", result if isinstance(result, (list, tuple)) else [result])
    if any(isinstance(piece, (Image, Audio)) for piece in pieces):
        return await run_in_worker(_messages, pieces)
    return _messages(pieces)


def _messages(pieces: Sequence[Any]) -> list[Message]:
    return [_message(piece) for piece in pieces]


def _message(piece: Any) -> Message:
    if isinstance(piece, Message):
        return piece
    if isinstance(piece, PromptMessage):
        return _CLASSES[piece.role](piece.content)
    if isinstance(piece, dict):
        return _from_dict(cast("dict[str, Any]", piece))
    if isinstance(piece, InputRequiredResult):
        raise ValueError("an InputRequiredResult is returned alone: it cannot be one of several messages")
    return UserMessage(_block_of(piece))


def _from_dict(fields: dict[str, Any]) -> Message:
    if "content" not in fields:
        raise ValueError(f"a dict that is a message needs 'content' and may have 'role', got {sorted(fields)}")
    return _CLASSES.get(fields.get("role"), UserMessage)(**fields)


def _block_of(value: Any) -> ContentBlock:
    if isinstance(value, CONTENT_TYPES):
        return value
    if isinstance(value, Image):
        return value.to_image_content()
    if isinstance(value, Audio):
        return value.to_audio_content()
    return text_block(value) if isinstance(value, str) else TextContent(text=json_text(value))
