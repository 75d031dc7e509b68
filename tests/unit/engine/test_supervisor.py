"""Holding a context manager open, whichever task opens and closes it."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from mcp.engine.backend import open_spawner
from mcp.engine.supervisor import Held

pytestmark = pytest.mark.anyio

who = contextvars.ContextVar("who", default="nobody")


class Room:
    """Says what happens to it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.tasks: list[int] = []
        self.entered = anyio.Event()
        self.may_enter = anyio.Event()

    @asynccontextmanager
    async def manager(self) -> AsyncGenerator[str, None]:
        self.log.append("entered")
        self.tasks.append(anyio.get_current_task().id)
        try:
            yield "value"
        finally:
            await anyio.sleep(0)
            self.tasks.append(anyio.get_current_task().id)
            self.log.append("left")

    @asynccontextmanager
    async def slow(self) -> AsyncGenerator[str, None]:
        self.entered.set()
        try:
            await self.may_enter.wait()
            yield "value"
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0)
                self.log.append("left")


async def test_opening_enters_and_closing_leaves() -> None:
    room = Room()
    held = Held(room.manager())
    assert await held.open() == "value"
    assert room.log == ["entered"]
    await held.close()
    assert room.log == ["entered", "left"]
    assert room.tasks[0] == room.tasks[1]


async def test_the_manager_sees_the_openers_context_variables() -> None:
    @asynccontextmanager
    async def look() -> AsyncGenerator[str, None]:
        yield who.get()

    who.set("opener")
    held = Held(look())
    assert await held.open() == "opener"
    await held.close()


async def test_what_entering_raises_is_raised_to_the_opener() -> None:
    @asynccontextmanager
    async def failing() -> AsyncGenerator[None, None]:
        raise ValueError("no entry")
        yield

    with pytest.raises(ValueError, match="no entry"):
        await Held(failing()).open()


async def test_what_leaving_raises_is_raised_to_the_closer() -> None:
    @asynccontextmanager
    async def failing() -> AsyncGenerator[None, None]:
        yield
        raise ValueError("no exit")

    held = Held(failing())
    await held.open()
    with pytest.raises(ValueError, match="no exit"):
        await held.close()


async def test_a_cancelled_opening_leaves_nothing_behind() -> None:
    room = Room()

    async def cancel_once_entered(scope: anyio.CancelScope) -> None:
        await room.entered.wait()
        scope.cancel()

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(cancel_once_entered, scope)
        with scope:
            await Held(room.slow()).open()
    assert scope.cancelled_caught
    assert room.log == ["left"]


# On asyncio the manager has a task of its own.


@pytest.fixture
def on_asyncio(anyio_backend_name: str) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("on trio the nursery rules hold")


@pytest.mark.usefixtures("on_asyncio")
async def test_different_tasks_may_open_and_close_in_any_order() -> None:
    first, second = Room(), Room()
    holds = [Held(first.manager()), Held(second.manager())]

    async def in_a_task_of_its_own(step: int) -> None:
        if step < 2:
            await holds[step].open()
        else:
            await holds[step - 2].close()

    for step in range(4):
        await asyncio.get_running_loop().create_task(in_a_task_of_its_own(step))
    for room in (first, second):
        assert room.log == ["entered", "left"]
        assert room.tasks[0] == room.tasks[1]


@pytest.mark.usefixtures("on_asyncio")
async def test_a_cancelled_opening_that_also_fails_is_a_cancellation() -> None:
    entered = anyio.Event()

    @asynccontextmanager
    async def failing() -> AsyncGenerator[None, None]:
        try:
            entered.set()
            await anyio.sleep_forever()
        except BaseException:
            raise ValueError("wrong") from None
        yield

    opening = asyncio.get_running_loop().create_task(Held(failing()).open())
    await entered.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


@pytest.mark.usefixtures("on_asyncio")
async def test_a_manager_that_enters_in_spite_of_a_cancelled_opening_is_left_at_once() -> None:
    entered = asyncio.Event()
    log: list[str] = []

    @asynccontextmanager
    async def stubborn() -> AsyncGenerator[None, None]:
        try:
            entered.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("went on")
        yield
        log.append("left")

    opening = asyncio.get_running_loop().create_task(Held(stubborn()).open())
    await entered.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert log == ["went on", "left"]


@pytest.mark.usefixtures("on_asyncio")
async def test_a_manager_that_is_cancelled_while_it_enters_cancels_the_opening() -> None:
    room = Room()
    before = asyncio.all_tasks()
    opening = asyncio.get_running_loop().create_task(Held(room.slow()).open())
    await room.entered.wait()
    (entering,) = asyncio.all_tasks() - before - {opening}
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert room.log == ["left"]


@pytest.mark.usefixtures("on_asyncio")
async def test_closing_twice_leaves_once() -> None:
    room = Room()
    held = Held(room.manager())
    await held.open()
    await held.close()
    await held.close()
    assert room.log == ["entered", "left"]


@pytest.mark.usefixtures("on_asyncio")
async def test_a_closer_that_is_cancelled_still_lets_go() -> None:
    leaving = asyncio.Event()
    may_leave = asyncio.Event()
    log: list[str] = []

    @asynccontextmanager
    async def slow_to_leave() -> AsyncGenerator[None, None]:
        yield
        leaving.set()
        await may_leave.wait()
        log.append("left")
        raise ValueError("nobody is there to see it")

    held = Held(slow_to_leave())
    await held.open()
    closing = asyncio.get_running_loop().create_task(held.close())
    await leaving.wait()
    closing.cancel()
    may_leave.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert log == ["left"]


@pytest.mark.usefixtures("on_asyncio")
async def test_an_opening_cancelled_at_the_last_moment_leaves_again() -> None:
    room = Room()
    held = Held(room.slow())
    opening = asyncio.get_running_loop().create_task(held.open())
    await room.entered.wait()
    room.may_enter.set()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert room.log == ["left"]
    await held.close()
    assert room.log == ["left"]


@pytest.mark.usefixtures("on_asyncio")
async def test_a_task_that_closes_what_is_ending_anyway_does_not_hold_it_up() -> None:
    started = asyncio.Event()
    closed: list[bool] = []

    async def close_at_the_end() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            await held.close()
            closed.append(True)

    @asynccontextmanager
    async def connection() -> AsyncGenerator[None, None]:
        async with open_spawner() as spawner:
            spawner.spawn(close_at_the_end)
            yield

    before = asyncio.all_tasks()
    held = Held(connection())
    await held.open()
    await started.wait()
    (holding,) = (task for task in asyncio.all_tasks() - before if "Held._hold" in repr(task.get_coro()))
    holding.cancel()
    done, _ = await asyncio.wait([holding], timeout=20)
    assert done == {holding}
    await anyio.wait_all_tasks_blocked()
    assert closed == [True]
