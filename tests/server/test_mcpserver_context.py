"""`Context`: what a function of a server is given besides its arguments."""

import logging
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import anyio.from_thread
import pytest
from starlette.authentication import SimpleUser
from starlette.testclient import TestClient

from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    LoggingMessageNotificationParams,
    TextContent,
)

pytestmark = pytest.mark.anyio

Mode = Literal["auto", "legacy"]


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Both eras."""
    return request.param


@pytest.fixture
def mcp() -> MCPServer:
    return MCPServer("context")


async def called(mcp: MCPServer[Any], name: str, arguments: dict[str, Any], mode: Mode, **options: Any) -> str:
    async with Client(mcp, mode=mode, **options) as client:
        return text_of(await client.call_tool(name, arguments))


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_it_says_which_request_is_served(mcp: MCPServer, mode: Mode) -> None:
    seen: list[Context[Any, Any]] = []

    @mcp.tool()
    async def look(ctx: Context) -> str:
        seen.append(ctx)
        return f"{ctx.protocol_version} {ctx.headers} {ctx.user} {ctx.input_responses} {ctx.request_state}"

    version = "2026-07-28" if mode == "auto" else "2025-11-25"
    async with Client(mcp, mode=mode) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("look", {})) == f"{version} None None None None"
    first, second = seen
    assert first.request_id != second.request_id
    assert first.request_id == str(first.request_context.request_id)
    assert first.mcp_server is mcp
    assert first.session is first.request_context.session
    assert first.client_capabilities is not None
    assert first.request_context.method == "tools/call"


async def test_progress_reaches_whoever_asked_for_it(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def work(ctx: Context) -> str:
        for step in range(3):
            await ctx.report_progress(step, 3, f"step {step}")
        return "done"

    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(mcp, mode=mode) as client:
        await client.call_tool("work", {}, progress_callback=hear)
        assert heard == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]
        await client.call_tool("work", {})


async def test_a_plain_function_reports_progress_from_its_thread(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    def work(ctx: Context) -> str:
        anyio.from_thread.run(ctx.report_progress, 1, 2)
        return ctx.request_id

    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with Client(mcp, mode=mode) as client:
        await client.call_tool("work", {}, progress_callback=hear)
    assert heard == [1]


async def test_log_messages_warn_that_they_are_deprecated(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def talk(ctx: Context) -> str:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            await ctx.log("notice", {"a": 1}, logger_name="talk")  # pyright: ignore[reportDeprecated]
            await ctx.debug("d")  # pyright: ignore[reportDeprecated]
            await ctx.info("i")  # pyright: ignore[reportDeprecated]
            await ctx.warning("w")  # pyright: ignore[reportDeprecated]
            await ctx.error("e")  # pyright: ignore[reportDeprecated]
        assert {warning.category for warning in warned} == {MCPDeprecationWarning}
        return str(len(warned))

    heard: list[LoggingMessageNotificationParams] = []

    async def hear(params: LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async with Client(mcp, mode=mode, logging_callback=hear, log_level="info") as client:
        assert text_of(await client.call_tool("talk", {})) == "5"
        with anyio.fail_after(5):
            while not heard or heard[-1].level != "error":
                await anyio.sleep(0)
    levels = [params.level for params in heard if params.level != "debug"]
    assert levels == ["notice", "info", "warning", "error"]
    assert (heard[0].logger, heard[0].data) == ("talk", {"a": 1})


async def test_a_tool_reads_resources_of_its_server(mcp: MCPServer, mode: Mode) -> None:
    @mcp.resource("catalog://genres")
    def genres() -> str:
        return "fiction, poetry"

    @mcp.resource("catalog://{title}")
    def ask(title: str) -> InputRequiredResult:
        params = ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
        return InputRequiredResult(input_requests={"q": ElicitRequest(params=params)})

    @mcp.tool()
    async def describe(uri: str, ctx: Context) -> str:
        try:
            [contents] = await ctx.read_resource(uri)
        except (ResourceNotFoundError, RuntimeError) as error:
            return str(error)
        return f"{contents.content} {contents.mime_type}"

    assert await called(mcp, "describe", {"uri": "catalog://genres"}, mode) == "fiction, poetry text/plain"
    assert await called(mcp, "describe", {"uri": "other://x"}, mode) == "Unknown resource: other://x"
    assert "asks the client for input" in await called(mcp, "describe", {"uri": "catalog://dune"}, mode)


@dataclass
class AppState:
    books: list[str]


async def test_what_the_lifespan_yields_is_typed_and_there(mode: Mode) -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[AppState]) -> AsyncGenerator[AppState, None]:
        events.append(f"enter {server.name}")
        yield AppState(books=["Dune"])
        events.append("leave")

    mcp = MCPServer("library", lifespan=lifespan)

    @mcp.tool()
    def count(ctx: Context[AppState]) -> int:
        return len(ctx.request_context.lifespan_context.books)

    assert await called(mcp, "count", {}, mode) == "1"
    assert events == ["enter library", "leave"]


async def test_it_is_injected_however_it_is_spelled_and_never_listed(mcp: MCPServer) -> None:
    @mcp.tool()
    def plain(x: int, c: Context) -> bool:
        return c.mcp_server is mcp

    @mcp.tool()
    def subscripted(x: int, c: Context[Any, Any]) -> bool:
        return c.mcp_server is mcp

    @mcp.tool()
    def optional(x: int, *, c: Context | None = None) -> bool:
        return c is not None and c.mcp_server is mcp

    async with Client(mcp) as client:
        for tool in (await client.list_tools()).tools:
            assert list(tool.input_schema["properties"]) == ["x"]
            assert text_of(await client.call_tool(tool.name, {"x": 1})) == "true"
            refused = await client.call_tool(tool.name, {"x": 1, "c": "mine"})
            assert refused.is_error or text_of(refused) == "true"


async def test_it_reaches_templates_and_prompts_typed_as_well(mode: Mode) -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer[AppState]) -> AsyncGenerator[AppState, None]:
        yield AppState(books=["Dune"])

    mcp = MCPServer("library", lifespan=lifespan)

    @mcp.resource("books://{index}")
    def book(index: int, ctx: Context[AppState]) -> str:
        return ctx.request_context.lifespan_context.books[index]

    @mcp.prompt()
    def praise(ctx: Context[AppState]) -> str:
        return f"Praise {ctx.request_context.lifespan_context.books[0]}"

    async with Client(mcp, mode=mode) as client:
        [contents] = (await client.read_resource("books://0")).contents
        assert contents.model_dump()["text"] == "Dune"
        [message] = (await client.get_prompt("praise")).messages
        assert message.content == TextContent(text="Praise Dune")


def test_without_a_request_it_says_so() -> None:
    ctx: Context[Any, Any] = Context()
    assert (ctx.protocol_version, ctx.input_responses, ctx.request_state) == (None, None, None)
    for name in ("request_context", "mcp_server", "session", "request_id", "headers", "user", "client_capabilities"):
        with pytest.raises(ValueError, match="Context is not available outside of a request"):
            getattr(ctx, name)


async def test_a_tool_that_is_called_directly_has_a_server_and_no_request(mcp: MCPServer) -> None:
    @mcp.tool()
    def name(ctx: Context) -> str:
        return ctx.mcp_server.name

    result = await mcp.call_tool("name", {})
    assert isinstance(result, CallToolResult)
    assert text_of(result) == "context"


async def test_asking_is_refused_where_nobody_can_be_asked(mcp: MCPServer) -> None:
    @mcp.tool()
    async def open_page(ctx: Context) -> str:
        answer = await ctx.elicit_url("Sign in", "https://example.com/in", "e1")
        return answer.action

    async def agree(context: ClientRequestContext, params: Any) -> Any:
        from mcp.types import ElicitResult

        return ElicitResult(action="accept")

    assert await called(mcp, "open_page", {}, "legacy", elicitation_callback=agree) == "accept"
    with pytest.raises(MCPError, match="no back-channel"):
        await called(mcp, "open_page", {}, "auto", elicitation_callback=agree)


async def test_streams_that_cannot_be_closed_are_left_alone(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def close(ctx: Context) -> str:
        await ctx.close_sse_stream()
        await ctx.close_standalone_sse_stream()
        return "closed"

    assert await called(mcp, "close", {}, mode) == "closed"


def test_over_http_it_has_headers_and_the_user_that_authentication_found(mcp: MCPServer) -> None:
    @mcp.tool()
    def who(ctx: Context) -> str:
        assert ctx.headers is not None
        return f"{ctx.user.username} {ctx.headers['x-locale']}"

    app = mcp.streamable_http_app()

    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        scope["user"] = SimpleUser("ada")
        await app(scope, receive, send)

    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who", "_meta": meta}}
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "who",
        "accept": "application/json, text/event-stream",
        "x-locale": "cs",
    }
    # Its own types come from another HTTP library, where that is installed.
    tester: Any = TestClient
    with tester(authenticated, base_url="http://127.0.0.1:8000") as client:
        answer = client.post("/mcp", json=body, headers=headers)
    assert answer.json()["result"]["content"][0]["text"] == "ada cs"


async def test_contexts_are_never_mixed_between_requests(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def echo(number: int, ctx: Context) -> str:
        before = ctx.request_id
        await anyio.sleep(0)
        params: Any = ctx.request_context.params
        assert params["arguments"]["number"] == number
        assert before == ctx.request_id
        return str(number)

    answers: dict[int, str] = {}

    async with Client(mcp, mode=mode) as client:

        async def call(number: int) -> None:
            answers[number] = text_of(await client.call_tool("echo", {"number": number}))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(call, number)
    assert answers == {number: str(number) for number in range(50)}


def test_constructing_and_importing_leave_logging_alone() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    MCPServer("quiet", log_level="DEBUG").streamable_http_app()
    assert (root.level, list(root.handlers)) == before
