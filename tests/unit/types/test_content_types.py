"""Content blocks, and the unions of them."""

import typing

import pytest
from pydantic import BaseModel, ValidationError

import mcp.types as types


def errors_of(model: type[BaseModel], data: object) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(data)
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


def test_unknown_type_of_content_is_named_once_with_what_is_expected() -> None:
    tags = "'text', 'image', 'audio', 'resource_link', 'resource'"
    assert errors_of(types.CallToolResult, {"content": [{"type": "text", "text": "a"}, {"type": "video"}]}) == [
        (("content", 1), f"Input tag 'video' found using 'type' does not match any of the expected tags: {tags}")
    ]


def test_content_without_a_type_is_refused() -> None:
    ((location, message),) = errors_of(types.PromptMessage, {"role": "user", "content": {"text": "hi"}})
    assert location == ("content",)
    assert message == "Unable to extract tag using discriminator 'type'"


def test_mistake_inside_a_content_block_is_located() -> None:
    assert errors_of(types.CallToolResult, {"content": [{"type": "image", "data": "AA=="}]}) == [
        (("content", 0, "image", "mimeType"), "Field required")
    ]


def test_content_unions_serve_isinstance_and_introspection() -> None:
    assert isinstance(types.TextContent(text=""), types.ContentBlock)
    assert not isinstance(types.ToolUseContent(name="t", id="1", input={}), types.ContentBlock)
    assert isinstance(types.ToolUseContent(name="t", id="1", input={}), types.SamplingMessageContentBlock)
    assert typing.get_args(types.ContentBlock) == (
        *(types.TextContent, types.ImageContent, types.AudioContent),
        *(types.ResourceLink, types.EmbeddedResource),
    )


def test_content_blocks_of_a_subclass_are_kept() -> None:
    class Note(types.TextContent):
        author: str | None = None

    note = Note(text="hi", author="me")
    result = types.CallToolResult(content=[note])
    assert result.content[0] is note
    assert result.model_dump(by_alias=True, exclude_none=True)["content"] == [{"type": "text", "text": "hi"}]


def test_resource_contents_are_text_or_bytes() -> None:
    read = types.ReadResourceResult.model_validate({"contents": [{"uri": "u", "text": ""}, {"uri": "u", "blob": ""}]})
    assert [type(contents) for contents in read.contents] == [types.TextResourceContents, types.BlobResourceContents]


def test_sampling_content_is_at_hand_as_a_list() -> None:
    block = types.TextContent(text="hi")
    for model in (
        types.SamplingMessage(role="user", content=block),
        types.SamplingMessage(role="user", content=[block]),
        types.CreateMessageResultWithTools(role="assistant", content=block, model="m"),
        types.CreateMessageResultWithTools(role="assistant", content=[block], model="m"),
    ):
        assert model.content_as_list == [block]
