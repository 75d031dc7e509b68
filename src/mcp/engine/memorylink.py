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
        self._taken: anyio.Event | None = None
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
        self._wake_drains()
        return frames

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self.other._closed:
            raise anyio.BrokenResourceError
        self.other._arrived.append(frame)
        self.other._wake_receive()

    @property
    def behind(self) -> bool:
        """See `Link.behind`."""
        return len(self.other._arrived) > MAX_QUEUED and not (self._closed or self.other._closed)

    async def drain(self) -> None:
        """See `Link.drain`."""
        while self.behind:
            if self.other._taken is None:
                self.other._taken = anyio.Event()
            await self.other._taken.wait()

    async def aclose(self) -> None:
        """See `Link.aclose`."""
        self._closed = True
        for end in (self, self.other):
            end._wake_receive()
            end._wake_drains()

    def _wake_receive(self) -> None:
        if self._wake is not None:
            self._wake.set()

    def _wake_drains(self) -> None:
        if self._taken is not None:
            self._taken.set()
            self._taken = None


def memory_links() -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a link."""
    one, two = MemoryLink(), MemoryLink()
    one.other, two.other = two, one
    return one, two
