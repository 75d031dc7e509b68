"""A tool's result is checked against the output schema that the tool lists."""

import logging
from typing import Any, Literal

import house
import jsonschema_rs
import pytest
from house import Target

from mcp import Client, MCPError, types
from mcp.client._schema_size import check_schema_size
from mcp.client.output_schema import OutputSchemas
from mcp.server import Server

pytestmark = pytest.mark.anyio

SKIP = "\n(pass validate_output='warn' or 'off' to Client to go on without this check)"
INTEGER: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
Mode = Literal["error", "warn", "off"]


class Shop:
    """A server with one tool, that counts how often it is asked for its tools."""

    def __init__(self, schema: dict[str, Any] | None, content: Any, *, is_error: bool = False) -> None:
        self.schema = schema
        self.content = content
        self.is_error = is_error
        self.listings = 0
        self.server = Server("shop", on_list_tools=self.list_tools, on_call_tool=self.call_tool)

    async def list_tools(
        self, ctx: house.Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self.listings += 1
        return types.ListToolsResult(
            tools=[types.Tool(name="sell", input_schema={"type": "object"}, output_schema=self.schema)]
        )

    async def call_tool(self, ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=self.content, is_error=self.is_error)


async def sold(shop: Shop, mode: Mode = "error") -> types.CallToolResult:
    async with Client(shop.server, validate_output=mode) as client:
        return await client.call_tool("sell")


async def problem(shop: Shop) -> str:
    with pytest.raises(RuntimeError) as raised:
        await sold(shop)
    return str(raised.value)


async def test_content_that_keeps_to_the_schema_is_returned() -> None:
    assert (await sold(Shop(INTEGER, {"x": 1}))).structured_content == {"x": 1}


async def test_content_that_breaks_the_schema_is_an_error_that_says_where_and_how() -> None:
    assert await problem(Shop(INTEGER, {"x": "many"})) == (
        'Invalid structured content returned by tool sell: "many" is not of type "integer"\n'
        "on instance['x'], checked against schema['properties']['x']['type']" + SKIP
    )


async def test_a_place_deep_inside_is_named() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": INTEGER}}}
    text = await problem(Shop(schema, {"rows": [{"x": 1}, {"x": None}]}))
    assert "\non instance['rows'][1]['x'], checked against " in text


async def test_no_content_at_all_breaks_every_schema() -> None:
    text = await problem(Shop({"type": "object"}, None))
    assert text == "Tool sell has an output schema but did not return structured content" + SKIP


async def test_a_tool_without_a_schema_returns_what_it_likes() -> None:
    assert (await sold(Shop(None, {"x": "many"}))).structured_content == {"x": "many"}
    assert (await sold(Shop(None, None))).structured_content is None


@pytest.mark.parametrize("content", [[1, 2], "text", 5, False])
async def test_content_need_not_be_an_object(content: Any) -> None:
    assert (await sold(Shop({}, content))).structured_content == content


async def test_a_failed_tool_need_not_keep_to_its_schema() -> None:
    shop = Shop(INTEGER, None, is_error=True)
    assert (await sold(shop)).is_error
    assert shop.listings == 0


async def test_a_broken_promise_over_every_transport(target: Target) -> None:
    async with Client(target) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content returned by tool miscount"):
            await client.call_tool("miscount")
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


# What to do about it.


async def test_a_warning_may_do(caplog: pytest.LogCaptureFixture) -> None:
    assert (await sold(Shop(INTEGER, {"x": "many"}), "warn")).structured_content == {"x": "many"}
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.getMessage().startswith("Invalid structured content returned by tool sell")
    assert SKIP not in record.getMessage()


async def test_not_looking_may_do(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(INTEGER, {"x": "many"})
    assert (await sold(shop, "off")).structured_content == {"x": "many"}
    assert shop.listings == 0
    assert caplog.text == ""


# Schemas that are none.

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"type": "banana"}, "banana"),
    "pattern": ({"properties": {"x": {"pattern": "(("}}}, "regex"),
    "dangling": ({"$ref": "#/$defs/none"}, "/$defs/none"),
    "remote": ({"$ref": "http://schemas.test/x.json"}, "schemas are never fetched"),
    "file": ({"$ref": "file:///etc/passwd"}, "schemas are never fetched"),
    "dialect": ({"$schema": "https://schemas.test/own-dialect"}, "https://schemas.test/own-dialect"),
}


@pytest.mark.parametrize(("schema", "why"), BROKEN.values(), ids=BROKEN)
async def test_a_schema_that_is_none_is_an_error_of_its_own(schema: dict[str, Any], why: str) -> None:
    text = await problem(Shop(schema, {"x": "y"}))
    assert text.startswith("Invalid schema for tool sell: ")
    assert why in text
    assert text.endswith(SKIP)


async def test_a_schema_that_is_none_may_be_put_up_with(caplog: pytest.LogCaptureFixture) -> None:
    assert (await sold(Shop({"type": "banana"}, {"x": 1}), "warn")).structured_content == {"x": 1}
    assert "Invalid schema for tool sell" in caplog.text
    assert (await sold(Shop({"type": "banana"}, {"x": 1}), "off")).structured_content == {"x": 1}


async def test_a_schema_too_deep_to_compile_is_an_error_of_its_own() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"x": schema}}
    # No server of ours would write such a schema, so this one did not arrive.
    schemas = OutputSchemas()
    schemas.absorb([types.Tool(name="sell", input_schema={}, output_schema=schema)])
    with pytest.raises(RuntimeError, match="Invalid schema for tool sell: Recursion limit"):
        schemas.check("sell", types.CallToolResult(content=[], structured_content={"x": 1}))


async def test_a_schema_that_refers_to_itself_is_followed() -> None:
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
    assert (await sold(Shop(schema, {"child": {"child": {}}}))).structured_content == {"child": {"child": {}}}
    assert "on instance['child']['child']" in await problem(Shop(schema, {"child": {"child": {"kid": 1}}}))


# Dialects: the same words mean different things.

TUPLE: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "array", "items": [{"type": "integer"}]}}}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


async def test_a_schema_is_read_in_the_dialect_it_names() -> None:
    assert "is not of type" in await problem(Shop({**DRAFT_7, **TUPLE}, {"x": ["one"]}))
    assert (await sold(Shop({**DRAFT_7, **TUPLE}, {"x": [1, "two"]}))).structured_content == {"x": [1, "two"]}


async def test_a_schema_that_names_no_dialect_is_read_as_2020_12() -> None:
    assert (await problem(Shop(TUPLE, {"x": [1]}))).startswith("Invalid schema for tool sell: ")
    prefix = {"type": "object", "properties": {"x": {"prefixItems": [{"type": "integer"}], "items": False}}}
    assert "instance['x']" in await problem(Shop(prefix, {"x": [1, "two"]}))


# Where schemas come from.


async def test_a_tool_that_was_listed_before_is_not_looked_up() -> None:
    shop = Shop(INTEGER, {"x": 1})
    async with Client(shop.server) as client:
        await client.list_tools()
        await client.call_tool("sell")
        await client.call_tool("sell")
    assert shop.listings == 1


async def test_a_tool_that_was_not_listed_is_looked_up_once() -> None:
    shop = Shop(INTEGER, {"x": 1})
    async with Client(shop.server) as client:
        await client.call_tool("sell")
        await client.call_tool("sell")
    assert shop.listings == 1


async def test_a_new_listing_replaces_a_schema() -> None:
    shop = Shop(INTEGER, {"x": "many"})
    async with Client(shop.server) as client:
        with pytest.raises(RuntimeError):
            await client.call_tool("sell")
        shop.schema = {"type": "object", "properties": {"x": {"type": "string"}}}
        await client.list_tools()
        await client.call_tool("sell")
        shop.schema = None
        await client.list_tools()
        await client.call_tool("sell")


async def test_a_tool_that_its_server_does_not_list_goes_unchecked_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shop = Shop(INTEGER, {"x": "many"})
    async with Client(shop.server) as client:
        for _ in range(2):
            assert (await client.call_tool("give")).structured_content == {"x": "many"}
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["Tool give not listed by server, cannot validate any structured content"]
    assert shop.listings == 1


async def test_a_server_that_lists_no_tools_can_be_called(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(INTEGER, {"x": "many"})
    async with Client(Server("shop", on_call_tool=shop.call_tool)) as client:
        with caplog.at_level(logging.DEBUG, "client"):
            for _ in range(2):
                assert (await client.call_tool("sell")).structured_content == {"x": "many"}
    assert not caplog.records


async def test_a_listing_that_fails_is_tried_again_with_the_next_call(caplog: pytest.LogCaptureFixture) -> None:
    listings: list[bool] = []

    async def list_tools(ctx: house.Context, params: house.Page) -> types.ListToolsResult:
        listings.append(True)
        if len(listings) == 1:
            raise MCPError(-32000, "try later")
        return types.ListToolsResult(tools=[types.Tool(name="sell", input_schema={"type": "object"})])

    shop = Shop(INTEGER, {"x": "many"})
    async with Client(Server("shop", on_list_tools=list_tools, on_call_tool=shop.call_tool)) as client:
        for _ in range(3):
            assert (await client.call_tool("sell")).structured_content == {"x": "many"}
    assert len(listings) == 2
    assert "tools/list failed, so this result of tool sell goes unchecked: try later" in caplog.text


async def test_the_page_with_the_tool_is_looked_for() -> None:
    seen: list[str | None] = []

    async def list_tools(ctx: house.Context, params: house.Page) -> types.ListToolsResult:
        cursor = params.cursor if params else None
        seen.append(cursor)
        number = int(cursor or "0")
        return types.ListToolsResult(
            tools=[types.Tool(name=f"t{number}", input_schema={"type": "object"}, output_schema=INTEGER)],
            next_cursor=str(number + 1) if number < 9 else None,
        )

    shop = Shop(INTEGER, {"x": "many"})
    async with Client(Server("shop", on_list_tools=list_tools, on_call_tool=shop.call_tool)) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content returned by tool t2"):
            await client.call_tool("t2")
        assert seen == [None, "1", "2"]
        with pytest.raises(RuntimeError, match="Invalid structured content returned by tool t1"):
            await client.call_tool("t1")
        assert seen == [None, "1", "2"]


@pytest.mark.parametrize("cycle", [["a"], ["a", "b"]], ids=str)
async def test_pages_that_go_round_in_a_circle_end_the_search(cycle: list[str]) -> None:
    listings = 0

    async def list_tools(ctx: house.Context, params: house.Page) -> types.ListToolsResult:
        nonlocal listings
        listings += 1
        return types.ListToolsResult(tools=[], next_cursor=cycle[listings % len(cycle)])

    shop = Shop(INTEGER, {"x": "many"})
    async with Client(Server("shop", on_list_tools=list_tools, on_call_tool=shop.call_tool)) as client:
        assert (await client.call_tool("sell")).structured_content == {"x": "many"}
    assert listings <= 1000


# Checking by hand.


async def test_a_result_may_be_checked_by_hand() -> None:
    shop = Shop(INTEGER, {"x": 1})
    async with Client(shop.server) as client:
        good = types.CallToolResult(content=[], structured_content={"x": 1})
        await client.session.validate_tool_result("sell", good)
        assert shop.listings == 1
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.session.validate_tool_result(
                "sell", types.CallToolResult(content=[], structured_content={"x": "many"})
            )
        await client.session.validate_tool_result("other", types.CallToolResult(content=[], is_error=True))
    assert shop.listings == 1


async def test_a_lookup_that_fails_does_not_hide_the_result_of_the_call() -> None:
    shop = Shop(INTEGER, {"x": "many"})

    async def list_tools(ctx: house.Context, params: house.Page) -> types.ListToolsResult:
        raise MCPError(-32050, "not today")

    async with Client(Server("shop", on_list_tools=list_tools, on_call_tool=shop.call_tool)) as client:
        assert (await client.call_tool("sell")).structured_content == {"x": "many"}


def bomb(levels: int, *, by_anchor: bool = False) -> dict[str, Any]:
    """A small schema in which each level refers to the next one four times."""
    path = "#" if by_anchor else "#/$defs/"
    shelf: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"{path}d{i + 1}"}] * 4} for i in range(levels)}
    shelf[f"d{levels}"] = {"type": "object"}
    if by_anchor:
        for name, schema in shelf.items():
            schema["$anchor"] = name
    return {"$defs": shelf, "$ref": f"{path}d0"}


@pytest.mark.parametrize("by_anchor", [False, True])
async def test_a_small_schema_that_expands_without_end_is_refused(by_anchor: bool) -> None:
    # Nine levels are enough to be refused, and few enough to fail soon where they are not.
    text = await problem(Shop(bomb(9, by_anchor=by_anchor), {"x": 1}))
    assert text == f"Invalid schema for tool sell: the schema expands to more than 100000 subschemas{SKIP}"


async def test_a_property_named_like_a_shelf_of_definitions_counts() -> None:
    schema: dict[str, Any] = {**bomb(9), "properties": {"$defs": {"$ref": "#/$defs/d0"}}}
    del schema["$ref"]
    assert "expands to more than 100000 subschemas" in await problem(Shop(schema, {"x": 1}))


async def test_references_that_recur_or_are_shared_are_no_expansion_without_end() -> None:
    schema: dict[str, Any] = {**bomb(3), "properties": {"x": {"$ref": "#/$defs/node"}}}
    schema["$defs"]["node"] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    await sold(Shop(schema, {"x": {"next": {"next": {}}}}))


def test_a_schema_deeper_than_the_recursion_limit_is_invalid() -> None:
    def deep() -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(20_000):
            schema = {"not": schema}
        return schema

    schemas = OutputSchemas()
    for _ in range(2):
        schemas.absorb([types.Tool.model_construct(name="sell", input_schema={}, output_schema=deep())])
    with pytest.raises(RuntimeError, match="the schema nests deeper than 1000 levels"):
        schemas.check("sell", types.CallToolResult(content=[], structured_content={}))


async def test_whatever_the_compiler_raises_makes_the_schema_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    def overwhelmed(*args: object, **options: object) -> object:
        raise OverflowError("too much")

    monkeypatch.setattr(jsonschema_rs, "validator_for", overwhelmed)
    assert await problem(Shop(INTEGER, {"x": 1})) == f"Invalid schema for tool sell: too much{SKIP}"


@pytest.mark.parametrize("reference", ["#/x/1/a~1b", "acme:big", "acme:outer#/1/a~1b", "#/x/1/a%7E1b"])
def test_every_way_to_refer_to_a_part_of_the_schema_is_followed(reference: str) -> None:
    big: dict[str, Any] = {"$id": "acme:big", "enum": [{} for _ in range(30_000)]}
    schema: dict[str, Any] = {"x": [{}, {"a/b": big}], "allOf": [{"$ref": reference}] * 4}
    if reference.startswith("acme:outer"):
        schema = {"$defs": {"o": {"$id": "acme:outer", "1": {"a/b": big}}}, "allOf": [{"$ref": reference}] * 4}
    with pytest.raises(ValueError, match="expands to more than 100000 subschemas"):
        check_schema_size(schema)


@pytest.mark.parametrize(
    "reference", ["#/nowhere", "#/type/x", "#/allOf/7", "#nowhere", "acme:nowhere#/x", "#/allOf/x"]
)
def test_a_reference_to_nowhere_expands_to_nothing(reference: str) -> None:
    check_schema_size({"type": "object", "allOf": [{"$ref": reference}]})
