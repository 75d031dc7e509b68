"""Arguments that a client sends in `Mcp-Param-*` headers as well, because the tool's listing says so."""

import base64
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from enum import IntEnum
from types import TracebackType
from typing import Any, Literal

import anyio
import pytest
from pydantic import BaseModel
from scripted_http_server import Posted, Reply, serve
from uvicorn_server import listening

from mcp import Client, ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types.jsonrpc import HEADER_MISMATCH

pytestmark = pytest.mark.anyio

Schema = dict[str, Any]


def properties(**schemas: Schema) -> Schema:
    return {"type": "object", "properties": schemas}


def annotated(name: object, type: str = "string") -> Schema:
    return {"type": type, "x-mcp-header": name}


QUERY = properties(
    region=annotated("Region"),
    rows=annotated("Rows", "integer"),
    dry=annotated("Dry-Run", "boolean"),
    sql={"type": "string"},
    target=properties(zone=annotated("Zone")),
)


class Bank:
    """A server that lists tools page by page, and wants the headers in `wanted` with every call of `query`."""

    def __init__(self, *pages: dict[str, Schema], wanted: dict[str, str] | None = None, hints: Schema | None = None):
        self.pages = pages or ({"query": QUERY},)
        self.wanted = wanted
        self.hints = hints or {}
        self.listings = 0
        self.calls: list[dict[str, str]] = []
        self.listing_error: Schema | None = None
        self.silent_listing = False

    async def __call__(self, request: Posted, reply: Reply) -> None:
        message = request.message
        if message["method"] == "tools/list":
            await self._list(request, reply)
            return
        assert message["method"] == "tools/call"
        headers = {name: value for name, value in request.headers.items() if name.startswith("mcp-param-")}
        self.calls.append(headers)
        if self.wanted is not None and message["params"]["name"] == "query" and headers != self.wanted:
            await refuse(request, reply, HEADER_MISMATCH, "Header mismatch")
            return
        await reply.result(request, {"resultType": "complete", "content": []})

    async def _list(self, request: Posted, reply: Reply) -> None:
        self.listings += 1
        if self.silent_listing:
            await anyio.sleep_forever()
        if self.listing_error is not None:
            await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "error": self.listing_error})
            return
        index = int(request.message["params"].get("cursor", 0))
        listed = [{"name": name, "inputSchema": schema} for name, schema in self.pages[index].items()]
        more = {"nextCursor": str(index + 1)} if index + 1 < len(self.pages) else {}
        await reply.result(request, {"resultType": "complete", "tools": listed, **more, **self.hints})


async def refuse(request: Posted, reply: Reply, code: int, text: str) -> None:
    error = {"code": code, "message": text}
    await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, "400 Bad Request")


@asynccontextmanager
async def connected(bank: Bank, **options: Any) -> AsyncGenerator[Client, None]:
    with anyio.fail_after(20):
        async with serve(bank) as server, Client(server.url, mode="2026-07-28", **options) as client:
            yield client


async def headers_of(arguments: dict[str, Any] | None, schema: Schema = QUERY) -> dict[str, str]:
    bank = Bank({"query": schema})
    async with connected(bank) as client:
        await client.list_tools()
        await client.call_tool("query", arguments)
    [headers] = bank.calls
    return {name.removeprefix("mcp-param-"): value for name, value in headers.items()}


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1", "sql": "select 1"}, {"region": "us-west1"}),
        ({"region": "eu", "rows": 42, "dry": True}, {"region": "eu", "rows": "42", "dry-run": "true"}),
        ({"rows": -7, "dry": False}, {"rows": "-7", "dry-run": "false"}),
        ({"rows": 2**53 - 1}, {"rows": "9007199254740991"}),
        ({"target": {"zone": "b"}}, {"zone": "b"}),
        ({"target": "b"}, {}),
        ({"target": None, "region": None}, {}),
        ({}, {}),
        (None, {}),
        ({"region": ""}, {"region": ""}),
        ({"region": "a b"}, {"region": "a b"}),
        ({"region": " a "}, {"region": encoded(" a ")}),
        ({"region": "a\nMcp-Param-Rows: 1"}, {"region": encoded("a\nMcp-Param-Rows: 1")}),
        ({"region": "Zürich"}, {"region": encoded("Zürich")}),
        ({"region": "=?base64?literal?="}, {"region": encoded("=?base64?literal?=")}),
    ],
)
async def test_annotated_arguments_travel_in_headers(arguments: dict[str, Any] | None, headers: dict[str, str]) -> None:
    assert await headers_of(arguments) == headers


class Floor(IntEnum):
    SECOND = 2


class Target(BaseModel):
    zone: str


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"rows": Floor.SECOND}, {"rows": "2"}),
        ({"region": date(2026, 7, 28)}, {"region": "2026-07-28"}),
        ({"target": Target(zone="c")}, {"zone": "c"}),
    ],
)
async def test_a_header_says_what_the_body_says_of_any_object(
    arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    assert await headers_of(arguments) == headers


async def test_what_cannot_be_sent_is_refused_before_it_is_sent() -> None:
    bank = Bank()
    async with connected(bank) as client:
        await client.list_tools()
        with pytest.raises(ValueError, match=r"Mcp-Param-Rows cannot carry the argument 'rows': an integer must be"):
            await client.call_tool("query", {"rows": 2**53})
        with pytest.raises(ValueError, match=r"lone surrogate at \$\.params\.arguments\.region"):
            await client.call_tool("query", {"region": "\ud800"})
        with pytest.raises(ValueError, match="cannot be written as JSON"):
            await client.call_tool("query", {"region": object()})
        await client.call_tool("query", {"rows": 1})
    assert bank.calls == [{"mcp-param-rows": "1"}]


async def test_a_request_by_hand_has_them_too_and_they_win_over_its_own() -> None:
    bank = Bank()
    own = {"MCP-Param-Region": "us", "X-Trace": "1"}
    async with connected(bank) as client:
        await client.list_tools()
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="query", arguments={"region": "eu"}))
        await client.session.send_request(request, types.CallToolResult, metadata=ClientMessageMetadata(headers=own))
    assert bank.calls == [{"mcp-param-region": "eu"}]


class Unnamed(types.RequestParams):
    name: Any = None
    arguments: Any = None


@pytest.mark.parametrize("name", [None, ["query"], 5])
async def test_a_call_by_hand_of_no_tool_has_none(name: object) -> None:
    async def refusing(request: Posted, reply: Reply) -> None:
        assert not [header for header in request.headers if header.startswith("mcp-param-")]
        await refuse(request, reply, HEADER_MISMATCH, "no such name")

    with anyio.fail_after(20):
        async with serve(refusing) as server, Client(server.url, mode="2026-07-28") as client:
            params = Unnamed(name=name, arguments=["eu"])
            with pytest.raises(MCPError, match="no such name"):
                await client.session.request("tools/call", params, types.CallToolResult)
    assert len(server.posted) == 1


# What the server wants is learned from its refusal.


async def test_a_tool_that_was_not_listed_yet_is_listed_and_called_again() -> None:
    bank = Bank({"other": QUERY}, {"query": QUERY}, {"never": QUERY}, wanted={"mcp-param-region": "eu"})
    async with connected(bank) as client:
        await client.call_tool("query", {"region": "eu"})
        assert bank.calls == [{}, {"mcp-param-region": "eu"}]
        assert bank.listings == 2
        await client.call_tool("query", {"region": "eu"})
    assert len(bank.calls) == 3
    assert bank.listings == 2


async def test_a_tool_that_changed_is_listed_and_called_again() -> None:
    bank = Bank(hints={"ttlMs": 60_000, "cacheScope": "private"})
    async with connected(bank) as client:
        await client.list_tools()
        await client.call_tool("query", {"region": "eu"})
        bank.pages = ({"query": properties(region=annotated("Area"))},)
        bank.wanted = {"mcp-param-area": "eu"}
        await client.call_tool("query", {"region": "eu"})
        assert bank.calls[1:] == [{"mcp-param-region": "eu"}, {"mcp-param-area": "eu"}]
        assert bank.listings == 2
        # What was kept of the old listing must not come back.
        await client.list_tools()
        await client.call_tool("query", {"region": "eu"})
    assert len(bank.calls) == 4


async def test_a_tool_that_lost_its_annotations_is_called_without_headers() -> None:
    bank = Bank()
    async with connected(bank) as client:
        await client.list_tools()
        bank.pages = ({"query": properties(region={"type": "string"})},)
        await client.list_tools(cache_mode="refresh")
        await client.call_tool("query", {"region": "eu"})
    assert bank.calls == [{}]


async def test_the_second_refusal_is_the_callers() -> None:
    bank = Bank(wanted={"mcp-param-nobody": "knows"})
    async with connected(bank) as client:
        with pytest.raises(MCPError, match="Header mismatch") as raised:
            await client.call_tool("query", {"region": "eu"})
        assert raised.value.code == HEADER_MISMATCH
        assert bank.calls == [{}, {"mcp-param-region": "eu"}]
        assert bank.listings == 1
        await client.call_tool("other")


async def test_a_refusal_of_another_kind_is_not_tried_again() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await refuse(request, reply, -32602, "no")

    with anyio.fail_after(20):
        async with serve(handler) as server, Client(server.url, mode="2026-07-28") as client:
            with pytest.raises(MCPError, match="no"):
                await client.call_tool("query", {"region": "eu"})
    assert len(server.posted) == 1


async def test_without_a_listing_the_refusal_stands() -> None:
    bank = Bank(wanted={"mcp-param-region": "eu"})
    bank.listing_error = {"code": -32601, "message": "Method not found"}
    async with connected(bank) as client:
        with pytest.raises(MCPError, match="Header mismatch") as raised:
            await client.call_tool("query", {"region": "eu"})
    assert isinstance(raised.value.__cause__, MCPError)
    assert raised.value.__cause__.code == -32601
    assert bank.calls == [{}]


async def test_a_listing_that_does_not_come_leaves_the_refusal_within_the_time_limit() -> None:
    bank = Bank(wanted={"mcp-param-region": "eu"})
    bank.silent_listing = True
    async with connected(bank) as client:
        with pytest.raises(MCPError, match="Header mismatch"):
            await client.call_tool("query", {"region": "eu"}, read_timeout_seconds=0.2)
    assert bank.calls == [{}]


async def test_calls_that_are_refused_at_once_share_one_listing() -> None:
    bank = Bank(wanted={"mcp-param-region": "eu"})
    async with connected(bank) as client, anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(client.call_tool, "query", {"region": "eu"})
    assert bank.listings == 1
    assert bank.calls.count({"mcp-param-region": "eu"}) == 20


# Tools whose annotations break the specification.

BAD: dict[str, Schema] = {
    "number": properties(a=annotated("A", "number")),
    "empty": properties(a=annotated("")),
    "twice": properties(a=annotated("A"), b=annotated("a")),
    "deep": properties(a={"type": "array", "items": annotated("A")}),
}


async def test_they_are_left_out_and_a_warning_says_why(caplog: pytest.LogCaptureFixture) -> None:
    bank = Bank({"good": QUERY, **BAD}, {"fine": properties(a={"type": "string"})})
    async with connected(bank) as client:
        listing = await client.list_tools()
        assert [tool.name for tool in listing.tools] == ["good"]
        assert listing.next_cursor == "1"
        listing = await client.list_tools(cursor=listing.next_cursor)
        assert [tool.name for tool in listing.tools] == ["fine"]
        warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == len(BAD)
        for name, text in zip(BAD, warnings, strict=True):
            assert text.startswith(f"left tool {name!r} out of the listing, since its input schema is invalid: ")
        assert "properties/a/items: x-mcp-header is only allowed on" in warnings[-1]
        # Once is enough, until something changes.
        await client.list_tools(cache_mode="refresh")
        assert len(caplog.records) == len(BAD)
        bank.pages = ({**BAD, "twice": properties(a=annotated(5))},)
        await client.list_tools(cache_mode="refresh")
        assert "properties/a: x-mcp-header must be a string, got int" in caplog.records[-1].getMessage()
        assert len(caplog.records) == len(BAD) + 1
        bank.pages = ({"twice": properties(a=annotated("A"))},)
        assert [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools] == ["twice"]
        await client.call_tool("twice", {"a": "x"})
    assert bank.calls == [{"mcp-param-a": "x"}]


async def test_one_of_them_is_called_without_headers_by_whoever_knows_it(caplog: pytest.LogCaptureFixture) -> None:
    bank = Bank(BAD)
    async with connected(bank) as client:
        await client.list_tools()
        await client.call_tool("twice", {"a": "x", "b": "y"})
    assert bank.calls == [{}]
    assert bank.listings == 1


async def test_a_kept_listing_leaves_them_out_too(caplog: pytest.LogCaptureFixture) -> None:
    bank = Bank({"good": QUERY, **BAD}, hints={"ttlMs": 60_000, "cacheScope": "private"})
    async with connected(bank) as client:
        for _ in range(2):
            assert [tool.name for tool in (await client.list_tools()).tools] == ["good"]
    assert bank.listings == 1


# Streams of ours in a wrapper, and connections without headers.


class Watched:
    """A write stream that sees what passes, as instrumentation does."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.seen: list[SessionMessage] = []

    async def send(self, item: SessionMessage) -> None:
        self.seen.append(item)
        await self.inner.send(item)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> "Watched":
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


async def test_wrapped_streams_get_the_headers_with_the_message() -> None:
    bank = Bank(wanted={"mcp-param-region": "eu"})
    with anyio.fail_after(20):
        async with serve(bank) as server, streamable_http_client(server.url) as (read, write):
            watched = Watched(write)
            async with ClientSession(read, watched) as session:
                session.adopt(
                    types.DiscoverResult(supported_versions=["2026-07-28"], capabilities=types.ServerCapabilities())
                )
                await session.call_tool("query", {"region": "eu"})
    assert bank.calls == [{}, {"mcp-param-region": "eu"}]
    assert [item.metadata for item in watched.seen] == [
        None,
        None,
        ClientMessageMetadata(headers={"Mcp-Param-Region": "eu"}),
    ]


Context = ServerRequestContext[Any, Any]


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = {"query": QUERY, **BAD}
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name, schema in tools.items()])


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    headers: dict[str, str] = {} if ctx.request is None else dict(ctx.request.headers)
    assert not [name for name in headers if name.startswith("mcp-param-")]
    return types.CallToolResult(content=[], structured_content=params.arguments)


@pytest.mark.parametrize(
    ("where", "mode"),
    [("memory", "2026-07-28"), ("memory", "legacy"), ("http", "legacy")],
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_annotations_mean_nothing_without_headers_or_in_older_revisions(
    where: str, mode: Literal["2026-07-28", "legacy"]
) -> None:
    server = Server("bank", on_list_tools=list_tools, on_call_tool=call_tool)
    async with AsyncExitStack() as stack:
        target: Any = server
        if where == "http":
            port = await stack.enter_async_context(listening(server.streamable_http_app()))
            target = f"http://127.0.0.1:{port}/mcp"
        client = await stack.enter_async_context(Client(target, mode=mode))
        with anyio.fail_after(20):
            assert [tool.name for tool in (await client.list_tools()).tools] == ["query", *BAD]
            arguments = {"region": "eu", "rows": 2**53}
            assert (await client.call_tool("query", arguments)).structured_content == arguments
