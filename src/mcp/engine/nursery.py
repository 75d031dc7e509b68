"""Holds an async context manager open in a task of a nursery, for trio, where a task closes what it has opened."""

from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

import anyio

from mcp.engine.backend import Spawner

__all__ = ["HeldInNursery"]

T = TypeVar("T")


class HeldInNursery(Generic[T]):
    """A context manager that is entered and left in a task of its own; whoever holds it opens and closes it.

    Args:
        manager: What to hold.
        nursery: Owns the task.
    """

    def __init__(self, manager: AbstractAsyncContextManager[T], nursery: Spawner) -> None:
        self._manager = manager
        self._nursery = nursery
        self._opened = anyio.Event()
        self._closing = anyio.Event()
        self._closed = anyio.Event()
        self._value: list[T] = []
        self._failure: Exception | None = None

    async def open(self) -> T:
        """Enters the manager and returns what it yields. A cancelled or failed opening leaves nothing behind."""
        task = self._nursery.spawn(self._hold)
        try:
            await self._opened.wait()
        except BaseException:
            task.cancel()
            raise
        if self._failure is not None:
            raise self._failure
        if not self._value:
            raise RuntimeError("it was not opened: its owner ends")
        return self._value[0]

    async def _hold(self) -> None:
        try:
            async with self._manager as value:
                self._value.append(value)
                self._opened.set()
                await self._closing.wait()
        except Exception as failure:
            self._failure = failure
        finally:
            self._opened.set()
            self._closed.set()

    async def close(self) -> None:
        """Leaves the manager, and raises what its exit raised. Does nothing the second time."""
        self._closing.set()
        await self._closed.wait()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
