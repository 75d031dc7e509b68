"""A client and a server in one process: the handler runs in the caller's own task.

Params, results and notifications still pass through JSON text, so the two sides never share an object and what would
fail on a wire fails here.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn, Protocol, runtime_checkable

import anyio

from mcp.engine.backend import asyncio_task, cancelled_itself, delivered_cancels, pending_cancels, uncancel
from mcp.engine.dispatch import Engine, Reply
from mcp.engine.exchange import FrameWriter, OneWayExchange
from mcp.engine.isolation import in_own_context
from mcp.engine.link import Link
from mcp.engine.requester import CallOptions, NotificationSink
from mcp.protocol.codec import DecodeError, ErrorResponse, Notification, Request, RequestId, decode, dumps
from mcp.protocol.eras import read_envelope
from mcp.protocol.jsontext import loads_own
from mcp.shared.exceptions import ConnectionClosedError, MalformedResultError, MCPError, RequestTimeoutError

__all__ = ["LocalRuntime", "LocalServer", "MemoryRequester"]


class LocalRuntime(Protocol):
    """A server that serves in this process."""

    @property
    def engine(self) -> Engine[Any, Any]:
        """Answers modern requests."""
        ...

    async def serve_link(self, link: Link, *, tell_exceptions: bool = False) -> None:
        """Serves one connection of either era until the client closes its side."""
        ...


@runtime_checkable
class LocalServer(Protocol):
    """A server object that a client in the same process can be given."""

    def in_process(self) -> AbstractAsyncContextManager[LocalRuntime]:
        """Enters the server's lifespan, for one client or for all."""
        ...


class MemoryRequester:
    """Hands requests to an engine.

    Args:
        engine: Answers them.
        sink: Takes notifications that are not progress.
        raise_exceptions: Say what a handler raised, instead of "Internal server error".
    """

    takes_handshake = False
    may_stay_silent = False
    carries_headers = False

    def __init__(self, engine: Engine[Any, Any], sink: NotificationSink, *, raise_exceptions: bool = False) -> None:
        self._engine = engine
        self._sink = sink
        self._raise_exceptions = raise_exceptions
        self._running: set[_MemoryExchange] = set()
        self._closed = False

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Runs a request in this task and returns its result; see `Requester.request`."""
        if self._closed:
            raise ConnectionClosedError
        exchange = _MemoryExchange(self._sink, options)
        request = Request(id, method, _received(params))
        self._running.add(exchange)
        try:
            result = await exchange.interruptible(self._answer(request, exchange), method)
            exchange.check()
            return _parsed(method, result)
        finally:
            exchange.open = False
            self._running.discard(exchange)

    async def _answer(self, request: Request, exchange: "_MemoryExchange") -> bytes:
        try:
            return await self._engine.call(request, read_envelope(request.params), exchange)
        except MCPError as error:
            exchange.check()
            raise _as_sent(request.method, self._engine.failed(request, error)) from None
        except Exception as failure:
            exchange.check()
            error = self._engine.as_error(request.method, failure)
            if self._raise_exceptions:
                raise MCPError(error.code, str(failure), error.data) from failure
            raise error from None

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Drops a notification: 2026-07-28 has none from clients but `cancelled`, which is not sent in one process.

        Raises:
            ConnectionClosedError: The client was closed.
        """
        if self._closed:
            raise ConnectionClosedError

    async def established(self, version: str) -> None:
        """Nothing to do: every request says all there is to know."""

    async def aclose(self) -> None:
        """Fails what is running in other tasks, and refuses further requests."""
        self._closed = True
        for exchange in self._running:
            exchange.interrupt()


class _MemoryExchange(OneWayExchange):
    __slots__ = ("_exit", "_interrupted", "_options", "_scope", "_sink", "_task", "open")

    def __init__(self, sink: NotificationSink, options: CallOptions) -> None:
        super().__init__()
        self._sink = sink
        self._options = options
        self._task = asyncio_task()
        self._scope: anyio.CancelScope | None = None
        self._interrupted = False
        self._exit: BaseException | None = None
        self.open = True

    async def interruptible(self, answer: Coroutine[Any, Any, bytes], method: str) -> bytes:
        """Awaits the answer, within the call's time limit, and until the client is closed."""
        isolated = in_own_context(answer)
        timeout = self._options.timeout
        limited = isolated if timeout is None else _within(timeout, isolated, method)
        if self._task is None:
            with anyio.CancelScope() as self._scope:
                return await limited
            self.check()
            raise ConnectionClosedError
        before = delivered_cancels(self._task)
        try:
            return await limited
        except asyncio.CancelledError:
            # The interruption ends here. A cancellation from outside goes on, also if both have come.
            if not self._interrupted or pending_cancels(self._task) > before + 1:
                raise
            self.check()
            raise ConnectionClosedError from None
        finally:
            if self._interrupted:
                uncancel(self._task)

    def interrupt(self) -> None:
        """Ends the call, unless it is the caller's own task that closes the client."""
        if self._scope is not None:
            self._scope.cancel()
        elif self._task is not None and self._task is not asyncio_task() and not self._interrupted:
            self._interrupted = True
            self._task.cancel()

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        return self._forward

    async def _forward(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            message = decode(frame)
            assert isinstance(message, Notification)
            await self._deliver(message.method, message.params)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        await self._deliver(method, _through_wire(params))

    async def _deliver(self, method: str, wire: dict[str, Any] | None) -> None:
        if not self.open:
            return
        taker = self._options.on_notification
        if taker is not None and taker(method, wire):
            return
        before = delivered_cancels(asyncio_task())
        try:
            if method != "notifications/progress":
                await self._sink(method, wire)
            elif self._options.on_progress is not None and wire is not None:
                await self._options.on_progress(wire)
        except BaseException as exit_:
            if not self._is_callbacks_own(exit_, before):
                raise
            self._leave(exit_)

    def _is_callbacks_own(self, exit_: BaseException, before: int) -> bool:
        """Whether a callback of the client's raised it, and no cancellation from outside."""
        if not isinstance(exit_, anyio.get_cancelled_exc_class()):
            return True
        return cancelled_itself(asyncio_task(), before)

    def _leave(self, exit_: BaseException) -> NoReturn:
        """Ends the handler, so that the caller gets what its own callback raised."""
        self._exit = exit_
        if self._task is None or self._task is asyncio_task():
            raise exit_
        # In a task that the handler has started it would end the event loop.
        self.interrupt()
        raise asyncio.CancelledError

    def check(self) -> None:
        """Raises what a callback of the caller's raised, if that was no ordinary exception."""
        if self._exit is not None:
            raise self._exit


async def _within(seconds: float, answer: in_own_context[bytes], method: str) -> bytes:
    with anyio.move_on_after(max(seconds, 0.0)):
        return await answer
    raise RequestTimeoutError(method, seconds)


def _parsed(method: str, result: bytes) -> Any:
    try:
        return loads_own(result)
    except DecodeError as error:
        raise MalformedResultError(method, error.message) from None


def _received(params: dict[str, Any]) -> dict[str, Any]:
    try:
        return _through_wire(params)
    except DecodeError as error:
        # Too deep to be read, as a server at the other end of a wire would say.
        raise MCPError(error.code, error.message) from None


def _as_sent(method: str, reply: Reply) -> MCPError:
    try:
        answer = decode(reply.frame)
    except DecodeError as error:
        return MalformedResultError(method, error.message)
    assert isinstance(answer, ErrorResponse)
    return MCPError(answer.code, answer.message, answer.data)


def _through_wire(value: Any) -> Any:
    return None if value is None else loads_own(dumps(value))
