"""Return types: what is listed, and that schema, structured content and text agree."""

import datetime
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import Field
from typed_examples import (
    PLACE,
    Colour,
    Ids,
    Level,
    Numbers,
    OldDict,
    OldOptional,
    Place,
    UserId,
    fits,
    returning,
    texts_of,
)

from mcp.types import (
    CallToolResult,
    InputRequiredResult,
)


class Structured(NamedTuple):
    name: str
    annotation: Any
    listed: dict[str, Any]
    value: Any
    content: Any
    texts: list[str]


PLACE_TEXT = '{\n  "x": 1,\n  "y": 0\n}'


def wrapped(value: dict[str, Any], **definitions: dict[str, Any]) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "properties": {"result": value},
        "required": ["result"],
        "title": "fOutput",
        "type": "object",
    }
    return {**listed, "$defs": definitions} if definitions else listed


def titled(**value: Any) -> dict[str, Any]:
    return wrapped({**value, "title": "Result"})


def one_of(*choices: dict[str, Any]) -> dict[str, Any]:
    return titled(anyOf=list(choices))


INTEGERS = {"items": {"type": "integer"}, "type": "array"}
A_DAY = datetime.date(2026, 7, 28)

VALUES = [
    Structured("str", str, titled(type="string"), "a", "a", ["a"]),
    Structured("int", int, titled(type="integer"), 17, 17, ["17"]),
    Structured("float", float, titled(type="number"), 1.5, 1.5, ["1.5"]),
    Structured("bool", bool, titled(type="boolean"), True, True, ["true"]),
    Structured("bytes", bytes, titled(type="string", format="base64url"), b"\xff\x00", "_wA=", ['"_wA="']),
    Structured("None", None, titled(type="null"), None, None, []),
    Structured("list", list[int], titled(**INTEGERS), [1, 2], [1, 2], ["1", "2"]),
    Structured("empty list", list[int], titled(**INTEGERS), [], [], []),
    Structured("list of str", list[str], titled(type="array", items={"type": "string"}), ["a"], ["a"], ["a"]),
    Structured(
        "list of lists",
        list[list[int]],
        titled(type="array", items=INTEGERS),
        [[1], [2, 3]],
        [[1], [2, 3]],
        ["1", "2", "3"],
    ),
    Structured("sequence", Sequence[int], titled(**INTEGERS), (1, 2), [1, 2], ["1", "2"]),
    Structured("iterable", Iterable[int], titled(**INTEGERS), [1, 2], [1, 2], ["1", "2"]),
    Structured("iterator", Iterator[int], titled(**INTEGERS), iter([1, 2]), [1, 2], ["1", "2"]),
    Structured("generator", Generator[int, None, None], titled(**INTEGERS), (i for i in (1, 2)), [1, 2], ["1", "2"]),
    Structured("async iterator", AsyncIterator[int], titled(**INTEGERS), [1, 2], [1, 2], ["1", "2"]),
    Structured("awaitable", Awaitable[int], titled(type="integer"), 1, 1, ["1"]),
    Structured("set", set[int], titled(**INTEGERS, uniqueItems=True), {1}, [1], ["[\n  1\n]"]),
    Structured(
        "tuple",
        tuple[int, str],
        titled(type="array", minItems=2, maxItems=2, prefixItems=[{"type": "integer"}, {"type": "string"}]),
        (1, "a"),
        [1, "a"],
        ["1", "a"],
    ),
    Structured("union", int | str, one_of({"type": "integer"}, {"type": "string"}), "a", "a", ["a"]),
    Structured("optional", int | None, one_of({"type": "integer"}, {"type": "null"}), None, None, []),
    Structured("old optional", OldOptional, one_of({"type": "integer"}, {"type": "null"}), 3, 3, ["3"]),
    Structured("literal", Literal["a", "b"], titled(type="string", enum=["a", "b"]), "a", "a", ["a"]),
    Structured("new type", UserId, titled(type="integer"), UserId(1), 1, ["1"]),
    Structured(
        "annotated",
        Annotated[int, Field(ge=1, description="Positive.")],
        titled(type="integer", minimum=1, description="Positive."),
        3,
        3,
        ["3"],
    ),
    Structured(
        "enum in a list",
        list[Colour],
        wrapped(
            {"items": {"$ref": "#/$defs/Colour"}, "title": "Result", "type": "array"},
            Colour={"enum": ["red", "blue"], "title": "Colour", "type": "string"},
        ),
        [Colour.RED],
        ["red"],
        ['"red"'],
    ),
    Structured(
        "int enum in a list",
        list[Level],
        wrapped(
            {"items": {"$ref": "#/$defs/Level"}, "title": "Result", "type": "array"},
            Level={"enum": [1, 2], "title": "Level", "type": "integer"},
        ),
        [Level.LOW],
        [1],
        ["1"],
    ),
    Structured(
        "dates",
        list[datetime.date],
        titled(type="array", items={"type": "string", "format": "date"}),
        [A_DAY],
        ["2026-07-28"],
        ['"2026-07-28"'],
    ),
    Structured("alias type", Ids, wrapped({"$ref": "#/$defs/Ids"}, Ids=INTEGERS), [1], [1], ["1"]),
    Structured(
        "list of models",
        list[Place],
        wrapped({"items": {"$ref": "#/$defs/Place"}, "title": "Result", "type": "array"}, Place=PLACE),
        [Place(x=1), {"x": 1, "y": 0}],
        [{"x": 1, "y": 0}, {"x": 1, "y": 0}],
        [PLACE_TEXT, PLACE_TEXT],
    ),
    Structured(
        "optional model",
        Place | None,
        wrapped({"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}, Place=PLACE),
        Place(x=1),
        {"x": 1, "y": 0},
        [PLACE_TEXT],
    ),
    Structured(
        "dict with other keys",
        dict[int, float],
        titled(type="object", additionalProperties={"type": "number"}),
        {1: 2.5},
        {"1": 2.5},
        ['{\n  "1": 2.5\n}'],
    ),
    Structured(
        "mapping",
        Mapping[str, int],
        titled(type="object", additionalProperties={"type": "integer"}),
        {"a": 1},
        {"a": 1},
        ['{\n  "a": 1\n}'],
    ),
    Structured(
        "old dict",
        OldDict,
        titled(type="object", additionalProperties={"type": "integer"}),
        {"a": 1},
        {"a": 1},
        ['{\n  "a": 1\n}'],
    ),
    Structured(
        "list of dicts",
        list[dict[str, Any]],
        titled(type="array", items={"type": "object", "additionalProperties": True}),
        [{"a": [1]}],
        [{"a": [1]}],
        ['{\n  "a": [\n    1\n  ]\n}'],
    ),
    Structured(
        "root model of a list",
        Numbers,
        wrapped({"$ref": "#/$defs/Numbers"}, Numbers={**INTEGERS, "title": "Numbers"}),
        Numbers([1]),
        [1],
        ["[\n  1\n]"],
    ),
    Structured(
        "input or str",
        InputRequiredResult | str,
        titled(type="string"),
        "a",
        "a",
        ["a"],
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=[case.name for case in VALUES])
def test_a_value_that_is_no_object_stands_under_result(case: Structured) -> None:
    metadata = returning(case.annotation)
    result = metadata.convert_result(case.value)

    assert isinstance(result, CallToolResult)
    assert metadata.output_schema == case.listed
    assert metadata.wrap_output
    assert result.structured_content == {"result": case.content}
    assert fits(result.structured_content, case.listed)
    assert texts_of(result) == case.texts
    assert len(result.content) == len(case.texts)
