"""A client's side of a shared byte stream: a table of pending requests, and one reader that settles them."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio

from mcp.engine.backend import asyncio_task
from mcp.engine.link import Link
from mcp.engine.requester import CallOptions, NotificationSink
from mcp.protocol.codec import (
    DecodeError,
    ErrorResponse,
    Notification,
    Request,
    RequestId,
    Response,
    decode,
    encode_error,
    encode_notification,
    encode_request,
)
from mcp.shared.exceptions import (
    ConnectionClosedError,
    MalformedResultError,
    MCPError,
    RequestTimeoutError,
    TransportError,
)
from mcp.types.jsonrpc import METHOD_NOT_FOUND

__all__ = ["LinkRequester"]

logger = logging.getLogger(__name__)

MAX_WAITING_NOTIFICATIONS = 4096
MAX_WAITING_PROGRESS = 1024

Outcome = dict[str, Any] | MCPError


class LinkRequester:
    """Sends requests over a link and awaits their answers, any number at a time.

    Args:
        link: The link.
        sink: Takes notifications that are not progress, one at a time, in order.
    """

    def __init__(self, link: Link, sink: NotificationSink) -> None:
        self._link = link
        self._sink = sink
        self._pending: dict[RequestId, _Pending] = {}
        self._closed: TransportError | None = None
        self._notifications: deque[Notification] = deque()
        self._notified = _new_signal()

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns its result; see `Requester.request`."""
        if self._closed is not None:
            raise self._closed.with_traceback(None)
        frame = encode_request(id, method, params)
        pending = self._pending[id] = _Pending(method, options.on_progress)
        try:
            self._send(frame)
            if options.timeout is None:
                outcome = await pending.outcome()
            else:
                outcome = await self._outcome_within(options.timeout, pending, method)
        except anyio.get_cancelled_exc_class():
            self._cancel(id, "the caller was cancelled")
            raise
        except RequestTimeoutError as error:
            self._cancel(id, str(error))
            raise
        finally:
            self._pending.pop(id, None)
        if isinstance(outcome, MCPError):
            raise outcome.with_traceback(None)
        return outcome

    @staticmethod
    async def _outcome_within(seconds: float, pending: "_Pending", method: str) -> Outcome:
        with anyio.move_on_after(max(seconds, 0.0)):
            return await pending.outcome()
        raise RequestTimeoutError(method, seconds)

    def _cancel(self, id: RequestId, reason: str) -> None:
        params = {"requestId": id, "reason": reason}
        if self._closed is None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._link.send(encode_notification("notifications/cancelled", params))

    def _send(self, frame: bytes) -> None:
        try:
            self._link.send(frame)
        except anyio.ClosedResourceError:
            raise ConnectionClosedError from None
        except anyio.BrokenResourceError:
            # The reader is about to learn why the peer is gone, and tells every pending request.
            return

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; see `Requester.notify`."""
        if self._closed is not None:
            raise self._closed.with_traceback(None)
        self._send(encode_notification(method, params))
        await self._link.drain()

    async def aclose(self) -> None:
        """Fails what is pending, and closes the link."""
        self._fail_all(ConnectionClosedError())
        await self._link.aclose()

    def _fail_all(self, reason: TransportError) -> None:
        if self._closed is None:
            self._closed = reason
        for pending in self._pending.values():
            pending.settle(self._closed)
        self._notified.set()

    # The reader.

    async def read(self) -> None:
        """Reads until the link ends. Never waits for a callback."""
        while True:
            try:
                frames = await self._link.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                break
            for frame in frames:
                try:
                    self._take(decode(frame) if isinstance(frame, bytes) else _raised(frame))
                except DecodeError as error:
                    logger.error("Failed to parse JSONRPC message from server: %s", error.message)
                    self._settle_broken(error)
        self._fail_all(await self._reason())

    async def _reason(self) -> TransportError:
        closed_reason: Callable[[], Awaitable[TransportError]] | None = getattr(self._link, "closed_reason", None)
        return ConnectionClosedError() if closed_reason is None else await closed_reason()

    def _take(self, message: Request | Notification | Response | ErrorResponse) -> None:
        if isinstance(message, Response):
            self._settle(message.id, message.result)
        elif isinstance(message, ErrorResponse):
            self._settle(message.id, MCPError(message.code, message.message, message.data))
        elif isinstance(message, Notification):
            self._notify(message)
        else:
            logger.warning("refused %s: 2026-07-28 has no requests from servers", message.method)
            with suppress(ConnectionClosedError):
                self._send(encode_error(message.id, METHOD_NOT_FOUND, "Method not found", message.method))

    def _settle(self, id: RequestId | None, outcome: Outcome) -> None:
        pending = None if id is None else self._pending.get(id)
        if pending is None:
            logger.debug("ignored an answer to %r, which is not pending", id)
        else:
            pending.settle(outcome)

    def _settle_broken(self, error: DecodeError) -> None:
        """No other answer will come to the request that a broken one was for."""
        pending = None if error.response_id is None else self._pending.get(error.response_id)
        if pending is not None:
            pending.settle(MalformedResultError(pending.method, error.message))

    def _notify(self, message: Notification) -> None:
        if message.method == "notifications/progress":
            params = message.params or {}
            token: Any = params.get("progressToken")
            pending = self._pending.get(token) if type(token) in (str, int) else None
            if pending is not None:
                pending.progressed(params)
            return
        if len(self._notifications) >= MAX_WAITING_NOTIFICATIONS:
            logger.warning("dropped %s: %d notifications wait for a callback", message.method, len(self._notifications))
            return
        self._notifications.append(message)
        self._notified.set()

    async def dispatch(self) -> None:
        """Hands notifications to the sink, one at a time, until the link ends."""
        while True:
            while self._notifications:
                message = self._notifications.popleft()
                await self._sink(message.method, message.params)
            if self._closed is not None:
                return
            await self._notified.wait()
            self._notified = _new_signal()


def _raised(error: DecodeError) -> Any:
    raise error


class _Pending:
    """One request that waits for its answer. Progress reports run in the waiting task, ahead of the answer."""

    __slots__ = ("_on_progress", "_outcome", "_progress", "_signal", "method")

    def __init__(self, method: str, on_progress: Callable[[dict[str, Any]], Awaitable[None]] | None) -> None:
        self.method = method
        self._on_progress = on_progress
        self._progress: deque[dict[str, Any]] | None = None
        self._outcome: Outcome | None = None
        self._signal = _new_signal()

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
            self._signal = _new_signal()


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


def _new_signal() -> "_FutureSignal | anyio.Event":
    return anyio.Event() if asyncio_task() is None else _FutureSignal()
