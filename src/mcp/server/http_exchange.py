"""The answer to one POST: plain JSON, or an event stream once there is something to stream."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

from mcp.engine.exchange import OneWayExchange, Origin
from mcp.protocol.codec import encode_notification
from mcp.protocol.sse import COMMENT, format_event

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

__all__ = ["HTTPExchange", "HTTPOrigin"]

logger = logging.getLogger(__name__)

_SSE_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Tells reverse proxies not to hold events back until there are many.
    (b"x-accel-buffering", b"no"),
]


class HTTPOrigin(Origin):
    """What HTTP knows about a request. Each part is made when it is asked for; not every handler asks.

    Args:
        scope: The ASGI scope.
        receive: The ASGI way in.
        body: The request's body, already read.
    """

    __slots__ = ("_body", "_receive", "_scope")

    def __init__(self, scope: "Scope", receive: "Receive", body: bytes) -> None:
        self._scope = scope
        self._receive = receive
        self._body = body

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, names in lower case."""
        from starlette.datastructures import Headers

        return Headers(scope=self._scope)

    @property
    def request(self) -> Any:
        """The request as Starlette sees it."""
        from starlette.requests import Request

        request = Request(self._scope, self._receive)
        request._body = self._body
        return request


class HTTPExchange(OneWayExchange):
    """The way back of one POSTed request.

    Args:
        origin: Where the request came from.
        send: The ASGI way out.
        json_only: Drop notifications, so that the answer is always plain JSON.
    """

    __slots__ = (
        "_json_only",
        "_lock",
        "_send",
        "_streaming",
        "answered",
        "disconnected",
    )

    def __init__(self, origin: Origin, send: "Send", *, json_only: bool) -> None:
        super().__init__(origin)
        self._send = send
        self._json_only = json_only
        self._streaming = False
        self._lock: anyio.Lock | None = None
        self.answered = False
        self.disconnected = False

    def disconnect(self) -> None:
        """Notes that the client is gone: nothing more is sent."""
        self.disconnected = True
        self.cancelled()

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification ahead of the answer; the first one turns the answer into an event stream."""
        if self._json_only:
            return
        frame = encode_notification(method, params)
        async with self._one_at_a_time():
            if self.answered:
                logger.debug("dropped %s: its request is answered", method)
                return
            await self._stream(format_event(frame, event="message"))

    async def keep_alive(self) -> None:
        """Sends a comment, so that nobody on the way takes a long silence for the end."""
        async with self._one_at_a_time():
            if not self.answered and not self._json_only:
                await self._stream(COMMENT)

    async def answer(self, frame: bytes, status: int) -> None:
        """Sends the answer and ends the response.

        Args:
            frame: The JSON-RPC response.
            status: The HTTP status; 200 stands where a stream has begun.
        """
        if self._lock is None:
            self.answered = True
            await self.respond(status, frame)
            return
        async with self._lock:
            self.answered = True
            if self._streaming:
                await self._body_chunk(format_event(frame, event="message"), more=False)
            else:
                await self.respond(status, frame)

    async def respond(self, status: int, frame: bytes) -> None:
        """Sends a whole JSON response."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(frame))]
        await self._to_client({"type": "http.response.start", "status": status, "headers": headers})
        await self._body_chunk(frame, more=False)

    def _one_at_a_time(self) -> anyio.Lock:
        if self._lock is None:
            self._lock = anyio.Lock()
        return self._lock

    async def _stream(self, event: bytes) -> None:
        if not self._streaming:
            self._streaming = True
            await self._to_client({"type": "http.response.start", "status": 200, "headers": _SSE_HEADERS})
        await self._body_chunk(event, more=True)

    async def _body_chunk(self, body: bytes, *, more: bool) -> None:
        await self._to_client({"type": "http.response.body", "body": body, "more_body": more})

    async def _to_client(self, message: "Message") -> None:
        if self.disconnected:
            return
        try:
            await self._send(message)
        except OSError:
            # What ASGI servers raise for a client that is gone; uvicorn drops the message instead.
            self.disconnect()
