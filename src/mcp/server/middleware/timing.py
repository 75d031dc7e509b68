"""How long messages take, and what becomes of them."""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import anyio

from mcp.protocol.results import says_tool_failed
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

__all__ = ["OK", "Timing"]

logger = logging.getLogger(__name__)

OK: Final = "ok"
"""The outcome of what was handled without an error."""

Report = Callable[[ServerRequestContext[Any, Any], float, str], object]


class Timing:
    """Tells a function how long each message took, and how it ended: the place for metrics.

    Args:
        report: Called with the message's context, the seconds, and the outcome: "ok", "tool_error" for a tool whose
            result says that it failed, "cancelled", the code of an `MCPError` such as "-32602", or the name of
            another exception's class. What it raises is logged, and harms no request.
        clock: The time in seconds.
    """

    received_only = True
    """Only for what clients send: see `ServerMiddleware`."""

    def __init__(self, report: Report, *, clock: Callable[[], float] = perf_counter) -> None:
        self._report = report
        self._clock = clock

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        began = self._clock()
        try:
            result = await call_next(ctx)
        except BaseException as failure:
            self._tell(ctx, self._clock() - began, _outcome(failure))
            raise
        self._tell(ctx, self._clock() - began, "tool_error" if says_tool_failed(ctx.method, result) else OK)
        return result

    def _tell(self, ctx: ServerRequestContext[Any, Any], seconds: float, outcome: str) -> None:
        try:
            self._report(ctx, seconds, outcome)
        except Exception:
            logger.exception("the report on %r failed", ctx.method)


def _outcome(failure: BaseException) -> str:
    if isinstance(failure, MCPError):
        return str(failure.code)
    # Closed, perhaps without an event loop, which could say what a cancellation is.
    if isinstance(failure, GeneratorExit):
        return "cancelled"
    return "cancelled" if isinstance(failure, anyio.get_cancelled_exc_class()) else type(failure).__qualname__
