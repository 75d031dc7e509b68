"""Writes a stream of a session to the HTTP response that it is read by."""

from collections.abc import Collection
from typing import Final

from mcp.protocol.sse import COMMENT, format_event
from mcp.server.http_response import HTTPResponse
from mcp.server.http_streams import Item, Reader

__all__ = ["Forwarder"]

_KEEP_ALIVE: Final = Item(COMMENT)


class Forwarder:
    """Forwards what a reader takes, until the stream ends or the reader is closed.

    Args:
        reader: Where items come from.
        response: Where they go.
        retry: How long a client shall wait before it reconnects, in ms; sent with events that carry nothing else.
        plain: Whether an answer that nothing came before may go without a stream.
        quiet: Whether nothing but the answer is ever sent.
    """

    def __init__(
        self, reader: Reader, response: HTTPResponse, *, retry: int | None, plain: bool, quiet: bool = False
    ) -> None:
        self._reader = reader
        self._retry = retry
        self._plain = plain
        self._quiet = quiet
        self._skipped: Collection[str | None] = ()
        self.response = response

    def disconnect(self) -> None:
        """Notes that the client is gone: nothing more is sent."""
        self.response.disconnected = True

    async def keep_alive(self) -> None:
        """Sends a comment, so that nobody on the way takes a long silence for the end."""
        if not self._quiet and not self._reader.waiting:
            self._reader.put(_KEEP_ALIVE)

    def skip(self, event_ids: Collection[str | None]) -> None:
        """Leaves out events that the client has been sent already."""
        self._skipped = event_ids

    async def run(self) -> None:
        """Forwards everything, and ends the response."""
        response = self.response
        while items := await self._reader.take():
            last = items[-1]
            if last.final and self._plain and len(items) == 1 and not response.streaming:
                await response.json(200, last.frame)
                return
            await response.events(b"".join(map(self._event, items)), last=last.final)
            if last.final or response.disconnected:
                return
        await response.events(b"", last=True)

    def _event(self, item: Item) -> bytes:
        if item is _KEEP_ALIVE:
            return COMMENT
        if item.event_id is not None and item.event_id in self._skipped:
            return b""
        return event_of(item, self._retry)


def event_of(item: Item, retry: int | None) -> bytes:
    """An item as an event of the stream."""
    if item.frame:
        return format_event(item.frame, event="message", id=item.event_id)
    # There for its id alone, and of no use where it could not be stored.
    return b"" if item.event_id is None else format_event(b"", id=item.event_id, retry=retry)
