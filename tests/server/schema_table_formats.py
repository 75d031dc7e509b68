"""What parameters list, take and refuse: strings that mean something, and collections."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import AnyUrl, JsonValue, TypeAdapter
from schema_table import Table, told
from schema_table_types import UserId

rows = Table()
takes = rows.takes

# Strings that mean something


@takes(
    {
        "day": {"format": "date", "title": "Day", "type": "string"},
        "at": {"format": "date-time", "title": "At", "type": "string"},
    },
    ["day", "at"],
    accepts=[
        ({"day": "2026-07-28", "at": "2026-07-28T09:00:00Z"}, "'2026-07-28', '2026-07-28T09:00:00+00:00'"),
    ],
    refuses=[{"day": "soon", "at": "2026-07-28T09:00:00Z"}, {"day": "2026-07-28", "at": "noon"}],
)
def dates(day: date, at: datetime) -> str:
    return told(day.isoformat(), at.isoformat())


@takes(
    {"d": {"format": "duration", "title": "D", "type": "string"}},
    ["d"],
    accepts=[({"d": "PT90S"}, "90.0")],
    refuses=[{"d": "a while"}],
    lenient=[({"d": 90}, "90.0")],
)
def duration(d: timedelta) -> str:
    return told(d.total_seconds())


@takes(
    {"id": {"format": "uuid", "title": "Id", "type": "string"}},
    ["id"],
    accepts=[({"id": "00000000-0000-0000-0000-000000000001"}, "1")],
    refuses=[{"id": "1"}, {"id": 1}],
)
def uuid(id: UUID) -> str:
    return told(id.int)


@takes(
    {"url": {"format": "uri", "minLength": 1, "title": "Url", "type": "string"}},
    ["url"],
    accepts=[({"url": "https://example.com/a"}, "'https://example.com/a'")],
    refuses=[{"url": "here"}],
)
def url(url: AnyUrl) -> str:
    return told(str(url))


@takes(
    {"d": {**TypeAdapter(Decimal).json_schema(mode="validation"), "title": "D"}},
    ["d"],
    accepts=[({"d": "1.10"}, "Decimal('1.10')"), ({"d": 2}, "Decimal('2')")],
    refuses=[{"d": None}, {"d": []}],
)
def decimal(d: Decimal) -> str:
    return told(d)


@takes(
    {"b": {"format": "binary", "title": "B", "type": "string"}},
    ["b"],
    accepts=[({"b": "ab"}, "b'ab'")],
    refuses=[{"b": 1}],
)
def raw(b: bytes) -> str:
    return told(b)


@takes(
    {"p": {"format": "path", "title": "P", "type": "string"}},
    ["p"],
    accepts=[({"p": "a/b"}, "'a/b'")],
    refuses=[{"p": 1}],
)
def path(p: Path) -> str:
    return told(p.as_posix())


@takes({"id": {"title": "Id", "type": "integer"}}, ["id"], accepts=[({"id": 7}, "7")], refuses=[{"id": "seven"}])
def new_type(id: UserId) -> str:
    return told(id)


# Collections


@takes(
    {"xs": {"items": {"type": "integer"}, "title": "Xs", "type": "array"}},
    ["xs"],
    accepts=[({"xs": [1, 2]}, "[1, 2]")],
    refuses=[{"xs": ["a"]}, {"xs": 1}, {"xs": {}}, {"xs": "1"}],
    lenient=[({"xs": "[1]"}, "[1]")],
)
def numbers(xs: list[int]) -> str:
    return told(xs)


@takes(
    {"xs": {"items": {"additionalProperties": True, "type": "object"}, "title": "Xs", "type": "array"}},
    ["xs"],
    accepts=[({"xs": [{"a": [1]}]}, "[{'a': [1]}]")],
    refuses=[{"xs": [1]}, {"xs": {}}],
)
def objects(xs: list[dict[str, Any]]) -> str:
    return told(xs)


@takes(
    {"m": {"additionalProperties": {"type": "integer"}, "title": "M", "type": "object"}},
    ["m"],
    accepts=[({"m": {"a": 1}}, "{'a': 1}")],
    refuses=[{"m": {"a": "b"}}, {"m": []}],
    lenient=[({"m": '{"a": 1}'}, "{'a': 1}")],
)
def mapping(m: dict[str, int]) -> str:
    return told(m)


@takes(
    {"xs": {"items": {"type": "integer"}, "title": "Xs", "type": "array", "uniqueItems": True}},
    ["xs"],
    accepts=[({"xs": [1, 2]}, "[1, 2]")],
    refuses=[{"xs": ["a"]}],
    lenient=[({"xs": [1, 1]}, "[1]")],
)
def distinct(xs: set[int]) -> str:
    return told(sorted(xs))


@takes(
    {
        "pair": {
            "maxItems": 2,
            "minItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "title": "Pair",
            "type": "array",
        }
    },
    ["pair"],
    accepts=[({"pair": [1, "a"]}, "(1, 'a')")],
    refuses=[{"pair": [1]}, {"pair": [1, "a", 2]}, {"pair": ["a", 1]}],
)
def pair(pair: tuple[int, str]) -> str:
    return told(pair)


@takes(
    {"xs": {"items": {"type": "integer"}, "title": "Xs", "type": "array"}},
    ["xs"],
    accepts=[({"xs": []}, "()"), ({"xs": [1, 2]}, "(1, 2)")],
    refuses=[{"xs": [None]}],
)
def any_number(xs: tuple[int, ...]) -> str:
    return told(xs)


@takes(
    {"v": {"$ref": "#/$defs/JsonValue"}}, ["v"], accepts=[({"v": v}, repr(v)) for v in (1, [{"a": None}])], refuses=[{}]
)
def json_value(v: JsonValue) -> str:
    return told(v)
