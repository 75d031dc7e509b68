"""JSON-RPC in both directions over one link, the same for both roles.

The reader never waits for user code. It applies answers and cancellations itself, starts a task for each request, and
puts other notifications in one bounded queue. The one exception is the request that opens a connection: it is
answered before anything further is read.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

import anyio

from mcp.engine.backend import Spawner
from mcp.engine.dispatch import Reply
from mcp.engine.exchange import Exchange, OneWayExchange
from mcp.engine.link import Frame, Link
from mcp.engine.pending import PendingRequests
from mcp.engine.requester import CallOptions
from mcp.engine.running import RunningRequests
from mcp.protocol.codec import (
    Batch,
    DecodeError,
    Message,
    Notification,
    Request,
    decode,
    encode_error,
    encode_notification,
)
from mcp.shared.exceptions import ConnectionClosedError, MCPError, NoBackChannelError

__all__ = ["Admission", "Duplex", "Side"]

logger = logging.getLogger(__name__)

MAX_WAITING_NOTIFICATIONS: Final = 4096


class Admission(NamedTuple):
    """A request that may be answered.

    Attributes:
        answer: Answers it, given its way back.
        can_ask: Whether its handler may ask the peer something.
    """

    answer: Callable[[Exchange], Awaitable[Reply]]
    can_ask: bool


class Side(Protocol):
    """What a role does with what arrives."""

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        ...

    def opens(self, request: Request) -> bool:
        """Whether nothing further may be read before this request is answered."""
        ...

    def admit(self, request: Request) -> "Admission":
        """How to answer a request.

        Raises:
            MCPError: It is refused.
        """
        ...

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        """Takes a notification. Never raises."""
        ...


class Duplex:
    """One connection.

    Args:
        link: The link; it is left open.
        spawner: Owns the tasks of the connection.
        side: What to do with what arrives.
    """

    def __init__(self, link: Link, spawner: Spawner, side: Side) -> None:
        self._link = link
        self._spawner = spawner
        self._side = side
        self._pending = PendingRequests(link.send)
        self._running = RunningRequests(spawner, link.drain)
        self._ids = count(1)
        self._notifications: deque[Notification] = deque()
        self._delivering = False

    # Outwards.

    async def request(self, id: Any, method: str, params: dict[str, Any] | None, options: CallOptions) -> Any:
        """Sends a request under an id of the caller's and returns the result; see `Requester.request`."""
        return await self._pending.request(id, method, params, options)

    async def ask(self, method: str, params: dict[str, Any] | None, options: CallOptions) -> Any:
        """Sends a request under an id of the connection's own and returns the result; see `Exchange.ask`."""
        return await self._pending.request(next(self._ids), method, params, options)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; waits while the peer is behind.

        Raises:
            TransportError: The connection is closed.
        """
        if self._pending.closed is not None:
            raise self._pending.closed
        self._pending.send(encode_notification(method, params))
        await self._link.drain()

    def close(self, reason: MCPError) -> None:
        """Fails what is pending, and every request from now on."""
        self._pending.fail_all(reason)

    async def finish(self, grace: float) -> None:
        """Gives running requests a moment to end, and answers what is still running then with an error.

        Args:
            grace: The moment, in seconds.
        """
        with anyio.move_on_after(grace):
            await self._spawner.idle()
        closed = ConnectionClosedError("Connection closed: the peer closed its side while the request was running")
        for id in self._running.abandon():
            self._send(encode_error(id, closed.code, closed.message))

    def _send(self, frame: bytes) -> None:
        try:
            self._link.send(frame)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped a message: the peer no longer reads")

    # Inwards.

    async def read(self) -> None:
        """Reads until the peer closes its side, then fails what is pending."""
        try:
            while True:
                for frame in await self._link.receive():
                    await self._take_frame(frame)
                if self._running.full:
                    # The peer floods. Refusals are short, but they too must not pile up before one that never reads.
                    await self._link.drain()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        self.close(await self._end_reason())

    async def _end_reason(self) -> MCPError:
        closed_reason: Callable[[], Awaitable[MCPError]] | None = getattr(self._link, "closed_reason", None)
        return ConnectionClosedError() if closed_reason is None else await closed_reason()

    async def _take_frame(self, frame: Frame) -> None:
        try:
            message = decode(frame, allow_batch=self._side.takes_batches) if isinstance(frame, bytes) else frame
        except DecodeError as error:
            message = error
        if isinstance(message, Batch):
            self._take_batch(message)
        elif isinstance(message, Request):
            if self._side.opens(message):
                await self._open(message)
            else:
                self._start(message, self._answered)
        else:
            self._take_other(message)

    def _take_other(self, message: Message | DecodeError) -> None:
        if isinstance(message, DecodeError):
            self._refuse_broken(message)
        elif isinstance(message, Notification):
            self._notified(message)
        else:
            assert not isinstance(message, Request)
            self._pending.answered(message)

    def _refuse_broken(self, error: DecodeError) -> None:
        if error.response_id is not None:
            logger.error("Failed to parse JSONRPC message from peer: %s", error.message)
            self._pending.broken(error)
        else:
            self._send(encode_error(error.id, error.code, error.message))

    # Requests.

    async def _open(self, request: Request) -> None:
        try:
            self._running.check(request)
            admission = self._side.admit(request)
        except MCPError as problem:
            self._send(_refusal(request, problem).frame)
            return
        reply = await admission.answer(_LinkExchange(self, admission.can_ask))
        self._send(reply.frame)

    def _start(self, request: Request, answered: Callable[[Reply | None], None]) -> None:
        try:
            self._running.check(request)
            admission = self._side.admit(request)
        except MCPError as problem:
            answered(_refusal(request, problem))
            return
        exchange = _LinkExchange(self, admission.can_ask)
        self._running.start(request.id, exchange, partial(admission.answer, exchange), answered)

    def _answered(self, reply: Reply | None) -> None:
        if reply is not None:
            self._send(reply.frame)

    def _take_batch(self, batch: Batch) -> None:
        """Answers the requests of a batch with one batch, once all of them are answered."""
        answers = _BatchAnswers(self._send, sum(isinstance(item, Request) for item in batch.items))
        for item in batch.items:
            if isinstance(item, DecodeError) and item.response_id is None:
                answers.frames.append(encode_error(item.id, item.code, item.message))
            elif isinstance(item, Request):
                self._start(item, answers.add)
            else:
                self._take_other(item)
        answers.send_if_complete()

    # Notifications.

    def _notified(self, notification: Notification) -> None:
        if notification.method == "notifications/cancelled":
            self._running.cancel(notification)
            return
        if notification.method == "notifications/progress" and self._pending.progressed(notification.params or {}):
            return
        if len(self._notifications) >= MAX_WAITING_NOTIFICATIONS:
            logger.warning("dropped %s: %d notifications are waiting", notification.method, MAX_WAITING_NOTIFICATIONS)
            return
        self._notifications.append(notification)
        if not self._delivering:
            self._delivering = True
            self._spawner.spawn(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._notifications:
                await self._side.notified(self._notifications.popleft(), _LinkExchange(self, can_ask=True))
        finally:
            self._delivering = False


def _refusal(request: Request, problem: MCPError) -> Reply:
    return Reply(encode_error(request.id, problem.code, problem.message, problem.data), problem.code)


class _BatchAnswers:
    """The answers to one batch, on their way to being one batch themselves. Nothing answers what was cancelled."""

    def __init__(self, send: Callable[[bytes], None], expected: int) -> None:
        self._send = send
        self._expected = expected
        self._sent = False
        self.frames: list[bytes] = []

    def add(self, reply: Reply | None) -> None:
        self._expected -= 1
        if reply is not None:
            self.frames.append(reply.frame)
        self.send_if_complete()

    def send_if_complete(self) -> None:
        if not self._expected and self.frames and not self._sent:
            self._sent = True
            self._send(b"[" + b",".join(self.frames) + b"]")


class _LinkExchange(OneWayExchange):
    """The way back of one message on a link."""

    __slots__ = ("_duplex", "_open", "can_ask")

    def __init__(self, duplex: Duplex, can_ask: bool) -> None:
        super().__init__()
        self._duplex = duplex
        self._open = True
        self.can_ask = can_ask

    def close(self) -> None:
        """The request is answered."""
        self._open = False

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request; waits while the peer is behind."""
        if not self._open:
            logger.debug("dropped %s: its request is answered", method)
            return
        try:
            await self._duplex.notify(method, params)
        except ConnectionClosedError:
            logger.debug("dropped %s: the connection is closed", method)

    async def ask(self, method: str, params: dict[str, Any] | None, options: CallOptions) -> Any:
        """Asks the peer something, on the same link."""
        if not self.can_ask:
            raise NoBackChannelError(method)
        return await self._duplex.ask(method, params, options)
