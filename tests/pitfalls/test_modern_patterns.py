"""What users reported of other features, asked of those that 2026-07-28 adds.

Rounds of questions, subscriptions, header parameters, and the response cache.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, eventually, over_http
from eras import MODERN
from http_sessions import CLIENT, HEADERS, Peer, call, message
from raw_peers import request
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

Context = ServerRequestContext[Any, Any]

TOOL = types.Tool(
    name="mark",
    input_schema={"type": "object", "properties": {"mark": {"type": "string", "x-mcp-header": "Mark"}}},
)
KEY = b"shared by all workers, and secret"
NAME = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Who?", requested_schema={"type": "object", "properties": {"name": {"type": "string"}}}
    )
)


class Worker:
    """A server with one of each: an annotated tool, one that asks, a stream of changes, a listing that may be kept."""

    def __init__(self, name: str = "worker", key: bytes = KEY) -> None:
        self.name = name
        self.bus = InMemorySubscriptionBus()
        self.served = 0
        self.listings = 0
        self.cursor: str | None = None
        self.tools = [TOOL]
        self.server = Server(
            "worker",
            version="1",
            cache_hints={"tools/list": CacheHint(ttl_ms=60_000, scope="public")},
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self.bus),
        )
        security = RequestStateSecurity(keys=[key])
        self.server.middleware.append(RequestStateBoundary(security, default_audience="worker"))

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self.listings += 1
        return types.ListToolsResult(tools=self.tools, next_cursor=self.cursor)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        self.served += 1
        seen: dict[str, Any] = {"tasks": len(asyncio.all_tasks()), "arguments": params.arguments}
        if params.name == "ask":
            answer = (params.input_responses or {}).get("name")
            if not isinstance(answer, types.ElicitResult):
                return types.InputRequiredResult(input_requests={"name": NAME}, request_state=self.name)
            seen |= {"name": answer.content, "asked by": params.request_state}
        if ctx.request is not None:
            seen["header"] = ctx.request.headers.get("mcp-param-mark")
        return types.CallToolResult(content=[], structured_content=seen)


def schema_of_mark(tool: str) -> dict[str, Any] | None:
    return TOOL.input_schema if tool == "mark" else None


async def name_oneself(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ann"})


@contextmanager
def in_turns(*workers: Worker) -> Generator[str, None, None]:
    """Serves the workers at one URL, each request by the next."""
    apps = [worker.server.streamable_http_app() for worker in workers]
    turns = cycle(apps)

    @asynccontextmanager
    async def lifespans(_: Starlette) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    async def next_one(scope: Any, receive: Any, send: Any) -> None:
        await next(turns)(scope, receive, send)

    with over_http(Starlette(routes=[Mount("/", app=next_one)], lifespan=lifespans)) as url:
        yield url


@asynccontextmanager
async def connected(worker: Worker, **options: Any) -> AsyncGenerator[Client, None]:
    with over_http(worker.server.streamable_http_app()) as url:
        async with Client(url, validate_output="off", **options) as client:
            yield client


# B63


async def test_b63_any_worker_serves_any_request_of_2026_07_28() -> None:
    workers = Worker("a"), Worker("b")
    for worker in workers:
        security = RequestStateSecurity(keys=[b"k" * 32])
        worker.server.middleware.append(RequestStateBoundary(security, default_audience="workers"))
    askers: set[str] = set()
    with in_turns(*workers) as url:
        async with Client(url, elicitation_callback=name_oneself, validate_output="off") as client:
            for number in range(50):
                if number % 3 == 0:
                    result = await client.call_tool("ask")
                    assert result.structured_content is not None
                    assert result.structured_content["name"] == {"name": "Ann"}
                    askers.add(result.structured_content["asked by"])
                else:
                    result = await client.call_tool("mark", {"mark": str(number)})
                    assert result.structured_content is not None
                    assert result.structured_content["header"] == str(number)
    assert min(worker.served for worker in workers) >= 25
    assert askers <= {"a", "b"}


async def test_b63_without_a_common_key_no_worker_takes_the_state_of_another() -> None:
    with in_turns(Worker(key=b"a" * 32), Worker(key=b"b" * 32)) as url:
        async with Client(url, elicitation_callback=name_oneself, validate_output="off") as client:
            for _ in range(10):
                with pytest.raises(MCPError, match="Invalid or expired requestState"):
                    await client.call_tool("ask")


async def test_b63_a_session_of_another_worker_is_a_404_that_says_so() -> None:
    http = httpx2.AsyncClient(timeout=SECONDS_OF_PATIENCE, trust_env=False)
    with in_turns(Worker(), Worker()) as url:
        peer = Peer(url, http)
        peer.session = (await peer.post(message("initialize", CLIENT))).headers["mcp-session-id"]
        answer = await peer.post(call("ask"))
        await http.aclose()
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "Session not found"


# B67


async def test_b67_the_headers_of_one_call_do_not_reach_another() -> None:
    worker = Worker()
    with over_http(worker.server.streamable_http_app()) as url:
        async with Client(url, validate_output="off") as ann, Client(url, validate_output="off") as bob:

            async def calls(client: Client, name: str) -> None:
                for number in range(500):
                    mark = f"{name} {number}"
                    result = await client.call_tool("mark", {"mark": mark})
                    assert result.structured_content is not None
                    assert (result.structured_content["header"], result.structured_content["arguments"]) == (
                        mark,
                        {"mark": mark},
                    )

            async with anyio.create_task_group() as group:
                group.start_soon(calls, ann, "ann")
                group.start_soon(calls, bob, "bob")
    # Neither client had listed the tools, and each needed to be told so once.
    assert worker.served == 1000


# B48


async def test_b48_a_cursor_that_repeats_holds_up_no_call() -> None:
    worker = Worker()
    worker.cursor = "the same again"
    async with connected(worker) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            await client.call_tool("unlisted", {"mark": "a"})
            assert worker.listings <= 3
            await client.call_tool("mark", {"mark": "a"})


async def test_b48_nor_one_that_is_refused_for_its_headers() -> None:
    worker = Worker()
    worker.server.get_tool_input_schema = schema_of_mark
    worker.tools, worker.cursor = [], "the same again"
    async with connected(worker) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError, match="Mcp-Param-Mark header is missing"):
            await client.call_tool("mark", {"mark": "a"})
    assert worker.listings == 2


# B36


async def test_b36_a_call_that_was_refused_for_its_headers_leaves_the_client_as_it_was() -> None:
    worker = Worker()
    worker.server.get_tool_input_schema = schema_of_mark
    worker.tools = []
    async with connected(worker) as client:
        for _ in range(3):
            with pytest.raises(MCPError, match="Mcp-Param-Mark header is missing"):
                await client.call_tool("mark", {"mark": "a"})
        worker.tools = [TOOL]
        result = await client.call_tool("mark", {"mark": "a"})
    assert result.structured_content is not None
    assert result.structured_content["header"] == "a"


# B45


async def test_b45_the_cache_answers_no_call_with_a_listing_that_the_server_has_left_behind() -> None:
    worker = Worker()
    async with connected(worker) as client:
        await client.list_tools()
        renamed = {"type": "object", "properties": {"mark": {"type": "string", "x-mcp-header": "Label"}}}
        worker.tools = [TOOL.model_copy(update={"input_schema": renamed})]
        worker.server.get_tool_input_schema = {"mark": renamed}.get
        for _ in range(3):
            await client.call_tool("mark", {"mark": "a"})
            [listed] = (await client.list_tools()).tools
            assert listed.input_schema == renamed
    assert worker.listings == 3
    assert worker.served == 3


# B52, B56: streams of changes.


async def test_b52_streams_and_rounds_leave_no_task_behind() -> None:
    async with connected(Worker(), elicitation_callback=name_oneself) as client:

        async def tasks() -> int:
            content = (await client.call_tool("ask")).structured_content
            assert content is not None
            return content["tasks"]

        before = await tasks()
        for _ in range(100):
            async with client.listen(tools_list_changed=True):
                pass
            await client.call_tool("ask")

        async def as_before() -> bool:
            return await tasks() <= before

        await eventually(as_before)


@contextmanager
def open_stream(url: str) -> Generator[socket.socket, None, None]:
    """A connection on which `subscriptions/listen` was sent, and nothing read."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    body = request(MODERN, 1, "subscriptions/listen", notifications={"toolsListChanged": True})
    head = {
        "host": address.netloc,
        **HEADERS,
        "mcp-protocol-version": MODERN.version,
        "mcp-method": "subscriptions/listen",
        "content-length": str(len(body)),
    }
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.settimeout(SECONDS_OF_PATIENCE)
        connection.sendall("\r\n".join(lines).encode() + body)
        yield connection


async def test_b56_listeners_that_are_gone_at_once_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    worker = Worker()
    with over_http(worker.server.streamable_http_app()) as url:
        for _ in range(100):
            with open_stream(url):
                pass
        async with Client(url, validate_output="off") as client, client.listen(tools_list_changed=True) as changes:
            await worker.bus.publish(ToolsListChanged())
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                assert await anext(changes) == ToolsListChanged()
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
