"""Return types that are objects: what is listed, and that schema, structured content and text agree."""

import json
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import Field
from typed_examples import (
    PLACE,
    TREE,
    Aliased,
    Box,
    Computed,
    HasX,
    Named,
    Place,
    Plain,
    Point,
    Route,
    Strict,
    Tree,
    Trip,
    TwoAliases,
    X,
    fits,
    returning,
)

from mcp.types import (
    CallToolResult,
    InputRequiredResult,
    TextContent,
)


class Object(NamedTuple):
    name: str
    annotation: Any
    listed: dict[str, Any]
    value: Any
    content: dict[str, Any]


POINT: dict[str, Any] = {
    "properties": {
        "x": X,
        "y": {"default": 0, "title": "Y", "type": "integer"},
        "tags": {"items": {"type": "string"}, "title": "Tags", "type": "array"},
    },
    "required": ["x", "tags"],
    "title": "Point",
    "type": "object",
}


def object_of(title: str, *required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    listed: dict[str, Any] = {"properties": properties, "title": title, "type": "object"}
    return {**listed, "required": list(required)} if required else listed


STRING = {"type": "string"}
CLOSED = {"additionalProperties": False}

OBJECTS = [
    Object("model", Place, PLACE, Place(x=1), {"x": 1, "y": 0}),
    Object("model from a dict", Place, PLACE, {"x": 1}, {"x": 1, "y": 0}),
    Object("annotated model", Annotated[Place, Field(description="Left out.")], PLACE, Place(x=1), {"x": 1, "y": 0}),
    Object("strict model", Strict, {**object_of("Strict", "x", x=X), **CLOSED}, Strict(x=1), {"x": 1}),
    Object(
        "aliased model",
        Aliased,
        object_of("Aliased", "theX", theX={"title": "Thex", "type": "integer"}),
        Aliased(theX=1),
        {"theX": 1},
    ),
    Object(
        "model with two aliases",
        TwoAliases,
        object_of("TwoAliases", "out", out={"title": "Out", "type": "integer"}),
        TwoAliases.model_validate({"in": 1}),
        {"out": 1},
    ),
    Object(
        "model with a computed field",
        Computed,
        {
            **object_of("Computed", "x", "double", x=X, double={**X, "readOnly": True, "title": "Double"}),
            **CLOSED,
        },
        Computed(x=2),
        {"x": 2, "double": 4},
    ),
    Object(
        "recursive model",
        Tree,
        {**TREE, "$defs": {"Tree": TREE}},
        Tree(name="a", children=[Tree(name="b")]),
        {"name": "a", "children": [{"name": "b", "children": []}]},
    ),
    Object(
        "generic model",
        Box[int],
        object_of("Box[int]", "content", content={"title": "Content", "type": "integer"}),
        Box[int](content=1),
        {"content": 1},
    ),
    Object(
        "root model",
        Named,
        {"additionalProperties": {"type": "integer"}, "title": "Named", "type": "object"},
        Named({"a": 1}),
        {"a": 1},
    ),
    Object("dataclass", Point, POINT, Point(1), {"x": 1, "y": 0, "tags": []}),
    Object("dataclass from a dict", Point, POINT, {"x": 1, "tags": ["a"]}, {"x": 1, "y": 0, "tags": ["a"]}),
    Object(
        "typed dict",
        Trip,
        object_of("Trip", "start", start={**STRING, "title": "Start"}, nights={"title": "Nights", "type": "integer"}),
        {"start": "a"},
        {"start": "a"},
    ),
    Object(
        "standard typed dict",
        Route,
        {
            **object_of(
                "Route",
                "start",
                start={**STRING, "title": "Start"},
                stops={"description": "In order.", "items": STRING, "title": "Stops", "type": "array"},
            ),
            "description": "A standard typed dict.",
        },
        {"start": "a", "stops": ["b"]},
        {"start": "a", "stops": ["b"]},
    ),
    Object(
        "annotated class",
        Plain,
        object_of("Plain", "x", x=X, y={"default": "y", "title": "Y", "type": "string"}),
        Plain(1),
        {"x": 1, "y": "y"},
    ),
    Object("protocol", HasX, object_of("HasX", "x", x=X), Plain(1), {"x": 1}),
    Object(
        "dict",
        dict[str, float],
        {"additionalProperties": {"type": "number"}, "title": "fDictOutput", "type": "object"},
        {"a": 1.5},
        {"a": 1.5},
    ),
    Object(
        "dict of models",
        dict[str, Place],
        {
            "$defs": {"Place": PLACE},
            "additionalProperties": {"$ref": "#/$defs/Place"},
            "title": "fDictOutput",
            "type": "object",
        },
        {"a": Place(x=1)},
        {"a": {"x": 1, "y": 0}},
    ),
    Object(
        "dict of anything",
        dict[str, Any],
        {"additionalProperties": True, "title": "fDictOutput", "type": "object"},
        {"a": {1}, "b": None, "c": Place(x=1)},
        {"a": [1], "b": None, "c": {"x": 1, "y": 0}},
    ),
    Object(
        "input or model",
        InputRequiredResult | Place,
        PLACE,
        Place(x=1),
        {"x": 1, "y": 0},
    ),
]


@pytest.mark.parametrize("case", OBJECTS, ids=[case.name for case in OBJECTS])
def test_an_object_is_the_structured_content(case: Object) -> None:
    metadata = returning(case.annotation)
    result = metadata.convert_result(case.value)

    assert isinstance(result, CallToolResult)
    assert metadata.output_schema == case.listed
    assert not metadata.wrap_output
    assert result.structured_content == case.content
    assert fits(result.structured_content, case.listed)
    assert [TextContent.model_validate(block).text for block in result.content] == [json.dumps(case.content, indent=2)]
