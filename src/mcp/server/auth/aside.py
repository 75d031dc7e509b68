"""Work that no request shall wait for to its end."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio

from mcp.engine.backend import asyncio_task

__all__ = ["Aside"]


class Aside:
    """Something that is done at most once at a time, in a task of its own: it outlives the request that has begun it.

    The task ends with the event loop at the latest.

    Args:
        work: What is done. It must not raise: nobody would hear of it, and on trio it would end the program.
    """

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._ended: anyio.Event | None = None
        self._task: object = None

    @property
    def running(self) -> bool:
        """Whether it is being done."""
        return self._ended is not None

    async def wait(self, seconds: float | None = None) -> bool:
        """Begins it, unless it is being done already, and waits for its end.

        Args:
            seconds: The longest to wait; it goes on afterwards. None waits for its end.

        Returns:
            Whether it has ended.
        """
        if self._ended is None:
            self._ended = anyio.Event()
            self._task = _started(self._run, self._ended)
        ended = self._ended
        with anyio.move_on_after(seconds):
            await ended.wait()
        return ended.is_set()

    async def _run(self, ended: anyio.Event) -> None:
        try:
            await self._work()
        finally:
            self._ended = None
            ended.set()


def _started(work: Callable[[anyio.Event], Coroutine[Any, Any, None]], ended: anyio.Event) -> object:
    """The task, which the event loop itself would forget."""
    if asyncio_task() is not None:
        return asyncio.get_running_loop().create_task(work(ended))
    from trio.lowlevel import spawn_system_task

    return spawn_system_task(work, ended)
