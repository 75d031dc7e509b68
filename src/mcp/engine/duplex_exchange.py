"""The way back of one message on a two-way connection."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.engine.exchange import NOWHERE, FrameWriter, OneWayExchange, Origin
from mcp.engine.requester import CallOptions, ProgressSink
from mcp.protocol.codec import RequestId
from mcp.shared.exceptions import NoBackChannelError, TransportError

if TYPE_CHECKING:
    from mcp.engine.duplex import Duplex

__all__ = ["DuplexExchange"]

logger = logging.getLogger(__name__)


class DuplexExchange(OneWayExchange):
    """The way back of one message.

    Args:
        duplex: The connection.
        id: The message's id; None for a notification.
        origin: What the transport knows about it.
        can_ask: Whether its handler may ask the peer something.
    """

    __slots__ = ("_asking", "_duplex", "_end", "_id", "_may_ask", "_open", "_winding_down")

    def __init__(self, duplex: "Duplex", id: RequestId | None, origin: Origin | None, *, can_ask: bool) -> None:
        super().__init__(origin or NOWHERE)
        self._duplex = duplex
        self._id = id
        self._open = True
        self._may_ask = can_ask
        self._asking = 0
        self._end: Callable[[], None] | None = None
        self._winding_down = False

    @property
    def waits_for_peer(self) -> bool:
        """Whether a question is not answered yet."""
        return self._asking > 0

    @property
    def can_ask(self) -> bool:
        """Whether `ask` can reach the peer now."""
        return self._may_ask and self.origin.can_ask

    def close(self) -> None:
        """The request is answered."""
        self._open = False

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        """See `Exchange.open_stream`."""
        self._end = end
        if self._winding_down:
            end()
        return self._forward

    def wind_down(self) -> None:
        """The connection is about to close, perhaps before the handler has begun."""
        self._winding_down = True
        if self._end is not None:
            self._end()

    async def _forward(self, frames: Sequence[bytes]) -> None:
        if not self._open:
            return
        try:
            await self._duplex.forward(frames, self._id)
        except TransportError as error:
            logger.debug("dropped %d notifications: %s", len(frames), error)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request; waits while the peer is behind."""
        if not self._open:
            logger.debug("dropped %s: its request is answered", method)
            return
        try:
            await self._duplex.notify(method, params, self._id)
        except TransportError as error:
            logger.debug("dropped %s: %s", method, error)

    async def ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None = None,
        on_progress: ProgressSink | None = None,
    ) -> Any:
        """Asks the peer something; once the request is answered, over the connection's own channel."""
        if not self.can_ask:
            self._duplex.check()
            raise NoBackChannelError(method)
        related = self._id if self._open else None
        self._asking += 1
        try:
            return await self._duplex.ask(method, params, CallOptions(timeout, None, on_progress), related)
        finally:
            self._asking -= 1
