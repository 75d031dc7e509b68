"""An event store in memory, so that streams can be resumed."""

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage


class EventLog(EventStore):
    """Every event in the order it was stored; the id is its place."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if not last_event_id.isdecimal() or not 0 < int(last_event_id) <= len(self._events):
            return None
        place = int(last_event_id)
        stream, _ = self._events[place - 1]
        for event_id, (owner, message) in enumerate(self._events[place:], place + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(event_id)))
        return stream
