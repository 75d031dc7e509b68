"""A span for every message that a server receives."""

from typing import Any

from mcp.engine.tracing import current_tracer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

__all__ = ["OpenTelemetryMiddleware"]


class OpenTelemetryMiddleware:
    """Makes an OpenTelemetry span of kind SERVER for every message, in the trace that its `_meta` names.

    Every server has one, the first of its middleware, unless it was made with `tracing=False`. Until the program
    installs a tracer provider it does nothing, and a server with no other middleware is as fast as one with none.
    """

    received_only = True
    """Only for what clients send: see `ServerMiddleware`."""

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        tracer = current_tracer()
        if tracer is None:
            return await call_next(ctx)
        from mcp.engine.spans import note_result, server_span

        with server_span(tracer, ctx.method, ctx.params, ctx.protocol_version, ctx.request_id) as span:
            result = await call_next(ctx)
            note_result(span, ctx.method, result)
            return result
