"""Parameters by their types: what is listed, what is accepted and what is refused, by pydantic and by the schema."""

import datetime
import decimal
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import Field, ValidationError
from typed_examples import (
    PLACE,
    TREE,
    Aliased,
    Box,
    Cat,
    Colour,
    Dog,
    Ids,
    Level,
    Named,
    Pet,
    Place,
    Point,
    Route,
    Strict,
    Tree,
    Trip,
    UserId,
    fits,
    taking,
)


class Case(NamedTuple):
    name: str
    annotation: Any
    listed: dict[str, Any]
    accepted: Mapping[Any, Any] | list[tuple[Any, Any]]
    refused: list[Any]


STRICT: dict[str, Any] = {
    "additionalProperties": False,
    "properties": {"x": {"title": "X", "type": "integer"}},
    "required": ["x"],
    "title": "Strict",
    "type": "object",
}
CAT: dict[str, Any] = {
    "properties": {
        "kind": {"const": "cat", "title": "Kind", "type": "string"},
        "lives": {"title": "Lives", "type": "integer"},
    },
    "required": ["kind", "lives"],
    "title": "Cat",
    "type": "object",
}
DOG: dict[str, Any] = {
    "properties": {
        "kind": {"const": "dog", "title": "Kind", "type": "string"},
        "tricks": {"items": {"type": "string"}, "title": "Tricks", "type": "array"},
    },
    "required": ["kind", "tricks"],
    "title": "Dog",
    "type": "object",
}
A_DAY = datetime.date(2026, 7, 28)
AN_ID = uuid.UUID(int=1)

CASES = [
    Case("str", str, {"type": "string"}, {"a": "a"}, [1, None, ["a"]]),
    Case("int", int, {"type": "integer"}, {3: 3}, ["x", 1.5, None, [1]]),
    Case("float", float, {"type": "number"}, {1.5: 1.5, 2: 2.0}, ["x", None]),
    Case("bool", bool, {"type": "boolean"}, {True: True}, ["maybe", None, 2]),
    Case("bytes", bytes, {"format": "binary", "type": "string"}, {"a": b"a"}, [1]),
    Case("None", None, {"type": "null"}, [(None, None)], [0, "x"]),
    Case("Any", Any, {}, [(1, 1), ("a", "a"), (None, None), ([1], [1])], []),
    Case("object", object, {}, [(1, 1), ("[1]", "[1]")], []),
    Case("list", list, {"items": {}, "type": "array"}, [([1, "a"], [1, "a"])], [1, "x", {}]),
    Case("list of int", list[int], {"items": {"type": "integer"}, "type": "array"}, [([1], [1])], [["x"], 1]),
    Case("sequence", Sequence[str], {"items": {"type": "string"}, "type": "array"}, [(["a"], ["a"])], [[1], 1]),
    Case(
        "set",
        set[int],
        {"items": {"type": "integer"}, "type": "array", "uniqueItems": True},
        [([1, 2], {1, 2})],
        [["x"], 1],
    ),
    Case(
        "tuple",
        tuple[int, str],
        {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "integer"}, {"type": "string"}], "type": "array"},
        [([1, "a"], (1, "a"))],
        [[1], [1, 2], [1, "a", 2], "x"],
    ),
    Case("dict", dict, {"additionalProperties": True, "type": "object"}, [({"a": [1]}, {"a": [1]})], [1, [1]]),
    Case(
        "dict of int",
        dict[str, int],
        {"additionalProperties": {"type": "integer"}, "type": "object"},
        [({"a": 1}, {"a": 1})],
        [{"a": "x"}, [1]],
    ),
    Case(
        "optional",
        int | None,
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        [(1, 1), (None, None)],
        ["x", [1]],
    ),
    Case(
        "union",
        int | list[str],
        {"anyOf": [{"type": "integer"}, {"items": {"type": "string"}, "type": "array"}]},
        [(1, 1), (["a"], ["a"])],
        [{}, [1]],
    ),
    Case("literal", Literal["a", 1], {"enum": ["a", 1]}, {"a": "a", 1: 1}, ["b", 2]),
    Case("bounds", Annotated[int, Field(ge=1, le=9)], {"maximum": 9, "minimum": 1, "type": "integer"}, {5: 5}, [0, 10]),
    Case(
        "length",
        Annotated[str, Field(min_length=2, description="Two or more.")],
        {"description": "Two or more.", "minLength": 2, "type": "string"},
        {"ab": "ab"},
        ["a"],
    ),
    Case("pattern", Annotated[str, Field(pattern="^a+$")], {"pattern": "^a+$", "type": "string"}, {"aa": "aa"}, ["b"]),
    Case("date", datetime.date, {"format": "date", "type": "string"}, {"2026-07-28": A_DAY}, [[]]),
    Case("uuid", uuid.UUID, {"format": "uuid", "type": "string"}, {str(AN_ID): AN_ID}, [1]),
    Case("path", Path, {"format": "path", "type": "string"}, {"a/b": Path("a/b")}, [1]),
    Case(
        "decimal",
        decimal.Decimal,
        {"anyOf": [{"type": "number"}, {"pattern": "", "type": "string"}]},
        {"1.5": decimal.Decimal("1.5")},
        [[], None],
    ),
    Case("enum", Colour, {"$ref": "#/$defs/Colour"}, {"red": Colour.RED}, ["green", 1]),
    Case("int enum", Level, {"$ref": "#/$defs/Level"}, {2: Level.HIGH}, [3, "low"]),
    Case("new type", UserId, {"type": "integer"}, {1: 1}, ["x"]),
    Case("alias type", Ids, {"$ref": "#/$defs/Ids"}, [([1], [1])], [["x"], {}]),
    Case("model", Place, {"$ref": "#/$defs/Place"}, [({"x": 1}, Place(x=1))], [{}, {"x": "a"}, 1]),
    Case("strict model", Strict, {"$ref": "#/$defs/Strict"}, [({"x": 1}, Strict(x=1))], [{"x": 1, "z": 1}, {}]),
    Case("model with alias", Aliased, {"$ref": "#/$defs/Aliased"}, [({"theX": 1}, Aliased(theX=1))], [{"x": 1}]),
    Case("optional model", Place | None, {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}, [(None, None)], [1]),
    Case(
        "list of models",
        list[Place],
        {"items": {"$ref": "#/$defs/Place"}, "type": "array"},
        [([{"x": 1}], [Place(x=1)])],
        [[{}], [1]],
    ),
    Case("root model", Named, {"$ref": "#/$defs/Named"}, [({"a": 1}, Named({"a": 1}))], [{"a": "x"}, 1]),
    Case("generic model", Box[int], {"$ref": "#/$defs/Box_int_"}, [({"content": 1}, Box[int](content=1))], [{}]),
    Case(
        "recursive model",
        Tree,
        {"$ref": "#/$defs/Tree"},
        [({"name": "a", "children": [{"name": "b"}]}, Tree(name="a", children=[Tree(name="b")]))],
        [{"name": "a", "children": [{}]}, {"name": "a", "children": [{"name": "b", "children": 1}]}],
    ),
    Case(
        "discriminated union",
        Pet,
        {
            "discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        },
        [
            ({"kind": "cat", "lives": 9}, Cat(kind="cat", lives=9)),
            ({"kind": "dog", "tricks": []}, Dog(kind="dog", tricks=[])),
        ],
        [{"kind": "cow", "lives": 1}, {"lives": 1}, {"kind": "dog", "lives": 1}],
    ),
    Case("dataclass", Point, {"$ref": "#/$defs/Point"}, [({"x": 1}, Point(1))], [{}, {"x": "a"}]),
    Case(
        "typed dict",
        Trip,
        {"$ref": "#/$defs/Trip"},
        [({"start": "a"}, {"start": "a"})],
        [{}, {"start": "a", "nights": "x"}],
    ),
    Case(
        "list of standard typed dicts",
        list[Route],
        {"items": {"$ref": "#/$defs/Route"}, "type": "array"},
        [([{"start": "a"}], [{"start": "a"}])],
        [[{}], {"start": "a"}],
    ),
    Case(
        "optional standard typed dict",
        Annotated[Route | None, Field(description="Perhaps.")],
        {"anyOf": [{"$ref": "#/$defs/Route"}, {"type": "null"}], "description": "Perhaps."},
        [({"start": "a"}, {"start": "a"}), (None, None)],
        [{}],
    ),
    Case(
        "annotated standard typed dict",
        Annotated[Route, Field(description="Where to.")],
        {"$ref": "#/$defs/Route", "description": "Where to."},
        [({"start": "a"}, {"start": "a"})],
        [{}],
    ),
    Case(
        "standard typed dict",
        Route,
        {"$ref": "#/$defs/Route"},
        [({"start": "a", "stops": ["b"]}, {"start": "a", "stops": ["b"]})],
        [{}, {"start": "a", "stops": [1]}],
    ),
]

DEFINITIONS = {"Place": PLACE, "Strict": STRICT, "Cat": CAT, "Dog": DOG, "Tree": TREE}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_parameter_is_listed_as_its_type_says(case: Case) -> None:
    schema = taking(case.annotation).arg_model.model_json_schema()

    listed = dict(schema["properties"]["it"])
    assert listed.pop("title", "It") == "It"
    for choice in listed.get("anyOf", []):
        if "pattern" in choice:
            choice["pattern"] = ""  # pydantic's, of which versions differ
    if case.name == "decimal":
        listed["anyOf"][1].setdefault("pattern", "")
    assert listed == case.listed
    assert schema["required"] == ["it"]
    assert schema["title"] == "fArguments"
    for name, definition in schema.get("$defs", {}).items():
        assert definition == DEFINITIONS.get(name, definition)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_the_schema_allows_reaches_the_function(case: Case) -> None:
    metadata = taking(case.annotation)
    schema = metadata.arg_model.model_json_schema()
    accepted = list(case.accepted.items()) if isinstance(case.accepted, Mapping) else case.accepted

    for given, received in accepted:
        assert fits({"it": given}, schema), given
        assert metadata.validate_arguments({"it": given}) == {"it": received}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_the_schema_forbids_does_not(case: Case) -> None:
    metadata = taking(case.annotation)
    schema = metadata.arg_model.model_json_schema()

    for given in case.refused:
        assert not fits({"it": given}, schema), given
        with pytest.raises(ValidationError):
            metadata.validate_arguments({"it": given})
    assert not fits({}, schema)
    with pytest.raises(ValidationError, match="Field required"):
        metadata.validate_arguments({})
