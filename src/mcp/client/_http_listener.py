"""The standalone stream of a session: what a server of a handshake revision sends without being asked.

Specification: basic/transports under "Listening for Messages from the Server" (2025-11-25).
"""

import logging
from typing import TYPE_CHECKING

import anyio
import httpx2

from mcp.client._http_client import reading
from mcp.client._http_resumption import Pace, is_passing
from mcp.protocol.codec import DecodeError, decode
from mcp.protocol.sse import SSEEvent, SSEEventTooLarge, SSEParser
from mcp.shared.exceptions import HTTPResponseError, MCPError

if TYPE_CHECKING:
    from mcp.client._http_session import HTTPSession

__all__ = ["Listener"]

logger = logging.getLogger("mcp.client.streamable_http")


class Listener:
    """Reads the standalone stream, and opens it again whenever it ends, at growing distances if it brings nothing.

    Args:
        session: The session.

    Attributes:
        has_stream: Whether the server has opened the stream at least once.
    """

    def __init__(self, session: "HTTPSession") -> None:
        self._session = session
        self._session_id = session.id
        self._last_event_id: str | None = None
        self._pace = Pace()
        self._tried = False
        self.has_stream = False

    async def run(self) -> bool:
        """Reads until there is nothing more to read, or the task is cancelled.

        Returns:
            Whether the session is gone; else the server offers no such stream.
        """
        while True:
            self._pace.opens()
            try:
                response = await self._session.open_stream(self._last_event_id)
                self.has_stream = True
                await self._read(response)
            except (MCPError, httpx2.HTTPError, httpx2.StreamError) as failure:
                if not is_passing(failure):
                    return self._ended_by(failure)
                logger.debug("the stream of the server's own messages broke off: %s", failure)
            self._tried = True
            await anyio.sleep(self._pace.delay())

    def _ended_by(self, failure: Exception) -> bool:
        status = failure.status if isinstance(failure, HTTPResponseError) else None
        # In a session that has just been opened, a 404 comes from a server that knows no GET.
        if status == 404 and self._tried and self._session_id is not None:
            return True
        level = logging.DEBUG if status == 405 else logging.WARNING
        logger.log(level, "the server offers no stream for messages of its own: %s", failure)
        return False

    async def _read(self, response: httpx2.Response) -> None:
        parser = SSEParser(self._session.connection.max_size)
        async with reading(response) as chunks:
            async for chunk in chunks:
                too_large = None
                try:
                    events = parser.feed(chunk)
                except SSEEventTooLarge as failure:
                    events, too_large = failure.events, failure
                await self._take(events)
                self._last_event_id = parser.last_event_id or self._last_event_id
                if parser.retry is not None:
                    self._pace.retry = parser.retry
                if too_large is not None:
                    logger.warning("dropped a message of the server's that is larger than %d bytes", too_large.limit)
                    return

    async def _take(self, events: list[SSEEvent]) -> None:
        for event in events:
            if event.event != "message" or not event.raw:
                continue
            self._pace.hears()
            try:
                message = decode(event.raw, allow_batch=self._session.takes_batches)
            except DecodeError as error:
                logger.warning("skipped an event that is no JSON-RPC message: %s", error)
                continue
            await self._session.receive(message)
