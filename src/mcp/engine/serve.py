"""Serves an engine over a link: every request in a task of its own, their answers in the order they are ready.

The reader never waits for user code. It applies cancellations itself, starts a task for each request, and puts other
notifications in one bounded queue.
"""

import logging
from collections import deque
from typing import Any, Final

import anyio

from mcp.engine.backend import Cancellable, Spawner, open_spawner
from mcp.engine.dispatch import Engine, Reply
from mcp.engine.exchange import OneWayExchange
from mcp.engine.link import Frame, Link
from mcp.protocol.codec import (
    DecodeError,
    Notification,
    Request,
    RequestId,
    decode,
    encode_error,
    encode_notification,
    encode_result,
)
from mcp.protocol.eras import handshake_refused, read_envelope, stream_era
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = ["CLOSING_GRACE_SECONDS", "MAX_RUNNING_REQUESTS", "serve_link"]

logger = logging.getLogger(__name__)

MAX_RUNNING_REQUESTS: Final = 4096
"""Requests that may run at a time on one connection; more are refused."""

MAX_WAITING_NOTIFICATIONS: Final = 4096

CLOSING_GRACE_SECONDS: Final = 1.0
"""How long requests may go on after the client has closed its side, so that what was piped in is still answered."""

CANCELLED: Final = "notifications/cancelled"


async def serve_link(engine: Engine[Any], link: Link, *, raise_exceptions: bool = False) -> None:
    """Serves one connection until the peer closes its side.

    Args:
        engine: Answers the requests.
        link: The connection; it is left open.
        raise_exceptions: End the connection with the first exception that a handler raised, once it is answered.
    """
    async with open_spawner() as spawner:
        connection = _Connection(engine, link, spawner, raise_exceptions)
        await connection.read()
        with anyio.move_on_after(CLOSING_GRACE_SECONDS):
            await spawner.idle()
    if connection.failure is not None:
        raise connection.failure


class _Connection:
    def __init__(self, engine: Engine[Any], link: Link, spawner: Spawner, raise_exceptions: bool) -> None:
        self._engine = engine
        self._link = link
        self._spawner = spawner
        self._raise_exceptions = raise_exceptions
        self._running: dict[RequestId, _Running] = {}
        self._notifications: deque[Notification] = deque()
        self._delivering = False
        self._refused = False
        self._reading = anyio.CancelScope()
        self.failure: Exception | None = None

    async def read(self) -> None:
        with self._reading:
            while True:
                try:
                    frames = await self._link.receive()
                except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return
                for frame in frames:
                    self._take(frame)
                if self._refused:
                    # Refusals are short, but they too must not pile up before a peer that floods and never reads.
                    self._refused = False
                    await self._link.drain()

    def _take(self, frame: Frame) -> None:
        try:
            message = decode(frame) if isinstance(frame, bytes) else frame
        except DecodeError as error:
            message = error
        if isinstance(message, DecodeError):
            self._refuse_broken(message)
            return
        if isinstance(message, Request):
            self._start(message)
        elif isinstance(message, Notification):
            self._notified(message)
        else:
            logger.debug("ignored an answer to %r: nothing was asked", message.id)

    def _refuse_broken(self, error: DecodeError) -> None:
        if error.response_id is None:
            self._refused = True
            self._send(encode_error(error.id, error.code, error.message))
        else:
            logger.debug("ignored an answer to %r, which is none: %s", error.response_id, error.message)

    # Requests.

    def _start(self, request: Request) -> None:
        if request.id in self._running:
            problem = MCPError(INVALID_REQUEST, f"Request id {request.id!r} is in use by a request that still runs")
        elif len(self._running) >= MAX_RUNNING_REQUESTS:
            problem = MCPError(INVALID_REQUEST, f"Too many requests: {MAX_RUNNING_REQUESTS} are running already")
        elif stream_era(request) == "handshake":
            problem = handshake_refused(request)
        else:
            running = self._running[request.id] = _Running(_LinkExchange(self._link))
            running.task = self._spawner.spawn(self._serve, request, running)
            return
        self._refuse(request, problem)

    def _refuse(self, request: Request, problem: MCPError) -> None:
        self._refused = True
        self._send(encode_error(request.id, problem.code, problem.message, problem.data))

    async def _serve(self, request: Request, running: "_Running") -> None:
        if running.cancelled:
            return
        running.started = True
        try:
            reply = await self._reply(request, running.exchange)
        finally:
            # From here on nothing awaits before the answer is queued, so a late cancel cannot hit the write.
            running.exchange.open = False
            del self._running[request.id]
        if not running.cancelled:
            self._send(reply.frame)
            await self._link.drain()

    async def _reply(self, request: Request, exchange: "_LinkExchange") -> Reply:
        engine = self._engine
        try:
            envelope = read_envelope(request.params)
            if not self._raise_exceptions:
                return await engine.handle(request, envelope, exchange)
            return await self._reply_or_fail(request, envelope, exchange)
        except MCPError as error:
            return engine.failed(request, error)

    async def _reply_or_fail(self, request: Request, envelope: Any, exchange: "_LinkExchange") -> Reply:
        try:
            return Reply(encode_result(request.id, await self._engine.call(request, envelope, exchange)), None)
        except MCPError:
            raise
        except Exception as failure:
            if self.failure is None:
                self.failure = failure
            self._reading.cancel()
            return self._engine.failed(request, failure)

    def _send(self, frame: bytes) -> None:
        try:
            self._link.send(frame)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped a message: the peer no longer reads")

    # Notifications.

    def _notified(self, notification: Notification) -> None:
        if notification.method == CANCELLED:
            self._cancel(notification)
            return
        if stream_era(notification) == "handshake":
            logger.debug("dropped %s: it names no protocol version in _meta", notification.method)
            return
        if len(self._notifications) >= MAX_WAITING_NOTIFICATIONS:
            logger.warning("dropped %s: %d notifications are waiting", notification.method, MAX_WAITING_NOTIFICATIONS)
            return
        self._notifications.append(notification)
        if not self._delivering:
            self._delivering = True
            self._spawner.spawn(self._deliver)

    def _cancel(self, notification: Notification) -> None:
        id: Any = (notification.params or {}).get("requestId")
        running = self._running.get(id) if type(id) in (str, int) else None
        if running is None or running.task is None:
            logger.debug("ignored the cancellation of %r, which is not running", id)
            return
        reason = (notification.params or {}).get("reason")
        logger.debug("request %r was cancelled by the client: %s", id, reason)
        running.cancelled = True
        running.exchange.open = False
        running.exchange.cancelled()
        running.task.cancel()
        if not running.started:
            # On asyncio a task that is cancelled before its first step never takes it: nobody else forgets this one.
            del self._running[id]

    async def _deliver(self) -> None:
        try:
            while self._notifications:
                notification = self._notifications.popleft()
                try:
                    envelope = read_envelope(notification.params)
                except MCPError as error:
                    logger.debug("dropped %s: %s", notification.method, error)
                    continue
                await self._engine.notified(notification, envelope, _LinkExchange(self._link))
        finally:
            self._delivering = False


class _Running:
    __slots__ = ("cancelled", "exchange", "started", "task")

    def __init__(self, exchange: "_LinkExchange") -> None:
        self.exchange = exchange
        self.task: Cancellable | None = None
        self.started = False
        self.cancelled = False


class _LinkExchange(OneWayExchange):
    __slots__ = ("_link", "open")

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self.open = True

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request; waits while the peer is behind."""
        if not self.open:
            logger.debug("dropped %s: its request is answered", method)
            return
        try:
            self._link.send(encode_notification(method, params))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped %s: the peer no longer reads", method)
            return
        await self._link.drain()
