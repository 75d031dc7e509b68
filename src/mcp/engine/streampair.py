"""A link over any pair of message streams: anyio's memory streams, a wrapper round ours, a transport of the user's."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final

import anyio

from mcp.engine.bytelink import CLOSE_TIMEOUT
from mcp.engine.exchange import Origin
from mcp.engine.link import Frame, HeadedFrame, OriginFrame
from mcp.engine.streams import ReadStream, WriteStream, from_frame, to_frame
from mcp.protocol.codec import DecodeError, EncodeError, RequestId
from mcp.shared.message import ClientMessageMetadata, CloseSSEStreamCallback, ServerMessageMetadata, SessionMessage
from mcp.types.jsonrpc import INVALID_REQUEST, JSONRPCRequest

__all__ = ["PairOutlet", "StreamPairLink"]

logger = logging.getLogger(__name__)

_MOST_QUEUED: Final = 64
"""Messages above which `drain` waits."""

_Told = Callable[[], Awaitable[None]]
"""Called in the place of an answer that does not come."""


class StreamPairLink:
    """A `Link` over message streams that know nothing of frames. Use as an async context manager.

    Args:
        read: Where messages come from. An exception on it becomes a `DecodeError` frame.
        write: Where messages go, in order, one at a time. If sending fails, the link ends.
    """

    def __init__(self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]) -> None:
        self._read = read
        self._write = write
        self._queue: deque[SessionMessage | _Told] = deque()
        self._if_unanswered: dict[RequestId, _Told] = {}
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
                return [self._frame(await self._read.receive())]
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, StopAsyncIteration):
                raise anyio.EndOfStream from None
        raise anyio.EndOfStream

    def _frame(self, message: SessionMessage | Exception) -> Frame:
        if isinstance(message, DecodeError):
            return message
        if isinstance(message, SessionMessage):
            try:
                return self._attributed(to_frame(message), message)
            except EncodeError as error:
                message = error
        refusal = DecodeError(INVALID_REQUEST, str(message))
        refusal.__cause__ = message
        return refusal

    def _attributed(self, frame: bytes, message: SessionMessage) -> bytes:
        metadata = message.metadata
        if not isinstance(metadata, ServerMessageMetadata):
            return frame
        if metadata.on_request_unanswered is not None and isinstance(message.message, JSONRPCRequest):
            self._if_unanswered[message.message.id] = metadata.on_request_unanswered
        attributed = OriginFrame(frame)
        attributed.origin = _MetadataOrigin(metadata)
        return attributed

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        self.send_related(frame, None, final=False)

    def send_related(self, frame: bytes, related: RequestId | None, *, final: bool) -> None:
        """Queues a frame that belongs to a request; see `Outlet.send`."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._broken:
            raise anyio.BrokenResourceError
        message = from_frame(frame)
        assert isinstance(message, SessionMessage), message
        if isinstance(frame, HeadedFrame):
            message.metadata = ClientMessageMetadata(headers=dict(frame.headers))
        if related is not None:
            message.metadata = ServerMessageMetadata(related_request_id=related)
            if final:
                self._if_unanswered.pop(related, None)
        self._queue.append(message)
        self._notify()

    def abandoned(self, related: RequestId) -> None:
        """Tells the transport, after what is queued, that a request gets no answer; see `Outlet.abandoned`."""
        told = self._if_unanswered.pop(related, None)
        if told is not None:
            self._queue.append(told)
            self._notify()

    @property
    def behind(self) -> bool:
        """See `Link.behind`."""
        return len(self._queue) > _MOST_QUEUED

    async def drain(self) -> None:
        """See `Link.drain`."""
        while self.behind:
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
                item = self._queue.popleft()
                await (self._write.send(item) if isinstance(item, SessionMessage) else item())
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


class PairOutlet:
    """The way out of a pair of message streams; see `Outlet`.

    Args:
        link: The link over the streams.
    """

    def __init__(self, link: StreamPairLink) -> None:
        self._link = link

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """See `Outlet.send`."""
        self._link.send_related(frame, related, final=final)

    def abandoned(self, related: RequestId) -> None:
        """See `Outlet.abandoned`."""
        self._link.abandoned(related)

    def behind(self) -> bool:
        """See `Outlet.behind`."""
        return self._link.behind

    async def drain(self, related: RequestId | None = None) -> None:
        """See `Outlet.drain`."""
        await self._link.drain()


class _MetadataOrigin(Origin):
    """What the transport of a message wrote beside it."""

    __slots__ = ("_metadata",)

    def __init__(self, metadata: ServerMessageMetadata) -> None:
        self._metadata = metadata

    @property
    def headers(self) -> Mapping[str, str] | None:
        return getattr(self._metadata.request_context, "headers", None)

    @property
    def request(self) -> Any:
        return self._metadata.request_context

    @property
    def can_ask(self) -> bool:
        return self._metadata.can_send_request

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._metadata.close_sse_stream

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._metadata.close_standalone_sse_stream
