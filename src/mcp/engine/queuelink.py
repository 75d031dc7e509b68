"""A link between two queues, for transports that carry frames in tasks of their own.

The owner of the connection uses it as any `Link`. The transport puts what has arrived, takes what is to be sent, and
says when it is over.
"""

import logging
from typing import Final

import anyio

from mcp.engine.bytelink import CLOSE_TIMEOUT, HIGH_WATER
from mcp.engine.link import Frame
from mcp.engine.pending import Signal, new_signal
from mcp.engine.queues import Backlog, Inbox
from mcp.engine.reactor import current_reactor

__all__ = ["QueueLink"]

logger = logging.getLogger(__name__)

MAX_UNSENT: Final = 64 * 1024 * 1024
"""Bytes that wait for a peer above which it is given up: it does not read."""

MAX_UNTAKEN: Final = 16 * 1024 * 1024
"""Bytes that wait for the owner above which no more are taken from the peer."""


class QueueLink:
    """A `Link` whose frames are carried by somebody else."""

    def __init__(self) -> None:
        reactor = current_reactor()
        self._inbox = Inbox(reactor)
        self._backlog = Backlog(reactor)
        self._unsent: list[bytes] = []
        self._wake: Signal | None = None
        self._room: Signal | None = None
        self._closed = False
        self._ended = False

    # The owner's side.

    async def receive(self) -> list[Frame]:
        """See `Link.receive`."""
        frames = await self._inbox.take()
        _set(self._room)
        return frames

    def send(self, frame: bytes) -> None:
        """See `Link.send`."""
        if self._closed:
            raise anyio.ClosedResourceError
        if not self._ended and self._backlog.size > MAX_UNSENT:
            logger.warning("the peer does not read: %d bytes wait for it, and the connection ends", self._backlog.size)
            self.end()
        if self._ended:
            raise anyio.BrokenResourceError
        self._unsent.append(frame)
        self._backlog.change(len(frame))
        _set(self._wake)

    @property
    def behind(self) -> bool:
        """See `Link.behind`."""
        return self._backlog.size > HIGH_WATER

    async def drain(self) -> None:
        """See `Link.drain`."""
        await self._backlog.at_most(HIGH_WATER)

    async def aclose(self) -> None:
        """See `Link.aclose`."""
        self._closed = True
        try:
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await self._backlog.at_most(0)
        finally:
            self._inbox.close()
            self.end()

    # The transport's side.

    @property
    def ended(self) -> bool:
        """Whether nobody takes what is put any more."""
        return self._ended or self._closed

    @property
    def full(self) -> bool:
        """Whether the owner is so far behind that no more should be put."""
        return self._inbox.backlog > MAX_UNTAKEN

    def put(self, frame: Frame, size: int) -> None:
        """Hands over a frame that has arrived.

        Args:
            frame: The frame.
            size: How many bytes it had on the way.
        """
        if not self.ended:
            self._inbox.put([frame], size)

    async def room(self) -> None:
        """Waits until the owner has caught up enough for more to be put."""
        while self.full and not self.ended:
            self._room = new_signal()
            await self._room.wait()

    async def unsent(self) -> list[bytes]:
        """The frames to send next, at least one. Tell `sent` of them when they are on their way.

        Raises:
            anyio.EndOfStream: There will be no more.
        """
        while not self._unsent:
            if self._ended:
                raise anyio.EndOfStream
            self._wake = new_signal()
            await self._wake.wait()
        frames = self._unsent
        self._unsent = []
        return frames

    def sent(self, *frames: bytes) -> None:
        """These frames are on their way."""
        if not self._ended:
            self._backlog.change(-sum(map(len, frames)))

    def end(self) -> None:
        """Nothing more will arrive, and nothing more is sent. What has arrived can still be taken."""
        self._ended = True
        self._unsent.clear()
        self._backlog.change(-self._backlog.size)
        self._inbox.finish()
        _set(self._wake)
        _set(self._room)


def _set(signal: Signal | None) -> None:
    if signal is not None:
        signal.set()
