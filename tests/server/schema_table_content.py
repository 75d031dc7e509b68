"""What results that are content, or that say nothing of their type, list and give."""

from datetime import date
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel
from schema_table import Table

from mcp.server.mcpserver import Audio, Image
from mcp.types import AudioContent, CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent

rows = Table()
gives, breaks = rows.gives, rows.breaks

PIXEL = "AAE="


class Colour(str, Enum):
    RED = "red"


class Total(BaseModel):
    n: int


TOTAL = {"properties": {"n": {"title": "N", "type": "integer"}}, "required": ["n"], "title": "Total", "type": "object"}


@gives(None, None, ["7"])
def without_a_type():
    return 7


@gives(None, None, ['{\n  "a": 1\n}'])
def untyped_dict() -> dict:  # pyright: ignore
    return {"a": 1}  # pyright: ignore


@gives(None, None, ["a", "1"])
def of_any_type() -> Any:
    return ["a", 1]


@gives(None, None, ['"2026-07-28"'])
def day() -> date:
    return date(2026, 7, 28)


@gives(None, None, ["red"])
def colour() -> Colour:
    return Colour.RED


@gives(None, None, ["7"], structured_output=False)
def switched_off() -> int:
    return 7


@gives(None, None, ["hi"])
def text_block() -> TextContent:
    return TextContent(text="hi")


@gives(None, None, None, kinds=["text", "image"])
def blocks() -> list[ContentBlock]:
    return [TextContent(text="hi"), ImageContent(data=PIXEL, mime_type="image/png")]


@gives(None, None, None, kinds=["resource_link"])
def link() -> ResourceLink:
    return ResourceLink(name="page", uri="https://example.com/")


@gives(None, None, None, kinds=["audio"])
def perhaps_a_sound() -> AudioContent | None:
    return AudioContent(data=PIXEL, mime_type="audio/wav")


@gives(None, None, None, kinds=["image"])
def image() -> Image:
    return Image(data=b"\x00\x01", format="png")


@gives(None, None, None, kinds=["audio"])
def audio() -> Audio:
    return Audio(data=b"\x00\x01", format="mp3")


@gives(None, None, None, kinds=["text", "image"])
def mixed() -> list[str | Image]:
    return ["look", Image(data=b"\x00\x01")]


@gives(None, {"free": [1]}, ["made by hand"])
def whole_result() -> CallToolResult:
    return CallToolResult(content=[TextContent(text="made by hand")], structured_content={"free": [1]})


@gives(TOTAL, {"n": 1}, ["one"], by_hand=True)
def promised_result() -> Annotated[CallToolResult, Total]:
    return CallToolResult(content=[TextContent(text="one")], structured_content={"n": 1})


@breaks("n")
def broken_promise() -> Annotated[CallToolResult, Total]:
    return CallToolResult(content=[TextContent(text="one")], structured_content={"m": 1})


@breaks("locked")
def promise_and_failure() -> Annotated[CallToolResult, Total]:
    return CallToolResult(content=[TextContent(text="the cupboard is locked")], is_error=True)
