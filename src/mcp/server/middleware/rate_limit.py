"""How often a caller may ask."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from math import ceil, inf
from threading import Lock
from time import monotonic
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.functions import plain_function
from mcp.server.middleware.callers import CallerKey, caller, chosen, key_of
from mcp.shared.exceptions import MCPError

__all__ = ["TOO_MANY_REQUESTS", "RateLimit"]

TOO_MANY_REQUESTS: Final = -31429
"""The code of a request that is refused because of a limit; the protocol leaves such codes to applications."""


class RateLimit:
    """Refuses requests of a caller that come too fast, with the error `TOO_MANY_REQUESTS`.

    The error's data says in `retryAfter` how many seconds to wait. Refused requests do not count. Notifications pass:
    nobody could be told. Each caller costs a few hundred bytes, for `max_callers` of them at most; whoever has been
    away longest is forgotten first.

    Args:
        requests: How many requests a caller may make in each period, and at once after a pause.
        per: The period, in seconds.
        key: Names whom a request comes from.
        methods: The methods that are limited; all when left out.
        max_callers: How many callers are remembered.
        clock: The time in seconds; it never goes back.

    Raises:
        ValueError: A number is not positive, or not finite.
        TypeError: `methods` is a single string, or `key` no plain function.
    """

    received_only = True
    """Only for what clients send: see `ServerMiddleware`."""

    def __init__(
        self,
        requests: int,
        *,
        per: float = 1.0,
        key: CallerKey = caller,
        methods: Collection[str] | None = None,
        max_callers: int = 10_000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if not (1 <= requests < inf and 0 < per < inf and 1 <= max_callers < inf):
            raise ValueError(
                "requests, per and max_callers must be positive and finite, "
                f"got {requests!r}, {per!r} and {max_callers!r}"
            )
        self._requests = requests
        self._per = per
        self._key = plain_function("key", key)
        self._methods = chosen(methods)
        self._max_callers = max_callers
        self._clock = clock
        # When each caller will have paid for all of its requests, the one that asked last at the end.
        self._paid: OrderedDict[Hashable, float] = OrderedDict()
        # A server may serve in several threads.
        self._lock = Lock()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message; see `ServerMiddleware`."""
        if ctx.request_id is not None and (self._methods is None or ctx.method in self._methods):
            wait = self._take(key_of(self._key, ctx))
            if wait > 0:
                raise MCPError(
                    TOO_MANY_REQUESTS,
                    f"Too many requests: {self._requests} in {self._per:g} s are allowed; try again in {ceil(wait)} s",
                    {"retryAfter": ceil(wait * 1000) / 1000},
                )
        return await call_next(ctx)

    def _take(self, key: Hashable) -> float:
        """Lets a request through, or returns in how many seconds one will be."""
        price = self._per / self._requests
        with self._lock:
            now = self._clock()
            paid = max(self._paid.get(key, now), now)
            wait = paid + price - now - self._per
            # Sums of such prices are a little off.
            if wait > price * 1e-6:
                self._paid.move_to_end(key)
                return wait
            self._paid[key] = paid + price
            self._paid.move_to_end(key)
            if len(self._paid) > self._max_callers:
                self._paid.popitem(last=False)
            return 0.0
