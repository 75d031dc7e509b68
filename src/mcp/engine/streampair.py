"""A link over any pair of message streams: anyio's memory streams, a wrapper round ours, a transport of the user's."""

import logging
from collections import deque
from types import TracebackType
from typing import Final

import anyio

from mcp.engine.bytelink import CLOSE_TIMEOUT
from mcp.engine.link import Frame
from mcp.engine.streams import ReadStream, WriteStream, from_frame, to_frame
from mcp.protocol.codec import DecodeError, EncodeError
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = ["StreamPairLink"]

logger = logging.getLogger(__name__)

_MOST_QUEUED: Final = 64
"""Messages above which `drain` waits."""


class StreamPairLink:
    """A `Link` over message streams that know nothing of frames. Use as an async context manager.

    Args:
        read: Where messages come from. An exception on it becomes a `DecodeError` frame.
        write: Where messages go, in order, one at a time. If sending fails, the link ends.
    """

    def __init__(self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]) -> None:
        self._read = read
        self._write = write
        self._queue: deque[SessionMessage] = deque()
        self._changed = anyio.Event()
        self._receiving = anyio.CancelScope()
        self._sending = False
        self._closed = False
        self._broken = False

    async def __aenter__(self) -> "StreamPairLink":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._pump)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        try:
            await self.aclose()
        finally:
            self._group.cancel_scope.cancel()
            # Not told of the block's exception, which the group would wrap.
            await self._group.__aexit__(None, None, None)

    async def receive(self) -> list[Frame]:
        """See `Link.receive`."""
        if self._closed or self._broken:
            raise anyio.EndOfStream
        with anyio.CancelScope() as self._receiving:
            try:
                return [_frame(await self._read.receive())]
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, StopAsyncIteration):
                raise anyio.EndOfStream from None
        raise anyio.EndOfStream

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._broken:
            raise anyio.BrokenResourceError
        message = from_frame(frame)
        assert isinstance(message, SessionMessage), message
        self._queue.append(message)
        self._notify()

    async def drain(self) -> None:
        """See `Link.drain`."""
        while len(self._queue) > _MOST_QUEUED:
            await self._changed.wait()

    async def aclose(self) -> None:
        """See `Link.aclose`."""
        if self._closed:
            return
        self._closed = True
        self._receiving.cancel()
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            while self._queue or self._sending:
                await self._changed.wait()
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await self._write.aclose()
            await self._read.aclose()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _pump(self) -> None:
        try:
            while True:
                while not self._queue:
                    await self._changed.wait()
                self._sending = True
                await self._write.send(self._queue.popleft())
                self._sending = False
                self._notify()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        except Exception:
            logger.exception("sending a message on the transport failed; the connection ends")
        self._break()

    def _break(self) -> None:
        """Ends the link, since an answer to what could not be sent would be waited for in vain."""
        self._broken = True
        self._sending = False
        self._queue.clear()
        self._receiving.cancel()
        self._notify()


def _frame(message: SessionMessage | Exception) -> Frame:
    if isinstance(message, DecodeError):
        return message
    if isinstance(message, SessionMessage):
        try:
            return to_frame(message)
        except EncodeError as error:
            message = error
    refusal = DecodeError(INVALID_REQUEST, str(message))
    refusal.__cause__ = message
    return refusal
