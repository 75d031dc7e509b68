"""What results that are no objects list and give: they stand under "result"."""

from collections.abc import AsyncIterator, Generator, Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter
from schema_table import Table
from schema_table_result_types import CLEAR, INTEGER, STRING, WEATHER, WEATHER_TEXT, Colour, UserId, Weather, wrapped

rows = Table()
gives = rows.gives


@gives(wrapped("text", STRING), {"result": "hello"}, ["hello"])
def text() -> str:
    return "hello"


@gives(wrapped("whole", INTEGER), {"result": 7}, ["7"])
def whole() -> int:
    return 7


@gives(wrapped("fraction", {"type": "number"}), {"result": 0.5}, ["0.5"])
async def fraction() -> float:
    return 0.5


@gives(wrapped("switch", {"type": "boolean"}), {"result": True}, ["true"])
def switch() -> bool:
    return True


@gives(wrapped("nothing", {"type": "null"}), {"result": None}, [])
def nothing() -> None:
    return None


@gives(wrapped("raw", {"format": "base64url", "type": "string"}), {"result": "_wA="}, ['"_wA="'])
def raw() -> bytes:
    return b"\xff\x00"


@gives(wrapped("perhaps", {"anyOf": [STRING, {"type": "null"}]}), {"result": None}, [])
def perhaps() -> str | None:
    return None


@gives(wrapped("either", {"anyOf": [INTEGER, STRING]}), {"result": "a"}, ["a"])
def either() -> int | str:
    return "a"


@gives(wrapped("literal", {"enum": ["a", "b"], "type": "string"}), {"result": "b"}, ["b"])
def literal() -> Literal["a", "b"]:
    return "b"


@gives(wrapped("bounded", {"maximum": 9, "type": "integer"}), {"result": 9}, ["9"])
def bounded() -> Annotated[int, Field(le=9)]:
    return 9


@gives(wrapped("new_type", INTEGER), {"result": 5}, ["5"])
def new_type() -> UserId:
    return UserId(5)


# Collections


@gives(wrapped("numbers", {"items": INTEGER, "type": "array"}), {"result": [1, 2]}, ["1", "2"])
def numbers() -> list[int]:
    return [1, 2]


@gives(wrapped("empty", {"items": STRING, "type": "array"}), {"result": []}, [])
def empty() -> list[str]:
    return []


@gives(
    wrapped("nested", {"items": {"items": STRING, "type": "array"}, "type": "array"}),
    {"result": [["a"], ["b"]]},
    ["a", "b"],
)
def nested() -> list[list[str]]:
    return [["a"], ["b"]]


@gives(
    wrapped("objects", {"items": {"additionalProperties": True, "type": "object"}, "type": "array"}),
    {"result": [{"a": 1}, {"b": [None]}]},
    ['{\n  "a": 1\n}', '{\n  "b": [\n    null\n  ]\n}'],
)
def objects() -> list[dict[str, Any]]:
    return [{"a": 1}, {"b": [None]}]


@gives(
    wrapped("models", {"items": {"$ref": "#/$defs/Weather"}, "type": "array"}, Weather=WEATHER),
    {"result": [CLEAR]},
    [WEATHER_TEXT],
)
def models() -> list[Weather]:
    return [Weather(sky="clear", wind=1.5)]


@gives(
    wrapped("pair", {"maxItems": 2, "minItems": 2, "prefixItems": [INTEGER, STRING], "type": "array"}),
    {"result": [1, "a"]},
    ["1", "a"],
)
def pair() -> tuple[int, str]:
    return 1, "a"


@gives(wrapped("distinct", {"items": INTEGER, "type": "array", "uniqueItems": True}), {"result": [1]}, ["[\n  1\n]"])
def distinct() -> set[int]:
    return {1}


@gives(wrapped("generator", {"items": INTEGER, "type": "array"}), {"result": [1, 2]}, ["1", "2"])
def generator() -> Generator[int, None, None]:
    yield from (1, 2)


@gives(wrapped("iterator", {"items": STRING, "type": "array"}), {"result": ["a"]}, ["a"])
def iterator() -> Iterator[str]:
    yield "a"


@gives(wrapped("async_iterator", {"items": INTEGER, "type": "array"}), {"result": [1, 2]}, ["1", "2"])
async def async_iterator() -> AsyncIterator[int]:
    for number in (1, 2):
        yield number


@gives(
    wrapped("by_number", {"additionalProperties": STRING, "type": "object"}),
    {"result": {"1": "a"}},
    ['{\n  "1": "a"\n}'],
)
def by_number() -> dict[int, str]:
    return {1: "a"}


# Strings that mean something


@gives(
    wrapped("moments", {"items": {"format": "date-time", "type": "string"}, "type": "array"}),
    {"result": ["2026-07-28T09:00:00Z"]},
    ['"2026-07-28T09:00:00Z"'],
)
def moments() -> list[datetime]:
    return [datetime(2026, 7, 28, 9, tzinfo=timezone.utc)]


@gives(
    wrapped("ids", {"items": {"format": "uuid", "type": "string"}, "type": "array"}),
    {"result": ["00000000-0000-0000-0000-000000000001"]},
    ['"00000000-0000-0000-0000-000000000001"'],
)
def ids() -> list[UUID]:
    return [UUID(int=1)]


@gives(wrapped("paths", {"items": {"format": "path", "type": "string"}, "type": "array"}), {"result": ["a"]}, ['"a"'])
def paths() -> list[Path]:
    return [Path("a")]


@gives(
    wrapped(
        "colours",
        {"items": {"$ref": "#/$defs/Colour"}, "type": "array"},
        Colour={"enum": ["red"], "title": "Colour", "type": "string"},
    ),
    {"result": ["red"]},
    ['"red"'],
)
def colours() -> list[Colour]:
    return [Colour.RED]


@gives(
    wrapped("prices", {"items": TypeAdapter(Decimal).json_schema(), "type": "array"}), {"result": ["1.10"]}, ['"1.10"']
)
def prices() -> list[Decimal]:
    return [Decimal("1.10")]
