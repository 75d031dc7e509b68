"""JSON-RPC in both directions over one connection, the same for both roles.

What arrives never waits for user code. Answers and cancellations are applied at once, each request gets a task, and
other notifications go through one bounded queue. The one exception is the request that opens a connection: it is
answered before anything further is taken.
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
from mcp.engine.exchange import NOWHERE, Exchange, OneWayExchange, Origin
from mcp.engine.link import Frame, Link, origin_of
from mcp.engine.pending import PendingRequests
from mcp.engine.requester import CallOptions
from mcp.engine.running import RunningRequests
from mcp.protocol.codec import (
    Batch,
    DecodeError,
    Message,
    Notification,
    Request,
    RequestId,
    decode,
    encode_error,
    encode_notification,
)
from mcp.shared.exceptions import ConnectionClosedError, MCPError, NoBackChannelError

__all__ = ["Admission", "Duplex", "LinkOutlet", "Outlet", "Side"]

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


class Outlet(Protocol):
    """The way out of a connection."""

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """Queues one frame. Never waits.

        Args:
            frame: The frame.
            related: The request of the peer's that it belongs to, for transports that answer each on its own stream.
            final: Whether it is the answer to that request.

        Raises:
            anyio.ClosedResourceError: This side was closed.
            anyio.BrokenResourceError: The peer no longer reads.
        """
        ...

    def abandoned(self, related: RequestId) -> None:
        """The request was cancelled and gets no answer."""
        ...

    async def drain(self, related: RequestId | None = None) -> None:
        """Waits while the peer is behind with reading.

        Args:
            related: The request that what was sent last belongs to; see `send`.
        """
        ...


class LinkOutlet:
    """The way out of a link, which has one stream for everything."""

    def __init__(self, link: Link) -> None:
        self._send = link.send
        self._drain = link.drain

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """See `Outlet.send`."""
        self._send(frame)

    def abandoned(self, related: RequestId) -> None:
        """See `Outlet.abandoned`."""

    async def drain(self, related: RequestId | None = None) -> None:
        """See `Outlet.drain`."""
        await self._drain()


class Duplex:
    """One connection.

    Args:
        outlet: The way out.
        spawner: Owns the tasks of the connection.
        side: What to do with what arrives.
    """

    def __init__(self, outlet: Outlet, spawner: Spawner, side: Side) -> None:
        self._outlet = outlet
        self._spawner = spawner
        self._side = side
        self._pending = PendingRequests(outlet.send)
        self._running = RunningRequests(spawner, outlet.drain)
        self._ids = count(1)
        self._notifications: deque[tuple[Notification, Origin | None]] = deque()
        self._delivering = False

    # Outwards.

    async def request(self, id: Any, method: str, params: dict[str, Any] | None, options: CallOptions) -> Any:
        """Sends a request under an id of the caller's and returns the result; see `Requester.request`."""
        return await self._pending.request(id, method, params, options)

    async def ask(
        self, method: str, params: dict[str, Any] | None, options: CallOptions, related: RequestId | None = None
    ) -> Any:
        """Sends a request under an id of the connection's own and returns the result; see `Exchange.ask`."""
        id = next(self._ids)
        if options.on_progress is not None:
            meta: dict[str, Any] = (params or {}).get("_meta") or {}
            params = {**(params or {}), "_meta": {**meta, "progressToken": id}}
        return await self._pending.request(id, method, params, options, related)

    async def notify(self, method: str, params: dict[str, Any] | None, related: RequestId | None = None) -> None:
        """Sends a notification; waits while the peer is behind.

        Raises:
            TransportError: The connection is closed.
        """
        if self._pending.closed is not None:
            raise self._pending.closed
        self._pending.send(encode_notification(method, params), related)
        await self._outlet.drain(related)

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
        self.end(ConnectionClosedError("Connection closed: the peer closed its side while the request was running"))

    def end(self, reason: MCPError) -> None:
        """Fails what is pending, and answers what is running with the same error; nothing is sent afterwards."""
        self.close(reason)
        for id in self._running.abandon():
            self._send(encode_error(id, reason.code, reason.message), id)

    def _send(self, frame: bytes, id: RequestId | None) -> None:
        """Sends the answer to a request; to one whose id could not be read, without."""
        try:
            self._outlet.send(frame, id, final=True)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped a message: the peer no longer reads")

    # Inwards.

    async def read(self, link: Link) -> None:
        """Takes what arrives on a link until the peer closes its side, then fails what is pending."""
        try:
            while True:
                for frame in await link.receive():
                    await self.take(self._decoded(frame), origin_of(frame))
                if self._running.full:
                    # The peer floods. Refusals are short, but they too must not pile up before one that never reads.
                    await link.drain()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        closed_reason: Callable[[], Awaitable[MCPError]] | None = getattr(link, "closed_reason", None)
        self.close(ConnectionClosedError() if closed_reason is None else await closed_reason())

    def _decoded(self, frame: Frame) -> Message | Batch | DecodeError:
        try:
            return decode(frame, allow_batch=self._side.takes_batches) if isinstance(frame, bytes) else frame
        except DecodeError as error:
            return error

    async def take(self, message: Message | Batch | DecodeError, origin: Origin | None = None) -> None:
        """Takes one message. Waits only for the answer to one that opens the connection.

        Args:
            message: The message, or why what arrived is none.
            origin: What its transport knows about it.
        """
        if isinstance(message, Batch):
            self._take_batch(message, origin)
        elif isinstance(message, Request):
            if self._side.opens(message):
                await self._open(message, origin)
            else:
                self._start(message, partial(self._answered, message.id), origin)
        else:
            self._take_other(message, origin)

    def _take_other(self, message: Message | DecodeError, origin: Origin | None) -> None:
        if isinstance(message, DecodeError):
            self._refuse_broken(message)
        elif isinstance(message, Notification):
            self._notified(message, origin)
        else:
            assert not isinstance(message, Request)
            self._pending.answered(message)

    def _refuse_broken(self, error: DecodeError) -> None:
        if error.response_id is not None:
            logger.error("Failed to parse JSONRPC message from peer: %s", error.message)
            self._pending.broken(error)
        else:
            self._send(encode_error(error.id, error.code, error.message), error.id)

    # Requests.

    async def _open(self, request: Request, origin: Origin | None) -> None:
        try:
            self._running.check(request)
            admission = self._side.admit(request)
        except MCPError as problem:
            self._send(_refusal(request, problem).frame, request.id)
            return
        reply = await admission.answer(_DuplexExchange(self, request.id, origin, can_ask=admission.can_ask))
        self._send(reply.frame, request.id)

    def _start(self, request: Request, answered: Callable[[Reply | None], None], origin: Origin | None) -> None:
        try:
            self._running.check(request)
            admission = self._side.admit(request)
        except MCPError as problem:
            answered(_refusal(request, problem))
            return
        exchange = _DuplexExchange(self, request.id, origin, can_ask=admission.can_ask)
        self._running.start(request.id, exchange, partial(admission.answer, exchange), answered)

    def _answered(self, id: RequestId, reply: Reply | None) -> None:
        if reply is not None:
            self._send(reply.frame, id)
        else:
            self._outlet.abandoned(id)

    def _take_batch(self, batch: Batch, origin: Origin | None) -> None:
        """Answers the requests of a batch with one batch, once all of them are answered."""
        requests = [item.id for item in batch.items if isinstance(item, Request)]
        answers = _BatchAnswers(partial(self._batch_answered, requests), len(requests))
        for item in batch.items:
            if isinstance(item, DecodeError) and item.response_id is None:
                answers.frames.append(encode_error(item.id, item.code, item.message))
            elif isinstance(item, Request):
                self._start(item, answers.add, origin)
            else:
                self._take_other(item, origin)
        answers.send_if_complete()

    def _batch_answered(self, requests: list[RequestId], frames: list[bytes]) -> None:
        if frames:
            self._send(b"[" + b",".join(frames) + b"]", requests[0] if requests else None)
        elif requests:
            self._outlet.abandoned(requests[0])

    # Notifications.

    def _notified(self, notification: Notification, origin: Origin | None) -> None:
        if notification.method == "notifications/cancelled":
            self._running.cancel(notification)
            return
        if notification.method == "notifications/progress" and self._pending.progressed(notification.params or {}):
            return
        if len(self._notifications) >= MAX_WAITING_NOTIFICATIONS:
            logger.warning("dropped %s: %d notifications are waiting", notification.method, MAX_WAITING_NOTIFICATIONS)
            return
        self._notifications.append((notification, origin))
        if not self._delivering:
            self._delivering = True
            self._spawner.spawn(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._notifications:
                notification, origin = self._notifications.popleft()
                await self._side.notified(notification, _DuplexExchange(self, None, origin, can_ask=True))
        finally:
            self._delivering = False


def _refusal(request: Request, problem: MCPError) -> Reply:
    return Reply(encode_error(request.id, problem.code, problem.message, problem.data), problem.code)


class _BatchAnswers:
    """The answers to one batch, on their way to being one batch themselves. Nothing answers what was cancelled."""

    def __init__(self, send: Callable[[list[bytes]], None], expected: int) -> None:
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
        if not self._expected and not self._sent:
            self._sent = True
            self._send(self.frames)


class _DuplexExchange(OneWayExchange):
    """The way back of one message."""

    __slots__ = ("_duplex", "_id", "_open", "can_ask")

    def __init__(self, duplex: Duplex, id: RequestId | None, origin: Origin | None, *, can_ask: bool) -> None:
        super().__init__(origin or NOWHERE)
        self._duplex = duplex
        self._id = id
        self._open = True
        self.can_ask = can_ask and (origin is None or origin.can_ask)

    def close(self) -> None:
        """The request is answered."""
        self._open = False

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request; waits while the peer is behind."""
        if not self._open:
            logger.debug("dropped %s: its request is answered", method)
            return
        try:
            await self._duplex.notify(method, params, self._id)
        except ConnectionClosedError:
            logger.debug("dropped %s: the connection is closed", method)

    async def ask(self, method: str, params: dict[str, Any] | None, options: CallOptions) -> Any:
        """Asks the peer something; once the request is answered, over the connection's own channel."""
        if not self.can_ask:
            raise NoBackChannelError(method)
        return await self._duplex.ask(method, params, options, self._id if self._open else None)
