"""How long a message may take."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final

import anyio

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.middleware.callers import LISTEN
from mcp.shared.exceptions import MCPError

__all__ = ["TIME_LIMIT_EXCEEDED", "TimeLimit"]

TIME_LIMIT_EXCEEDED: Final = -31408
"""The code of a request that took too long. It is not that of a client's own time limit, which is about the client."""


class TimeLimit:
    """Cancels what takes too long. A request is answered with the error `TIME_LIMIT_EXCEEDED`.

    The handler is cancelled as a client would cancel it, and its clean-up is waited for. A handler that ends all the
    same, with a result or an error of its own, has the last word. The wait for an answer of the client's counts.
    `subscriptions/listen`, which is meant to run for ever, has no limit unless `methods` names one.

    Args:
        seconds: How long each message may take; None sets no limit.
        methods: Limits of single methods, in place of `seconds`; None for no limit.

    Raises:
        ValueError: A limit is not positive, or there is none at all.
    """

    def __init__(self, seconds: float | None = None, *, methods: Mapping[str, float | None] | None = None) -> None:
        self._default = seconds
        self._methods = {LISTEN: None, **(methods or {})}
        limits = [limit for limit in (seconds, *self._methods.values()) if limit is not None]
        if not limits:
            raise ValueError("a TimeLimit needs seconds, or methods with a limit")
        if not all(limit > 0 for limit in limits):
            raise ValueError(f"a limit must be a positive number of seconds, got {min(limits)!r}")

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        seconds = self._methods.get(ctx.method, self._default)
        if seconds is None or seconds == inf:
            return await call_next(ctx)
        with anyio.move_on_after(seconds):
            return await call_next(ctx)
        raise MCPError(
            TIME_LIMIT_EXCEEDED,
            f"Timed out: {ctx.method} may take {seconds:g} s on this server",
            {"timeoutSeconds": seconds},
        )
