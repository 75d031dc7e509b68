"""A new session in place of one that the server no longer knows.

Specification: basic/transports under "Session Management" (2025-11-25): a 404 to a request that names its session means
that a new one has to be started.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from mcp.shared.exceptions import HTTPResponseError, MCPError, SessionExpiredError, TransportError

__all__ = ["Renewal", "StandingRequests"]

logger = logging.getLogger("client")


class Renewal:
    """Opens one new session, however many calls find out at once that the old one is gone.

    Args:
        open: Opens a session.

    Attributes:
        generation: How many sessions there have been before this one.
    """

    def __init__(self, open: Callable[[], Awaitable[object]]) -> None:
        self._open = open
        self._attempt: _Attempt | None = None
        self.generation = 0

    async def replace(self, generation: int) -> None:
        """Returns once there is a newer session than that of this generation.

        Raises:
            Exception: It cannot be opened. The next call tries again.
        """
        while self.generation == generation:
            attempt = self._attempt
            if attempt is None:
                await self._try()
            else:
                await attempt.ended.wait()
                if attempt.failure is not None:
                    raise attempt.failure

    async def _try(self) -> None:
        attempt = self._attempt = _Attempt()
        try:
            await self._open()
            self.generation += 1
        except Exception as failure:
            attempt.failure = failure
            raise
        finally:
            # Cancelled, it has no failure: one of those that wait for it tries in its place.
            self._attempt = None
            attempt.ended.set()


class _Attempt:
    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.failure: Exception | None = None


class StandingRequests:
    """The requests whose effect lasts as long as the session: its log level, and the resources it watches."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[str, dict[str, Any]]] = {}

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Takes note of a request that the server has granted: one that lasts, or one that ends such a request."""
        if method == "logging/setLevel":
            self._kept[method] = method, params
        elif method == "resources/subscribe":
            self._kept[params.get("uri")] = method, params
        else:
            self._kept.pop(params.get("uri"), None)

    async def repeat(self, request: Callable[[str, dict[str, Any]], Awaitable[object]]) -> None:
        """Makes them on a new session. One that is refused there is logged, and forgotten.

        Raises:
            TransportError: The new session is gone as well, or the server cannot be reached.
        """
        for key, (method, params) in list(self._kept.items()):
            try:
                await request(method, params)
            except MCPError as error:
                if _is_no_refusal(error):
                    raise
                self._kept.pop(key, None)
                logger.warning("the new session refused %s, which the old one had granted: %s", method, error)


def _is_no_refusal(error: MCPError) -> bool:
    if isinstance(error, HTTPResponseError):
        return isinstance(error, SessionExpiredError)
    return isinstance(error, TransportError)
