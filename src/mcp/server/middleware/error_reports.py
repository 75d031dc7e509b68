"""A hook for what should not have happened."""

import logging
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

__all__ = ["ErrorReports"]

logger = logging.getLogger(__name__)


class ErrorReports:
    """Tells a function of each exception that a message ends with, such as one that sends it to a service.

    An `MCPError` is an answer, and is not reported, and neither is a cancellation. Where a handler raised what would
    have ended the server's task or process, such as `SystemExit`, that is the `__cause__` of the exception. The
    exception goes on its way: the client is told "Internal server error", and the log has the traceback.

    Args:
        report: Called with the message's context and the exception, which is being handled at that moment; it may be
            a coroutine function, for which the answer waits. What it raises is logged, and hides nothing.
    """

    def __init__(self, report: Callable[[ServerRequestContext[Any, Any], Exception], object]) -> None:
        self._report = report

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        try:
            return await call_next(ctx)
        except MCPError:
            raise
        except Exception as failure:
            await self._tell(ctx, failure)
            raise

    async def _tell(self, ctx: ServerRequestContext[Any, Any], failure: Exception) -> None:
        try:
            told = self._report(ctx, failure)
            if isawaitable(told):
                await told
        except Exception:
            logger.exception("the report on an exception of %r failed", ctx.method)
