"""Reports about the output schemas of tools: too strict for real servers, and a way to make others fetch things."""

import logging
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from connections import (
    SECONDS_OF_PATIENCE,
    Transport,
    connected,
    only_text,
    over_http,
    text_of,
)
from pitfall_server import Context

from mcp import Client, MCPError, types
from mcp.client.output_schema import ValidateOutput
from mcp.server import Server

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# B43


async def test_b43_a_result_without_the_promised_structure_says_how_to_go_on(transport: Transport, mode: str) -> None:
    """The client refused what many servers return, and there was no way to turn that off."""
    async with connected(transport, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RuntimeError) as caught:
            await client.call_tool("forecast")
        assert "Tool forecast has an output schema but did not return structured content" in str(caught.value)
        assert "validate_output='warn' or 'off'" in str(caught.value)
        assert await text_of(client, "echo", text="next") == "next"


async def test_b43_without_the_check_the_text_comes_through(transport: Transport, mode: str) -> None:
    """The way to turn it off."""
    async with connected(transport, mode=mode, validate_output="off") as client:
        assert await text_of(client, "forecast") == "rain"


@asyncio_only
async def test_b43_with_a_warning_the_text_comes_through_too(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """The way to keep an eye on it."""
    async with connected("memory", mode=mode, validate_output="warn") as client:
        with caplog.at_level(logging.WARNING, "mcp"):
            assert await text_of(client, "forecast") == "rain"

    assert "Tool forecast has an output schema" in caplog.text


def server_with(
    schema: dict[str, Any], content: "dict[str, Any] | None" = None, *, is_error: bool = False
) -> Server[Any]:
    """A server whose one tool has this output schema and returns this."""

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tool = types.Tool(name="odd", input_schema={"type": "object"}, output_schema=schema)
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = types.TextContent(text="the text")
        fails = (params.arguments or {}).get("is_error", is_error)
        return types.CallToolResult(content=[text], structured_content=content, is_error=fails)

    return Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)


STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@asyncio_only
@pytest.mark.parametrize(
    ("schema", "content"),
    [
        (STRICT, {}),
        (STRICT, {"n": "1"}),
        (STRICT, {"n": None}),
        ({"allOf": [False]}, {"n": 1}),
        ({"type": "no such type"}, {"n": 1}),
        ({"pattern": "("}, {"n": 1}),
        ({"$ref": "#/$defs/missing"}, {"n": 1}),
        ({"$schema": "https://example.com/a-dialect-of-their-own"}, {"n": 1}),
    ],
)
async def test_b43_whatever_breaks_the_check_can_be_turned_off(
    schema: dict[str, Any], content: dict[str, Any], mode: str
) -> None:
    """The same for every other way in which result and schema do not fit, and for schemas that are none."""
    server = server_with(schema, content)

    async with Client(server, mode=mode) as client:
        with pytest.raises(RuntimeError, match=r"tool odd(?s:.*)validate_output='warn' or 'off'"):
            await client.call_tool("odd")
    for validate_output in ("warn", "off"):
        async with Client(server, mode=mode, validate_output=validate_output) as client:
            assert only_text(await client.call_tool("odd")) == "the text"


# B44


async def test_b44_the_message_of_a_failing_tool_comes_through(transport: Transport, mode: str) -> None:
    """The message of a tool that failed was replaced by a complaint that it returned no structure."""
    async with connected(transport, mode=mode) as client:
        await client.list_tools()
        for _ in range(2):
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                result = await client.call_tool("stumble")
            assert result.is_error
            assert only_text(result) == "the cupboard is locked"
            assert result.structured_content is None


@asyncio_only
@pytest.mark.parametrize("content", [{}, {"n": "many"}, {"n": 1}])
@pytest.mark.parametrize("validate_output", ["error", "warn"])
async def test_b44_so_does_what_structure_it_has(
    content: dict[str, Any], validate_output: ValidateOutput, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The same where the failure has a structure of its own."""
    server = server_with(STRICT, content, is_error=True)
    async with Client(server, mode=mode, validate_output=validate_output) as client:
        result = await client.call_tool("odd")

    assert result.is_error
    assert only_text(result) == "the text"
    assert result.structured_content == content
    assert caplog.records == []


@asyncio_only
async def test_b44_a_success_is_still_checked_after_a_failure(mode: str) -> None:
    """To leave failures alone must not turn the check off for the tool."""
    server = server_with(STRICT, is_error=True)
    async with Client(server, mode=mode) as client:
        assert (await client.call_tool("odd")).is_error
        with pytest.raises(RuntimeError, match="did not return structured content"):
            await client.call_tool("odd", {"is_error": False})


# B85


class Visits:
    """A listener that counts who comes."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self.port: int = listener.getsockname()[1]

    def nobody_came(self) -> bool:
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return True
        return False


@contextmanager
def listening() -> Generator[Visits, None, None]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Visits(listener)


REMOTE_SCHEMAS: dict[str, dict[str, Any]] = {
    "ref": {"$ref": "BASE/schema.json"},
    "ref with fragment": {"$ref": "BASE/schema.json#/$defs/a"},
    "dynamic ref": {"$dynamicRef": "BASE/schema.json#a"},
    "relative to a remote id": {"$id": "BASE/root.json", "$ref": "schema.json"},
    "in a property": {"type": "object", "properties": {"n": {"$ref": "BASE/schema.json"}}},
    "in definitions": {"$defs": {"a": {"$ref": "BASE/schema.json"}}, "$ref": "#/$defs/a"},
    "below a choice": {"anyOf": [{"type": "object"}, {"not": {"$ref": "BASE/schema.json"}}]},
    "dialect": {"$schema": "BASE/schema.json"},
    "older dialect": {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"$ref": "BASE/schema.json"}]},
    "host of a share": {"$ref": "file://127.0.0.1/share/schema.json"},
    "another scheme": {"$ref": "ftp://127.0.0.1/schema.json"},
}


def _at(base: str, schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _at(base, value) for key, value in schema.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(schema, list):
        return [_at(base, value) for value in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema.replace("BASE", base) if isinstance(schema, str) else schema


async def refusal_of(schema: dict[str, Any], mode: str = "auto") -> str:
    """What a caller is told of a tool with this output schema."""
    async with Client(server_with(schema, {"n": 1}), mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RuntimeError) as caught:
            await client.call_tool("odd")
    return str(caught.value)


@asyncio_only
@pytest.mark.parametrize("schema", REMOTE_SCHEMAS.values(), ids=REMOTE_SCHEMAS)
async def test_b85_a_schema_never_makes_the_client_reach_over_the_network(schema: dict[str, Any], mode: str) -> None:
    """A server could make its clients call any address, also within their own network, by a reference in a schema."""
    with listening() as visits:
        base = f"http://127.0.0.1:{visits.port}"
        refusal = await refusal_of(_at(base, schema), mode)
        assert visits.nobody_came()

    assert "Invalid schema for tool odd" in refusal
    assert "never fetched" in refusal or "Unknown meta-schema" in refusal or "not supported" in refusal


@asyncio_only
@pytest.mark.skipif(sys.platform == "win32", reason="needs a named pipe")
@pytest.mark.parametrize("schema", list(REMOTE_SCHEMAS.values())[:9], ids=list(REMOTE_SCHEMAS)[:9])
async def test_b85_a_schema_never_makes_the_client_read_a_file(
    schema: dict[str, Any], mode: str, tmp_path: Path
) -> None:
    """A server could have its clients read their own files, and tell of what they hold in error messages."""
    os.mkfifo(tmp_path / "schema.json")

    refusal = await refusal_of(_at(f"file://{tmp_path}", schema), mode)

    assert "Invalid schema for tool odd" in refusal
    # Whoever opens a named pipe to read waits for a writer; one that finds no reader is told so.
    with pytest.raises(OSError, match="No such device"):
        os.open(tmp_path / "schema.json", os.O_WRONLY | os.O_NONBLOCK)


@asyncio_only
async def test_b85_the_refusal_names_the_reference(mode: str) -> None:
    """The very reference that was reported."""
    refusal = await refusal_of({"$ref": "file:///etc/passwd"}, mode)

    assert '"file:///etc/passwd"' in refusal
    assert "never fetched" in refusal
    assert "root:" not in refusal


@asyncio_only
@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/n"}}},
        {"$id": "https://example.com/root", "$defs": {"n": {"$id": "n", "type": "integer"}}, "not": {"$ref": "n"}},
        {"properties": {"child": {"$ref": "#"}}},
        {"$ref": "#"},
        {"anyOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, True]},
    ],
)
async def test_b85_references_within_the_schema_work(schema: dict[str, Any], mode: str) -> None:
    """To refuse every reference would break most schemas that are generated."""
    async with Client(server_with(schema, {"n": 1}), mode=mode) as client:
        assert only_text(await client.call_tool("odd")) == "the text"


@asyncio_only
async def test_b85_a_server_that_checks_headers_fetches_nothing_either(mode: str) -> None:
    """The same on the server, which looks into input schemas that may come from elsewhere."""
    with listening() as visits:
        reference = f"http://127.0.0.1:{visits.port}/schema.json"
        schema = {"type": "object", "properties": {"a": {"$ref": reference}, "b": {"x-mcp-header": "B", "$ref": "#"}}}

        async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
            return types.CallToolResult(content=[types.TextContent(text="called")])

        server = Server("checks", get_tool_input_schema=lambda name: schema, on_call_tool=call_tool)
        with over_http(server.streamable_http_app()) as url:
            async with Client(url, mode=mode) as client:
                # Whether the call passes is not the point here.
                with anyio.fail_after(SECONDS_OF_PATIENCE), suppress(MCPError):
                    await client.call_tool("any", {"a": 1})
        assert visits.nobody_came()
