"""What a client has missed of a stream, asked for by the id of the last event that it has seen.

Specification: basic/transports of 2025-11-25, under "Resumability and Redelivery".
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mcp.engine.streams import to_frame
from mcp.server.http_forward import event_of
from mcp.server.http_gate import Refusal
from mcp.server.http_recorder import usable_id
from mcp.server.http_session import SessionPort
from mcp.server.http_streams import Item
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import INTERNAL_ERROR, JSONRPCError, JSONRPCResponse

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventMessage, EventStore

__all__ = ["Replay", "event_id_of"]

logger = logging.getLogger(__name__)


class Replay:
    """The events that a client has missed.

    Attributes:
        key: The stream that they are of.
    """

    def __init__(self, key: str, last: str, items: list[Item]) -> None:
        self.key = key
        self._last = last
        self._items = items

    @classmethod
    async def of(cls, session: SessionPort, store: EventStore, last: str) -> Replay:
        """What the store has after an event.

        Raises:
            Refusal: The event is not of this session, or the store failed.
        """
        items, key = await _stored_after(store, last)
        if key is None or not session.streams.owns(key):
            # One answer for both, so that nobody learns which events other sessions have.
            raise Refusal.of_request(400, "Bad Request: Last-Event-ID names no event of this session")
        return cls(key, last, items)

    async def go_on(self, store: EventStore) -> None:
        """Adds what was stored meanwhile."""
        last = self._items[-1].event_id if self._items else self._last
        items, _ = await _stored_after(store, last or self._last)
        self._items += items

    @property
    def ids(self) -> set[str | None]:
        """The ids of the events."""
        return {item.event_id for item in self._items}

    @property
    def complete(self) -> bool:
        """Whether the stream's answer is among them."""
        return any(item.final for item in self._items)

    def events(self, retry: int | None) -> bytes:
        """All of them, formatted."""
        return b"".join(event_of(item, retry) for item in self._items)


def event_id_of(last_event_id: bytes) -> str:
    """The id that a client sends back, which it may have read in UTF-8 from the stream."""
    try:
        return last_event_id.decode()
    except UnicodeDecodeError:
        return last_event_id.decode("latin-1")


async def _stored_after(store: EventStore, last: str) -> tuple[list[Item], str | None]:
    items: list[Item] = []

    async def collect(event: EventMessage) -> None:
        frame = to_frame(SessionMessage(event.message))
        id = None if event.event_id is None else usable_id(event.event_id)
        items.append(Item(frame, id, isinstance(event.message, (JSONRPCResponse, JSONRPCError))))

    try:
        key = await store.replay_events_after(last, collect)
    except Exception:
        logger.exception("replay_events_after(%.64r) failed", last)
        raise Refusal.of_request(500, "The event store failed", INTERNAL_ERROR) from None
    return items, key
