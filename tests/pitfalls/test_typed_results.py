"""Reports about the results of tools, as clients of an `MCPServer` meet them. See also the tables of tests/server."""

import base64
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
import jsonschema_rs
import pytest
from connections import SECONDS_OF_PATIENCE, only_text
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from mcp import Client, types
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature

pytestmark = pytest.mark.anyio


def serving(*functions: Callable[..., Any]) -> MCPServer:
    mcp = MCPServer("typed")
    for function in functions:
        mcp.add_tool(function)
    return mcp


def texts(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


# B82


def count() -> Generator[int, None, None]:
    yield from (1, 2)


async def count_later() -> AsyncGenerator[int, None]:
    for number in (1, 2):
        yield number


async def count_on_demand(to: int) -> Generator[int, None, None]:
    return (number + 1 for number in range(to))


async def test_b82_generators_give_all_items_in_both_forms(mode: str) -> None:
    """The text had them, and the structured content was empty."""
    async with Client(serving(count, count_later, count_on_demand), mode=mode) as client:
        for name, arguments in [("count", {}), ("count_later", {}), ("count_on_demand", {"to": 2})]:
            result = await client.call_tool(name, arguments)
            assert (result.structured_content, texts(result)) == ({"result": [1, 2]}, ["1", "2"])


async def test_b82_a_generator_that_fails_is_an_error_and_is_closed(mode: str) -> None:
    """Half of its items must not pass for all of them."""
    closed: list[str] = []

    def half() -> Generator[int, None, None]:
        try:
            yield 1
            raise ValueError("the second is lost")
        finally:
            closed.append("half")

    async with Client(serving(half), mode=mode) as client:
        result = await client.call_tool("half")

    assert result.is_error
    assert "the second is lost" in only_text(result)
    assert closed == ["half"]


def raw() -> bytes:
    return b"\xff\x00"


def raw_in_a_model() -> dict[str, bytes]:
    return {"a": b"\xff\x00"}


def raw_within() -> Any:
    return {"a": [b"\xff\x00"]}


async def test_b82_bytes_are_base64_and_the_schema_says_so(mode: str) -> None:
    """Bytes that are no UTF-8 were an error."""
    async with Client(serving(raw, raw_in_a_model, raw_within), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        alone, within, untyped = [await client.call_tool(name) for name in ("raw", "raw_in_a_model", "raw_within")]

    assert "base64url" in str(tools["raw"].output_schema)
    assert "base64url" in str(tools["raw_in_a_model"].output_schema)
    assert alone.structured_content == {"result": base64.urlsafe_b64encode(b"\xff\x00").decode()}
    assert within.structured_content == {"a": "_wA="}
    assert only_text(untyped) == '{\n  "a": [\n    "_wA="\n  ]\n}'


# B83


class Weather(BaseModel):
    sky: str


@dataclass
class Point:
    x: int


class Film(TypedDict):
    title: str


class Declared:
    size: int

    def __init__(self, size: int) -> None:
        self.size = size


RETURNED: list[tuple[Any, Any, Any]] = [
    (str, "a", {"result": "a"}),
    (int, 1, {"result": 1}),
    (float, 0.5, {"result": 0.5}),
    (bool, False, {"result": False}),
    (None, None, {"result": None}),
    (list[int], [1], {"result": [1]}),
    (list[str], [], {"result": []}),
    (list[dict[str, Any]], [{"a": 1}], {"result": [{"a": 1}]}),
    (list[Weather], [Weather(sky="a")], {"result": [{"sky": "a"}]}),
    (tuple[int, str], (1, "a"), {"result": [1, "a"]}),
    (set[int], {1}, {"result": [1]}),
    (int | str, "a", {"result": "a"}),
    (Weather | None, Weather(sky="a"), {"result": {"sky": "a"}}),
    (str | None, None, {"result": None}),
    (Literal["a"], "a", {"result": "a"}),
    (dict[int, str], {1: "a"}, {"result": {"1": "a"}}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[str, Any], {"result": 1}, {"result": 1}),
    (Weather, Weather(sky="a"), {"sky": "a"}),
    (Point, Point(1), {"x": 1}),
    (Film, {"title": "a"}, {"title": "a"}),
    (Declared, Declared(1), {"size": 1}),
    (Any, {"a": 1}, None),
    (dict, {"a": 1}, None),
]


@pytest.mark.parametrize(("kind", "value", "structured"), RETURNED, ids=lambda it: str(it)[:30])
async def test_b83_objects_are_sent_as_they_are_and_all_else_under_result(
    kind: Any, value: Any, structured: Any, mode: str
) -> None:
    """Whether a result was wrapped varied by type, and clients guessed wrong. The listed schema tells."""

    def f() -> Any:
        return value

    f.__annotations__["return"] = kind
    async with Client(serving(f), mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("f")

    assert result.structured_content == structured
    assert (tool.output_schema is None) == (structured is None)
    if tool.output_schema is not None:
        assert jsonschema_rs.validator_for(tool.output_schema).is_valid(structured)
        assert tool.output_schema["type"] == "object"


# B84


class Node(BaseModel):
    name: str
    parts: "list[Node]" = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Exact(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int


class Everything(BaseModel):
    node: Node
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    exact: Exact


def difficult(node: Node, pet: Annotated[Cat | Dog, Field(discriminator="kind")], exact: Exact) -> Everything:
    return Everything(node=node, pet=pet, exact=exact)


GOOD: dict[str, Any] = {
    "node": {"name": "a", "parts": [{"name": "b", "parts": []}]},
    "pet": {"kind": "dog"},
    "exact": {"n": 1},
}
CHANGES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"node": {"name": "a", "parts": [{}]}}, False),
    ({"pet": {"kind": "cow"}}, False),
    ({"pet": {}}, False),
    ({"exact": {"n": 1, "m": 2}}, False),
]


@pytest.mark.parametrize(("change", "fits"), CHANGES)
async def test_b84_the_listed_schemas_judge_as_the_tool_does(change: dict[str, Any], fits: bool, mode: str) -> None:
    """References, discriminators and closed objects got lost on the way to the list."""
    arguments = {**GOOD, **change}
    async with Client(serving(difficult), mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("difficult", arguments)

    assert tool.output_schema is not None
    for schema in (tool.input_schema, tool.output_schema):
        assert jsonschema_rs.validator_for(schema).is_valid(arguments) is fits
    assert result.is_error is not fits
    assert result.structured_content == (arguments if fits else None)


# B85


ELSEWHERE = "http://127.0.0.1:9/schema.json"
PASSWORDS = "file:///etc/passwd"


async def test_b85_a_reference_to_elsewhere_is_refused_and_not_fetched(mode: str) -> None:
    """A schema could make the library read what others have."""

    def given(value: Annotated[Any, WithJsonSchema({"$ref": ELSEWHERE})]) -> str:
        return repr(value)

    def returned() -> dict[str, Annotated[Any, WithJsonSchema({"$ref": ELSEWHERE})]]:
        return {"a": 1}

    async with Client(serving(given, returned), mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            assert only_text(await client.call_tool("given", {"value": 1})) == "1"
            with pytest.raises(RuntimeError, match=ELSEWHERE):
                await client.call_tool("returned")


async def test_b85_a_result_in_doubt_is_refused_without_fetching(mode: str) -> None:
    """Where the server itself holds a result against its schema, it fetches nothing either."""

    def doubtful() -> dict[str, Annotated[float, WithJsonSchema({"$ref": ELSEWHERE})]]:
        return {"a": float("nan")}

    async with Client(serving(doubtful), mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            result = await client.call_tool("doubtful")

    assert result.is_error
    assert ELSEWHERE in only_text(result)


def test_b85_a_reference_to_a_file_is_refused_at_registration() -> None:
    """It was a bare `KeyError`."""

    def given(value: Annotated[Any, WithJsonSchema({"$ref": PASSWORDS})]) -> None: ...

    def returned() -> dict[str, Annotated[Any, WithJsonSchema({"$ref": PASSWORDS})]]:
        return {}

    with pytest.raises(InvalidSignature, match=f"parameter 'value': its schema refers to {PASSWORDS!r}"):
        serving(given)
    with pytest.raises(InvalidSignature, match="not serializable for structured output"):
        MCPServer("typed").add_tool(returned, structured_output=True)
