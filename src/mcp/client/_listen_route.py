"""What has arrived on one `subscriptions/listen` stream, on its way to whoever iterates over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import anyio

from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ServerEvent
from mcp.types.jsonrpc import INTERNAL_ERROR

if TYPE_CHECKING:
    from mcp.types import SubscriptionFilter

__all__ = ["MAX_WAITING_EVENTS", "End", "ListenRoute"]

MAX_WAITING_EVENTS: Final = 1024
"""The most events that may wait for whoever iterates; with the next one the subscription is lost."""

End = Literal["closed", "lost"]
"""How a stream ended: in order, or not."""


class ListenRoute:
    """The state of one stream, from the request to the end.

    Attributes:
        acked: Set once the server has acknowledged, or the stream has ended without.
        honored: The filter that the server acknowledged; None before.
        end: How the stream ended; None while it is open.
        error: Why it was lost, as far as known.
    """

    def __init__(self) -> None:
        self.acked = anyio.Event()
        self.honored: SubscriptionFilter | None = None
        self.end: End | None = None
        self.error: MCPError | None = None
        self._waiting: dict[ServerEvent, None] = {}
        self._taken: ServerEvent | None = None
        self._changed = anyio.Event()

    def set_acked(self, honored: SubscriptionFilter) -> None:
        """Takes note that the server has acknowledged. Only the first time counts.

        Args:
            honored: What it will tell of.
        """
        if self.honored is None:
            self.honored = honored
            self.acked.set()

    def deliver(self, event: ServerEvent) -> None:
        """Takes an event. One that waits already is not kept twice; one too many ends the stream as lost.

        Args:
            event: The event.
        """
        if self.end is not None or event in self._waiting:
            return
        if len(self._waiting) >= MAX_WAITING_EVENTS:
            text = (
                f"{MAX_WAITING_EVENTS} events of the subscription wait, and more have come: it is not read fast enough"
            )
            self.settle("lost", MCPError(INTERNAL_ERROR, text))
            return
        self._waiting[event] = None
        self._wake()

    def settle(self, end: End, error: MCPError | None = None) -> None:
        """Takes note that nothing more will come. What waits can still be taken. Only the first time counts.

        Args:
            end: How the stream ended.
            error: Why, if it was lost.
        """
        if self.end is None:
            self.end = end
            self.error = error
            self.acked.set()
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def next_event(self) -> ServerEvent | End:
        """The next event, or how the stream ended; waits for either. Until it is consumed, it is the next one.

        An equal event that arrives in the meantime is another one: what was done about the first may have been too
        early for it.
        """
        while True:
            if self._taken is None and self._waiting:
                self._taken = next(iter(self._waiting))
                del self._waiting[self._taken]
            if self._taken is not None:
                return self._taken
            if self.end is not None:
                return self.end
            await self._changed.wait()

    def consume(self, event: ServerEvent) -> None:
        """Drops the event that `next_event` returned.

        Args:
            event: That event.
        """
        if self._taken == event:
            self._taken = None
