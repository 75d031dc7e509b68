"""A session whose messages a program moves itself: what `StreamableHTTPServerTransport.connect` yields."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final

import anyio

from mcp.engine.exchange import Origin
from mcp.engine.streams import to_frame, to_model
from mcp.protocol.codec import Batch, DecodeError, Message, Request, RequestId, encode_error
from mcp.server.http_streams import SessionStreams
from mcp.shared.exceptions import ConnectionClosedError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types.jsonrpc import JSONRPCError, JSONRPCResponse
from mcp.types.version import DEFAULT_NEGOTIATED_VERSION

__all__ = ["MAX_UNREAD_MESSAGES", "HandDrivenSession", "OutgoingStream"]

MAX_UNREAD_MESSAGES: Final = 16
"""Messages from the client that wait to be read; POSTs that bring more wait themselves."""


class HandDrivenSession:
    """The session of a hand-driven transport; see `SessionPort`.

    Args:
        streams: The session's streams.
        changed: Called when an HTTP request of the session begins or ends.

    Attributes:
        arrived: Where the client's messages come from.
        version: The revision that is spoken, as far as the answer to `initialize` tells.
    """

    takes_batches = False

    def __init__(self, streams: SessionStreams, changed: Callable[[], None]) -> None:
        self.streams = streams
        self.version = DEFAULT_NEGOTIATED_VERSION
        self._changed = changed
        self._requests = 0
        self._opening: set[RequestId] = set()
        self._arrive, self.arrived = anyio.create_memory_object_stream[SessionMessage | Exception](MAX_UNREAD_MESSAGES)

    @property
    def busy(self) -> bool:
        """Whether an HTTP request of the session is open."""
        return self._requests > 0

    def entered(self) -> None:
        """See `SessionPort.entered`."""
        self._requests += 1
        self._changed()

    def left(self) -> None:
        """See `SessionPort.left`."""
        self._requests -= 1
        self._changed()

    async def take(self, message: Message | Batch | DecodeError, origin: Origin) -> None:
        """See `SessionPort.take`. Waits while nobody reads."""
        assert not isinstance(message, Batch), "no batches are taken"
        try:
            await self._arrive.send(message if isinstance(message, DecodeError) else self._attributed(message, origin))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            if isinstance(message, Request):
                closed = ConnectionClosedError("Connection closed: nothing serves the session any more")
                self.streams.send(encode_error(message.id, closed.code, closed.message), message.id, final=True)

    def _attributed(self, message: Message, origin: Origin) -> SessionMessage:
        unanswered = None
        if isinstance(message, Request):
            unanswered = partial(self._abandoned, message.id)
            if message.method == "initialize":
                self._opening.add(message.id)
        metadata = ServerMessageMetadata(
            request_context=origin.request,
            close_sse_stream=origin.close_sse_stream,
            close_standalone_sse_stream=origin.close_standalone_sse_stream,
            on_request_unanswered=unanswered,
            can_send_request=origin.can_ask,
        )
        return SessionMessage(to_model(message), metadata)

    async def _abandoned(self, id: RequestId) -> None:
        self.streams.abandoned(id)

    async def send(self, message: SessionMessage) -> None:
        """Sends a message to the client; waits while it is behind with reading."""
        frame, body = to_frame(message), message.message
        if isinstance(body, (JSONRPCResponse, JSONRPCError)):
            if body.id in self._opening:
                self._opened(body)
            self.streams.send(frame, body.id, final=True)
            return
        metadata = message.metadata
        related = metadata.related_request_id if isinstance(metadata, ServerMessageMetadata) else None
        self.streams.send(frame, related)
        await self.streams.drain(related)

    def _opened(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        self._opening.clear()
        if isinstance(answer, JSONRPCResponse):
            self.version = str(answer.result.get("protocolVersion", self.version))

    def end(self) -> None:
        """Ends the session's streams, and the one that the client's messages come from."""
        self.streams.close()
        self._arrive.close()


class OutgoingStream:
    """Takes messages for the client of a hand-driven transport.

    Args:
        session: The session.
    """

    def __init__(self, session: HandDrivenSession) -> None:
        self._session = session
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Sends a message.

        Raises:
            anyio.ClosedResourceError: This stream was closed.
            EncodeError: The message holds something that JSON cannot.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        await self._session.send(item)

    async def aclose(self) -> None:
        """Ends the use of this stream."""
        self._closed = True

    async def __aenter__(self) -> OutgoingStream:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
