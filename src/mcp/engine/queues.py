"""The two ends of a byte link, free of I/O: frames that have arrived, and bytes that are to be written."""

from typing import Final

import anyio

from mcp.engine.link import Frame
from mcp.engine.reactor import Reactor, Waiter

__all__ = ["Backlog", "Inbox", "Outbox"]


_NOTHING: Final = memoryview(b"")

_JOINABLE: Final = 256 * 1024
"""Bytes above which a copy costs more than a write of its own."""


class Inbox:
    """Frames that have arrived, and the one task that waits for them.

    Attributes:
        backlog: How many bytes have arrived since frames were last taken.
    """

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._frames: list[Frame] = []
        self._waiter: Waiter | None = None
        self._finished = False
        self.backlog = 0

    def put(self, frames: list[Frame], size: int) -> None:
        """Adds frames that arrived in `size` bytes."""
        self._frames += frames
        self.backlog += size
        self._wake()

    def finish(self) -> None:
        """No more frames will come; those at hand can still be taken."""
        self._finished = True
        self._wake()

    def close(self) -> None:
        """No more frames will come, and those at hand are dropped."""
        self._frames.clear()
        self.backlog = 0
        self.finish()

    async def take(self) -> list[Frame]:
        """Every frame at hand; waits for the first.

        Raises:
            anyio.EndOfStream: There are none, and none will come.
            anyio.BusyResourceError: Another task waits already.
        """
        while not self._frames:
            if self._finished:
                raise anyio.EndOfStream
            if self._waiter is not None:
                raise anyio.BusyResourceError("receiving from")
            self._waiter = self._reactor.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        frames = self._frames
        self._frames = []
        self.backlog = 0
        return frames

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Backlog:
    """How many bytes wait to be written, and who waits for them to become fewer."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._waiters: list[tuple[int, Waiter]] = []
        self.size = 0

    def change(self, size: int) -> None:
        """Adds `size` bytes, or takes them off if negative."""
        self.size += size
        if size < 0 and self._waiters:
            self._wake()

    async def at_most(self, limit: int) -> None:
        """Waits until no more than `limit` bytes are queued."""
        while self.size > limit:
            waiter = self._reactor.create_future()
            self._waiters.append((limit, waiter))
            await waiter

    def _wake(self) -> None:
        waiting = self._waiters
        self._waiters = []
        for limit, waiter in waiting:
            if self.size > limit:
                self._waiters.append((limit, waiter))
            elif not waiter.done():
                waiter.set_result(None)


class Outbox:
    """Bytes on their way to a descriptor that takes as much as it likes at a time."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._queued: list[bytes] = []
        self._current = _NOTHING

    def push(self, pieces: tuple[bytes, ...]) -> None:
        """Queues bytes, the pieces one behind the other."""
        self._queued += pieces
        self._backlog.change(sum(map(len, pieces)))

    def front(self) -> memoryview:
        """What to write next: a large piece alone, or all that is queued joined; empty when there is nothing."""
        if not self._current and self._queued:
            if len(self._queued[0]) > _JOINABLE:
                self._current = memoryview(self._queued.pop(0))
            else:
                self._current = memoryview(b"".join(self._queued))
                self._queued.clear()
        return self._current

    def consume(self, count: int) -> None:
        """The first `count` bytes of `front()` are written."""
        # Not an empty slice, which would keep all that was written in memory.
        self._current = self._current[count:] if count < len(self._current) else _NOTHING
        self._backlog.change(-count)

    def clear(self) -> None:
        """Drops everything, because nobody will read it."""
        self._current = _NOTHING
        self._queued.clear()
        self._backlog.change(-self._backlog.size)
