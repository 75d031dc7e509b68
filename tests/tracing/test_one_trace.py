"""A client's span, the server's span and a span that the handler makes are one trace, however the two are joined."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
import traced_server
from opentelemetry import baggage, context, trace
from serving_http import served, served_over_sse
from spans import Seen, Spans, read_lines

from mcp import Client, StdioServerParameters, types
from mcp.client.sse import sse_client

pytestmark = pytest.mark.anyio

Way = Literal["memory", "stdio", "http", "http without sessions", "sse"]

MODERN: list[tuple[Way, str]] = [("memory", "auto"), ("stdio", "auto"), ("http", "auto")]
HANDSHAKE: list[tuple[Way, str]] = [("memory", "legacy"), ("stdio", "legacy"), ("http", "legacy"), ("sse", "legacy")]
ONE_WAY: tuple[Way, str] = ("http without sessions", "legacy")

every_way = pytest.mark.parametrize(("way", "mode"), [*MODERN, *HANDSHAKE, ONE_WAY])


@asynccontextmanager
async def connected(way: Way, tmp_path: Path, **options: Any) -> AsyncGenerator[Client, None]:
    if way == "memory":
        async with Client(traced_server.build(), **options) as client:
            yield client
    elif way == "stdio":
        command = [str(Path(traced_server.__file__)), str(tmp_path / "spans")]
        async with Client(StdioServerParameters(command=sys.executable, args=command), **options) as client:
            yield client
    elif way == "sse":
        with served_over_sse(traced_server.build()) as url:
            async with Client(sse_client(url), **options) as client:
                yield client
    else:
        with served(traced_server.build(), stateless_http=way == "http without sessions") as url:
            async with Client(url, **options) as client:
                yield client


def everything(way: Way, spans: Spans, tmp_path: Path) -> list[Seen]:
    """The spans of both ends."""
    return [*spans.all, *(read_lines(tmp_path / "spans") if way == "stdio" else [])]


def the(name: str, spans: list[Seen]) -> Seen:
    (found,) = [span for span in spans if span.name == name]
    return found


@every_way
async def test_the_spans_of_a_call_are_one_trace(way: Way, mode: str, spans: Spans, tmp_path: Path) -> None:
    async with connected(way, tmp_path, mode=mode) as client:
        with trace.get_tracer("shop").start_as_current_span("the caller's own") as own:
            await client.call_tool("work")

    seen = everything(way, spans, tmp_path)
    chain = [the(name, seen) for name in ("the caller's own", "MCP send tools/call work", "tools/call work")]
    chain.append(the("the tool's own", seen))
    assert {span.trace for span in chain} == {f"{own.get_span_context().trace_id:032x}"}
    assert [span.parent for span in chain] == [None, *(span.id for span in chain[:-1])]
    assert [span.kind for span in chain] == ["INTERNAL", "CLIENT", "SERVER", "INTERNAL"]


@every_way
async def test_calls_without_a_span_around_them_are_traces_of_their_own(
    way: Way, mode: str, spans: Spans, tmp_path: Path
) -> None:
    async with connected(way, tmp_path, mode=mode) as client:
        await client.call_tool("work")
        await client.call_tool("work")

    seen = everything(way, spans, tmp_path)
    sent = [span for span in seen if span.name == "MCP send tools/call work"]
    handled = [span for span in seen if span.name == "tools/call work"]
    assert [span.parent for span in handled] == [span.id for span in sent]
    assert [span.trace for span in handled] == [span.trace for span in sent]
    assert len({span.trace for span in sent}) == 2


@every_way
async def test_what_opens_the_connection_is_traced_too(way: Way, mode: str, spans: Spans, tmp_path: Path) -> None:
    opening = "server/discover" if mode == "auto" else "initialize"
    async with connected(way, tmp_path, mode=mode) as client:
        await client.list_tools()

    seen = everything(way, spans, tmp_path)
    assert the(opening, seen).parent == the(f"MCP send {opening}", seen).id
    assert the(opening, seen).kind == "SERVER"


@every_way
async def test_baggage_and_trace_state_travel_along(way: Way, mode: str, spans: Spans, tmp_path: Path) -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with connected(way, tmp_path, mode=mode) as client:
        token = context.attach(baggage.set_baggage("shop", "north"))
        try:
            result = await client.call_tool("carried", meta={"traceparent": traceparent, "tracestate": "a=b"})
        finally:
            context.detach(token)

    [block] = result.content
    assert isinstance(block, types.TextContent)
    carried = json.loads(block.text)
    sent = spans.named("MCP send tools/call carried")
    assert carried["meta"]["traceparent"] == f"00-{sent.trace}-{sent.id}-{carried['meta']['traceparent'][-2:]}"
    assert carried["meta"]["tracestate"] == "a=b"
    assert carried["meta"]["baggage"] == "shop=north"
    assert carried["baggage"] == {"shop": "north"}
    # Nothing was current, so what the caller names is continued.
    assert (sent.trace, sent.parent) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


@pytest.mark.parametrize(("way", "mode"), HANDSHAKE)
async def test_a_question_to_the_client_belongs_to_the_trace(way: Way, mode: str, spans: Spans, tmp_path: Path) -> None:
    async def answer(ctx: Any, params: Any) -> types.ElicitResult:
        with trace.get_tracer("shop").start_as_current_span("the callback's own"):
            return types.ElicitResult(action="decline")

    async with connected(way, tmp_path, mode=mode, elicitation_callback=answer) as client:
        await client.call_tool("asks")

    seen = everything(way, spans, tmp_path)
    asked = the("MCP send elicitation/create", seen)
    assert asked.parent == the("the tool's own", seen).id
    assert asked.attributes == {"mcp.method.name": "elicitation/create", "jsonrpc.request.id": "1"}
    own = the("the callback's own", seen)
    assert (own.parent, own.trace) == (asked.id, the("MCP send tools/call asks", seen).trace)
