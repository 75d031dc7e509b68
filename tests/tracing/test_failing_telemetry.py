"""What raises in a provider, a processor or a propagator is logged, and harms no message."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from opentelemetry import context, propagate, trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Sampler
from spans import Spans, installed, provider

from mcp import Client, MCPError, types
from mcp.engine import harmless
from mcp.engine import spans as spans_module
from mcp.server import Server, ServerRequestContext

pytestmark = pytest.mark.anyio

LOGGER = "mcp.engine.harmless"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("boom")


async def call_tool(ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "refuses":
        raise MCPError(-31000, "not today")
    if params.name == "raises":
        raise ValueError("a secret")
    if params.name == "mute":
        raise Mute
    return types.CallToolResult(content=[], is_error=params.name == "fails")


async def use(mode: str, **options: Any) -> None:
    """Calls tools of every kind, and is answered as if nobody looked on."""
    async with Client(Server("plain", on_call_tool=call_tool), mode=mode, validate_output="off") as client:
        assert not (await client.call_tool("works", **options)).is_error
        assert (await client.call_tool("fails")).is_error
        with pytest.raises(MCPError, match="not today"):
            await client.call_tool("refuses")
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("raises")


class BadProvider(trace.TracerProvider):
    def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
        raise RuntimeError("boom")


class BadSampler(Sampler):
    def should_sample(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("boom")

    def get_description(self) -> str:
        return "bad"


class BadStart(SpanProcessor):
    def on_start(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("boom")


class BadEnd(SpanProcessor):
    def on_end(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("boom")


class BadSpan(trace.NonRecordingSpan):
    def fail(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("boom")

    get_span_context = set_attribute = set_attributes = set_status = record_exception = end = fail


class BadPropagator:
    fields: ClassVar[set[str]] = set()

    def extract(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("boom")

    def inject(self, *args: Any, **options: Any) -> None:
        raise RuntimeError("boom")


def processing(processor: SpanProcessor) -> TracerProvider:
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(processor)
    return made


@pytest.fixture(autouse=True)
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has failed yet."""
    for step in vars(spans_module).values():
        if isinstance(step, harmless.Harmless):
            monkeypatch.setattr(step, "_quiet_until", None)


@contextmanager
def propagating(propagator: Any) -> Generator[None, None, None]:
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(propagator)
    try:
        yield
    finally:
        propagate.set_global_textmap(before)


def logged(caplog: pytest.LogCaptureFixture) -> set[str]:
    return {record.getMessage() for record in caplog.records if record.name == LOGGER}


def lines(*steps: str) -> set[str]:
    return {f"OpenTelemetry failed at {step}; the message goes on" for step in steps}


@pytest.mark.parametrize(
    ("bad", "step"),
    [
        (BadProvider(), "getting a tracer"),
        (TracerProvider(sampler=BadSampler(), shutdown_on_exit=False), "starting a span"),
        (processing(BadStart()), "starting a span"),
        (processing(BadEnd()), "ending a span"),
    ],
    ids=["provider", "sampler", "on_start", "on_end"],
)
async def test_a_provider_that_raises_harms_no_message(
    bad: trace.TracerProvider, step: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(bad):
        await use(mode)

    assert logged(caplog) == lines(step)
    assert context.get_current() == {}


async def test_a_propagator_that_raises_costs_the_trace_alone(
    mode: str, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    with propagating(BadPropagator()):
        await use(mode, meta={"traceparent": "00-1-1-01"})

    assert spans.named("tools/call works").status == spans.named("MCP send tools/call works").status == "UNSET"
    assert logged(caplog) == lines("reading trace context", "writing trace context")


class BadTracer(trace.Tracer):
    def start_span(self, *args: Any, **options: Any) -> trace.Span:
        return BadSpan(trace.INVALID_SPAN_CONTEXT)

    def start_as_current_span(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


class ProviderOfBadSpans(trace.TracerProvider):
    def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
        return BadTracer()


async def test_a_span_that_raises_harms_no_message(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with installed(ProviderOfBadSpans()):
        await use(mode)

    assert lines("describing a span", "ending a span") <= logged(caplog)
    assert context.get_current() == {}


async def test_an_exception_without_a_text_is_an_error_all_the_same(mode: str, spans: Spans) -> None:
    async with Client(Server("plain", on_call_tool=call_tool), mode=mode, validate_output="off") as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("mute")

    span = spans.named("tools/call mute")
    assert (span.status, span.attributes["error.type"]) == ("ERROR", "Mute")


async def test_a_failure_is_told_of_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    times = iter([5.0, 5.1, 64.9, 65.0, 66.0])
    monkeypatch.setattr(harmless, "monotonic", lambda: next(times))
    step = harmless.Harmless("trying")
    told: list[int] = []
    for _ in range(5):
        with step:
            raise RuntimeError("boom")
        told.append(len(caplog.records))

    assert told == [1, 1, 1, 2, 2]
    assert caplog.records[0].levelno == logging.ERROR
    assert "RuntimeError: boom" in caplog.text


async def test_what_ends_the_task_is_not_kept() -> None:
    with pytest.raises(KeyboardInterrupt), harmless.Harmless("trying"):
        raise KeyboardInterrupt


async def test_after_a_failure_spans_are_made_again(mode: str) -> None:
    exporter = Spans()
    with installed(BadProvider()):
        async with Client(Server("plain", on_call_tool=call_tool), mode=mode, validate_output="off") as client:
            await client.call_tool("works")
            with installed(provider(exporter)):
                await client.call_tool("works")
                await exporter.until("tools/call works")
