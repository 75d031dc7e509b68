"""Spawners within a spawner: each knows its own tasks, and all end with the outermost."""

import anyio
import pytest

from mcp.engine.backend import open_spawner

pytestmark = pytest.mark.anyio


class Task:
    """A task that waits, and knows how it ended."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.cancelled = False

    async def run(self) -> None:
        self.started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise


async def test_a_fork_cancels_its_own_tasks_and_no_others() -> None:
    mine, sibling, parent = Task(), Task(), Task()
    async with open_spawner() as spawner:
        fork, other = spawner.fork(), spawner.fork()
        fork.spawn(mine.run)
        other.spawn(sibling.run)
        spawner.spawn(parent.run)
        for task in (mine, sibling, parent):
            await task.started.wait()
        fork.cancel()
        await fork.idle()
        assert (mine.cancelled, sibling.cancelled, parent.cancelled) == (True, False, False)
        assert (fork.busy, other.busy, spawner.busy) == (False, True, True)
    assert (sibling.cancelled, parent.cancelled) == (True, True)


async def test_a_fork_waits_for_its_own_tasks_only() -> None:
    waiting, done = Task(), anyio.Event()

    async def finish() -> None:
        done.set()

    async with open_spawner() as spawner:
        spawner.spawn(waiting.run)
        fork = spawner.fork()
        fork.spawn(finish)
        assert fork.busy
        await fork.idle()
        assert done.is_set()
        assert not waiting.cancelled


async def test_a_fork_of_a_fork_ends_with_the_outermost() -> None:
    task = Task()
    async with open_spawner() as spawner:
        spawner.fork().fork().spawn(task.run)
        await task.started.wait()
    assert task.cancelled


async def test_after_a_cancellation_more_can_be_started() -> None:
    first, done = Task(), anyio.Event()

    async def finish() -> None:
        done.set()

    async with open_spawner() as spawner:
        fork = spawner.fork()
        fork.spawn(first.run)
        await first.started.wait()
        fork.cancel()
        fork.spawn(finish)
        await fork.idle()
    assert (first.cancelled, done.is_set()) == (True, True)
