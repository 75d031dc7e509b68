"""Messages of a prompt: what they are made of, and what a function may return in their place."""

from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage, message_validator
from mcp.server.mcpserver.prompts.messages import messages_of
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types import (
    AudioContent,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

pytestmark = pytest.mark.anyio

HELLO = TextContent(text="hello")
GUIDE = EmbeddedResource(resource=TextResourceContents(uri="style://python", text="Return early."))
LINK = ResourceLink(name="guide", uri="style://python")


def test_a_text_becomes_a_block() -> None:
    assert UserMessage("hello").model_dump(exclude_none=True) == {
        "role": "user",
        "content": {"type": "text", "text": "hello"},
    }
    assert AssistantMessage("hello").role == "assistant"
    assert Message("hello", role="assistant") == Message(role="assistant", content=HELLO)


@pytest.mark.parametrize("block", [HELLO, GUIDE, LINK])
def test_a_block_stays_as_it_is(block: Any) -> None:
    assert UserMessage(block).content is block


def test_media_become_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(b"gif")
    content = UserMessage(Image(path=tmp_path / "a.gif")).content
    assert isinstance(content, ImageContent)
    assert (b64decode(content.data), content.mime_type) == (b"gif", "image/gif")
    content = AssistantMessage(Audio(data=b"wav")).content
    assert isinstance(content, AudioContent)
    assert (b64decode(content.data), content.mime_type) == (b"wav", "audio/wav")


def test_a_dict_becomes_the_block_that_it_is() -> None:
    assert UserMessage({"type": "text", "text": "hello"}).content == HELLO  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("content", [3, None, [HELLO], {"type": "shout"}])
def test_what_is_no_content_is_refused(content: Any) -> None:
    with pytest.raises(ValidationError, match="content"):
        UserMessage(content)


def test_a_role_is_one_of_two() -> None:
    with pytest.raises(ValidationError, match="'user' or 'assistant'"):
        UserMessage("hello", role="system")
    with pytest.raises(ValidationError, match="role"):
        Message("hello")


def test_dicts_are_validated_to_messages() -> None:
    message = message_validator.validate_python({"role": "assistant", "content": "hello"})
    assert (message.role, message.content) == ("assistant", HELLO)
    assert message_validator.validate_python(UserMessage("hello")) == UserMessage("hello")


class Point(BaseModel):
    x: int


@dataclass
class Pair:
    left: int


@pytest.mark.parametrize(
    ("result", "messages"),
    [
        ("hello", [UserMessage("hello")]),
        (HELLO, [UserMessage(HELLO)]),
        (GUIDE, [UserMessage(GUIDE)]),
        (UserMessage("hello"), [UserMessage("hello")]),
        (AssistantMessage("hello"), [AssistantMessage("hello")]),
        (Message("hello", role="assistant"), [Message("hello", role="assistant")]),
        ({"content": "hello"}, [UserMessage("hello")]),
        ({"role": "assistant", "content": "hello"}, [AssistantMessage("hello")]),
        ({"role": "user", "content": {"type": "text", "text": "hello"}}, [UserMessage("hello")]),
        (PromptMessage(role="assistant", content=HELLO), [AssistantMessage("hello")]),
        (GetPromptResult(messages=[PromptMessage(role="user", content=HELLO)]), [UserMessage("hello")]),
        ([], []),
        (
            ["a", AssistantMessage("b"), {"content": "c"}, HELLO],
            [*map(UserMessage, "a"), AssistantMessage("b"), UserMessage("c"), UserMessage(HELLO)],
        ),
        (("a", "b"), [UserMessage("a"), UserMessage("b")]),
        (Point(x=1), [UserMessage('{\n  "x": 1\n}')]),
        (Pair(left=1), [UserMessage('{\n  "left": 1\n}')]),
        (3, [UserMessage("3")]),
        ([["a"]], [UserMessage('[\n  "a"\n]')]),
    ],
)
async def test_what_a_function_may_return(result: Any, messages: list[Message]) -> None:
    made = await messages_of(result)
    assert made == messages
    assert list(map(type, made)) == list(map(type, messages))


async def test_media_among_messages() -> None:
    first, second, third = await messages_of(["look", Image(data=b"png"), Audio(data=b"wav")])
    assert first == UserMessage("look")
    assert isinstance(second.content, ImageContent)
    assert isinstance(third.content, AudioContent)


@pytest.mark.parametrize("result", [{"role": "user"}, {"text": "hello"}, {"role": "system", "content": "hello"}])
async def test_a_dict_that_is_no_message_is_an_error(result: Any) -> None:
    with pytest.raises(ValueError, match=r"role|content"):
        await messages_of(result)
