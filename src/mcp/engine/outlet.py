"""The way out of a connection, as the engine sees it."""

from typing import Protocol

from mcp.engine.link import Link
from mcp.protocol.codec import RequestId

__all__ = ["LinkOutlet", "Outlet"]


class Outlet(Protocol):
    """The way out of a connection."""

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """Queues one frame. Never waits.

        Args:
            frame: The frame.
            related: The request of the peer's that it belongs to, for transports that answer each on its own stream.
            final: Whether it is the answer to that request.

        Raises:
            anyio.ClosedResourceError: This side was closed.
            anyio.BrokenResourceError: The peer no longer reads.
        """
        ...

    def abandoned(self, related: RequestId) -> None:
        """The request was cancelled and gets no answer."""
        ...

    def behind(self) -> bool:
        """Whether the peer is behind with reading, where that can be known without waiting."""
        ...

    async def drain(self, related: RequestId | None = None) -> None:
        """Waits while the peer is behind with reading.

        Args:
            related: The request that what was sent last belongs to; see `send`.
        """
        ...


class LinkOutlet:
    """The way out of a link, which has one stream for everything."""

    def __init__(self, link: Link) -> None:
        self._send = link.send
        self._link = link
        self._drain = link.drain

    def send(self, frame: bytes, related: RequestId | None = None, *, final: bool = False) -> None:
        """See `Outlet.send`."""
        self._send(frame)

    def abandoned(self, related: RequestId) -> None:
        """See `Outlet.abandoned`."""

    def behind(self) -> bool:
        """See `Outlet.behind`."""
        return self._link.behind

    async def drain(self, related: RequestId | None = None) -> None:
        """See `Outlet.drain`."""
        await self._drain()
