"""HTTP+SSE from end to end: our client, our server, and uvicorn between them."""

import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from served_app import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from mcp import Client, MCPDeprecationWarning, types
from mcp.client import ClientRequestContext, ClientSession
from mcp.client.sse import sse_client
from mcp.server import Server, ServerRequestContext
from mcp.server.sse import SseServerTransport
from mcp.shared.exceptions import MCPError, RequestTimeoutError

pytestmark = pytest.mark.anyio

Context = ServerRequestContext[Any, Any]
NAME_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}


def text(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)])


class Lodge:
    """A server with tools that ask their client, and wait for each other."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._tools = {
            "greet": self._greet,
            "dream": self._dream,
            "roam": self._roam,
            "climb": self._climb,
            "wait": self._wait,
            "caller": self._caller,
        }

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in self._tools]
        )

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await self._tools[params.name](ctx)

    async def _greet(self, ctx: Context) -> types.CallToolResult:
        answer = await ctx.session.elicit_form("Who are you?", NAME_SCHEMA)
        return text(f"Hello, {(answer.content or {})['name']}")

    async def _dream(self, ctx: Context) -> types.CallToolResult:
        message = types.SamplingMessage(role="user", content=types.TextContent(text="Dream"))
        with pytest.warns(MCPDeprecationWarning):
            answer = await ctx.session.create_message([message], max_tokens=5)  # pyright: ignore[reportDeprecated]
        assert isinstance(answer.content, types.TextContent)
        return text(answer.content.text)

    async def _roam(self, ctx: Context) -> types.CallToolResult:
        with pytest.warns(MCPDeprecationWarning):
            answer = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]
        return text(str(answer.roots[0].uri))

    async def _climb(self, ctx: Context) -> types.CallToolResult:
        for step in range(1, 4):
            await ctx.session.report_progress(step, 3)
        await ctx.session.send_tool_list_changed()
        return text("up")

    async def _wait(self, ctx: Context) -> types.CallToolResult:
        await ctx.session.report_progress(0)
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        raise AssertionError("unreachable")

    async def _caller(self, ctx: Context) -> types.CallToolResult:
        assert ctx.request is not None
        return text(ctx.request.headers["x-guest"])

    def application(self) -> Starlette:
        server = Server("lodge", on_list_tools=self.list_tools, on_call_tool=self.call_tool)
        sse = SseServerTransport("/messages/")

        async def handle_sse(request: Request) -> Response:
            async with sse.connect_sse(request.scope, request.receive, request._send) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            return Response()

        routes = [Route("/sse", handle_sse), Mount("/messages/", app=sse.handle_post_message)]
        return Starlette(routes=[*routes, Mount("/deep/er", app=Starlette(routes=routes))])


@pytest.fixture(scope="module")
def lodge() -> Lodge:
    return Lodge()


@pytest.fixture(scope="module")
def origin(lodge: Lodge) -> Iterator[str]:
    """Where the lodge is served."""
    with served(lodge.application()) as origin:
        yield origin


async def sampled(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(text="of electric sheep"), model="m")


async def asked(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def rooted(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp")])  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def guest(origin: str, path: str = "/sse", mode: str = "legacy", **options: Any) -> AsyncGenerator[Client, None]:
    """A client that answers questions."""
    async with Client(
        sse_client(f"{origin}{path}", headers={"X-Guest": "Ada"}),
        mode=mode,
        sampling_callback=sampled,
        elicitation_callback=asked,
        list_roots_callback=rooted,
        **options,
    ) as client:
        yield client


async def said_by(client: Client, tool: str, **options: Any) -> str:
    (content,) = (await client.call_tool(tool, {}, **options)).content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("path", ["/sse", "/deep/er/sse"])
async def test_a_client_shakes_hands_wherever_the_server_is_mounted(origin: str, path: str) -> None:
    async with guest(origin, path) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info is not None
        assert client.server_info.name == "lodge"
        assert len((await client.list_tools()).tools) == 6
        await client.session.send_ping()


@pytest.mark.parametrize(
    ("tool", "answer"),
    [("greet", "Hello, Ada"), ("dream", "of electric sheep"), ("roam", "file:///tmp"), ("caller", "Ada")],
)
async def test_a_tool_can_ask_its_client(origin: str, tool: str, answer: str) -> None:
    async with guest(origin) as client:
        assert await said_by(client, tool) == answer


async def test_questions_of_many_calls_at_once_find_their_way(origin: str) -> None:
    answers: list[str] = []

    async def call(client: Client) -> None:
        answers.append(await said_by(client, "greet"))

    async with guest(origin) as client, anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(call, client)
    assert answers == ["Hello, Ada"] * 20


async def test_progress_and_notifications_come_while_a_tool_runs(origin: str) -> None:
    reports: list[float] = []
    notices: list[str] = []
    noticed = anyio.Event()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async def notice(message: Any) -> None:
        notices.append(message.method)
        noticed.set()

    async with guest(origin, message_handler=notice) as client:
        assert await said_by(client, "climb", progress_callback=report) == "up"
        await noticed.wait()
    assert reports == [1, 2, 3]
    assert notices == ["notifications/tools/list_changed"]


async def test_a_call_that_runs_out_of_time_is_cancelled_at_the_server(origin: str, lodge: Lodge) -> None:
    lodge.cancelled.clear()
    async with guest(origin) as client:
        with pytest.raises(RequestTimeoutError):
            await client.call_tool("wait", {}, read_timeout_seconds=0.1)
        await anyio.to_thread.run_sync(lodge.cancelled.wait)
        assert await said_by(client, "caller") == "Ada"


async def test_a_client_that_leaves_ends_what_runs_for_it(origin: str, lodge: Lodge) -> None:
    lodge.cancelled.clear()
    started = anyio.Event()

    async def begin(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    async def wait(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("wait", {}, progress_callback=begin)

    async with anyio.create_task_group() as group, guest(origin) as client:
        group.start_soon(wait, client)
        await started.wait()
    await anyio.to_thread.run_sync(lodge.cancelled.wait)


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_the_same_stream_serves_the_modern_era(origin: str, mode: str) -> None:
    async with guest(origin, mode=mode) as client:
        assert client.protocol_version == "2026-07-28"
        assert await said_by(client, "caller") == "Ada"
        with pytest.raises(MCPError, match="no back-channel"):
            await client.call_tool("greet", {})


async def test_a_session_can_be_driven_by_hand(origin: str) -> None:
    async with sse_client(f"{origin}/sse") as (read, write), ClientSession(read, write) as session:
        result = await session.initialize()
        assert result.server_info.name == "lodge"
        assert len((await session.list_tools()).tools) == 6
