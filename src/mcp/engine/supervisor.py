"""Holds an async context manager open, whichever task opens and closes it."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import anyio

from mcp.engine.backend import asyncio_task, closes_for

__all__ = ["Held"]

T = TypeVar("T")


class Held(Generic[T]):
    """A context manager that is entered and left in one task.

    On asyncio that is a task of its own, so opening and closing may happen in different tasks, in any order; the task
    starts with a copy of the opener's context. On trio it is the opener's, and the usual nursery rules hold.

    Args:
        manager: What to hold.
    """

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self._manager = manager
        self._task: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[T] | None = None
        self._closing: asyncio.Event | None = None

    async def open(self) -> T:
        """Enters the manager and returns what it yields. A cancelled or failed opening leaves nothing behind."""
        if asyncio_task() is None:
            return await self._manager.__aenter__()
        loop = asyncio.get_running_loop()
        self._opened = loop.create_future()
        self._closing = asyncio.Event()
        self._task = loop.create_task(self._hold(self._opened, self._closing))
        try:
            return await asyncio.shield(self._opened)
        except asyncio.CancelledError:
            self._opened.cancel()
            self._task.cancel()
            await _ended(self._task)
            raise

    async def _hold(self, opened: "asyncio.Future[T]", closing: asyncio.Event) -> None:
        try:
            async with self._manager as value:
                if not opened.done():
                    opened.set_result(value)
                    await closing.wait()
        except BaseException as failure:
            if opened.done():
                raise
            if isinstance(failure, asyncio.CancelledError):
                opened.cancel()
                raise
            opened.set_exception(failure)

    async def close(self) -> None:
        """Leaves the manager, and raises what its exit raised. Does nothing the second time on asyncio."""
        if self._closing is None:
            await self._manager.__aexit__(None, None, None)
            return
        self._closing.set()
        task, self._task = self._task, None
        if task is None:
            return
        closes_for(task, asyncio.current_task())
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return
            # The closer is cancelled: what is held still has to be let go, in its own bounded time.
            await _ended(task)
            raise


async def _ended(task: "asyncio.Task[None]") -> None:
    """Waits for a task to end, even in a cancelled one, and drops how it ended."""
    with anyio.CancelScope(shield=True):
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
