"""A new session in place of one that the server has forgotten, for a client that may do nothing but listen.

Whoever calls finds out by itself that the session is gone, and renews it. Nobody else would, so what listens does it as
well, in a task of its own.

Specification: basic/transports under "Session Management" (2025-11-25).
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from mcp.client._http_calls import Calls
from mcp.client._http_resumption import is_passing, reconnection_delay
from mcp.engine.backend import Spawner
from mcp.shared.exceptions import HTTPResponseError, MCPError, SessionExpiredError, TransportError
from mcp.types.jsonrpc import CONNECTION_CLOSED, REQUEST_TIMEOUT

__all__ = ["ListenersRenewal", "Renew"]

logger = logging.getLogger("mcp.client.streamable_http")

Renew = Callable[[], Awaitable[None]]
"""Opens a session in place of a certain one, unless that has been done meanwhile. Raises if it cannot be opened."""

_SHORT_SECONDS: Final = 10.0
"""A session that is lost sooner than this after the one before it is renewed after a delay."""


class ListenersRenewal:
    """Renews sessions that are listened to.

    Args:
        calls: What is under way on the connection.
        spawner: Owns the tasks.
        renewal: Makes what renews the session that is open at the moment.
    """

    def __init__(self, calls: Calls, spawner: Spawner, renewal: Callable[[], Renew]) -> None:
        self._calls = calls
        self._spawner = spawner
        self._renewal = renewal
        self._short_lived = 0
        self._last = float("-inf")

    def start(self) -> None:
        """The session is gone, and was listened to."""
        if self._calls.closed:
            return
        now = anyio.current_time()
        self._short_lived = self._short_lived + 1 if now - self._last < _SHORT_SECONDS else 0
        self._last = now
        delay = reconnection_delay(None, self._short_lived - 1) if self._short_lived else 0.0
        logger.info("the server no longer knows the session, and a new one is opened")
        self._spawner.spawn(self._renew, self._renewal(), delay)

    async def _renew(self, renew: Renew, delay: float) -> None:
        fruitless = 0
        while True:
            await anyio.sleep(delay)
            try:
                await renew()
            except Exception as failure:
                if self._calls.closed:
                    return
                if not _may_pass(failure):
                    logger.warning("the session that the server no longer knows cannot be renewed: %s", failure)
                    return
                logger.debug("the session could not be renewed yet: %s", failure)
            else:
                return
            delay = reconnection_delay(None, fruitless)
            fruitless += 1


def _may_pass(failure: Exception) -> bool:
    if isinstance(failure, HTTPResponseError):
        return isinstance(failure, SessionExpiredError) or is_passing(failure)
    if isinstance(failure, TransportError):
        return failure.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT)
    return isinstance(failure, MCPError)
