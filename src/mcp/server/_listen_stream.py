"""One stream of `subscriptions/listen`: what its client asked to be told of, and what waits to be sent."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from mcp.engine.exchange import FrameWriter
from mcp.engine.pending import Signal, new_signal
from mcp.protocol.codec import RequestId, dumps, encode_notification
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY, ServerEvent, event_matches, event_to_wire
from mcp.types import SubscriptionFilter

__all__ = ["EncodedEvent", "ListenStream"]

_ID_MARK: Final = "\0"


class EncodedEvent(NamedTuple):
    """An event as bytes, but for the id of the stream that it is sent on.

    Attributes:
        before: What stands before the id.
        after: What stands behind it.
    """

    before: bytes
    after: bytes

    @classmethod
    def of(cls, event: ServerEvent) -> EncodedEvent:
        """Encodes an event, once for all streams. Its URI has come over a wire, in a filter, so it has a JSON form."""
        method, params = event_to_wire(event, {SUBSCRIPTION_ID_META_KEY: _ID_MARK})
        # The first one is ours: whatever else is in the params stands behind their `_meta`.
        before, after = encode_notification(method, params).split(dumps(_ID_MARK), 1)
        return cls(before, after)


class ListenStream:
    """One stream.

    Args:
        id: The id of its request.
        asked: The filter in that request. All of it is honored.
        max_waiting: The most events that may wait to be sent.

    Attributes:
        id: The id of its request.
    """

    __slots__ = ("_ended", "_lists", "_max_waiting", "_signal", "_uris", "_waiting", "id")

    def __init__(self, id: RequestId, asked: SubscriptionFilter, max_waiting: int) -> None:
        self.id = id
        self._lists = _list_changes(
            bool(asked.tools_list_changed), bool(asked.prompts_list_changed), bool(asked.resources_list_changed)
        )
        self._uris = frozenset(asked.resource_subscriptions or ())
        self._max_waiting = max_waiting
        self._waiting: list[EncodedEvent] = []
        self._signal: Signal | None = None
        self._ended = False

    def wants(self, event: ServerEvent) -> bool:
        """Whether the client asked to be told of an event."""
        return event_matches(self._lists, self._uris, event)

    def push(self, event: EncodedEvent) -> bool:
        """Queues an event; ends the stream where too many wait already, and is False then."""
        if self._ended:
            return True
        if len(self._waiting) >= self._max_waiting:
            self.end()
            return False
        self._waiting.append(event)
        self._wake()
        return True

    def end(self) -> None:
        """Takes no more events; the stream ends behind those that wait."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._signal is not None:
            self._signal.set()

    async def run(self, acknowledgement: bytes, write: FrameWriter) -> None:
        """Sends the acknowledgement, then every event as it comes, until the stream is ended.

        Args:
            acknowledgement: What comes first.
            write: Sends notifications; waits while the client is behind.
        """
        await write([acknowledgement])
        id = dumps(self.id)
        while True:
            if self._waiting:
                events, self._waiting = self._waiting, []
                await write([b"%b%b%b" % (event.before, id, event.after) for event in events])
            elif self._ended:
                return
            else:
                self._signal = new_signal()
                try:
                    await self._signal.wait()
                finally:
                    self._signal = None

    def acknowledgement(self, asked: SubscriptionFilter) -> bytes:
        """The notification that says what is honored.

        Args:
            asked: The filter in the request.
        """
        honored = self._lists.model_dump(by_alias=True, exclude_none=True)
        if asked.resource_subscriptions:
            honored["resourceSubscriptions"] = asked.resource_subscriptions
        params = {"_meta": {SUBSCRIPTION_ID_META_KEY: self.id}, "notifications": honored}
        return encode_notification("notifications/subscriptions/acknowledged", params)


@cache
def _list_changes(tools: bool, prompts: bool, resources: bool) -> SubscriptionFilter:
    """A filter for changes of lists; what is not wanted is left out. One serves all streams that want the same."""
    return SubscriptionFilter(
        tools_list_changed=tools or None, prompts_list_changed=prompts or None, resources_list_changed=resources or None
    )
