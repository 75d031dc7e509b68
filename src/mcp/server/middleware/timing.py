"""How long messages take, and what becomes of them."""

import logging
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final

import anyio

from mcp.engine.isolation import original
from mcp.protocol.results import says_tool_failed
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

__all__ = ["OK", "Timing"]

logger = logging.getLogger(__name__)

OK: Final = "ok"
"""The outcome of what was handled without an error."""

CANCELLED: Final = "cancelled"
"""The outcome of what was cancelled, by its client or by a time limit."""

REPORT_SECONDS: Final = 5.0
"""How long a cancelled message waits for the report on it."""

Report = Callable[[ServerRequestContext[Any, Any], float, str], object]


class Timing:
    """Tells a function how long each message took, and how it ended: the place for metrics.

    Args:
        report: Called with the message's context, the seconds, and the outcome: "ok", "tool_error" for a tool whose
            result says that it failed, "cancelled", the code of an `MCPError` such as "-32602", or the name of
            another exception's class. It may be a coroutine function, for which the answer waits, and what was
            cancelled for five seconds at most. What it raises is logged, and harms no request.
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
        except GeneratorExit:
            # Closed, perhaps without an event loop: nothing can be waited for any more.
            _begin(self._tell(ctx, self._clock() - began, CANCELLED))
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(REPORT_SECONDS, shield=True):
                await self._tell(ctx, self._clock() - began, CANCELLED)
            raise
        except BaseException as failure:
            await self._tell(ctx, self._clock() - began, _outcome(failure))
            raise
        await self._tell(ctx, self._clock() - began, "tool_error" if says_tool_failed(ctx.method, result) else OK)
        return result

    async def _tell(self, ctx: ServerRequestContext[Any, Any], seconds: float, outcome: str) -> None:
        try:
            told = self._report(ctx, seconds, outcome)
            if told is not None and isawaitable(told):
                await told
        except Exception:
            logger.exception("the report on %r failed", ctx.method)


def _outcome(failure: BaseException) -> str:
    return str(failure.code) if isinstance(failure, MCPError) else type(original(failure)).__qualname__


def _begin(telling: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine for as long as it does not wait."""
    try:
        telling.send(None)
    except StopIteration:
        return
    telling.close()
