"""Spans of requests, and the trace context that travels in `_meta`.

Specification: 2026-07-28, basic/index under "OpenTelemetry trace context". The names of attributes are those of
OpenTelemetry's semantic conventions for MCP, JSON-RPC and generative AI.

Providers, samplers, processors and propagators are the program's, and may raise: then a message goes without what they
were to do for it.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from traceback import format_exception
from typing import Any, Final, TypeVar

import anyio
from opentelemetry import propagate, trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider

from mcp.engine.harmless import Harmless
from mcp.engine.isolation import original
from mcp.engine.tracing import TRACER_NAME
from mcp.protocol.codec import RequestId
from mcp.protocol.results import says_tool_failed
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import MalformedResultError, MCPError, RequestTimeoutError, TransportError

__all__ = ["in_trace_of", "installed_tracer", "note_result", "server_span", "traced_request"]

T = TypeVar("T")

MAX_TEXT: Final = 256
"""How much is taken of what a peer chose, in characters; no name of the protocol is as long."""

MAX_CARRIED: Final = 8192
"""The longest value of `_meta` that is read for trace context, in characters. W3C demands no more of anybody."""

_NAMES_ITS_TARGET: Final = frozenset({"tools/call", "prompts/get"})
_NOT_ANSWERED: Final = (TransportError, RequestTimeoutError, MalformedResultError)

_GETTING_A_TRACER = Harmless("getting a tracer")
_READING_CONTEXT = Harmless("reading trace context")
_WRITING_CONTEXT = Harmless("writing trace context")
_STARTING = Harmless("starting a span")
_DESCRIBING = Harmless("describing a span")
_ENDING = Harmless("ending a span")


def installed_tracer() -> Tracer | None:
    """The tracer of the global provider; None where that does nothing, or fails."""
    with _GETTING_A_TRACER:
        return _tracer_of(trace.get_tracer_provider())
    return None


@lru_cache(maxsize=1)
def _tracer_of(provider: TracerProvider) -> Tracer | None:
    if isinstance(provider, (trace.ProxyTracerProvider, trace.NoOpTracerProvider)):
        return None
    tracer = provider.get_tracer(TRACER_NAME)
    # What an SDK returns that is switched off.
    return None if isinstance(tracer, trace.NoOpTracer) else tracer


@contextmanager
def server_span(
    tracer: Tracer, method: str, params: Mapping[str, Any] | None, version: str, id: RequestId | None
) -> Generator[Span, None, None]:
    """A span for the handling of an inbound message: a child of what its `_meta` names, else of the current span.

    Args:
        tracer: Makes the span.
        method: The message's method.
        params: Its raw params.
        version: The revision that it speaks.
        id: The request's id; None for a notification.
    """
    params = params or {}
    target = _target(method, params)
    attributes = {**_attributes(method, id), "mcp.protocol.version": version}
    if method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    if target is not None:
        attributes["gen_ai.tool.name" if method == "tools/call" else "gen_ai.prompt.name"] = target
    with (
        in_trace_of(params),
        _current_span(tracer, _name(method, target), None, SpanKind.SERVER, attributes) as span,
    ):
        try:
            yield span
        except BaseException as failure:
            _note(span, failure, answered=isinstance(failure, MCPError))
            raise


def note_result(span: Span, method: str, result: Any) -> None:
    """Marks the span of a call whose tool failed.

    Args:
        span: The span.
        method: The method.
        result: Its result, in wire form or as a model.
    """
    if says_tool_failed(method, result):
        with _DESCRIBING:
            span.set_attribute("error.type", "tool_error")
            span.set_status(StatusCode.ERROR)


async def traced_request(
    tracer: Tracer,
    send: Callable[..., Awaitable[T]],
    id: RequestId,
    method: str,
    params: dict[str, Any] | None,
    *options: Any,
) -> T:
    """Sends a request within a span for it, which the peer learns of.

    Args:
        tracer: Makes the span.
        send: Sends it, given what follows here, and returns its result.
        id: The request's id.
        method: Its method.
        params: Its params in wire form; they are not changed.
        options: What else `send` takes.
    """
    params = params or {}
    # A caller without a span may stand in a trace that it knows of by other means.
    parent = None if _stands_in_a_trace() else _parent(params)
    name = f"MCP send {_name(method, _target(method, params))}"
    with _current_span(tracer, name, parent, SpanKind.CLIENT, _attributes(method, id)) as span:
        try:
            return await send(id, method, _with_trace_context(params), *options)
        except BaseException as failure:
            _note(span, failure, answered=isinstance(failure, MCPError) and not isinstance(failure, _NOT_ANSWERED))
            raise


@contextmanager
def in_trace_of(params: Mapping[str, Any] | None) -> Generator[None, None, None]:
    """Makes the trace that the `_meta` of inbound params names the current one, without a span.

    Args:
        params: The params.
    """
    parent = _parent(params or {})
    if parent is None:
        yield
        return
    token = attach(parent)
    try:
        yield
    finally:
        detach(token)


@contextmanager
def _current_span(
    tracer: Tracer, name: str, parent: Context | None, kind: SpanKind, attributes: dict[str, str]
) -> Generator[Span, None, None]:
    """A span that is the current one; where it cannot be started, one that does nothing and is nowhere."""
    span = _started(tracer, name, parent, kind, attributes)
    if span is None:
        yield trace.INVALID_SPAN
        return
    token = attach(trace.set_span_in_context(span))
    try:
        yield span
    finally:
        detach(token)
        with _ENDING:
            span.end()


def _started(
    tracer: Tracer, name: str, parent: Context | None, kind: SpanKind, attributes: dict[str, str]
) -> Span | None:
    with _STARTING:
        return tracer.start_span(name, parent, kind, attributes, record_exception=False, set_status_on_exception=False)
    return None


def _stands_in_a_trace() -> bool:
    with _READING_CONTEXT:
        return trace.get_current_span().get_span_context().is_valid
    return False


def _attributes(method: str, id: RequestId | None) -> dict[str, str]:
    attributes = {"mcp.method.name": _short(method)}
    if id is not None:
        attributes["jsonrpc.request.id"] = _short(str(id))
    return attributes


def _target(method: str, params: Mapping[str, Any]) -> str | None:
    name = params.get("name") if method in _NAMES_ITS_TARGET else None
    return _short(name) if isinstance(name, str) else None


def _name(method: str, target: str | None) -> str:
    return _short(method) if target is None else f"{_short(method)} {target}"


def _short(text: str) -> str:
    return _exportable(text[:MAX_TEXT])


def _exportable(text: str) -> str:
    # Half of a character cannot be exported, and everything that is exported along with it would be lost.
    return text.encode(errors="replace").decode()


def _parent(params: Mapping[str, Any]) -> Context | None:
    """The context that `_meta` names, on top of the current one; None where it names none."""
    meta = params.get("_meta")
    if not is_object(meta):
        return None
    carried = {key: value for key, value in meta.items() if isinstance(value, str) and len(value) <= MAX_CARRIED}
    if carried:
        with _READING_CONTEXT:
            return propagate.extract(carried, get_current())
    return None


def _with_trace_context(params: dict[str, Any]) -> dict[str, Any]:
    carried: dict[str, str] = {}
    with _WRITING_CONTEXT:
        propagate.inject(carried)
    meta: dict[str, Any] = dict(params.get("_meta") or {})
    if "traceparent" in carried:
        meta.pop("tracestate", None)
    return {**params, "_meta": {**meta, **carried}}


def _note(span: Span, failure: BaseException, *, answered: bool) -> None:
    if isinstance(failure, GeneratorExit):
        # There may be no event loop any more to ask what a cancellation is.
        return
    if isinstance(failure, anyio.get_cancelled_exc_class()):
        return
    failure = original(failure)
    with _DESCRIBING:
        if answered and isinstance(failure, MCPError):
            code = str(failure.code)
            span.set_attributes({"error.type": code, "rpc.response.status_code": code})
            span.set_status(StatusCode.ERROR, _exportable(failure.message))
        else:
            span.set_attribute("error.type", type(failure).__qualname__)
            span.set_status(StatusCode.ERROR)
            _note_exception(span, failure)


def _note_exception(span: Span, failure: BaseException) -> None:
    # Of its own accord, a span would take the texts as they are.
    message = _exportable(str(failure))
    stack = _exportable("".join(format_exception(failure)))
    span.set_status(StatusCode.ERROR, message)
    span.record_exception(failure, {"exception.message": message, "exception.stacktrace": stack})
