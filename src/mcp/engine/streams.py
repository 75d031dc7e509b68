"""The public face of a transport: a pair of message streams.

Our own transports yield a `LinkReadStream` and a `LinkWriteStream` over one link. Whoever holds both, unwrapped and
unused, may skip the message objects: `link_of` finds the link. Any other pair becomes a link by `StreamPairLink`.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol, TypeAlias, TypeVar

import anyio
from typing_extensions import Self

from mcp.engine.link import Frame, Link
from mcp.protocol.codec import (
    DecodeError,
    ErrorResponse,
    Message,
    Notification,
    Request,
    decode,
    dumps,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

__all__ = [
    "LinkReadStream",
    "LinkWriteStream",
    "MessageIteration",
    "ReadStream",
    "TransportStreams",
    "WriteStream",
    "from_frame",
    "link_of",
    "open_link",
    "open_streams",
    "to_frame",
    "to_model",
]

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class _Closable(Protocol):
    async def aclose(self) -> None: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None: ...


class ReadStream(_Closable, Protocol[T_co]):
    """Where messages come from. anyio's receive streams are such."""

    async def receive(self) -> T_co:
        """The next message.

        Raises:
            anyio.EndOfStream: There will be no more.
        """
        ...

    def __aiter__(self) -> "ReadStream[T_co]": ...

    async def __anext__(self) -> T_co: ...

    async def __aenter__(self) -> "ReadStream[T_co]": ...


class WriteStream(_Closable, Protocol[T_contra]):
    """Where messages go. anyio's send streams are such."""

    async def send(self, item: T_contra, /) -> None:
        """Sends a message; waits while the peer is behind.

        Raises:
            anyio.BrokenResourceError: The peer no longer reads.
        """
        ...

    async def __aenter__(self) -> "WriteStream[T_contra]": ...


TransportStreams: TypeAlias = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]
"""What a transport yields: messages from the peer, with an exception in the place of what was none; messages to it."""


class _View:
    """One side of a link. Closing it ends its use; the link is closed by whoever opened it."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._closed = False

    async def aclose(self) -> None:
        """Ends the use of this side."""
        self._closed = True

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class MessageIteration(ABC):
    """Lets whatever receives messages be entered, and iterated over until they end."""

    @abstractmethod
    async def receive(self) -> SessionMessage | Exception:
        """See `ReadStream.receive`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self


class LinkReadStream(MessageIteration, _View):
    """The messages that arrive on a link."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._arrived: deque[Frame] = deque()

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the `DecodeError` that says why what arrived is none.

        Raises:
            anyio.EndOfStream: The connection has ended.
            anyio.ClosedResourceError: This stream was closed.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        while not self._arrived:
            self._arrived.extend(await self._link.receive())
        return from_frame(self._arrived.popleft())


class LinkWriteStream(_View):
    """Takes messages for the peer of a link."""

    async def send(self, item: SessionMessage, /) -> None:
        """Queues a message; waits while the peer is behind.

        Raises:
            anyio.BrokenResourceError: The peer no longer reads.
            anyio.ClosedResourceError: This stream, or the connection, was closed.
            EncodeError: The message holds something that JSON cannot.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        self._link.send(to_frame(item))
        await self._link.drain()

    async def __aenter__(self) -> "LinkWriteStream":
        return self


def open_streams(link: Link) -> tuple[LinkReadStream, LinkWriteStream]:
    """Both views of a link."""
    return LinkReadStream(link), LinkWriteStream(link)


def link_of(read: object, write: object) -> Link | None:
    """The link under a pair of streams that our own transport yielded, or None.

    None as well if anything stands between the two and their user: a stream that wraps one of ours must see its
    messages, and messages that one of ours has at hand already would be lost.
    """
    if type(read) is not LinkReadStream or type(write) is not LinkWriteStream:
        return None
    untouched = not (read._arrived or read._closed or write._closed)
    return read._link if read._link is write._link and untouched else None


@asynccontextmanager
async def open_link(
    read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
) -> AsyncGenerator[Link, None]:
    """The link under a pair of streams, or one made over them; closed when the block ends.

    Args:
        read: Where messages come from.
        write: Where messages go.
    """
    link = link_of(read, write)
    if link is not None:
        try:
            yield link
        finally:
            await link.aclose()
        return
    from mcp.engine.streampair import StreamPairLink

    async with StreamPairLink(read, write) as link:
        yield link


def from_frame(frame: Frame) -> SessionMessage | Exception:
    """The message that a frame holds, or why it holds none."""
    if isinstance(frame, DecodeError):
        return frame
    try:
        message = decode(frame) if isinstance(frame, (bytes, bytearray)) else frame
    except DecodeError as error:
        return error
    return SessionMessage(to_model(message))


def to_model(message: Message) -> JSONRPCMessage:
    """The public model of a message."""
    if isinstance(message, Request):
        return JSONRPCRequest(jsonrpc="2.0", id=message.id, method=message.method, params=message.params)
    if isinstance(message, Notification):
        return JSONRPCNotification(jsonrpc="2.0", method=message.method, params=message.params)
    if isinstance(message, ErrorResponse):
        error = ErrorData(code=message.code, message=message.message, data=message.data)
        return JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
    return JSONRPCResponse(jsonrpc="2.0", id=message.id, result=message.result)


def to_frame(message: SessionMessage) -> bytes:
    """The frame that carries a message.

    Raises:
        EncodeError: It holds something that JSON cannot.
    """
    return _encode(message.message)


def _encode(message: JSONRPCMessage) -> bytes:
    if isinstance(message, JSONRPCRequest):
        return encode_request(message.id, message.method, message.params)
    if isinstance(message, JSONRPCNotification):
        return encode_notification(message.method, message.params)
    if isinstance(message, JSONRPCError):
        return encode_error(message.id, message.error.code, message.error.message, message.error.data)
    return encode_result(message.id, dumps(message.result))
