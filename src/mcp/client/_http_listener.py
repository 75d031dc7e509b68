"""The standalone stream of a session: what a server of a handshake revision sends without being asked.

Specification: basic/transports under "Listening for Messages from the Server" (2025-11-25).
"""

import logging
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from mcp.client._http_client import reading
from mcp.client._http_resumption import is_passing, reconnection_delay
from mcp.protocol.codec import DecodeError, decode
from mcp.protocol.sse import SSEEvent, SSEEventTooLarge, SSEParser
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.client._http_session import HTTPSession

__all__ = ["Listener"]

logger = logging.getLogger("mcp.client.streamable_http")

_LIVELY_SECONDS: Final = 10.0
"""How long a stream has to stay open, if nothing comes on it, for its end not to count as the server's dislike."""


class Listener:
    """Reads the standalone stream, and opens it again whenever it ends, at growing distances if it brings nothing.

    Args:
        session: The session.
    """

    def __init__(self, session: "HTTPSession") -> None:
        self._session = session
        self._last_event_id: str | None = None
        self._retry: int | None = None
        self._heard = False

    async def run(self) -> None:
        """Reads until the server says that it offers no such stream, or the task is cancelled."""
        fruitless = 0
        while True:
            opened = anyio.current_time()
            self._heard = False
            try:
                await self._read(await self._session.open_stream(self._last_event_id))
            except (MCPError, httpx2.HTTPError, httpx2.StreamError) as failure:
                if not is_passing(failure):
                    logger.warning("the server offers no stream for messages of its own: %s", failure)
                    return
                logger.debug("the stream of the server's own messages broke off: %s", failure)
            if self._heard or anyio.current_time() - opened >= _LIVELY_SECONDS:
                fruitless = 0
            await anyio.sleep(reconnection_delay(self._retry, fruitless))
            fruitless += 1

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
                self._retry = self._retry if parser.retry is None else parser.retry
                if too_large is not None:
                    logger.warning("dropped a message of the server's that is larger than %d bytes", too_large.limit)
                    return

    async def _take(self, events: list[SSEEvent]) -> None:
        for event in events:
            if event.event != "message" or not event.raw:
                continue
            self._heard = True
            try:
                message = decode(event.raw, allow_batch=self._session.takes_batches)
            except DecodeError as error:
                logger.warning("skipped an event that is no JSON-RPC message: %s", error)
                continue
            await self._session.receive(message)
