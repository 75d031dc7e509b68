"""One HTTP response: a whole document, or a stream of events once there is something to stream."""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Message, Send

__all__ = ["HTTPResponse", "RawHeader", "respond"]

RawHeader = tuple[bytes, bytes]

_SSE_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Tells reverse proxies not to hold events back until there are many.
    (b"x-accel-buffering", b"no"),
)


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

    Attributes:
        headers: More headers, until the response has begun.
        streaming: Whether it has become an event stream.
        disconnected: Whether the client is gone; then nothing more is sent.
    """

    __slots__ = ("_send", "disconnected", "headers", "streaming")

    def __init__(self, send: "Send") -> None:
        self._send = send
        self.headers: tuple[RawHeader, ...] = ()
        self.streaming = False
        self.disconnected = False

    async def json(self, status: int, body: bytes) -> None:
        """Sends a whole JSON document and ends the response."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *self.headers]
        await self._to_client({"type": "http.response.start", "status": status, "headers": headers})
        await self._to_client({"type": "http.response.body", "body": body})

    async def events(self, data: bytes, *, last: bool = False) -> None:
        """Sends events; the first begin the stream.

        Args:
            data: The events, formatted.
            last: Whether the response ends with them.
        """
        if not self.streaming:
            self.streaming = True
            headers = [*_SSE_HEADERS, *self.headers]
            await self._to_client({"type": "http.response.start", "status": 200, "headers": headers})
        if data or last:
            await self._to_client({"type": "http.response.body", "body": data, "more_body": not last})

    async def _to_client(self, message: "Message") -> None:
        if self.disconnected:
            return
        try:
            await self._send(message)
        except OSError:
            # What ASGI servers raise for a client that is gone; uvicorn drops the message instead.
            self.disconnected = True
