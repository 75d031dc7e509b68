"""Tracing that costs nothing where nobody installed a provider, and that can be taken off where somebody did."""

import subprocess
import sys
from typing import Any

import pytest
import traced_server
from opentelemetry import trace
from spans import Spans, installed, provider
from traced_server import build

from mcp import Client, types
from mcp.engine.tracing import current_tracer
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.middleware import OpenTelemetryMiddleware

pytestmark = pytest.mark.anyio


async def call(server: Server[Any], mode: str, **options: Any) -> None:
    async def answer(ctx: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with Client(server, mode=mode, elicitation_callback=answer, **options) as client:
        await client.call_tool("work" if mode == "auto" else "asks")


def kinds(spans: Spans) -> set[str]:
    return {span.kind for span in spans.all}


async def test_a_server_without_its_middleware_makes_no_spans(mode: str, spans: Spans) -> None:
    from mcp.server._otel import OpenTelemetryMiddleware as FromOlderPath

    server = build()
    server.middleware[:] = [layer for layer in server.middleware if not isinstance(layer, FromOlderPath)]
    await call(server, mode, tracing=False)

    assert [span.name for span in spans.all] == ["the tool's own"]


async def test_a_server_made_without_tracing_makes_none_either(mode: str, spans: Spans) -> None:
    server = build(tracing=False)
    await call(server, mode, tracing=False)

    assert server.middleware == []
    assert [span.name for span in spans.all] == ["the tool's own"]


async def test_each_end_has_its_own_switch(mode: str, spans: Spans) -> None:
    await call(build(tracing=False), mode)
    assert kinds(spans) == {"CLIENT", "INTERNAL"}

    spans.all.clear()
    await call(build(), mode="auto", tracing=False)
    assert kinds(spans) == {"SERVER", "INTERNAL"}


async def test_a_client_without_tracing_carries_nothing(mode: str, spans: Spans) -> None:
    carried: list[Any] = []

    async def note(ctx: traced_server.Context, call_next: CallNext) -> Any:
        carried.append((ctx.meta or {}).get("traceparent"))
        return await call_next(ctx)

    server = build()
    server.middleware.append(note)
    with trace.get_tracer("shop").start_as_current_span("the caller's own"):
        await call(server, mode, tracing=False)

    assert set(carried) == {None}


def test_it_is_the_outermost_of_the_middleware() -> None:
    assert [type(layer) for layer in build().middleware] == [OpenTelemetryMiddleware]


async def test_a_middleware_of_the_users_sees_the_finished_result_with_and_without_a_provider(mode: str) -> None:
    seen: list[Any] = []

    async def note(ctx: traced_server.Context, call_next: CallNext) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            seen.append(result)
        return result

    server = build()
    server.middleware.append(note)
    await call(server, mode)
    with installed(provider(Spans())):
        await call(server, mode)

    assert seen[0] == seen[1]
    assert isinstance(seen[0], dict)


async def test_used_by_hand_without_a_provider_it_passes_on(mode: str) -> None:
    """As a middleware of the user's own may, that wraps it."""
    tracing = OpenTelemetryMiddleware()

    async def wrapped(ctx: traced_server.Context, call_next: CallNext) -> Any:
        return await tracing(ctx, call_next)

    server = build(tracing=False)
    server.middleware.append(wrapped)
    async with Client(server, mode=mode) as client:
        assert not (await client.call_tool("work")).is_error


@pytest.mark.parametrize("nothing", [trace.ProxyTracerProvider(), trace.NoOpTracerProvider(), None])
def test_a_provider_that_does_nothing_counts_as_none(nothing: Any) -> None:
    with installed(nothing):
        assert current_tracer() is None


def test_an_sdk_that_is_switched_off_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with installed(provider(Spans())):
        assert current_tracer() is None


def test_another_provider_is_noticed() -> None:
    for _ in range(2):
        with installed(provider(Spans())):
            assert current_tracer() is not None
        assert current_tracer() is None


PROGRAM = """
import anyio
from mcp import Client, types
from mcp.server import Server

async def call_tool(ctx, params):
    return types.CallToolResult(content=[])

server = Server("s", on_call_tool=call_tool)

async def call():
    for mode in ("auto", "legacy"):
        async with Client(server, mode=mode) as client:
            await client.call_tool("t")
"""

EXPORTING = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
"""


def run(program: str, **environment: str) -> str:
    """What a program of its own prints."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, env={**environment})
    return done.stdout.strip()


def test_opentelemetry_is_not_even_loaded_where_nobody_else_loads_it() -> None:
    loaded = "import sys; print([name for name in sys.modules if name.startswith('opentelemetry')])"

    assert run(f"{PROGRAM}\nanyio.run(call)\n{loaded}") == "[]"


def test_a_provider_may_be_installed_while_a_server_serves() -> None:
    later = f"""
{PROGRAM}
{EXPORTING}
from opentelemetry import trace

async def main():
    async with Client(server, validate_output="off") as client:
        await client.call_tool("before")
        trace.set_tracer_provider(provider)
        await client.call_tool("after")

anyio.run(main)
print([span.name for span in exporter.get_finished_spans()])
"""

    assert run(later) == "['tools/call after', 'MCP send tools/call after']"


def test_the_environment_chooses_the_formats_of_trace_context() -> None:
    carried = f"""
{PROGRAM}
{EXPORTING}
from opentelemetry import baggage, context, trace
trace.set_tracer_provider(provider)

async def note(ctx, call_next):
    print(ctx.meta)
    return await call_next(ctx)

server.middleware.append(note)
context.attach(baggage.set_baggage("shop", "north"))

async def main():
    async with Client(server, mode="legacy") as client:
        await client.call_tool("t", meta={{"tracestate": "a=b"}})

anyio.run(main)
"""

    metas = run(carried, OTEL_PROPAGATORS="baggage").splitlines()
    assert "{'tracestate': 'a=b', 'baggage': 'shop=north'}" in metas
    assert "traceparent" not in "".join(metas)


def test_a_provider_that_the_environment_names_is_installed() -> None:
    named = """
from mcp.engine.tracing import current_tracer
print(type(current_tracer()).__module__)
"""

    assert run(named, OTEL_PYTHON_TRACER_PROVIDER="sdk_tracer_provider") == "opentelemetry.sdk.trace"
