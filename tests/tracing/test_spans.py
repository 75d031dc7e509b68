"""What the spans say: their names, kinds, attributes and statuses."""

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import served_app
import traced_server
from opentelemetry import trace
from serving_http import served
from spans import Seen, Spans
from traced_server import REFUSAL, build

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.middleware import OpenTelemetryMiddleware
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged
from mcp.types import jsonrpc

pytestmark = pytest.mark.anyio

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def basics(method: str, mode: str, id: str | None) -> dict[str, str]:
    known = {"mcp.method.name": method, "mcp.protocol.version": VERSIONS[mode]}
    return known if id is None else {**known, "jsonrpc.request.id": id}


async def called(mode: str, tool: str, server: Server[Any] | None = None, **options: Any) -> None:
    """Calls a tool, and is content with any answer."""
    async with Client(server or build(), mode=mode) as client:
        try:
            await client.call_tool(tool, **options)
        except MCPError:
            pass


async def test_a_call_is_a_tool_execution(mode: str, spans: Spans) -> None:
    await called(mode, "work")

    span = spans.named("tools/call work")
    assert span.kind == "SERVER"
    assert span.attributes == {
        **basics("tools/call", mode, "2"),
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
    }
    assert (span.status, span.description, span.events) == ("UNSET", None, [])
    assert span.scope == "mcp-python-sdk"


async def test_the_span_of_the_client_names_the_same_request(mode: str, spans: Spans) -> None:
    await called(mode, "work")

    span = spans.named("MCP send tools/call work")
    assert span.kind == "CLIENT"
    assert span.attributes == {"mcp.method.name": "tools/call", "jsonrpc.request.id": "2"}
    assert (span.status, span.description, span.events) == ("UNSET", None, [])
    assert span.scope == "mcp-python-sdk"


async def test_a_prompt_has_a_name_and_what_has_none_has_none(mode: str, spans: Spans) -> None:
    async with Client(build(), mode=mode) as client:
        await client.get_prompt("welcome")
        await client.list_tools()
        await client.read_resource("shop://till")

    assert spans.named("prompts/get welcome").attributes == {
        **basics("prompts/get", mode, "2"),
        "gen_ai.prompt.name": "welcome",
    }
    assert spans.named("tools/list").attributes == basics("tools/list", mode, "3")
    assert spans.named("resources/read").attributes == basics("resources/read", mode, "4")


async def test_a_tool_that_says_it_failed_is_an_error_of_the_server(mode: str, spans: Spans) -> None:
    await called(mode, "fails")

    span = spans.named("tools/call fails")
    assert (span.status, span.description, span.events) == ("ERROR", None, [])
    assert span.attributes["error.type"] == "tool_error"
    assert spans.named("MCP send tools/call fails").status == "UNSET"


async def test_a_middleware_may_answer_with_a_model_that_says_so(mode: str, spans: Spans) -> None:
    async def answer(ctx: traced_server.Context, call_next: CallNext) -> Any:
        failed = types.CallToolResult(content=[], is_error=True)
        return failed if ctx.method == "tools/call" else await call_next(ctx)

    server = build()
    server.middleware.append(answer)
    await called(mode, "work", server)

    assert spans.named("tools/call work").attributes["error.type"] == "tool_error"


async def test_an_error_answer_is_known_by_its_code_at_both_ends(mode: str, spans: Spans) -> None:
    await called(mode, "refuses")

    for name in ("tools/call refuses", "MCP send tools/call refuses"):
        span = spans.named(name)
        assert (span.status, span.description, span.events) == ("ERROR", "not today", [])
        assert span.attributes["error.type"] == span.attributes["rpc.response.status_code"] == str(REFUSAL)


async def test_an_exception_is_told_to_the_server_and_not_to_the_client(mode: str, spans: Spans) -> None:
    await called(mode, "raises")

    handled, sent = spans.named("tools/call raises"), spans.named("MCP send tools/call raises")
    assert (handled.status, handled.description, handled.events) == ("ERROR", "a secret", ["exception"])
    assert handled.attributes["error.type"] == "ValueError"
    assert "rpc.response.status_code" not in handled.attributes
    assert (sent.status, sent.description, sent.events) == ("ERROR", "Internal server error", [])
    assert sent.attributes["error.type"] == str(jsonrpc.INTERNAL_ERROR)


async def test_a_method_that_nobody_answers_is_an_error(mode: str, spans: Spans) -> None:
    async with Client(build(), mode=mode) as client:
        with pytest.raises(MCPError):
            await client.session.send_request(types.Request[Any, str](method="acme/lost", params={}), types.EmptyResult)

    assert spans.named("acme/lost").attributes == {
        **basics("acme/lost", mode, "2"),
        "error.type": "-32601",
        "rpc.response.status_code": "-32601",
    }


async def test_a_time_limit_is_an_error_of_the_client_and_no_answer(mode: str, spans: Spans) -> None:
    await called(mode, "waits", read_timeout_seconds=0.05)

    sent = spans.named("MCP send tools/call waits")
    assert (sent.status, sent.events) == ("ERROR", ["exception"])
    assert sent.description == "Timed out after 0.05s waiting for 'tools/call'"
    assert sent.attributes["error.type"] == "RequestTimeoutError"
    assert "rpc.response.status_code" not in sent.attributes
    assert (await spans.until("tools/call waits")).status == "UNSET"


async def test_a_cancelled_call_is_no_error(mode: str, spans: Spans) -> None:
    async with Client(build(), mode=mode) as client:
        with anyio.move_on_after(0.05):
            await client.call_tool("waits")
        assert (await spans.until("tools/call waits")).status == "UNSET"
        assert (await spans.until("MCP send tools/call waits", "CLIENT")).status == "UNSET"


async def test_a_handler_that_would_end_the_process_is_an_error(mode: str, spans: Spans) -> None:
    async def leave(ctx: traced_server.Context, call_next: CallNext) -> Any:
        if ctx.method == "tools/call":
            raise SystemExit(3)
        return await call_next(ctx)

    server = build()
    server.middleware.append(leave)
    await called(mode, "work", server)

    assert spans.named("tools/call work").attributes["error.type"] == "SystemExit"


async def test_so_is_one_whose_exit_is_its_own(mode: str, spans: Spans) -> None:
    async def leave(ctx: traced_server.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise SystemExit(3)

    server = build()
    server.add_request_handler("tools/call", types.CallToolRequestParams, leave)
    await called(mode, "work", server)

    span = spans.named("tools/call work")
    assert (span.status, span.description, span.attributes["error.type"]) == ("ERROR", "3", "SystemExit")


async def test_notifications_have_spans_without_an_id_at_the_server_alone(spans: Spans) -> None:
    async with Client(build(), mode="legacy") as client:
        await client.session.send_notification(types.RootsListChangedNotification())
        changed = await spans.until("notifications/roots/list_changed")
        opened = await spans.until("notifications/initialized")

    assert changed.attributes == basics("notifications/roots/list_changed", "legacy", None)
    assert opened.attributes == basics("notifications/initialized", "legacy", None)
    assert (changed.kind, changed.parent) == ("SERVER", None)
    assert not [span for span in spans.all if span.name.startswith("MCP send notifications")]


async def test_over_http_a_span_of_the_application_is_the_parent_where_the_message_names_none(spans: Spans) -> None:
    app = build().streamable_http_app()

    async def within(scope: Any, receive: Any, send: Any) -> None:
        with trace.get_tracer("shop").start_as_current_span(f"HTTP {scope['type']}"):
            await app(scope, receive, send)

    with served_app.served(within) as origin:
        async with Client(f"{origin}/mcp", tracing=False) as client:
            await client.call_tool("work")

    handled = await spans.until("tools/call work")
    assert handled.parent in {span.id for span in spans.all if span.name == "HTTP http"}


async def test_a_message_whose_coroutine_is_closed_is_no_error(spans: Spans) -> None:
    async def wait_a_little(ctx: traced_server.Context, params: Any) -> Any:
        await anyio.lowlevel.checkpoint()

    async def close_inner(ctx: traced_server.Context, call_next: CallNext) -> Any:
        handling: Any = OpenTelemetryMiddleware()(ctx, call_next)
        handling.send(None)
        # Elsewhere, as when an event loop is gone.
        await anyio.to_thread.run_sync(handling.close)
        return {}

    server = build(tracing=False)
    server.middleware.append(close_inner)
    server.add_request_handler("tools/call", types.CallToolRequestParams, wait_a_little)
    async with Client(server, mode="2026-07-28", validate_output="off", tracing=False) as client:
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="waits"))
        await client.session.send_request(request, types.Result)

    assert spans.named("tools/call waits").status == "UNSET"


@pytest.mark.parametrize("over_http", [False, True])
async def test_a_stream_of_changes_is_one_span_at_each_end(
    over_http: bool, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    bus = InMemorySubscriptionBus()
    server = build(on_subscriptions_listen=ListenHandler(bus))

    async def listen(target: Any) -> None:
        async with Client(target) as client, client.listen(tools_list_changed=True) as changes:
            await bus.publish(ToolsListChanged())
            assert await anext(aiter(changes)) == ToolsListChanged()
            await client.call_tool("work")

    if over_http:
        with served(server) as url:
            await listen(url)
    else:
        await listen(server)

    handled = await spans.until("subscriptions/listen")
    sent = await spans.until("MCP send subscriptions/listen", "CLIENT")
    assert (handled.parent, handled.status, sent.status) == (sent.id, "UNSET", "UNSET")
    assert spans.named("MCP send tools/call work").parent is None
    assert "detach" not in caplog.text


def texts_of(span: Seen) -> list[str]:
    return [span.name, span.description or "", *map(str, span.attributes.values()), *span.event_texts]


async def test_what_a_peer_chose_is_cut_short(mode: str, spans: Spans) -> None:
    await called(mode, "x" * 10_000)

    handled = await spans.until(f"tools/call {'x' * 256}")
    assert handled.attributes["gen_ai.tool.name"] == "x" * 256


async def test_nothing_is_exported_that_has_no_utf8(mode: str, spans: Spans, caplog: pytest.LogCaptureFixture) -> None:
    # pytest-xdist cannot pass on a log that has none.
    caplog.set_level(logging.CRITICAL)

    async def fail(ctx: traced_server.Context, call_next: CallNext) -> Any:
        if ctx.method == "tools/call":
            raise FileNotFoundError("file-\udcff")
        return await call_next(ctx)

    server = build()
    server.middleware.append(fail)
    await called(mode, "work", server)
    async with Client(server, mode=mode) as client:
        with pytest.raises(ValueError, match="surrogate"):
            await client.call_tool("half \ud83d an emoji")

    span = spans.named("tools/call work")
    assert span.description == "file-?"
    assert "file-?" in span.event_texts
    assert spans.named("MCP send tools/call half ? an emoji").status == "ERROR"
    for span in spans.all:
        "".join(texts_of(span)).encode()


@pytest.mark.parametrize(
    "meta",
    [
        {"traceparent": 5},
        {"traceparent": ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]},
        {"traceparent": None, "tracestate": {}},
        {"traceparent": "junk", "tracestate": "junk", "baggage": ",;=%ff"},
        {"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01"},
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "=" * 9000},
        {"baggage": "k=v," * 100_000},
    ],
)
async def test_trace_context_that_is_none_harms_nobody(mode: str, meta: Any, spans: Spans) -> None:
    async with Client(build(), mode=mode, tracing=False) as client:
        await client.call_tool("work", meta=meta)

    assert spans.named("tools/call work").status == "UNSET"
