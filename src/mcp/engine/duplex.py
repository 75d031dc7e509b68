"""JSON-RPC in both directions over one connection, the same for both roles.

What arrives never waits for user code. Answers and cancellations are applied at once, each request gets a task, and
other notifications go through one bounded queue. The one exception is the request that opens a connection: it is
answered before anything further is taken.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

import anyio

from mcp.engine.backend import Spawner
from mcp.engine.dispatch import Reply
from mcp.engine.duplex_exchange import DuplexExchange
from mcp.engine.exchange import Exchange, Origin
from mcp.engine.link import Frame, Link, origin_of
from mcp.engine.outlet import Outlet
from mcp.engine.pending import PendingRequests
from mcp.engine.requester import CallOptions
from mcp.engine.running import RunningRequests
from mcp.engine.tracing import traced
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
from mcp.shared.exceptions import ConnectionClosedError, MCPError, TransportError
from mcp.types.jsonrpc import CONNECTION_CLOSED, INVALID_REQUEST

__all__ = ["Admission", "Duplex", "Side"]

logger = logging.getLogger(__name__)

MAX_WAITING_NOTIFICATIONS: Final = 4096

DRAIN_SECONDS: Final = 5.0
"""How long the reader lets a peer be behind before it looks whether there is more, or the end, all the same."""


Answer = Callable[[Exchange], Awaitable[Reply]]
"""Answers a request, given its way back."""


class Admission(NamedTuple):
    """A request that may be answered.

    Attributes:
        answer: Answers it, given its way back.
        can_ask: Whether its handler may ask the peer something.
    """

    answer: Answer
    can_ask: bool


class Side(Protocol):
    """What a role does with what arrives."""

    @property
    def traces(self) -> bool:
        """Whether what is asked under ids of the connection's own is traced."""
        ...

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        ...

    @property
    def hears_cancellations(self) -> bool:
        """Whether `notified` has anybody to tell of a cancellation, which has taken effect by then."""
        ...

    @property
    def takes_disturbances(self) -> bool:
        """Whether `disturbed` has anybody to tell."""
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

    def may_ask(self, notification: Notification) -> bool:
        """Whether the handler of a notification may ask the peer something."""
        ...

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        """Takes a notification. Never raises."""
        ...

    def unreadable(self, error: DecodeError) -> bool:
        """Takes note of what is no message, and says whether the peer is told."""
        ...

    async def disturbed(self, error: DecodeError) -> None:
        """Takes what is no message and fails no request, in its place among the notifications. Never raises."""
        ...


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
        self._pending = PendingRequests(outlet.send, outlet.behind, outlet.drain)
        self._running = RunningRequests(spawner, outlet.drain)
        self._ids = count(1)
        self._notifications: deque[tuple[Notification | DecodeError, Origin | None]] = deque()
        self._delivering = False
        self._notified_now: DuplexExchange | None = None
        self._reader_sent = False

    @property
    def working(self) -> bool:
        """Whether a handler runs that does not wait for the peer to answer it."""
        notified = self._notified_now
        return self._running.working or (notified is not None and not notified.waits_for_peer)

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
        send = traced(self._pending.request) if self._side.traces else self._pending.request
        return await send(id, method, params, options, related)

    def check(self) -> None:
        """Raises why nothing more can be sent, if that is so."""
        self._pending.check()

    async def notify(self, method: str, params: dict[str, Any] | None, related: RequestId | None = None) -> None:
        """Sends a notification; waits while the peer is behind.

        Raises:
            TransportError: The connection is closed.
        """
        self.check()
        self._pending.send(encode_notification(method, params), related)
        await self._outlet.drain(related)

    async def forward(self, frames: Sequence[bytes], related: RequestId | None) -> None:
        """Sends notifications that are encoded already, also to a peer that sends no more; waits while it is behind.

        Raises:
            TransportError: This side is closed.
        """
        for frame in frames:
            self._pending.send(frame, related)
        await self._outlet.drain(related)

    def close(self, reason: MCPError) -> None:
        """Fails what is pending, and every request from now on."""
        self._pending.fail_all(reason)

    def leave(self, reason: MCPError) -> None:
        """Cancels what is pending at the peer, fails it, and takes no further notifications."""
        self._notifications.clear()
        self._pending.cancel_all(reason)

    async def finish(self, grace: float) -> None:
        """Gives running requests a moment to end, and answers what is still running then with an error.

        Args:
            grace: The moment, in seconds.
        """
        self._running.wind_down()
        with anyio.move_on_after(grace):
            await self._spawner.idle()
        self.end(ConnectionClosedError("Connection closed: the peer closed its side while the request was running"))

    def end(self, reason: MCPError) -> None:
        """Fails what is pending, and answers what is running with the same error; nothing is sent afterwards."""
        self.close(reason)
        self._running.abandon(reason)

    def _send(self, frame: bytes, id: RequestId | None) -> None:
        """Sends the answer to a request; without an id, to one whose id could not be read."""
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
                if self._reader_sent:
                    # What it sends is short, but a peer that floods and never reads must not make it pile up.
                    self._reader_sent = False
                    with anyio.move_on_after(DRAIN_SECONDS):
                        await link.drain()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            closed_reason: Callable[[], Awaitable[MCPError]] | None = getattr(link, "closed_reason", None)
            if closed_reason is not None:
                self.close(await closed_reason())
        except Exception as failure:
            logger.exception("the transport failed; the connection ends")
            reason = TransportError(CONNECTION_CLOSED, f"The transport failed: {type(failure).__name__}: {failure}")
            reason.__cause__ = failure
            self.close(reason)
        finally:
            self.close(ConnectionClosedError())

    def _decoded(self, frame: Frame) -> Message | Batch | DecodeError:
        if not isinstance(frame, (bytes, bytearray)):
            return frame
        try:
            return decode(frame, allow_batch=self._side.takes_batches)
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
            refusal = self._take_broken(message)
            if refusal is not None:
                self._reader_sent = True
                self._send(refusal, message.id)
        elif isinstance(message, Notification):
            self._notified(message, origin)
        else:
            assert not isinstance(message, Request)
            self._pending.answered(message)

    def _take_broken(self, error: DecodeError) -> bytes | None:
        """Takes what is no message, and returns the answer to it, if it gets one."""
        told = self._side.unreadable(error)
        if error.response_id is not None:
            self._pending.broken(error)
            return None
        if self._side.takes_disturbances:
            self._deliver_later(error, None)
        return encode_error(error.id, error.code, error.message) if told else None

    # Requests.

    async def _open(self, request: Request, origin: Origin | None) -> None:
        self._reader_sent = True
        try:
            exchange, answer = self._admitted(request, origin)
        except MCPError as problem:
            self._answered(request.id, _refusal(request, problem))
            return
        try:
            reply = await answer(exchange)
        finally:
            exchange.close()
        self._answered(request.id, reply)

    def _start(self, request: Request, answered: Callable[[Reply | None], None], origin: Origin | None) -> None:
        try:
            exchange, answer = self._admitted(request, origin)
        except MCPError as problem:
            self._reader_sent = True
            answered(_refusal(request, problem))
            return
        start = partial(self._running.start, request.id, exchange, partial(answer, exchange), answered)
        if origin is None or origin.context is None:
            start()
        else:
            origin.context.run(start)

    def _admitted(self, request: Request, origin: Origin | None) -> tuple[DuplexExchange, Answer]:
        self._running.check(request)
        admission = self._side.admit(request)
        return DuplexExchange(self, request.id, origin, can_ask=admission.can_ask), admission.answer

    def _answered(self, id: RequestId, reply: Reply | None) -> None:
        if reply is not None:
            self._send(reply.frame, id)
        else:
            self._outlet.abandoned(id)

    def _take_batch(self, batch: Batch, origin: Origin | None) -> None:
        """Answers the requests of a batch with one batch, once all of them are answered."""
        self._reader_sent = True
        requests = [item for item in batch.items if isinstance(item, Request)]
        # One more than there are requests: nothing is complete before every item has been looked at.
        answers = _BatchAnswers(partial(self._batch_answered, requests), len(requests) + 1)
        for item in batch.items:
            if isinstance(item, DecodeError):
                refusal = self._take_broken(item)
                if refusal is not None:
                    answers.frames.append(refusal)
            elif not isinstance(item, Request):
                self._take_other(item, origin)
            elif self._side.opens(item):
                answers.add(_refusal(item, MCPError(INVALID_REQUEST, f"{item.method} must not be part of a batch")))
            else:
                self._start(item, answers.add, origin)
        answers.add(None)

    def _batch_answered(self, requests: list[Request], frames: list[bytes]) -> None:
        related = requests[0].id if requests else None
        if frames:
            self._send(b"[" + b",".join(frames) + b"]", related)
        elif related is not None:
            self._outlet.abandoned(related)

    # Notifications.

    def _notified(self, notification: Notification, origin: Origin | None) -> None:
        if self._pending.noticed(notification):
            return
        if notification.method == "notifications/cancelled":
            self._running.cancel(notification)
            if self._side.hears_cancellations:
                self._deliver_later(notification, origin)
            return
        if notification.method == "notifications/progress" and self._pending.progressed(notification.params or {}):
            return
        self._deliver_later(notification, origin)

    def _deliver_later(self, item: Notification | DecodeError, origin: Origin | None) -> None:
        if len(self._notifications) >= MAX_WAITING_NOTIFICATIONS:
            what = item.method if isinstance(item, Notification) else "what is no message"
            logger.warning("dropped %s: %d notifications are waiting", what, MAX_WAITING_NOTIFICATIONS)
            return
        self._notifications.append((item, origin))
        if not self._delivering:
            self._delivering = True
            self._spawner.spawn(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._notifications:
                item, origin = self._notifications.popleft()
                if isinstance(item, DecodeError):
                    await self._side.disturbed(item)
                    continue
                exchange = DuplexExchange(self, None, origin, can_ask=self._side.may_ask(item))
                self._notified_now = exchange
                await self._side.notified(item, exchange)
                self._notified_now = None
        finally:
            self._delivering = False
            self._notified_now = None


def _refusal(request: Request, problem: MCPError) -> Reply:
    return Reply(encode_error(request.id, problem.code, problem.message, problem.data), problem.code)


class _BatchAnswers:
    """The answers to one batch, on their way to being one batch themselves. Nothing answers what was cancelled."""

    def __init__(self, send: Callable[[list[bytes]], None], expected: int) -> None:
        self._send = send
        self._expected = expected
        self.frames: list[bytes] = []

    def add(self, reply: Reply | None) -> None:
        self._expected -= 1
        if reply is not None:
            self.frames.append(reply.frame)
        if not self._expected:
            self._send(self.frames)
