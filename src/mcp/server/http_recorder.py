"""Stores what a session sends, in order, before it is sent: so that whoever lost it can have it again."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from mcp.engine.backend import Spawner
from mcp.engine.streams import from_frame
from mcp.protocol.codec import dumps, loads
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage

if TYPE_CHECKING:
    from mcp.server.http_streams import Item, Stream
    from mcp.server.streamable_http import EventStore

__all__ = ["EventRecorder", "usable_id"]

logger = logging.getLogger(__name__)

_HIGH_WATER: Final = 64
"""Items that wait to be stored above which `drain` waits."""


class EventRecorder:
    """Stores the items of a session's streams one after the other, and delivers each under its id.

    A task does it, for as long as there is something to store: streams go on while nobody reads them.

    Args:
        store: Where to.
        spawner: Owns the task.
        ended: Told of each stream whose last item is stored.
    """

    def __init__(self, store: EventStore, spawner: Spawner, ended: Callable[[Stream], None]) -> None:
        self._store = store
        self._spawner = spawner
        self._ended = ended
        self._queue: deque[tuple[Stream, Item | None]] = deque()
        self._running = False
        self._drained: anyio.Event | None = None

    def record(self, stream: Stream, item: Item) -> None:
        """Stores an item and delivers it. Never waits."""
        self._add(stream, item)

    def close_reader(self, stream: Stream) -> None:
        """Ends the HTTP response that a stream is read by, after everything that was recorded before."""
        self._add(stream, None)

    async def drain(self) -> None:
        """Waits while too much is not stored yet."""
        while len(self._queue) > _HIGH_WATER:
            if self._drained is None:
                self._drained = anyio.Event()
            await self._drained.wait()

    def flush(self) -> None:
        """Delivers what is not stored yet without storing it: nobody will come back for it."""
        while self._queue:
            stream, item = self._queue.popleft()
            self._deliver(stream, item)
        self._set_drained()

    def _set_drained(self) -> None:
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    def _add(self, stream: Stream, item: Item | None) -> None:
        self._queue.append((stream, item))
        if not self._running:
            self._running = True
            self._spawner.spawn(self._run)

    async def _run(self) -> None:
        try:
            while self._queue:
                # Taken off the queue once it is stored, so that `flush` finds what a cancellation interrupts.
                entry = self._queue[0]
                stream, item = entry
                if item is not None:
                    item = await self._stored(stream, item)
                if self._queue and self._queue[0] is entry:
                    self._queue.popleft()
                    self._deliver(stream, item)
                    self._set_drained()
        finally:
            self._running = False

    def _deliver(self, stream: Stream, item: Item | None) -> None:
        if item is None:
            stream.close_reader()
            return
        stream.deliver(item)
        if item.final:
            self._ended(stream)

    async def _stored(self, stream: Stream, item: Item) -> Item:
        """The item under its id; without one where storing fails, since a lost answer is worse than one not stored."""
        try:
            for message in _messages(item.frame):
                item = item._replace(event_id=usable_id(await self._store.store_event(stream.key, message)))
        except Exception:
            logger.exception("store_event failed; the event is sent without an id")
        return item


def usable_id(event_id: object) -> str:
    """The id of an event, where it can go into an event stream and come back in a header.

    Raises:
        ValueError: It cannot.
    """
    if not isinstance(event_id, str) or not event_id or not event_id.isprintable() or event_id != event_id.strip():
        shown = repr(event_id)[:100]
        raise ValueError(f"the id of an event must be a printable str without blanks around it, got {shown}")
    return event_id


def _messages(frame: bytes) -> list[JSONRPCMessage | None]:
    """The messages of a frame, which holds several where it is a batch; None for an event without data."""
    if not frame:
        return [None]
    frames = [dumps(item) for item in loads(frame)] if frame.startswith(b"[") else [frame]
    messages: list[JSONRPCMessage | None] = []
    for one in frames:
        message = from_frame(one)
        assert isinstance(message, SessionMessage), message
        messages.append(message.message)
    return messages
