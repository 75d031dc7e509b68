"""A byte-stream connection as the engine sees it: whole frames in, whole frames out.

A frame is one JSON-RPC message as UTF-8 JSON, without the newline that delimits it on a pipe.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from mcp.engine.exchange import Origin
from mcp.protocol.codec import DecodeError, ErrorResponse
from mcp.shared.exceptions import MCPError

__all__ = ["Frame", "HeadedFrame", "Link", "OriginFrame", "Undelivered", "origin_of"]


@dataclass(slots=True, kw_only=True)
class Undelivered(ErrorResponse):
    """The failed answer to a request that the peer was not handed.

    Attributes:
        failure: What went wrong.
    """

    failure: MCPError


Frame = bytes | bytearray | DecodeError | Undelivered
"""What a link receives: a frame, the reason why one could not be taken (such as one over the size limit), or why a
request did not get through."""


class OriginFrame(bytes):
    """A frame whose transport knows more about it.

    Attributes:
        origin: What it knows.
    """

    origin: Origin


class HeadedFrame(bytes):
    """A frame for a transport that may have headers for it.

    Attributes:
        headers: The headers.
    """

    headers: Mapping[str, str]


def origin_of(frame: Frame) -> Origin | None:
    """What the transport knows about a frame; None for most, of which it knows nothing."""
    return frame.origin if isinstance(frame, OriginFrame) else None


class Link(Protocol):
    """An ordered two-way path for frames."""

    async def receive(self) -> list[Frame]:
        """Every frame that has arrived, at least one.

        Raises:
            anyio.EndOfStream: The peer has closed its side, or this side was closed.
        """
        ...

    def send(self, frame: bytes) -> None:
        """Queues one frame. What is queued in one turn of the loop is written together. Never waits.

        Raises:
            anyio.ClosedResourceError: This side was closed.
            anyio.BrokenResourceError: The peer no longer reads.
        """
        ...

    @property
    def behind(self) -> bool:
        """Whether the queue is so long that `drain` waits."""
        ...

    async def drain(self) -> None:
        """Waits until the queue is short enough to take more; does not wait where it is, or the link is closed."""
        ...

    async def aclose(self) -> None:
        """Writes what is queued, as far as the peer takes it within a short time, and closes both sides."""
        ...
