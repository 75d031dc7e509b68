"""What parameters list, take and refuse: plain types, defaults, choices and constraints."""

from typing import Annotated, Any, Literal, Optional

from pydantic import Field
from schema_table import Table, told
from schema_table_types import Colour, Size

rows = Table()
takes = rows.takes

# Plain types


@takes({}, accepts=[({}, "nothing"), ({"any": 1}, "nothing")])
def nothing() -> str:
    return "nothing"


@takes({"s": {"title": "S", "type": "string"}}, ["s"], accepts=[({"s": "[1]"}, "'[1]'")], refuses=[{}, {"s": 1}])
def text(s: str) -> str:
    return told(s)


@takes(
    {"n": {"title": "N", "type": "integer"}},
    ["n"],
    accepts=[({"n": 1}, "1"), ({"n": 1.0}, "1")],
    refuses=[{}, {"n": "one"}, {"n": 1.5}, {"n": None}],
    lenient=[({"n": "1"}, "1")],
)
def whole(n: int) -> str:
    return told(n)


@takes(
    {"x": {"title": "X", "type": "number"}},
    ["x"],
    accepts=[({"x": 1}, "1.0"), ({"x": 0.5}, "0.5")],
    refuses=[{"x": []}],
)
def fraction(x: float) -> str:
    return told(x)


@takes({"on": {"title": "On", "type": "boolean"}}, ["on"], accepts=[({"on": True}, "True")], refuses=[{"on": {}}])
def switch(on: bool) -> str:
    return told(on)


@takes(
    {"it": {"title": "It"}},
    ["it"],
    accepts=[({"it": 1}, "1"), ({"it": None}, "None"), ({"it": [{}]}, "[{}]")],
    refuses=[{}],
)
def anything(it: Any) -> str:
    return told(it)


@takes(
    {"it": {"title": "it", "type": "string"}}, ["it"], accepts=[({"it": "1"}, "'1'")], lenient=[({"it": [1]}, "[1]")]
)
def untyped(it) -> str:  # pyright: ignore
    return told(it)


# Defaults, and what is optional


@takes(
    {"a": {"title": "A", "type": "integer"}, "b": {"default": "x", "title": "B", "type": "string"}},
    ["a"],
    accepts=[({"a": 1}, "1, 'x'"), ({"a": 1, "b": "y"}, "1, 'y'")],
    refuses=[{"b": "y"}, {"a": 1, "b": None}],
)
def with_default(a: int, b: str = "x") -> str:
    return told(a, b)


@takes(
    {"s": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "S"}},
    accepts=[({}, "None"), ({"s": None}, "None"), ({"s": "null"}, "'null'")],
    refuses=[{"s": 1}],
)
def perhaps(s: str | None = None) -> str:
    return told(s)


@takes(
    {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "N"}},
    ["n"],
    accepts=[({"n": None}, "None"), ({"n": 1}, "1")],
    refuses=[{}],
    lenient=[({"n": "null"}, "None")],
)
def required_and_perhaps(n: Optional[int]) -> str:  # noqa: UP045
    return told(n)


@takes({"x": {"title": "X", "type": "number"}}, accepts=[({}, "inf"), ({"x": 1}, "1.0")], refuses=[{"x": "far"}])
def default_that_json_lacks(x: float = float("inf")) -> str:
    return told(x)


@takes(
    {"xs": {"items": {"type": "integer"}, "title": "Xs", "type": "array"}}, accepts=[({}, "[]")], refuses=[{"xs": 1}]
)
def default_factory(xs: Annotated[list[int], Field(default_factory=list)]) -> str:
    return told(xs)


@takes(
    {"n": {"default": 1, "description": "How many.", "examples": [3], "title": "Count", "type": "integer"}},
    accepts=[({}, "1"), ({"n": 2}, "2")],
    refuses=[{"n": "many"}],
)
def field_as_default(n: int = Field(default=1, title="Count", description="How many.", examples=[3])) -> str:
    return told(n)


@takes(
    {"s": {"description": "Explicit.", "title": "S", "type": "string"}},
    ["s"],
    accepts=[({"s": ""}, "''")],
    refuses=[{"s": 0}],
)
def annotated(s: Annotated[str, "a note", Field(description="Explicit.")]) -> str:
    """Says.

    Args:
        s: Implicit.
    """
    return told(s)


@takes(
    {
        "city": {"description": "Where to look.", "title": "City", "type": "string"},
        "days": {"default": 3, "description": "How far ahead.", "title": "Days", "type": "integer"},
    },
    ["city"],
    accepts=[({"city": "Brno"}, "'Brno', 3")],
    refuses=[{"days": 1}],
)
def described(city: str, days: int = 3) -> str:
    """Forecasts.

    Args:
        city: Where to look.
        days: How far ahead.
    """
    return told(city, days)


# Choices


@takes(
    {"it": {"enum": ["a", 1], "title": "It"}},
    ["it"],
    accepts=[({"it": "a"}, "'a'"), ({"it": 1}, "1")],
    refuses=[{"it": 2}],
)
def literal(it: Literal["a", 1]) -> str:
    return told(it)


@takes(
    {"it": {"$ref": "#/$defs/Colour"}},
    ["it"],
    rest={"$defs": {"Colour": {"enum": ["red", "blue"], "title": "Colour", "type": "string"}}},
    accepts=[({"it": "red"}, "<Colour.RED: 'red'>")],
    refuses=[{"it": "RED"}, {"it": 1}],
)
def choice(it: Colour) -> str:
    return told(it)


@takes(
    {"it": {"$ref": "#/$defs/Size", "default": 1}},
    rest={"$defs": {"Size": {"enum": [1, 2], "title": "Size", "type": "integer"}}},
    accepts=[({}, "<Size.SMALL: 1>"), ({"it": 2}, "<Size.LARGE: 2>")],
    refuses=[{"it": 3}],
)
def numbered_choice(it: Size = Size.SMALL) -> str:
    return told(it)


@takes(
    {"it": {"anyOf": [{"type": "integer"}, {"type": "string"}], "title": "It"}},
    ["it"],
    accepts=[({"it": 1}, "1"), ({"it": "1"}, "'1'")],
    refuses=[{"it": []}, {"it": None}],
)
def either(it: int | str) -> str:
    return told(it)


# Constraints


@takes(
    {"n": {"maximum": 9, "minimum": 1, "title": "N", "type": "integer"}},
    ["n"],
    accepts=[({"n": 1}, "1"), ({"n": 9}, "9")],
    refuses=[{"n": 0}, {"n": 10}],
)
def bounded(n: Annotated[int, Field(ge=1, le=9)]) -> str:
    return told(n)


@takes(
    {"s": {"maxLength": 3, "minLength": 1, "pattern": "^[a-z]+$", "title": "S", "type": "string"}},
    ["s"],
    accepts=[({"s": "abc"}, "'abc'")],
    refuses=[{"s": ""}, {"s": "abcd"}, {"s": "A"}],
)
def patterned(s: Annotated[str, Field(min_length=1, max_length=3, pattern="^[a-z]+$")]) -> str:
    return told(s)


@takes(
    {"xs": {"items": {"exclusiveMinimum": 0, "type": "integer"}, "maxItems": 2, "title": "Xs", "type": "array"}},
    ["xs"],
    accepts=[({"xs": []}, "[]"), ({"xs": [1, 2]}, "[1, 2]")],
    refuses=[{"xs": [0]}, {"xs": [1, 2, 3]}],
)
def constrained_items(xs: Annotated[list[Annotated[int, Field(gt=0)]], Field(max_length=2)]) -> str:
    return told(xs)
