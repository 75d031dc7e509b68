"""Work that no request shall wait for to its end."""

import asyncio
from collections.abc import Awaitable, Callable

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
        self._task: asyncio.Task[None] | None = None

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
        ended = self._ended
        if ended is None:
            # Kept here as well: an eager task may have ended when it has been started.
            ended = self._ended = anyio.Event()
            self._start(ended)
        with anyio.move_on_after(seconds):
            await ended.wait()
        return ended.is_set()

    def _start(self, ended: anyio.Event) -> None:
        if asyncio_task() is not None:
            # Kept, since the event loop itself would forget it.
            task = self._task = asyncio.get_running_loop().create_task(self._run(ended))
            # One that is cancelled before its first step does not get to its end.
            task.add_done_callback(lambda _: self._end(ended))
            return
        from trio.lowlevel import spawn_system_task

        spawn_system_task(self._run, ended)

    async def _run(self, ended: anyio.Event) -> None:
        try:
            await self._work()
        finally:
            self._end(ended)

    def _end(self, ended: anyio.Event) -> None:
        if self._ended is ended:
            self._ended = None
        ended.set()
