"""What every link over descriptors shares: framing, waiting, and the order of closing."""

from abc import ABC, abstractmethod
from typing import Final

import anyio

from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame
from mcp.engine.queues import Backlog, Inbox
from mcp.engine.reactor import current_reactor

__all__ = ["CLOSE_TIMEOUT", "HIGH_WATER", "READ_AHEAD", "READ_SIZE", "ByteLink"]

CLOSE_TIMEOUT: Final = 1.0
"""Seconds that a closing link gives its peer to read what is still queued."""

HIGH_WATER: Final = 256 * 1024
"""Queued bytes above which `drain` waits."""

READ_AHEAD: Final = 4 * 1024 * 1024
"""Bytes of frames that nobody has taken above which a link stops reading."""

READ_SIZE: Final = 64 * 1024
"""Bytes read at once: what a pipe holds, and little enough to come from the allocator's free lists."""


class ByteLink(ABC):
    """A `Link` that owns a descriptor to read from and one to write to.

    Args:
        framing: How frames lie in the stream; newline-delimited by default.
    """

    def __init__(self, framing: LineFraming | None = None) -> None:
        self._reactor = current_reactor()
        self._framing = framing or LineFraming()
        self._inbox = Inbox(self._reactor)
        self._backlog = Backlog(self._reactor)
        self._ending = False
        self._broken = False
        self._discarding = False

    async def receive(self) -> list[Frame]:
        """See `Link.receive`."""
        frames = await self._inbox.take()
        self._taken(frames)
        return frames

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        if self._ending:
            raise anyio.ClosedResourceError
        if not self._broken:
            self._queue(self._framing.pack(frame))
        if self._broken:
            raise anyio.BrokenResourceError

    @property
    def behind(self) -> bool:
        """See `Link.behind`."""
        return self._backlog.size > HIGH_WATER

    async def drain(self) -> None:
        """See `Link.drain`."""
        await self._backlog.at_most(HIGH_WATER)

    async def aclose(self) -> None:
        """See `Link.aclose`."""
        try:
            await self.end_writing()
        finally:
            self.close_now()

    def close_now(self) -> None:
        """Closes both sides and drops what is queued."""
        self._ending = True
        self._stop_writing()
        self._stop_reading()

    async def end_writing(self) -> None:
        """Writes what is queued, as far as the peer takes it within a short time, and closes the write side alone."""
        self._ending = True
        try:
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await self._backlog.at_most(0)
        finally:
            self._stop_writing()

    def discard(self) -> None:
        """From now on reads only to throw away, so that a peer with something left to say is not held up."""
        self._discarding = True
        self._inbox.close()
        self._taken([])

    def _arrived(self, chunk: bytes) -> None:
        """Takes bytes that were read."""
        if self._discarding:
            return
        if frames := self._framing.feed(chunk):
            self._inbox.put(frames, len(chunk))

    def _finish(self) -> None:
        """Nothing more will be read."""
        if not self._discarding and (frames := self._framing.flush()):
            self._inbox.put(frames, 0)
        self._inbox.finish()

    @abstractmethod
    def _taken(self, frames: list[Frame]) -> None:
        """The owner has taken what was read, so there is room for more."""

    @abstractmethod
    def _queue(self, pieces: tuple[bytes, ...]) -> None:
        """Queues bytes to be written one behind the other. May find the link broken."""

    @abstractmethod
    def _stop_reading(self) -> None:
        """Closes the read side. Does nothing the second time."""

    @abstractmethod
    def _stop_writing(self) -> None:
        """Closes the write side and drops what is queued. Does nothing the second time."""
