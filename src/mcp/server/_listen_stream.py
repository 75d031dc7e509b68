"""One stream of `subscriptions/listen`: what its client asked to be told of, and what waits to be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from math import inf
from threading import get_ident
from typing import Any, Final, NamedTuple

from anyio import CancelScope

from mcp.engine.backend import asyncio_task, delivered_cancels, pending_cancels, uncancel
from mcp.engine.exchange import FrameWriter
from mcp.engine.reactor import Waiter, current_reactor
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
        max_waiting: The most events that may wait to be sent; with the next one the stream ends.
        overflowed: Called when it does. Never raises.
        grace: How long the client may take, once the stream is to end, for what waits; in seconds.

    Attributes:
        id: The id of its request.
    """

    __slots__ = (
        "_ended",
        "_given_up",
        "_grace",
        "_greeting",
        "_lists",
        "_max_waiting",
        "_overflowed",
        "_reactor",
        "_sending",
        "_thread",
        "_uris",
        "_waiter",
        "_waiting",
        "id",
    )

    def __init__(
        self,
        id: RequestId,
        asked: SubscriptionFilter,
        max_waiting: int,
        overflowed: Callable[[ListenStream], None],
        grace: float,
    ) -> None:
        self.id = id
        self._lists = _list_changes(
            bool(asked.tools_list_changed), bool(asked.prompts_list_changed), bool(asked.resources_list_changed)
        )
        self._uris = frozenset(asked.resource_subscriptions or ())
        self._max_waiting = max_waiting
        self._greeting = self._acknowledgement(asked)
        self._waiting: list[EncodedEvent] = []
        self._overflowed = overflowed
        self._grace = grace
        self._reactor = current_reactor()
        self._thread = get_ident()
        self._waiter: Waiter | None = None
        self._sending: asyncio.Task[object] | CancelScope | None = None
        self._ended: float | None = None
        self._given_up = False

    def wants(self, event: ServerEvent) -> bool:
        """Whether the client asked to be told of an event, and may be."""
        return self._ended is None and event_matches(self._lists, self._uris, event)

    def push(self, event: EncodedEvent) -> None:
        """Queues an event, in the thread of the stream's event loop, whichever the caller's is."""
        self._here(partial(self._push, event))

    def end(self) -> None:
        """Takes no more events; the stream ends behind those that wait, or when the time for them is over."""
        self._here(self._end)

    def _here(self, call: Callable[[], None]) -> None:
        if get_ident() == self._thread:
            call()
            return
        with suppress(RuntimeError):
            # What is raised where that event loop has ended, and the stream with it.
            self._reactor.call_soon_threadsafe(call)

    def _push(self, event: EncodedEvent) -> None:
        if self._ended is not None:
            return
        if len(self._waiting) >= self._max_waiting:
            self._end()
            self._overflowed(self)
            return
        self._waiting.append(event)
        self._wake()

    def _end(self) -> None:
        if self._ended is not None:
            return
        self._ended = self._reactor.time() + self._grace
        if isinstance(self._sending, CancelScope):
            self._sending.deadline = self._ended
        elif self._sending is not None:
            self._sending.get_loop().call_at(self._ended, self._give_up, self._sending)
        self._wake()

    def _give_up(self, sender: asyncio.Task[object]) -> None:
        if self._sending is sender and not self._given_up:
            self._given_up = True
            sender.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def run(self, write: FrameWriter) -> bool:
        """Sends the acknowledgement, then every event as it comes, until the stream is ended.

        Args:
            write: Sends notifications; waits while the client is behind.

        Returns:
            Whether all of it was sent; False if the client did not read it in time.
        """
        frames, self._greeting = [self._greeting], b""
        id = dumps(self.id)
        # Asked for once: until Python 3.11 each time is a system call, which counts with five hundred streams.
        task = asyncio_task()
        while await self._sent(write, frames, task):
            while not self._waiting:
                if self._ended is not None:
                    return True
                self._waiter = self._reactor.create_future()
                await self._waiter
            events, self._waiting = self._waiting, []
            frames = [b"%b%b%b" % (event.before, id, event.after) for event in events]
        return False

    async def _sent(self, write: FrameWriter, frames: list[bytes], task: asyncio.Task[Any] | None) -> bool:
        if task is None:
            return await self._sent_in_scope(write, frames)
        # No scope: entered for each write, it was a fourth of what an event to five hundred streams costs.
        before = delivered_cancels(task)
        self._sending = task
        if self._ended is not None:
            task.get_loop().call_at(self._ended, self._give_up, task)
        try:
            await write(frames)
        except asyncio.CancelledError:
            # A cancellation from outside goes on, also if both have come.
            if not self._given_up or pending_cancels(task) > before + 1:
                raise
            return False
        finally:
            self._sending = None
            if self._given_up:
                uncancel(task)
        return not self._given_up

    async def _sent_in_scope(self, write: FrameWriter, frames: list[bytes]) -> bool:
        with CancelScope(deadline=inf if self._ended is None else self._ended) as self._sending:
            await write(frames)
        scope, self._sending = self._sending, None
        return not scope.cancelled_caught

    def _acknowledgement(self, asked: SubscriptionFilter) -> bytes:
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
