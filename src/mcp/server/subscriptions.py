"""Serving `subscriptions/listen`: a bus for what changed, and the handler whose streams tell of it.

    bus = InMemorySubscriptionBus()
    server = Server("board", on_subscriptions_listen=ListenHandler(bus))
    await bus.publish(ResourceUpdated(uri="board://sprint"))

Specification: basic/patterns/subscriptions (2026-07-28).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio.lowlevel

from mcp.server._listen_stream import EncodedEvent, ListenStream
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    check_event,
)
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.types import SubscriptionsListenRequestParams, SubscriptionsListenResult

__all__ = [
    "SUBSCRIPTION_ID_META_KEY",
    "InMemorySubscriptionBus",
    "ListenHandler",
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ServerEvent",
    "SubscriptionBus",
    "ToolsListChanged",
]

logger = logging.getLogger(__name__)

END_SECONDS: Final = 5.0
"""How long a client may take for what waits in its stream, once that is to end."""

_MAX_CHARACTERS: Final = 256 * 1024
"""How long the URIs that one stream watches may be together."""


class SubscriptionBus(Protocol):
    """Carries events from whoever publishes them to every handler that serves streams.

    Implement it over a message broker to reach streams in other processes. It carries events and nothing of the
    protocol: filters, ids and streams are the handler's.
    """

    async def publish(self, event: ServerEvent) -> None:
        """Hands an event to every listener, here and wherever else the bus reaches.

        Args:
            event: What changed.
        """
        ...

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Registers a listener.

        Args:
            listener: Takes each event. It is not asynchronous, returns at once, and does not raise.

        Returns:
            Ends the registration; does nothing the second time.
        """
        ...


class InMemorySubscriptionBus:
    """A bus within one process. Any number of servers may share it, also on event loops in different threads."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    async def publish(self, event: ServerEvent) -> None:
        """Hands an event to every listener, then lets other tasks run, so that streams can send it.

        A listener that raises is logged, and the others get the event all the same.

        Args:
            event: What changed.

        Raises:
            TypeError: It is no event, or its URI is no string.
        """
        check_event(event)
        listeners = tuple(self._listeners.values())
        for listener in listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("a listener of the subscription bus raised")
        if listeners:
            await anyio.lowlevel.checkpoint()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Registers a listener.

        Args:
            listener: Takes each event, in the thread that publishes it. It is not asynchronous, and returns at once.

        Returns:
            Ends the registration; does nothing the second time.
        """
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe


class ListenHandler:
    """Answers `subscriptions/listen`, for `Server(on_subscriptions_listen=...)`.

    Each request becomes a stream: first an acknowledgement of its filter, then a notification for each event that the
    filter names, in the order of publishing, and last the result, if the stream is ended from this side. All of them
    carry the request's id. A filter is honored as it is: the handler cannot know what will be published. A stream whose
    client hangs up or cancels is forgotten at once.

    A client that reads too slowly delays nobody: its events wait, and when too many do, its stream is ended. A stream
    that is to end, for whatever reason, has 5 seconds for what waits in it; then its client is given up.

    Args:
        bus: Where events come from. It is listened to only while there are streams.
        max_subscriptions: The most streams at a time; more are refused with -32603.
        max_buffered_events: The most events that may wait for one slow client. With the next one its stream is ended,
            behind those that wait already.
        max_uris: The most resources that one stream may watch; a filter that names more is refused with -32602, and so
            is one whose URIs have more than 256 Ki characters.

    Raises:
        TypeError: `bus` has no `subscribe`, or a limit is no integer.
        ValueError: A limit is not positive.
    """

    def __init__(
        self,
        bus: SubscriptionBus,
        *,
        max_subscriptions: int = 1024,
        max_buffered_events: int = 1024,
        max_uris: int = 1024,
    ) -> None:
        if isinstance(bus, type) or not callable(getattr(bus, "subscribe", None)):
            raise TypeError(f"bus must be a SubscriptionBus, such as InMemorySubscriptionBus(), got {bus!r}")
        _check_limit("max_subscriptions", max_subscriptions)
        _check_limit("max_buffered_events", max_buffered_events)
        _check_limit("max_uris", max_uris)
        self._bus = bus
        self._max_subscriptions = max_subscriptions
        self._max_buffered_events = max_buffered_events
        self._max_uris = max_uris
        self._streams: dict[ListenStream, None] = {}
        self._unsubscribe: Callable[[], None] | None = None
        # One server may serve in several threads.
        self._lock = RLock()

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serves one stream until it is ended from this side.

        Args:
            ctx: The request.
            params: What it asks for.

        Returns:
            What tells the client that the stream ended in order.

        Raises:
            MCPError: -32603: `max_subscriptions` streams are open; -32602: the filter is too large; -32600: the message
                is no request.
        """
        from mcp.types import SubscriptionsListenResult

        id = ctx.request_id
        if id is None:
            raise MCPError(INVALID_REQUEST, "subscriptions/listen needs an id: it names the stream")
        self._check_size(params.notifications.resource_subscriptions or ())
        if len(self._streams) >= self._max_subscriptions:
            raise MCPError(INTERNAL_ERROR, f"Subscription limit reached: {self._max_subscriptions} streams are open")
        stream = ListenStream(id, params.notifications, self._max_buffered_events, self._overflowed, END_SECONDS)
        write = ctx.session.open_stream(stream.end)
        # The stream may stay for days, and needs nothing more of the request.
        del ctx, params
        self._add(stream)
        try:
            if not await stream.run(write):
                logger.warning("gave up the subscription stream %r: its client does not read", id)
        finally:
            self._discard(stream)
        return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: id})

    def close(self) -> None:
        """Ends every open stream in order: what waits in it is sent, then its result.

        It returns before they have sent that; give them a moment before the transport is torn down. Streams that are
        opened later are served as ever.
        """
        for stream in tuple(self._streams):
            stream.end()

    def _check_size(self, uris: Sequence[str]) -> None:
        place = "Invalid params: notifications.resourceSubscriptions"
        if len(uris) > self._max_uris:
            raise MCPError(INVALID_PARAMS, f"{place} may name {self._max_uris} URIs, and names {len(uris)}")
        length = sum(map(len, uris))
        if length > _MAX_CHARACTERS:
            raise MCPError(INVALID_PARAMS, f"{place} may have {_MAX_CHARACTERS} characters, and has {length}")

    def _add(self, stream: ListenStream) -> None:
        with self._lock:
            if self._unsubscribe is None:
                self._unsubscribe = self._bus.subscribe(self._published)
            self._streams[stream] = None

    def _discard(self, stream: ListenStream) -> None:
        with self._lock:
            self._streams.pop(stream, None)
            if not self._streams and self._unsubscribe is not None:
                unsubscribe, self._unsubscribe = self._unsubscribe, None
                unsubscribe()

    def _published(self, event: ServerEvent) -> None:
        try:
            check_event(event)
        except TypeError:
            logger.exception("dropped what the subscription bus carries")
            return
        takers = [stream for stream in tuple(self._streams) if stream.wants(event)]
        if not takers:
            return
        encoded = EncodedEvent.of(event)
        for stream in takers:
            stream.push(encoded)

    def _overflowed(self, stream: ListenStream) -> None:
        text = "ended the subscription stream %r: %d events wait for a client that reads too slowly"
        logger.warning(text, stream.id, self._max_buffered_events)


def _check_limit(name: str, limit: object) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise TypeError(f"{name} must be an integer, got {limit!r}")
    if limit < 1:
        raise ValueError(f"{name} must be positive, got {limit!r}")
