"""A link between a client and a server in one process: what one side sends, the other receives."""

from collections import deque

import anyio

from mcp.engine.link import Frame
from mcp.engine.pending import Signal, new_signal

__all__ = ["MemoryLink", "memory_links"]

MAX_QUEUED = 1024
"""Frames above which `drain` waits."""


class MemoryLink:
    """One end of a pair. Made by `memory_links`."""

    def __init__(self) -> None:
        self._arrived: deque[bytes] = deque()
        self._wake: Signal | None = None
        self._taken: Signal | None = None
        self._closed = False
        self.other: MemoryLink = self

    async def receive(self) -> list[Frame]:
        """See `Link.receive`."""
        while not self._arrived:
            if self._closed or self.other._closed:
                raise anyio.EndOfStream
            self._wake = new_signal()
            await self._wake.wait()
        frames: list[Frame] = list(self._arrived)
        self._arrived.clear()
        _set(self._taken)
        return frames

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self.other._closed:
            raise anyio.BrokenResourceError
        self.other._arrived.append(frame)
        _set(self.other._wake)

    async def drain(self) -> None:
        """See `Link.drain`."""
        while len(self.other._arrived) > MAX_QUEUED and not (self._closed or self.other._closed):
            self.other._taken = new_signal()
            await self.other._taken.wait()

    async def aclose(self) -> None:
        """See `Link.aclose`."""
        self._closed = True
        for end in (self, self.other):
            _set(end._wake)
            _set(end._taken)


def _set(signal: Signal | None) -> None:
    if signal is not None:
        signal.set()


def memory_links() -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a link."""
    one, two = MemoryLink(), MemoryLink()
    one.other, two.other = two, one
    return one, two
