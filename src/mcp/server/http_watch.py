"""Notices clients that hang up, and keeps silent answers alive, for all requests of an endpoint at once.

ASGI tells of a disconnect only to whoever awaits `receive`. A task per request for that would cost more than most
requests; so one sweep looks every 50 ms for requests that are older than a sweep, and watches those alone.
"""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from mcp.engine.backend import asyncio_task, delivered_cancels, pending_cancels, uncancel

if TYPE_CHECKING:
    from starlette.types import Receive

__all__ = ["KEEP_ALIVE_SECONDS", "RequestWatch", "WatchedResponse"]

SWEEP_SECONDS: Final = 0.05
KEEP_ALIVE_SECONDS: Final = 15.0
"""After how long a silence an answer becomes an event stream with a comment, and how often comments are repeated."""


class WatchedResponse(Protocol):
    """A response that takes long."""

    def disconnect(self) -> None:
        """The client is gone."""
        ...

    def keep_alive(self) -> Coroutine[Any, Any, None]:
        """The response has been silent for a while. Does nothing to one that has ended."""
        ...


class RequestWatch:
    """Runs requests, and cancels the ones whose client hangs up."""

    def __init__(self) -> None:
        self._unwatched: dict[_Running, None] = {}
        self._sweeping = False
        self._beats = _Beats()

    async def run(self, exchange: WatchedResponse, receive: "Receive", work: Coroutine[Any, Any, None]) -> None:
        """Awaits `work`, which answers on `exchange`; ends it quietly when the client hangs up."""
        task = asyncio_task()
        if task is None:
            await _run_in_group(exchange, receive, work)
            return
        running = _Running(exchange, receive, task)
        self._unwatched[running] = None
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        before = delivered_cancels(task)
        try:
            await work
        except asyncio.CancelledError:
            # The watcher's own cancellation ends here. One from outside goes on, also if both have come.
            if not running.cancelled or pending_cancels(task) > before + 1:
                raise
        finally:
            self._unwatched.pop(running, None)
            self._beats.discard(running)
            running.end()

    def _sweep(self) -> None:
        if not self._unwatched:
            self._sweeping = False
            return
        loop = asyncio.get_running_loop()
        for running in [running for running in self._unwatched if running.look(loop)]:
            del self._unwatched[running]
            self._beats.add(running)
        loop.call_later(SWEEP_SECONDS, self._sweep)


class _Running:
    """One request on asyncio."""

    __slots__ = ("_beat", "_exchange", "_receive", "_seen", "_task", "_watcher", "cancelled", "ended")

    def __init__(self, exchange: WatchedResponse, receive: "Receive", task: "asyncio.Task[Any]") -> None:
        self._exchange = exchange
        self._receive = receive
        self._task = task
        self._seen = False
        self._watcher: asyncio.Task[None] | None = None
        self._beat: asyncio.Task[None] | None = None
        self.cancelled = False
        self.ended = False

    def look(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Begins to watch the request if it was looked at before; whether it is watched now."""
        if self._seen:
            self._watcher = loop.create_task(self._watch())
            return True
        self._seen = True
        return False

    def beat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keeps the response alive, unless that is under way since the last time."""
        if not self.cancelled and (self._beat is None or self._beat.done()):
            self._beat = loop.create_task(self._exchange.keep_alive())

    async def _watch(self) -> None:
        # Written out: one coroutine less for each stream that stays open.
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._exchange.disconnect()
        # A cancel that comes after the work has ended would hit whatever this task does next.
        if not self.ended:
            self.cancelled = True
            self._task.cancel()

    def end(self) -> None:
        self.ended = True
        if self._beat is not None:
            self._beat.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self.cancelled:
            uncancel(self._task)


class _Beats:
    """Keeps watched requests alive: one timer for all, and a task for each only while it is written to."""

    def __init__(self) -> None:
        self._due: dict[_Running, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, running: _Running) -> None:
        """Keeps a request alive from now on. All wait equally long, so who came first is first in turn."""
        loop = asyncio.get_running_loop()
        self._due[running] = loop.time() + KEEP_ALIVE_SECONDS
        if self._timer is None:
            self._timer = loop.call_later(KEEP_ALIVE_SECONDS, self._beat, loop)

    def discard(self, running: _Running) -> None:
        """Forgets a request; does nothing for one that it does not know."""
        self._due.pop(running, None)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._timer = None
        while self._due:
            running, due = next(iter(self._due.items()))
            if due > now:
                self._timer = loop.call_later(due - now, self._beat, loop)
                return
            del self._due[running]
            running.beat(loop)
            self._due[running] = now + KEEP_ALIVE_SECONDS


async def _run_in_group(exchange: WatchedResponse, receive: "Receive", work: Coroutine[Any, Any, None]) -> None:
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            await _disconnected(receive)
            exchange.disconnect()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        group.start_soon(_keep_alive, exchange)
        try:
            await work
        except Exception as failure:
            # Raised as it is, where the group would wrap it.
            failures.append(failure)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]


async def _disconnected(receive: "Receive") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _keep_alive(exchange: WatchedResponse) -> None:
    while True:
        await anyio.sleep(KEEP_ALIVE_SECONDS)
        await exchange.keep_alive()
