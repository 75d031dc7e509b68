"""The seam between the engine and the event loop: asyncio natively, trio through its nurseries.

Only three things differ between the two in a way that costs: starting a task, cancelling it, and knowing whether a
cancellation came from outside. They are here; everything else is plain `await`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakKeyDictionary

import anyio

if TYPE_CHECKING:
    import anyio.abc

__all__ = [
    "Cancellable",
    "Spawner",
    "asyncio_task",
    "cancelled_itself",
    "closes_for",
    "delivered_cancels",
    "open_spawner",
    "pending_cancels",
    "uncancel",
]

logger = logging.getLogger(__name__)


class Cancellable(Protocol):
    """A running task that can be told to stop."""

    def cancel(self) -> object:
        """Asks the task to stop at its next await. Does nothing to one that has ended."""
        ...


class Spawner(Protocol):
    """Owns the tasks of one connection."""

    def spawn(self, function: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> Cancellable:
        """Starts `function(*args)` as a task."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a task is running."""
        ...

    async def idle(self) -> None:
        """Waits until no task is running."""
        ...

    def cancel(self) -> None:
        """Asks every task that is running to stop. More can be started."""
        ...

    def fork(self) -> Spawner:
        """A spawner that counts and cancels its own tasks only; they end with this one's at the latest."""
        ...


def asyncio_task() -> asyncio.Task[Any] | None:
    """The running asyncio task; None on trio."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def pending_cancels(task: asyncio.Task[Any] | None) -> int:
    """How many times `task` was cancelled from outside. Python 3.10 does not count; it is always 0 there."""
    return 0 if task is None or sys.version_info < (3, 11) else task.cancelling()


def delivered_cancels(task: asyncio.Task[Any] | None) -> int:
    """How many of the cancellations of `task` it has met so far: one that comes while it runs waits for an await."""
    if task is None:
        return 0
    counted = 0 if sys.version_info < (3, 11) else task.cancelling()
    return counted - bool(getattr(task, "_must_cancel", False))


def cancelled_itself(task: asyncio.Task[Any] | None, before: int) -> bool:
    """Whether a `CancelledError` that `task` has met is of its own doing, such as that of a cancelled task it awaited.

    False where nobody can tell: on trio, and on Python 3.10, which does not count.

    Args:
        task: The running task; None on trio.
        before: What `delivered_cancels` said before it could be met.
    """
    return task is not None and hasattr(task, "cancelling") and pending_cancels(task) <= before


def uncancel(task: asyncio.Task[Any]) -> None:
    """Takes back one cancellation of `task` that has been dealt with. Python 3.10 does not count them."""
    take_back: Callable[[], int] | None = getattr(task, "uncancel", None)
    if take_back is not None:
        take_back()


_closed_for: WeakKeyDictionary[asyncio.Task[Any], asyncio.Task[Any]] = WeakKeyDictionary()


def closes_for(task: asyncio.Task[Any], closer: asyncio.Task[Any] | None) -> None:
    """Notes that `task` closes something for `closer`, which waits for it and so must not be waited for."""
    if closer is not None:
        _closed_for[task] = closer


_LOOK_SECONDS: Final = 0.5
_CLEAN_UP_SECONDS: Final = 5.0
"""How long a task that was cancelled before may go on cleaning up, when what it belongs to ends."""


def _closers() -> set[asyncio.Task[Any]]:
    """The running task, and those that wait for it to close something."""
    closers: set[asyncio.Task[Any]] = set()
    task = asyncio.current_task()
    while task is not None and task not in closers:
        closers.add(task)
        task = _closed_for.get(task)
    return closers


@asynccontextmanager
async def open_spawner() -> AsyncGenerator[Spawner, None]:
    """A spawner whose tasks are cancelled and awaited when the block ends.

    On asyncio one of the tasks may be what ends the block: a callback that closes its connection. It goes on.
    """
    if asyncio_task() is None:
        group = anyio.create_task_group()
        await group.__aenter__()
        try:
            yield _GroupSpawner(group)
        finally:
            group.cancel_scope.cancel()
            # Not told of the block's exception, which the group would wrap.
            await group.__aexit__(None, None, None)
        return
    spawner = _TaskSpawner()
    try:
        yield spawner
    finally:
        await spawner.cancel_all()


class _TaskSpawner:
    def __init__(self, parent: _TaskSpawner | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._parent = parent

    def spawn(self, function: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> Cancellable:
        task = self._loop.create_task(function(*args))
        self._tasks.add(task)
        if self._parent is not None:
            self._parent._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._parent is not None:
            self._parent._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.error("a task of the connection failed", exc_info=failure)

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    async def idle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def fork(self) -> Spawner:
        return _TaskSpawner(self._parent or self)

    async def cancel_all(self) -> None:
        # One that was cancelled before is cleaning up. A second cancellation would get through its shield, which holds
        # off the cancellation of scopes only.
        cleaning = {task for task in self._tasks if pending_cancels(task)}
        for task in self._tasks - cleaning - _closers():
            task.cancel()
        with anyio.CancelScope(shield=True):
            if others := cleaning - _closers():
                _, late = await asyncio.wait(others, timeout=_CLEAN_UP_SECONDS)
                for task in late:
                    task.cancel()
            # Looked at again now and then: a task may close, in its own clean-up, what is being closed here.
            while others := self._tasks - _closers():
                await asyncio.wait(others, timeout=_LOOK_SECONDS)


class _GroupSpawner:
    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._running: set[anyio.CancelScope] = set()
        self._ended: anyio.Event | None = None

    def spawn(self, function: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> Cancellable:
        scope = anyio.CancelScope()
        self._running.add(scope)
        self._group.start_soon(self._run, scope, function, *args)
        return scope

    async def _run(self, scope: anyio.CancelScope, function: Callable[..., Awaitable[None]], *args: Any) -> None:
        try:
            with scope:
                await function(*args)
        except Exception:
            logger.exception("a task of the connection failed")
        finally:
            self._running.discard(scope)
            if self._ended is not None and not self._running:
                self._ended.set()

    @property
    def busy(self) -> bool:
        return bool(self._running)

    async def idle(self) -> None:
        while self._running:
            self._ended = anyio.Event()
            await self._ended.wait()

    def cancel(self) -> None:
        for scope in self._running:
            scope.cancel()

    def fork(self) -> Spawner:
        return _GroupSpawner(self._group)
