"""What parameters that hold objects list, take and refuse."""

from typing import Annotated

from pydantic import Field
from schema_table import Table, told
from schema_table_types import (
    CITY,
    Cat,
    Dog,
    Exact,
    Film,
    Filter,
    Named,
    Node,
    Page,
    Place,
    Point,
    Trip,
)

rows = Table()
takes = rows.takes


@takes(
    {"at": {"$ref": "#/$defs/Place"}},
    ["at"],
    rest={"$defs": {"Place": CITY}},
    accepts=[({"at": {"city": "Brno"}}, "Place(city='Brno', zip=0)")],
    refuses=[{}, {"at": {}}, {"at": {"city": 1}}, {"at": {"city": "a", "zip": "b"}}, {"at": []}],
    lenient=[({"at": '{"city": "Brno"}'}, "Place(city='Brno', zip=0)")],
)
def model(at: Place) -> str:
    return told(at)


@takes(
    {"trip": {"$ref": "#/$defs/Trip"}},
    ["trip"],
    rest={"$defs": {"Place": CITY, "Trip": {"required": ["start"], "type": "object"}}},
    accepts=[({"trip": {"start": {"city": "a"}, "stops": [{"city": "b"}]}}, "'a', ['b']")],
    refuses=[{"trip": {"start": {"city": "a"}, "stops": [{}]}}, {"trip": {"start": "a"}}],
)
def nested(trip: Trip) -> str:
    return told(trip.start.city, [stop.city for stop in trip.stops])


@takes(
    {"exact": {"$ref": "#/$defs/Exact"}},
    ["exact"],
    rest={"$defs": {"Exact": {"additionalProperties": False}}},
    accepts=[({"exact": {"n": 1}}, "1")],
    refuses=[{"exact": {"n": 1, "m": 2}}],
)
def closed(exact: Exact) -> str:
    return told(exact.n)


@takes(
    {"p": {"$ref": "#/$defs/Point"}},
    ["p"],
    rest={"$defs": {"Point": {"required": ["x"], "title": "Point", "type": "object"}}},
    accepts=[({"p": {"x": 1}}, "Point(x=1, y=0)")],
    refuses=[{"p": {"y": 1}}, {"p": {"x": "a"}}],
)
def data_class(p: Point) -> str:
    return told(p)


@takes(
    {"film": {"$ref": "#/$defs/Film"}},
    ["film"],
    rest={"$defs": {"Film": {"required": ["title"], "type": "object"}}},
    accepts=[
        ({"film": {"title": "M"}}, "{'title': 'M'}"),
        ({"film": {"title": "M", "year": 1}}, "{'title': 'M', 'year': 1}"),
    ],
    refuses=[{"film": {"year": 1}}, {"film": {"title": "M", "year": "old"}}],
)
def typed_dict(film: Film) -> str:
    return told(film)


@takes(
    {"by": {"$ref": "#/$defs/Filter", "default": {}}},
    accepts=[({}, "{}"), ({"by": {"limit": 1}}, "{'limit': 1}")],
    refuses=[{"by": {"limit": "few"}}],
)
def typed_dict_without_required_keys(by: Filter = {}) -> str:  # noqa: B006
    return told(by)


@takes(
    {"those": {"items": {"$ref": "#/$defs/Place"}, "title": "Those", "type": "array"}},
    ["those"],
    accepts=[({"those": [{"city": "a"}]}, "['a']")],
    refuses=[{"those": [{}]}, {"those": {"city": "a"}}],
)
def models(those: list[Place]) -> str:
    return told([place.city for place in those])


@takes(
    {"by_name": {"additionalProperties": {"$ref": "#/$defs/Point"}, "title": "By Name", "type": "object"}},
    ["by_name"],
    accepts=[({"by_name": {"a": {"x": 1}}}, "{'a': Point(x=1, y=0)}")],
    refuses=[{"by_name": {"a": {}}}],
)
def models_by_name(by_name: dict[str, Point]) -> str:
    return told(by_name)


@takes(
    {"page": {"$ref": "#/$defs/Page_int_"}},
    ["page"],
    rest={"$defs": {"Page_int_": {"properties": {"items": {"items": {"type": "integer"}}}, "title": "Page[int]"}}},
    accepts=[({"page": {"items": [1]}}, "[1]")],
    refuses=[{"page": {"items": ["a"]}}],
)
def generic(page: Page[int]) -> str:
    return told(page.items)


@takes(
    {"node": {"$ref": "#/$defs/Node"}},
    ["node"],
    rest={"$defs": {"Node": {"properties": {"parts": {"items": {"$ref": "#/$defs/Node"}}}}}},
    accepts=[({"node": {"name": "a", "parts": [{"name": "b"}]}}, "'a', 'b'")],
    refuses=[{"node": {"name": "a", "parts": [{"name": "b", "parts": [{}]}]}}],
)
def recursive(node: Node) -> str:
    return told(node.name, *(part.name for part in node.parts))


@takes(
    {"it": {"anyOf": [{"$ref": "#/$defs/Place"}, {"$ref": "#/$defs/Point"}, {"type": "null"}], "title": "It"}},
    ["it"],
    accepts=[
        ({"it": {"x": 1}}, "Point(x=1, y=0)"),
        ({"it": {"city": "a"}}, "Place(city='a', zip=0)"),
        ({"it": None}, "None"),
    ],
    refuses=[{"it": {}}, {"it": 1}],
)
def union_of_models(it: Place | Point | None) -> str:
    return told(it)


@takes(
    {
        "pet": {
            "discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "title": "Pet",
        }
    },
    ["pet"],
    rest={
        "$defs": {"Cat": {"properties": {"kind": {"const": "cat"}}}, "Dog": {"properties": {"kind": {"const": "dog"}}}}
    },
    accepts=[({"pet": {"kind": "cat", "lives": 1}}, "Cat(kind='cat', lives=1)")],
    refuses=[{"pet": {"kind": "cow"}}, {"pet": {}}, {"pet": {"kind": "cat", "lives": "all"}}],
)
def discriminated(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> str:
    return told(pet)


@takes(
    {"it": {"$ref": "#/$defs/Named"}},
    ["it"],
    rest={"$defs": {"Named": {"required": ["X-Id"]}}},
    accepts=[({"it": {"X-Id": 1}}, "1")],
    refuses=[{"it": {"x": 1}}],
)
def alias_in_a_model(it: Named) -> str:
    return told(it.x)


@takes(
    {"X-Id": {"title": "X-Id", "type": "integer"}},
    ["X-Id"],
    accepts=[({"X-Id": 1}, "1")],
    refuses=[{"x": 1}, {"X-Id": "one"}],
)
def alias_of_a_parameter(x: Annotated[int, Field(alias="X-Id")]) -> str:
    return told(x)
