"""How much a caller may have done at once."""

from collections.abc import Collection, Hashable
from threading import Lock
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.functions import plain_function
from mcp.server.middleware.callers import LISTEN, CallerKey, caller, chosen, key_of
from mcp.server.middleware.rate_limit import TOO_MANY_REQUESTS
from mcp.shared.exceptions import MCPError

__all__ = ["ConcurrencyLimit"]


class ConcurrencyLimit:
    """Refuses requests of a caller while too many of its requests run, with the error `TOO_MANY_REQUESTS`.

    They are refused at once, and not kept waiting: what waits takes memory, and a client can wait better. Callers are
    remembered while their requests run. Notifications pass, and so does `subscriptions/listen`, which is meant to run
    for ever, unless `methods` names it.

    Args:
        limit: How many requests of a caller may run at once.
        key: Names whom a request comes from. `lambda ctx: None` makes it a limit for the whole server.
        methods: The methods that are limited; all but `subscriptions/listen` when left out.

    Raises:
        ValueError: `limit` is not positive.
        TypeError: `methods` is a single string, or `key` no plain function.
    """

    received_only = True
    """Only for what clients send: see `ServerMiddleware`."""

    def __init__(self, limit: int, *, key: CallerKey = caller, methods: Collection[str] | None = None) -> None:
        if not limit >= 1:
            raise ValueError(f"limit must be positive, got {limit!r}")
        self._limit = limit
        self._key = plain_function("key", key)
        self._methods = chosen(methods)
        self._running: dict[Hashable, int] = {}
        # A server may serve in several threads.
        self._lock = Lock()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        limited = ctx.method != LISTEN if self._methods is None else ctx.method in self._methods
        if ctx.request_id is None or not limited:
            return await call_next(ctx)
        key = key_of(self._key, ctx)
        self._enter(key)
        try:
            return await call_next(ctx)
        finally:
            self._leave(key)

    def _enter(self, key: Hashable) -> None:
        with self._lock:
            running = self._running.get(key, 0)
            if running >= self._limit:
                raise MCPError(
                    TOO_MANY_REQUESTS,
                    f"Too many requests at once: {self._limit} may run, and {running} do",
                    {"limit": self._limit},
                )
            self._running[key] = running + 1

    def _leave(self, key: Hashable) -> None:
        with self._lock:
            left = self._running.pop(key) - 1
            if left:
                self._running[key] = left
