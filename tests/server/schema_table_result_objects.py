"""What results that are objects list and give, and what becomes of results that are not what they promise."""

from typing import Annotated, Any

from pydantic import Field
from schema_table import Table
from schema_table_result_types import (
    CLEAR,
    INTEGER,
    WEATHER,
    WEATHER_TEXT,
    Cat,
    Dog,
    Film,
    Hint,
    Named,
    Node,
    Numbers,
    Page,
    Plain,
    Point,
    Settings,
    Weather,
    wrapped,
)

rows = Table()
gives, breaks = rows.gives, rows.breaks

# Objects, which are the structured content themselves


@gives({"additionalProperties": INTEGER, "title": "mappingDictOutput", "type": "object"}, {"a": 1}, ['{\n  "a": 1\n}'])
def mapping() -> dict[str, int]:
    return {"a": 1}


@gives(
    {"additionalProperties": True, "title": "free_mappingDictOutput", "type": "object"},
    {"a": [None]},
    ['{\n  "a": [\n    null\n  ]\n}'],
)
def free_mapping() -> dict[str, Any]:
    return {"a": [None]}


@gives(WEATHER, CLEAR, [WEATHER_TEXT])
def model() -> Weather:
    return Weather(sky="clear", wind=1.5)


@gives(WEATHER, CLEAR, [WEATHER_TEXT])
async def model_from_keys() -> Weather:
    values: Any = dict(CLEAR)
    return values


@gives(
    {
        "properties": {
            "X-Id": {"title": "X-Id", "type": "integer"},
            "double": {"readOnly": True, "title": "Double", "type": "integer"},
        },
        "required": ["X-Id", "double"],
        "title": "Named",
        "type": "object",
    },
    {"X-Id": 2, "double": 4},
    ['{\n  "X-Id": 2,\n  "double": 4\n}'],
)
def alias_and_computed() -> Named:
    return Named.model_validate({"X-Id": 2})


NODE: dict[str, Any] = {
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "parts": {"default": [], "items": {"$ref": "#/$defs/Node"}, "title": "Parts", "type": "array"},
    },
    "required": ["name"],
    "title": "Node",
    "type": "object",
}


@gives({**NODE, "$defs": {"Node": NODE}}, {"name": "a", "parts": [{"name": "b", "parts": []}]}, None, kinds=["text"])
def recursive() -> Node:
    return Node(name="a", parts=[Node(name="b")])


@gives(
    {
        "properties": {"items": {"items": INTEGER, "title": "Items", "type": "array"}},
        "required": ["items"],
        "title": "Page[int]",
        "type": "object",
    },
    {"items": [1]},
    ['{\n  "items": [\n    1\n  ]\n}'],
)
def generic() -> Page[int]:
    return Page(items=[1])


@gives(
    wrapped("union_of_models", {"anyOf": [{"$ref": "#/$defs/Weather"}, {"type": "null"}]}, Weather=WEATHER),
    {"result": CLEAR},
    [WEATHER_TEXT],
)
def union_of_models() -> Weather | None:
    return Weather(sky="clear", wind=1.5)


def kind(name: str) -> dict[str, Any]:
    const = {"const": name, "default": name, "title": "Kind", "type": "string"}
    return {"properties": {"kind": const}, "title": name.title(), "type": "object"}


@gives(
    wrapped(
        "discriminated",
        {
            "discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        },
        Cat=kind("cat"),
        Dog=kind("dog"),
    ),
    {"result": {"kind": "dog"}},
    ['{\n  "kind": "dog"\n}'],
)
def discriminated() -> Annotated[Cat | Dog, Field(discriminator="kind")]:
    return Dog()


XY = {"x": {"title": "X", "type": "integer"}, "y": {"default": 0, "title": "Y", "type": "integer"}}


@gives(
    {"properties": XY, "required": ["x"], "title": "Point", "type": "object"},
    {"x": 1, "y": 0},
    ['{\n  "x": 1,\n  "y": 0\n}'],
)
def data_class() -> Point:
    return Point(1)


@gives(
    {
        "properties": {"title": {"title": "Title", "type": "string"}, "year": {"title": "Year", "type": "integer"}},
        "required": ["title"],
        "title": "Film",
        "type": "object",
    },
    {"title": "M"},
    ['{\n  "title": "M"\n}'],
)
def typed_dict() -> Film:
    return {"title": "M"}


@gives({"properties": {"text": {"title": "Text", "type": "string"}}, "title": "Hint", "type": "object"}, {}, ["{}"])
def typed_dict_without_required_keys() -> Hint:
    return {}


@gives(
    {
        "properties": {"name": {"title": "Name", "type": "string"}, "size": {"title": "Size", "type": "integer"}},
        "required": ["name", "size"],
        "title": "Plain",
        "type": "object",
    },
    {"name": "a", "size": 1},
    ['{\n  "name": "a",\n  "size": 1\n}'],
)
def plain_class() -> Plain:
    return Plain("a", 1)


@gives(
    wrapped("root_model", {"$ref": "#/$defs/Numbers"}, Numbers={"items": INTEGER, "title": "Numbers", "type": "array"}),
    {"result": [1]},
    None,
    kinds=["text"],
)
def root_model() -> Numbers:
    return Numbers([1])


@gives({"additionalProperties": INTEGER, "title": "Settings", "type": "object"}, {"a": 1}, ['{\n  "a": 1\n}'])
def root_model_of_an_object() -> Settings:
    return Settings({"a": 1})


# What breaks its promise


@breaks("int")
def not_a_number() -> int:
    value: Any = "many"
    return value


@breaks("sky")
def half_a_model() -> Weather:
    value: Any = {"wind": 1}
    return value


@breaks("year")
def wrong_key() -> Film:
    value: Any = {"title": "M", "year": "old"}
    return value


@breaks("less than or equal to 9")
def out_of_bounds() -> Annotated[int, Field(le=9)]:
    return 10


@breaks("JSON has no NaN")
def no_number() -> float:
    return float("nan")


@breaks("JSON has no NaN")
def infinite_within() -> Weather:
    return Weather(sky="clear", wind=float("inf"))


@breaks("valid string")
def nothing_instead() -> str:
    value: Any = None
    return value
