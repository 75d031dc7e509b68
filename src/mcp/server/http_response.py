"""One HTTP response: a whole document, or a stream of events once there is something to stream."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Send

__all__ = ["HTTPResponse", "RawHeader", "respond"]

RawHeader = tuple[bytes, bytes]

_SSE_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Tells reverse proxies not to hold events back until there are many.
    (b"x-accel-buffering", b"no"),
)


_ABORT_SECONDS: Final = 1.0
"""How long to wait for the ASGI server to hear of a connection that was dropped; it takes a turn or two of the loop."""


async def respond(send: "Send", status: int, headers: list[RawHeader], body: bytes) -> None:
    """Sends a whole response, also to a client that is gone."""
    # What ASGI servers raise for a client that is gone; uvicorn drops the message instead.
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class HTTPResponse:
    """The response to one request. Whoever writes it takes care that there is one writer at a time.

    Args:
        send: The ASGI way out.
        receive: The ASGI way in, of a response that may have to be given up.

    Attributes:
        headers: More headers, until the response has begun.
        streaming: Whether it has become an event stream.
        disconnected: Whether the client is gone; then nothing more is sent.
    """

    __slots__ = ("_aborted", "_receive", "_send", "disconnected", "headers", "streaming")

    def __init__(self, send: "Send", receive: "Receive | None" = None) -> None:
        self._send = send
        self._receive = receive
        self._aborted = False
        self.headers: tuple[RawHeader, ...] = ()
        self.streaming = False
        self.disconnected = False

    def json(self, status: int, body: bytes) -> Coroutine[Any, Any, None]:
        """Sends a whole JSON document and ends the response, once it is awaited."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *self.headers]
        return self._to_client(
            {"type": "http.response.start", "status": status, "headers": headers},
            {"type": "http.response.body", "body": body},
        )

    def events(self, data: bytes, *, last: bool = False) -> Coroutine[Any, Any, None]:
        """Sends events, once it is awaited; the first begin the stream.

        Args:
            data: The events, formatted.
            last: Whether the response ends with them.
        """
        messages: list[Message] = []
        if not self.streaming:
            self.streaming = True
            headers = [*_SSE_HEADERS, *self.headers]
            messages.append({"type": "http.response.start", "status": 200, "headers": headers})
        if data or last:
            messages.append({"type": "http.response.body", "body": data, "more_body": not last})
        return self._to_client(*messages)

    async def _to_client(self, *messages: "Message") -> None:
        try:
            for message in messages:
                if not self.disconnected:
                    await self._send(message)
        except OSError:
            # What ASGI servers raise for a client that is gone; uvicorn drops the message instead.
            self.disconnected = True

    def abandon(self) -> None:
        """Gives up a client that does not read: nothing more is sent, and uvicorn drops the connection."""
        self.disconnected = True
        if (transport := self._transport()) is not None:
            self._aborted = True
            transport.abort()

    async def given_up(self) -> None:
        """Waits until the ASGI server knows of a client that was given up: it would miss the rest otherwise."""
        if self._aborted and self._receive is not None:
            with anyio.move_on_after(_ABORT_SECONDS):
                while (await self._receive())["type"] != "http.disconnect":
                    pass

    def abandon_unless_read(self, seconds: float) -> None:
        """Has the connection dropped if it is about to close, and the client has not read the rest by then.

        Args:
            seconds: How long it may take.
        """
        transport = self._transport()
        if transport is not None and transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(seconds, _abort_if_stuck, transport)

    def _transport(self) -> asyncio.WriteTransport | None:
        """uvicorn's, which it keeps until the client has read everything: for ever, maybe. ASGI has no word for it."""
        transport = getattr(getattr(self._receive, "__self__", None), "transport", None)
        return transport if hasattr(transport, "get_write_buffer_size") else None


def _abort_if_stuck(transport: asyncio.WriteTransport) -> None:
    if transport.is_closing() and transport.get_write_buffer_size():
        transport.abort()
