"""Requests that were sent over a link and wait for their answer: one table per connection, the same for both roles."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from copy import copy
from typing import Any, Final

import anyio

from mcp.engine.expiry import Expiry
from mcp.engine.link import HeadedFrame, Undelivered
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import (
    DecodeError,
    ErrorResponse,
    Notification,
    RequestId,
    Response,
    encode_notification,
    encode_request,
)
from mcp.protocol.eras import named_subscription
from mcp.shared.exceptions import ConnectionClosedError, MalformedResultError, MCPError, RequestTimeoutError

__all__ = ["PendingRequests", "Signal", "cancelled_by_peer", "new_signal"]

logger = logging.getLogger(__name__)

MAX_WAITING_PROGRESS: Final = 1024

Outcome = dict[str, Any] | MCPError


class PendingRequests:
    """Sends requests and awaits their answers, any number at a time.

    Args:
        send: Queues one frame, and says which request of the peer's it belongs to, if any. May raise
            `anyio.ClosedResourceError` where this side was closed, and `anyio.BrokenResourceError` where the peer is
            gone; then the reader is about to call `fail_all`.
        behind: Whether the peer is behind with reading.
        drain: Waits while it is, given the request of the peer's that what is to be sent belongs to.

    Attributes:
        closed: Why no more requests can be sent; None while they can.
    """

    def __init__(
        self,
        send: Callable[[bytes, RequestId | None], None],
        behind: Callable[[], bool],
        drain: Callable[[RequestId | None], Awaitable[None]],
    ) -> None:
        self._send = send
        self._behind = behind
        self._drain = drain
        self._pending: dict[RequestId, _Pending] = {}
        self._expiry = Expiry(self._pending)
        self.closed: MCPError | None = None

    async def request(
        self,
        id: RequestId,
        method: str,
        params: dict[str, Any] | None,
        options: CallOptions,
        related: RequestId | None = None,
    ) -> Any:
        """Sends a request and returns the `result` member of its answer; see `Requester.request`."""
        if self.closed is not None or not self._behind():
            return await self._request(id, method, params, options, related)
        limit = options.bound if options.timeout is None else options.timeout
        with anyio.move_on_after(None if limit is None else max(limit, 0.0)):
            # Ahead of sending: a peer that never reads must not make what has timed out pile up.
            await self._drain(related)
            return await self._request(id, method, params, options, related)
        assert limit is not None
        raise RequestTimeoutError(method, limit)

    async def _request(
        self,
        id: RequestId,
        method: str,
        params: dict[str, Any] | None,
        options: CallOptions,
        related: RequestId | None,
    ) -> Any:
        self.check()
        frame = encode_request(id, method, params)
        if options.headers is not None:
            frame = HeadedFrame(frame)
            frame.headers = options.headers
        pending = self._pending[id] = _Pending(method, options)
        try:
            self.send(frame, related)
            if options.timeout is not None:
                outcome = await _within(options.timeout, pending)
            elif options.bound is None or self._expiry.watches(pending, options.bound):
                outcome = await pending.outcome()
            else:
                outcome = await _within(options.bound, pending)
        except anyio.get_cancelled_exc_class():
            self._cancel(id, method, "the caller was cancelled", related)
            raise
        finally:
            self._pending.pop(id, None)
        if isinstance(outcome, RequestTimeoutError):
            self._cancel(id, method, str(outcome), related)
        if isinstance(outcome, MCPError):
            raise outcome
        return outcome

    def check(self) -> None:
        """Raises why no more can be sent, if that is so."""
        if self.closed is not None:
            raise _fresh(self.closed)

    def send(self, frame: bytes, related: RequestId | None = None) -> None:
        """Queues one frame.

        Raises:
            ConnectionClosedError: This side was closed.
        """
        try:
            self._send(frame, related)
        except anyio.ClosedResourceError:
            raise ConnectionClosedError from None
        except anyio.BrokenResourceError:
            # The reader is about to learn why the peer is gone, and tells every pending request.
            return

    def _cancel(self, id: RequestId, method: str, reason: str, related: RequestId | None) -> None:
        params = {"requestId": id, "reason": reason}
        if self.closed is None and method != "initialize":
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._send(encode_notification("notifications/cancelled", params), related)

    def answered(self, message: Response | ErrorResponse) -> None:
        """Takes an answer. One to a request that is not pending is ignored: it is late, or from nowhere."""
        pending = None if message.id is None else self._pending.get(message.id)
        if pending is None:
            logger.debug("ignored an answer to %r, which is not pending", message.id)
        elif isinstance(message, Response):
            pending.settle(message.result)
        elif isinstance(message, Undelivered):
            pending.settle(message.failure)
        else:
            pending.settle(MCPError(message.code, message.message, message.data))

    def broken(self, error: DecodeError) -> None:
        """Takes what was to be an answer. No other will come to the request it was for."""
        pending = None if error.response_id is None else self._pending.get(error.response_id)
        if pending is not None:
            pending.settle(MalformedResultError(pending.method, error.message))

    def progressed(self, params: dict[str, Any]) -> bool:
        """Takes the params of a progress notification; False where it belongs to no pending request."""
        token: Any = params.get("progressToken")
        pending = self._pending.get(token) if type(token) in (str, int) else None
        if pending is None:
            return False
        pending.progressed(params)
        return True

    def noticed(self, notification: Notification) -> bool:
        """Offers a notification to the subscription that it names; whether nobody else is to have it."""
        ends = notification.method == "notifications/cancelled"
        params: dict[str, Any] = notification.params or {}
        id: Any = params.get("requestId") if ends else named_subscription(params)
        pending = self._pending.get(id) if type(id) in (str, int) else None
        if pending is None or pending.on_notification is None:
            return False
        if ends:
            pending.settle(cancelled_by_peer(params))
            return True
        return pending.on_notification(notification.method, params)

    def cancel_all(self, reason: MCPError) -> None:
        """Tells the peer that nothing is wanted any more, and fails as `fail_all` does."""
        for id, pending in self._pending.items():
            if pending.waits:
                self._cancel(id, pending.method, reason.message, None)
        self.fail_all(reason)

    def fail_all(self, reason: MCPError) -> None:
        """Fails what is pending, and every request from now on."""
        if self.closed is None:
            self.closed = reason
        self._expiry.close()
        for pending in self._pending.values():
            pending.settle(_fresh(self.closed))


def cancelled_by_peer(params: dict[str, Any]) -> ConnectionClosedError:
    """The end of a subscription that the peer cancels, given the params of its notification."""
    return ConnectionClosedError(
        f"The server cancelled the subscription: {params.get('reason') or 'it gave no reason'}"
    )


def _fresh(error: MCPError) -> MCPError:
    """An error for one more caller: an exception that several raised would collect the tracebacks of all."""
    another = copy(error)
    another.__cause__ = error.__cause__
    return another


async def _within(seconds: float, pending: "_Pending") -> Outcome:
    with anyio.move_on_after(max(seconds, 0.0)):
        return await pending.outcome()
    return RequestTimeoutError(pending.method, seconds)


class _Pending:
    """One request that waits for its answer. Progress reports run in the waiting task, ahead of the answer."""

    __slots__ = ("_on_progress", "_outcome", "_progress", "_signal", "bound", "deadline", "method", "on_notification")

    def __init__(self, method: str, options: CallOptions) -> None:
        self.method = method
        self.bound = self.deadline = math.inf
        self.on_notification = options.on_notification
        self._on_progress = options.on_progress
        self._progress: deque[dict[str, Any]] | None = None
        self._outcome: Outcome | None = None
        self._signal = new_signal()

    @property
    def waits(self) -> bool:
        return self._outcome is None

    def expire(self) -> None:
        self.settle(RequestTimeoutError(self.method, self.bound))

    def settle(self, outcome: Outcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._signal.set()

    def progressed(self, params: dict[str, Any]) -> None:
        if self._on_progress is None or self._outcome is not None:
            return
        if self._progress is None:
            # A callback that is slower than the reports misses the oldest ones.
            self._progress = deque(maxlen=MAX_WAITING_PROGRESS)
        self._progress.append(params)
        self._signal.set()

    async def outcome(self) -> Outcome:
        while True:
            await self._signal.wait()
            while self._progress and self._on_progress is not None:
                await self._on_progress(self._progress.popleft())
            if self._outcome is not None:
                return self._outcome
            self._signal = new_signal()


class _FutureSignal:
    """A one-shot signal for one waiter: on asyncio a bare future, at a third of an event's price."""

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future = asyncio.get_running_loop().create_future()

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        await self._future


Signal = _FutureSignal | anyio.Event


def new_signal() -> Signal:
    """A signal that one task waits for, once."""
    try:
        return _FutureSignal()
    except RuntimeError:
        return anyio.Event()
