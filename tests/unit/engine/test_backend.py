"""Starting, cancelling and awaiting the tasks of one connection, on both event loops."""

import asyncio
import logging
import sys

import anyio
import pytest

from mcp.engine.backend import asyncio_task, open_spawner, pending_cancels

pytestmark = pytest.mark.anyio


async def test_a_spawned_task_runs_and_idle_waits_for_it() -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        await anyio.sleep(0)
        done.append(number)

    async with open_spawner() as spawner:
        spawner.spawn(work, 1)
        spawner.spawn(work, 2)
        await spawner.idle()
        assert sorted(done) == [1, 2]
        await spawner.idle()


async def test_idle_waits_for_tasks_that_tasks_start() -> None:
    done: list[str] = []

    async with open_spawner() as spawner:

        async def child() -> None:
            await anyio.sleep(0)
            done.append("child")

        async def parent() -> None:
            await anyio.sleep(0)
            spawner.spawn(child)

        spawner.spawn(parent)
        await spawner.idle()
        assert done == ["child"]


async def test_leaving_the_block_cancels_and_awaits_what_runs() -> None:
    log: list[str] = []
    started = anyio.Event()

    async def work() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0)
                log.append("cleaned up")

    async with open_spawner() as spawner:
        spawner.spawn(work)
        await started.wait()
    assert log == ["cleaned up"]


async def test_one_task_is_cancelled_alone() -> None:
    log: list[str] = []
    go_on = anyio.Event()
    started = anyio.Event()

    async def cancelled() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")
            go_on.set()

    async def other() -> None:
        await go_on.wait()
        log.append("went on")

    async with open_spawner() as spawner:
        task = spawner.spawn(cancelled)
        spawner.spawn(other)
        await started.wait()
        task.cancel()
        await spawner.idle()
        task.cancel()
        await anyio.sleep(0)
    assert log == ["cancelled", "went on"]


async def test_a_task_that_fails_is_logged_and_fails_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def failing() -> None:
        raise ValueError("wrong")

    async def other() -> None:
        await anyio.sleep(0)
        done.append("other")

    async with open_spawner() as spawner:
        spawner.spawn(failing)
        spawner.spawn(other)
        await spawner.idle()
    assert done == ["other"]
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (logging.ERROR, "a task of the connection failed")
    ]
    assert caplog.records[0].exc_info is not None


async def test_what_the_block_raises_leaves_it_bare() -> None:
    async def fail() -> None:
        async with open_spawner() as spawner:
            spawner.spawn(anyio.sleep_forever)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await fail()


async def test_a_cancelled_block_still_awaits_its_tasks() -> None:
    log: list[str] = []
    started = anyio.Event()

    async def work() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            log.append("ended")

    with anyio.CancelScope() as scope:
        async with open_spawner() as spawner:
            spawner.spawn(work)
            await started.wait()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert log == ["ended"]


async def test_the_running_task_is_known_on_asyncio_alone(anyio_backend_name: str) -> None:
    if anyio_backend_name == "asyncio":
        assert asyncio_task() is asyncio.current_task()
    else:
        assert asyncio_task() is None


async def test_cancellations_from_outside_are_counted(anyio_backend_name: str) -> None:
    counts: list[int] = []
    with anyio.CancelScope() as scope:
        counts.append(pending_cancels(asyncio_task()))
        scope.cancel()
        try:
            await anyio.sleep_forever()
        finally:
            counts.append(pending_cancels(asyncio_task()))
    counted = anyio_backend_name == "asyncio" and sys.version_info >= (3, 11)
    assert counts == ([0, 1] if counted else [0, 0])


def test_outside_of_a_loop_there_is_no_task() -> None:
    assert asyncio_task() is None
    assert pending_cancels(None) == 0
