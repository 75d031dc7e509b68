"""Tells clients by itself that a list of the server has changed.

A change during a handler is told when the handler ends, any other in the event loop's next turn, and however many come
until then are told as one. Clients of 2026-07-28 hear of it on their `subscriptions/listen` streams, those of the
handshake revisions over their connection. What a handler tells a client itself, that client is not told again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import anyio

from mcp.engine.backend import Spawner, open_spawner
from mcp.engine.reactor import current_reactor
from mcp.shared.exceptions import ConnectionClosedError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

if TYPE_CHECKING:
    from mcp.server.connection import Connection

__all__ = ["ListChange", "ListChanges", "told"]

logger = logging.getLogger(__name__)

ListChange = ToolsListChanged | PromptsListChanged | ResourcesListChanged

LONGEST_WAIT: Final = 1.0
"""After how many seconds a change is told although the handler that made it still runs."""

_METHODS: Final[dict[type[ListChange], str]] = {
    ToolsListChanged: "notifications/tools/list_changed",
    PromptsListChanged: "notifications/prompts/list_changed",
    ResourcesListChanged: "notifications/resources/list_changed",
}
_EVENTS: Final[dict[str, ListChange]] = {method: kind() for kind, method in _METHODS.items()}

_BUS: Final = object()
"""Stands for everybody who listens to the bus."""


class _Handling:
    """One handler that runs: what it has changed, and whom it has told of that itself.

    Args:
        lists: Tells of the changes, once it has ended.

    Attributes:
        changes: Whom each change has been told to already.
        ended: The handler has returned; what it left behind may still run.
    """

    __slots__ = ("_lists", "_outer", "changes", "ended")

    def __init__(self, lists: ListChanges) -> None:
        self._lists = lists
        self.changes: dict[ListChange, set[object]] = {}
        self.ended = False

    def __enter__(self) -> None:
        self._outer = _handling.get()
        _handling.set(self)

    def __exit__(self, *exc: object) -> None:
        _handling.set(self._outer)
        self.ended = True
        if self.changes:
            self._lists.settle(self)


_handling: ContextVar[_Handling | None] = ContextVar("mcp_handling", default=None)


def told(connection: Connection, method: str) -> None:
    """Notes that a handler itself tells a client of a change.

    Args:
        connection: The client.
        method: The notification.
    """
    _note(connection, _EVENTS.get(method))


def _note(who: object, event: ServerEvent | None) -> None:
    handling = _handling.get()
    if handling is not None and event in handling.changes:
        handling.changes[event].add(who)


class ListChanges:
    """The changes of one server's lists.

    Args:
        publish: Hands an event to the bus; None where there is none.
    """

    def __init__(self, publish: Callable[[ServerEvent], Awaitable[None]] | None) -> None:
        self._publish = publish
        self._servings: list[_Serving] = []

    @asynccontextmanager
    async def serving(self, connections: WeakSet[Connection]) -> AsyncGenerator[None, None]:
        """Tells these clients, and everybody on the bus, for as long as the block lasts.

        Args:
            connections: The clients of handshake revisions. It may grow and shrink meanwhile.
        """
        async with open_spawner() as spawner:
            serving = _Serving(connections, spawner, self._publish)
            self._servings.append(serving)
            try:
                yield
            finally:
                self._servings.remove(serving)
                serving.ended = True

    def is_served(self) -> bool:
        """Whether there may be clients."""
        return bool(self._servings)

    def handling(self) -> AbstractContextManager[None]:
        """The time of one handler, whose changes are told when it ends."""
        return _Handling(self)

    def changed(self, event: ListChange) -> None:
        """Notes a change, from any thread. Before anything is served there is nobody to tell."""
        if not self._servings:
            return
        handling = _handling.get()
        if handling is None or handling.ended:
            self._tell(event, set())
            return
        first = not handling.changes
        handling.changes[event] = set()
        if first and (nearest := self._nearest()) is not None:
            nearest.later(partial(self.settle, handling))

    async def publish(self, event: ServerEvent) -> None:
        """Hands an event to the bus now. A change that it tells of is not told there again."""
        if self._publish is not None:
            _note(_BUS, event)
            await self._publish(event)

    def settle(self, handling: _Handling) -> None:
        """Tells of what a handler has changed so far."""
        changes, handling.changes = handling.changes, {}
        for event, informed in changes.items():
            self._tell(event, informed)

    def _tell(self, event: ListChange, informed: set[object]) -> None:
        nearest = self._nearest()
        for serving in tuple(self._servings):
            # One of them publishes, and the bus carries it to all.
            serving.tell(event, informed if serving is nearest else {*informed, _BUS})

    def _nearest(self) -> _Serving | None:
        """The one in this thread, if there is one: its clients see the order of things."""
        servings = tuple(self._servings)
        here = [serving for serving in servings if serving.thread == get_ident()]
        return next(reversed(here or servings), None)


class _Serving:
    """One lifespan of a server, in one event loop.

    Attributes:
        ended: Its tasks are being cancelled, and no new ones can begin.
    """

    def __init__(
        self,
        connections: WeakSet[Connection],
        spawner: Spawner,
        publish: Callable[[ServerEvent], Awaitable[None]] | None,
    ) -> None:
        self.thread = get_ident()
        self.ended = False
        self._connections = connections
        self._spawner = spawner
        self._publish = publish
        self._reactor = current_reactor()
        self._waiting: dict[ListChange, set[object]] = {}
        self._lock = Lock()

    def tell(self, event: ListChange, informed: set[object]) -> None:
        """Has a change told in the next turn of the event loop to all but those who know."""
        with self._lock:
            first = not self._waiting
            known = self._waiting.get(event)
            # Who has been told of an earlier change is not spared this one.
            self._waiting[event] = informed if known is None else known & informed
        if first:
            self._soon(self._flush)

    def later(self, settle: Callable[[], None]) -> None:
        """Calls `settle` after a while, if the event loop still serves then."""
        self._soon(partial(self._spawn, _after, LONGEST_WAIT, settle))

    def _soon(self, call: Callable[[], object]) -> None:
        # An event loop that has ended has nobody to tell.
        with suppress(RuntimeError):
            self._reactor.call_soon_threadsafe(partial(_discard_result, call))

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        self._spawn(self._announce, waiting)

    def _spawn(self, function: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        if not self.ended:
            self._spawner.spawn(function, *args)

    async def _announce(self, waiting: dict[ListChange, set[object]]) -> None:
        for event, informed in waiting.items():
            if self._publish is not None and _BUS not in informed:
                try:
                    await self._publish(event)
                except Exception:
                    logger.exception("the subscription bus failed to publish %r", event)
            for connection in tuple(self._connections):
                if connection not in informed:
                    with suppress(ConnectionClosedError):
                        await connection.notify(_METHODS[type(event)], None)


def _discard_result(call: Callable[[], object]) -> None:
    call()


async def _after(seconds: float, call: Callable[[], None]) -> None:
    await anyio.sleep(seconds)
    call()
