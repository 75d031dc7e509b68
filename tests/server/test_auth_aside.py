"""Work beside requests: it is done once at a time, and whatever becomes of it, nobody waits for ever."""

import asyncio
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp.server.auth.aside import Aside


class Counted:
    """Work that takes a step of the event loop, and counts how often it was done."""

    def __init__(self) -> None:
        self.done = 0

    async def __call__(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.done += 1


@pytest.mark.anyio
async def test_those_who_come_while_it_is_being_done_wait_for_the_same() -> None:
    work = Counted()
    aside = Aside(work)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(aside.wait)
    assert (work.done, aside.running) == (1, False)
    assert await aside.wait()
    assert work.done == 2


@pytest.mark.anyio
async def test_who_does_not_want_to_wait_has_begun_it_all_the_same() -> None:
    go_on, done = anyio.Event(), anyio.Event()

    async def work() -> None:
        await go_on.wait()
        done.set()

    aside = Aside(work)
    with anyio.fail_after(10):
        assert not await aside.wait(0)
        assert aside.running
        go_on.set()
        await done.wait()


def test_work_that_is_cancelled_before_it_begins_can_be_begun_again_in_another_event_loop() -> None:
    work = Counted()
    aside = Aside(work)

    async def cancelled() -> None:
        waiting = asyncio.create_task(aside.wait())
        await asyncio.sleep(0)
        [begun] = asyncio.all_tasks() - {waiting, asyncio.current_task()}
        begun.cancel()
        assert await waiting

    asyncio.run(cancelled())
    assert (work.done, aside.running) == (0, False)
    assert asyncio.run(aside.wait())
    assert work.done == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks are never eager before 3.12")
def test_an_eager_task_may_be_done_when_it_has_begun() -> None:
    done: list[str] = []

    async def work() -> None:
        done.append("at once")

    async def eager() -> bool:
        factory: Any = getattr(asyncio, "eager_task_factory")  # noqa: B009
        asyncio.get_running_loop().set_task_factory(factory)
        return await Aside(work).wait()

    assert asyncio.run(eager())
    assert done == ["at once"]
