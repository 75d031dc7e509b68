"""Reports about what requests leave behind and pass on to each other, for what tracing and time limits add to them."""

import gc
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, only_text
from opentelemetry import baggage, context, trace
from serving_http import served
from spans import Spans, installed, provider
from traced_server import build

from mcp import Client, MCPError
from mcp.server import ServerRequestContext
from mcp.server.middleware import TIME_LIMIT_EXCEEDED, ConcurrencyLimit, RateLimit, TimeLimit
from mcp.server.session import ServerSession

pytestmark = pytest.mark.anyio

Here = Literal["memory", "http"]


@pytest.fixture
def spans() -> Generator[Spans, None, None]:
    exporter = Spans()
    with installed(provider(exporter)):
        yield exporter


@pytest.fixture(params=["memory", "http"])
def here(request: pytest.FixtureRequest) -> Here:
    """Both ends are in this process, where one can look at them."""
    return request.param


@asynccontextmanager
async def connected(here: Here, server: Any, mode: str) -> AsyncGenerator[Client, None]:
    if here == "memory":
        async with Client(server, mode=mode) as client:
            yield client
    else:
        with served(server) as url:
            async with Client(url, mode=mode) as client:
                yield client


# B67


async def test_b67_traces_and_baggage_of_concurrent_requests_never_mix(here: Here, mode: str, spans: Spans) -> None:
    """The context of one request turned up in another one, of another session."""
    server = build()
    tracer = trace.get_tracer("callers")

    async def call(client: Client, caller: str) -> None:
        for number in range(8):
            context.attach(baggage.set_baggage("caller", f"{caller}-{number}"))
            with tracer.start_as_current_span(f"{caller}-{number}"):
                carried = json.loads(only_text(await client.call_tool("carried")))
                assert carried["baggage"] == {"caller": f"{caller}-{number}"}

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with (
            connected(here, server, mode) as one,
            connected(here, server, mode) as other,
            anyio.create_task_group() as group,
        ):
            for number in range(8):
                group.start_soon(call, one if number % 2 else other, f"caller {number}")

    handled = {span.parent: span for span in spans.all if span.name == "tools/call carried"}
    sent = {span.id: span for span in spans.all if span.name == "MCP send tools/call carried"}
    callers = {span.id: span for span in spans.all if span.scope == "callers"}
    assert set(handled) == set(sent)
    assert {span.parent for span in sent.values()} == set(callers)
    assert len(callers) == len({span.trace for span in callers.values()}) == 64
    for id, span in sent.items():
        assert span.parent is not None
        assert callers[span.parent].trace == span.trace == handled[id].trace


# B53


async def test_b53_a_traced_and_limited_request_leaves_nothing_behind(here: Here, mode: str, spans: Spans) -> None:
    """Objects of finished requests stayed for as long as the session."""
    server = build()
    server.middleware += [TimeLimit(60), ConcurrencyLimit(1000), RateLimit(1_000_000, max_callers=10)]
    async with connected(here, server, mode) as client:

        async def use(times: int) -> int:
            for _ in range(times):
                await client.call_tool("work")
                # In memory nothing waits, and the event loop has to get its turn to drop timers that are cancelled.
                await anyio.sleep(0)
            gc.collect()
            kinds = (ServerRequestContext, ServerSession, trace.Span)
            return sum(isinstance(thing, kinds) for thing in gc.get_objects())

        before = await use(100)
        after = await use(600)

    # It keeps a hundred of them, and asyncio's hold on to their contexts, with the spans.
    assert after - before < 250


# B36


async def test_b36_a_call_that_the_server_ends_poisons_nothing(here: Here, mode: str) -> None:
    """After one call had timed out, every later call of the connection failed."""
    server = build()
    server.middleware.append(TimeLimit(20, methods={"tools/call": 0.1}))
    async with connected(here, server, mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            for _ in range(3):
                with pytest.raises(MCPError, match=r"may take 0\.1 s on this server") as caught:
                    await client.call_tool("waits")
                assert caught.value.code == TIME_LIMIT_EXCEEDED
                assert only_text(await client.call_tool("work")) == '""'
