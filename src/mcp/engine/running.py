"""Requests of the peer's that are being answered: one table per connection, the same for both roles."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from mcp.engine.backend import Cancellable, Spawner
from mcp.engine.dispatch import Reply
from mcp.protocol.codec import Notification, Request, RequestId, encode_error
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST

__all__ = ["MAX_RUNNING_REQUESTS", "ClosableExchange", "RunningRequests"]

logger = logging.getLogger(__name__)

MAX_RUNNING_REQUESTS: Final = 4096
"""Requests that may run at a time on one connection; more are refused."""


class ClosableExchange(Protocol):
    """An exchange that is told when its request ends."""

    def close(self) -> None:
        """The request is answered: what belongs to it is dropped from now on."""
        ...

    def cancelled(self) -> None:
        """The peer cancelled the request."""
        ...

    def wind_down(self) -> None:
        """The connection is about to close: a request that would run for ever should end."""
        ...

    @property
    def waits_for_peer(self) -> bool:
        """Whether its handler waits for the peer to answer a question."""
        ...


class RunningRequests:
    """Runs each request in a task of its own, until it is answered or cancelled.

    Args:
        spawner: Owns the tasks.
        drain: Waits while the peer is behind with reading; called after each answer.
    """

    def __init__(self, spawner: Spawner, drain: Callable[[], Awaitable[None]]) -> None:
        self._spawner = spawner
        self._drain = drain
        self._running: dict[RequestId, _Running] = {}
        self._draining = 0

    @property
    def working(self) -> bool:
        """Whether a handler runs that does not wait for the peer."""
        return any(not running.exchange.waits_for_peer for running in self._running.values())

    def check(self, request: Request) -> None:
        """Refuses a request that cannot be run.

        Raises:
            MCPError: -32600: its id is in use, or too many are running.
        """
        if request.id in self._running:
            raise MCPError(INVALID_REQUEST, f"Request id {request.id!r} is in use by a request that still runs")
        if len(self._running) + self._draining >= MAX_RUNNING_REQUESTS:
            raise MCPError(INVALID_REQUEST, f"Too many requests: {MAX_RUNNING_REQUESTS} are running already")

    def start(
        self,
        id: RequestId,
        exchange: ClosableExchange,
        answer: Callable[[], Awaitable[Reply]],
        answered: Callable[[Reply | None], None],
    ) -> None:
        """Runs a request.

        Args:
            id: Its id.
            exchange: Its way back.
            answer: Answers it.
            answered: Takes the answer; None where the request was cancelled and there is none.
        """
        running = self._running[id] = _Running(exchange, answered)
        running.task = self._spawner.spawn(self._run, id, running, answer)

    async def _run(self, id: RequestId, running: "_Running", answer: Callable[[], Awaitable[Reply]]) -> None:
        if running.cancelled:
            return
        running.started = True
        reply = None
        try:
            reply = await answer()
        except asyncio.CancelledError:
            if not running.cancelled:
                logger.info("answered request %r with an error: its task was cancelled, not by the peer", id)
                reply = Reply(encode_error(id, INTERNAL_ERROR, "Internal server error"), INTERNAL_ERROR)
            raise
        finally:
            # From here on nothing awaits before the answer is taken, so a late cancellation cannot hit it.
            running.exchange.close()
            if self._running.get(id) is running:
                del self._running[id]
            if reply is not None and not running.cancelled:
                running.answered(reply)
        # It counts until the peer has read enough: one that asks and never reads is refused in the end.
        self._draining += 1
        try:
            await self._drain()
        finally:
            self._draining -= 1

    def cancel(self, notification: Notification) -> None:
        """Applies a `notifications/cancelled`. One for a request that is not running is ignored."""
        params = notification.params or {}
        id: Any = params.get("requestId")
        running = self._running.get(id) if type(id) in (str, int) else None
        if running is None or running.task is None:
            logger.debug("ignored the cancellation of %r, which is not running", id)
            return
        logger.debug("request %r was cancelled by the peer: %s", id, params.get("reason"))
        running.cancelled = True
        running.exchange.close()
        running.exchange.cancelled()
        running.answered(None)
        running.task.cancel()
        if not running.started:
            # On asyncio a task that is cancelled before its first step never takes it: nobody else forgets this one.
            del self._running[id]

    def wind_down(self) -> None:
        """Asks the requests that would run for ever to end."""
        for running in self._running.values():
            running.exchange.wind_down()

    def abandon(self, reason: MCPError) -> None:
        """Answers every running request with the same error, and drops whatever answer it still gives."""
        for id, running in self._running.items():
            if not running.cancelled:
                running.cancelled = True
                running.exchange.close()
                running.answered(Reply(encode_error(id, reason.code, reason.message, reason.data), reason.code))


class _Running:
    __slots__ = ("answered", "cancelled", "exchange", "started", "task")

    def __init__(self, exchange: ClosableExchange, answered: Callable[[Reply | None], None]) -> None:
        self.exchange = exchange
        self.answered = answered
        self.task: Cancellable | None = None
        self.started = False
        self.cancelled = False
