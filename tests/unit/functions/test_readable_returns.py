"""Return types without structured content: what is for a model to read, and what says nothing about its values."""

import collections
import datetime
import decimal
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NoReturn

import pytest
from pydantic import Field
from typed_examples import (
    Bare,
    Callback,
    Colour,
    Opaque,
    Pair,
    Place,
    fits,
    result_of,
    returning,
    texts_of,
)

from mcp.server.mcpserver import Audio, Image
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

PLACE_TEXT = '{\n  "x": 1,\n  "y": 0\n}'
LOGO = Image(data=b"logo", format="png")
LOGO_BLOCK = ImageContent(data="bG9nbw==", mime_type="image/png")
CHIME = Audio(data=b"chime")
CHIME_BLOCK = AudioContent(data="Y2hpbWU=", mime_type="audio/wav")
A_TEXT = TextContent(text="a")
A_LINK = ResourceLink(name="a", uri="a://b")
A_FILE = EmbeddedResource(resource=TextResourceContents(uri="a://b", text="b"))

READABLE: list[tuple[Any, Any, list[ContentBlock]]] = [
    (TextContent, A_TEXT, [A_TEXT]),
    (EmbeddedResource, A_FILE, [A_FILE]),
    (ResourceLink, A_LINK, [A_LINK]),
    (list[TextContent], [A_TEXT, A_TEXT], [A_TEXT, A_TEXT]),
    (Sequence[ContentBlock], [A_TEXT, A_LINK], [A_TEXT, A_LINK]),
    (tuple[TextContent, ImageContent], (A_TEXT, LOGO_BLOCK), [A_TEXT, LOGO_BLOCK]),
    (TextContent | ImageContent, A_TEXT, [A_TEXT]),
    (TextContent | None, None, []),
    (TextContent | str, "b", [TextContent(text="b")]),
    (list[TextContent | str], ["b", A_TEXT], [TextContent(text="b"), A_TEXT]),
    (Iterator[TextContent], iter([A_TEXT]), [A_TEXT]),
    (Annotated[TextContent, Field(description="Read me.")], A_TEXT, [A_TEXT]),
    (Image, LOGO, [LOGO_BLOCK]),
    (Audio, CHIME, [CHIME_BLOCK]),
    (list[Image], [LOGO], [LOGO_BLOCK]),
    (Image | str, LOGO, [LOGO_BLOCK]),
]


@pytest.mark.parametrize(("annotation", "value", "blocks"), READABLE, ids=[str(it[0]) for it in READABLE])
def test_what_a_model_is_meant_to_read_has_no_structure(
    annotation: Any, value: Any, blocks: list[ContentBlock]
) -> None:
    metadata = returning(annotation)

    assert metadata.output_schema is None
    assert metadata.convert_result(value) == CallToolResult(content=blocks)


UNSTRUCTURED: list[tuple[Any, Any, list[str]]] = [
    (list, [1, "a", {"b": 1}], ["1", "a", '{\n  "b": 1\n}']),
    (tuple, (1, [2, None]), ["1", "2"]),
    (dict, {"a": "ä"}, ['{\n  "a": "ä"\n}']),
    (dict, {"a": b"\xff"}, ['{\n  "a": "_w=="\n}']),
    (collections.OrderedDict, {"a": 1}, ['{\n  "a": 1\n}']),
    (Any, Place(x=1), [PLACE_TEXT]),
    (object, None, []),
    (Pair, Pair(1, "b"), ["1", "b"]),
    (Colour, Colour.RED, ['"red"']),
    (datetime.date, datetime.date(2026, 7, 28), ['"2026-07-28"']),
    (decimal.Decimal, decimal.Decimal("1.5"), ['"1.5"']),
    (NoReturn, None, []),
    (Callable, Opaque, [f'"{Opaque}"']),
    (list[Opaque], [Opaque], [f'"{Opaque}"']),
    (list[Callable[[int], int]], [len], [f'"{len}"']),
    (dict[str, Opaque], {}, ["{}"]),
    (Callback, Callback(function=abs), [f'{{\n  "function": "{abs}"\n}}']),
]


@pytest.mark.parametrize(("annotation", "value", "texts"), UNSTRUCTURED, ids=[str(it[0]) for it in UNSTRUCTURED])
def test_a_type_that_says_nothing_about_its_values_has_no_structure(
    annotation: Any, value: Any, texts: list[str]
) -> None:
    metadata = returning(annotation)
    result = metadata.convert_result(value)

    assert metadata.output_schema is None
    assert metadata.output_model is None
    assert isinstance(result, CallToolResult)
    assert result.structured_content is None
    assert texts_of(result) == texts


@pytest.mark.parametrize("annotation", [it[0] for it in UNSTRUCTURED] + [Image, list[Image], Image | str, Bare])
def test_to_demand_structure_of_such_a_type_is_refused_at_once(annotation: Any) -> None:
    with pytest.raises(InvalidSignature) as caught:
        returning(annotation, structured_output=True)

    assert str(caught.value) == f"Function f: return type {annotation} is not serializable for structured output"


def test_a_class_without_annotations_is_shown_as_its_repr() -> None:
    thing = Bare()

    assert texts_of(result_of(Bare, thing)) == [f'"{thing}"']


def test_content_has_structure_if_that_is_demanded() -> None:
    metadata = returning(TextContent, structured_output=True)
    result = metadata.convert_result(A_TEXT)

    assert isinstance(result, CallToolResult)
    assert metadata.output_schema is not None
    assert result.content == [A_TEXT]
    assert fits(result.structured_content, metadata.output_schema)
    several = result_of(list[TextContent], [A_TEXT], structured_output=True)
    assert several.content == [A_TEXT]
    assert several.structured_content["result"][0]["text"] == "a"


@pytest.mark.parametrize("annotation", [str, list[int], Place, dict[str, int]])
def test_structure_can_be_turned_off(annotation: Any) -> None:
    metadata = returning(annotation, structured_output=False)

    assert metadata.output_schema is None
    assert metadata.convert_result("as it is") == CallToolResult(content=[TextContent(text="as it is")])
