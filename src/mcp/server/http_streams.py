"""Where the frames of one HTTP session go: each onto the stream of the POST it belongs to, others onto the standalone.

A *stream* is the protocol's: it begins with a POST (or with the session, for the standalone one) and ends with its
answer. A *reader* is the HTTP response that a stream is read by at the moment. Where events are stored a stream goes on
without a reader, and another one may take it up later; else a POST's stream is as good as gone with its reader.

Specification: basic/transports of 2025-11-25, under "Streamable HTTP".
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp.engine.backend import Spawner
from mcp.engine.pending import Signal, new_signal
from mcp.protocol.codec import RequestId, encode_error
from mcp.server.http_recorder import EventRecorder

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventStore

__all__ = ["GET_STREAM_KEY", "MAX_UNREAD", "REQUEST_CANCELLED", "Item", "Reader", "SessionStreams", "Stream"]

logger = logging.getLogger(__name__)

GET_STREAM_KEY: Final = "_GET_stream"
"""Names the standalone stream among the streams of its session."""

REQUEST_CANCELLED: Final = -32800
"""The error code that a cancelled request is answered with; over HTTP only an answer ends its stream."""

MAX_UNREAD: Final = 64
"""Frames that wait for a standalone stream to be opened; of more, the oldest are dropped."""

MAX_BEHIND: Final = 1024
"""Frames that wait for a reader of the standalone stream; of more, the oldest are dropped."""

_HIGH_WATER: Final = 64
"""Frames that wait for the reader of a POST's stream above which `drain` waits."""


class Item(NamedTuple):
    """What a reader writes.

    Attributes:
        frame: The frame; empty for an event that is there for its id alone.
        event_id: Under which id the event is stored; None where it is not.
        final: Whether the stream ends with it.
    """

    frame: bytes
    event_id: str | None = None
    final: bool = False


class Reader:
    """The way from a stream to the HTTP response that it is read by.

    Args:
        limit: The most items that wait; of more, the oldest are dropped. None for no limit.
    """

    __slots__ = ("_drained", "_dropping", "_limit", "_wake", "closed", "waiting")

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._dropping = False
        self._wake: Signal | None = None
        self._drained: anyio.Event | None = None
        self.waiting: list[Item] = []
        self.closed = False

    def put(self, item: Item) -> None:
        """Adds an item."""
        if self._limit is not None and len(self.waiting) >= self._limit:
            if not self._dropping:
                logger.warning("dropping messages beyond %d: the client is slow to read its stream", self._limit)
            self._dropping = True
            del self.waiting[0]
        self.waiting.append(item)
        self._notify()

    def close(self) -> None:
        """Nothing is added any more; what waits is still taken."""
        self.closed = True
        self._notify()
        self._set_drained()

    async def take(self) -> list[Item]:
        """Everything that waits, at least one item; nothing once the reader is closed."""
        while not self.waiting and not self.closed:
            self._wake = new_signal()
            try:
                await self._wake.wait()
            finally:
                self._wake = None
        items, self.waiting = self.waiting, []
        self._set_drained()
        return items

    async def drain(self) -> None:
        """Waits while too many items wait."""
        while len(self.waiting) > _HIGH_WATER and not self.closed:
            if self._drained is None:
                self._drained = anyio.Event()
            await self._drained.wait()

    def _notify(self) -> None:
        if self._wake is not None:
            self._wake.set()

    def _set_drained(self) -> None:
        if self._drained is not None:
            self._drained.set()
            self._drained = None


class Stream:
    """One stream.

    Args:
        key: Names it among all streams of all sessions; empty where its events are not stored.
        ids: The requests that it answers; none for the standalone stream.
        answer_only: Drop everything but the answer.
    """

    __slots__ = ("_unread", "answer_only", "ids", "key", "reader")

    def __init__(self, key: str, ids: tuple[RequestId | None, ...] = (), *, answer_only: bool = False) -> None:
        self.key = key
        self.ids = ids
        self.answer_only = answer_only
        self.reader: Reader | None = None
        self._unread: deque[Item] | None = None

    @property
    def standalone(self) -> bool:
        """Whether this is the session's standalone stream."""
        return not self.ids

    def attach(self) -> Reader:
        """A reader for what comes from now on, in the place of any other, whose connection may be dead by now."""
        before, self.reader = self.reader, Reader(MAX_BEHIND if self.standalone else None)
        if before is not None:
            self.reader.waiting, before.waiting = before.waiting, []
            before.close()
        if self._unread is not None:
            self.reader.waiting.extend(self._unread)
            self._unread = None
        return self.reader

    def detach(self, reader: Reader) -> None:
        """The HTTP response of a reader has ended. What it has not taken waits for the next on a standalone stream."""
        if self.reader is reader:
            self.reader = None
            reader.close()
            for item in reader.waiting:
                self._keep(item)

    def deliver(self, item: Item) -> None:
        """Gives an item to the reader."""
        if self.reader is not None:
            self.reader.put(item)
        else:
            self._keep(item)

    def close_reader(self) -> None:
        """Ends the HTTP response, after what waits, but not the stream."""
        if self.reader is not None:
            self.reader.close()
            self.reader = None

    def _keep(self, item: Item) -> None:
        if not self.standalone or not item.frame:
            return
        if self._unread is None:
            self._unread = deque()
        if len(self._unread) == MAX_UNREAD:
            logger.info("dropped the oldest of %d messages: the client has not opened a stream for them", MAX_UNREAD)
            self._unread.popleft()
        self._unread.append(item)


class SessionStreams:
    """All streams of one session: the `Outlet` of its connection.

    Args:
        name: Tells the streams of this session from those of others.
        spawner: Owns the task that stores events.
        store: Stores events; None where streams cannot be resumed.
        has_standalone: Whether there can ever be a standalone stream.

    Attributes:
        standalone: The standalone stream; None where there can be none.
    """

    def __init__(
        self, name: str, spawner: Spawner, store: EventStore | None = None, *, has_standalone: bool = True
    ) -> None:
        self._name = name
        self._count = 0
        self.store = store
        self._by_id: dict[RequestId | None, Stream] = {}
        self._by_key: dict[str, Stream] = {}
        self._recorder = None if store is None else EventRecorder(store, spawner, self._ended)
        self.standalone = Stream(f"{name}/{GET_STREAM_KEY}") if has_standalone else None

    @property
    def resumable(self) -> bool:
        """Whether events are stored."""
        return self._recorder is not None

    @property
    def waiting(self) -> bool:
        """Whether a POST is not answered yet."""
        return bool(self._by_id)

    def in_use(self, ids: Iterable[RequestId | None]) -> bool:
        """Whether a stream that has not ended answers one of these requests."""
        return not self._by_id.keys().isdisjoint(ids)

    def open(self, ids: tuple[RequestId | None, ...], *, answer_only: bool, primed: bool) -> Stream:
        """Opens the stream of a POST.

        Args:
            ids: The requests in it.
            answer_only: Drop everything but the answer.
            primed: Begin with an event that a client can resume after.
        """
        stream = Stream("", ids, answer_only=answer_only)
        for id in ids:
            self._by_id[id] = stream
        if self._recorder is not None:
            self._count += 1
            # Not the request's id alone, which a client may use again.
            stream.key = f"{self._name}/{self._count}/{ids[0]}"
            self._by_key[stream.key] = stream
        if primed:
            self.prime(stream)
        return stream

    def prime(self, stream: Stream) -> None:
        """Puts an event on a stream that a client can resume after, where events are stored."""
        if self._recorder is not None:
            self._recorder.record(stream, Item(b""))

    def find(self, key: str) -> Stream | None:
        """The stream of a key, if more may be stored for it."""
        if self.standalone is not None and self.standalone.key == key:
            return self.standalone
        return self._by_key.get(key)

    def _ended(self, stream: Stream) -> None:
        self._by_key.pop(stream.key, None)

    def owns(self, key: str) -> bool:
        """Whether a key is of a stream of this session, ended or not."""
        return key.startswith(f"{self._name}/")

    # As the outlet of a connection.

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """See `Outlet.send`."""
        stream = self._by_id.get(related) if related is not None or final else self.standalone
        if stream is None or (stream.reader is None and not final and self._recorder is None):
            # A question or a notification is as well off on the standalone stream; an answer must not go there.
            stream = None if final else self.standalone
        if stream is None or (stream.answer_only and not final):
            logger.debug("dropped a message: there is no stream for it")
            return
        if final:
            for id in stream.ids:
                self._by_id.pop(id, None)
        item = Item(frame, final=final)
        if self._recorder is None:
            stream.deliver(item)
        else:
            self._recorder.record(stream, item)

    def abandoned(self, related: RequestId) -> None:
        """See `Outlet.abandoned`. Only an answer ends a stream, so a cancelled request is answered with an error."""
        self.send(encode_error(related, REQUEST_CANCELLED, "Request cancelled"), related, final=True)

    def behind(self) -> bool:
        """See `Outlet.behind`; each stream has a reader of its own, which is waited for where its handler sends."""
        return False

    async def drain(self, related: RequestId | None = None) -> None:
        """See `Outlet.drain`."""
        if self._recorder is not None:
            await self._recorder.drain()
        stream = None if related is None else self._by_id.get(related)
        if stream is not None and stream.reader is not None:
            await stream.reader.drain()

    # Ending responses.

    def close_reader(self, stream: Stream) -> None:
        """Ends the HTTP response that a stream is read by, after what was sent before."""
        if self._recorder is None:
            stream.close_reader()
        else:
            self._recorder.close_reader(stream)

    def close_reader_of(self, id: RequestId) -> None:
        """Ends the HTTP response to a request early. Does nothing where what follows would be lost."""
        stream = self._by_id.get(id)
        if stream is not None and self._recorder is not None:
            self._recorder.close_reader(stream)

    def close_standalone_reader(self) -> None:
        """Ends the HTTP response that the standalone stream is read by."""
        if self.standalone is not None:
            self.close_reader(self.standalone)

    def close(self) -> None:
        """Ends the HTTP responses of all streams, after what waits for them."""
        if self._recorder is not None:
            self._recorder.flush()
        for stream in {*self._by_id.values(), *self._by_key.values()}:
            stream.close_reader()
        self._by_id.clear()
        self._by_key.clear()
        if self.standalone is not None:
            self.standalone.close_reader()
            self.standalone = None
