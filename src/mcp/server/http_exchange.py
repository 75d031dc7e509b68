"""The way back of one POSTed 2026-07-28 request."""

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import anyio
import anyio.lowlevel

from mcp.engine.exchange import FrameWriter, OneWayExchange, Origin
from mcp.engine.turns import Turns
from mcp.protocol.codec import encode_notification
from mcp.protocol.sse import COMMENT, format_event
from mcp.server.http_response import HTTPResponse
from mcp.server.http_standing import StandingStreams

__all__ = ["HTTPExchange"]

ANSWER_SECONDS: Final = 5.0
"""How long a client may take for the end of a stream that it has opened."""

logger = logging.getLogger(__name__)


class HTTPExchange(OneWayExchange):
    """The way back of one POSTed request.

    Args:
        origin: Where the request came from.
        response: The response to the POST.
        json_only: Drop notifications, so that the answer is always plain JSON.
        standing: Ends the response when the application stops, if it would not end by itself.
    """

    __slots__ = ("_json_only", "_lock", "_response", "_standing", "_stands", "answered")

    def __init__(
        self, origin: Origin, response: HTTPResponse, *, json_only: bool, standing: StandingStreams | None = None
    ) -> None:
        super().__init__(origin)
        self._response = response
        self._json_only = json_only
        self._standing = standing
        self._lock: Turns | None = None
        self._stands = False
        self.answered = False

    def disconnect(self) -> None:
        """Notes that the client is gone: nothing more is sent."""
        self._response.disconnected = True
        self.cancelled()

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification ahead of the answer; the first one turns the answer into an event stream."""
        if self._json_only:
            return
        frame = encode_notification(method, params)
        # A handler that reports and does nothing else would let nobody else run.
        await anyio.lowlevel.checkpoint()
        async with self._one_at_a_time():
            if self.answered:
                logger.debug("dropped %s: its request is answered", method)
                return
            await self._stream(format_event(frame, event="message"))

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        """See `Exchange.open_stream`. The response is an event stream from the first notification on."""
        self._stands = True
        if self._standing is not None:
            self._standing.add(self, end)
        return self._forward

    async def _forward(self, frames: Sequence[bytes]) -> None:
        events = b"".join([b"event: message\r\ndata: %b\r\n\r\n" % frame for frame in frames])
        try:
            async with self._one_at_a_time():
                if not self.answered:
                    await self._stream(events)
        except anyio.get_cancelled_exc_class():
            # The rest of the stream would have a gap, and its client has not read what came before.
            self._response.abandon()
            raise

    async def keep_alive(self) -> None:
        """Sends a comment, so that nobody on the way takes a long silence for the end."""
        async with self._one_at_a_time():
            if not self.answered and not self._json_only:
                await self._stream(COMMENT)

    async def _stream(self, events: bytes) -> None:
        await self._response.events(events)
        if self._response.disconnected:
            self.cancelled()

    def answer(self, frame: bytes, status: int) -> Coroutine[Any, Any, None]:
        """Sends the answer and ends the response, once it is awaited.

        Args:
            frame: The JSON-RPC response.
            status: The HTTP status; 200 stands where a stream has begun.
        """
        return self._answer_in_time(frame, status) if self._stands else self._answer(frame, status)

    async def _answer_in_time(self, frame: bytes, status: int) -> None:
        # Of a stream that may have stood for days: its client may have stopped reading long ago.
        with anyio.move_on_after(ANSWER_SECONDS) as limit:
            await self._answer(frame, status)
        if limit.cancelled_caught:
            self._response.abandon()
            await self._response.given_up()
        else:
            self._response.abandon_unless_read(ANSWER_SECONDS)

    async def _answer(self, frame: bytes, status: int) -> None:
        if self._response.disconnected:
            self.answered = True
            await self._response.given_up()
            return
        if self._lock is None:
            self.answered = True
            await self._response.json(status, frame)
            return
        async with self._lock:
            self.answered = True
            if self._response.streaming:
                await self._response.events(format_event(frame, event="message"), last=True)
            else:
                await self._response.json(status, frame)

    def _one_at_a_time(self) -> Turns:
        if self._lock is None:
            self._lock = Turns()
        return self._lock
