"""One at a time, in the order of arrival, also where somebody gives up waiting."""

import anyio
import pytest

from mcp.engine.turns import Turns

pytestmark = pytest.mark.anyio


async def test_who_comes_while_nobody_has_the_turn_does_not_wait() -> None:
    turns = Turns()
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with turns:
            pass
        async with turns:
            pass
    assert not scope.cancelled_caught


async def test_the_others_wait_and_come_in_their_order() -> None:
    turns = Turns()
    order: list[int] = []

    async def take(number: int) -> None:
        async with turns:
            order.append(number)
            await anyio.sleep(0)
            order.append(number)

    async with anyio.create_task_group() as group, turns:
        for number in range(3):
            group.start_soon(take, number)
            await anyio.wait_all_tasks_blocked()
        assert order == []
    assert order == [0, 0, 1, 1, 2, 2]


async def test_who_gives_up_waiting_holds_nobody_up() -> None:
    turns = Turns()
    taken: list[str] = []

    async def take(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with turns:
                taken.append(name)

    impatient = anyio.CancelScope()
    async with anyio.create_task_group() as group, turns:
        for name, scope in (("impatient", impatient), ("patient", anyio.CancelScope())):
            group.start_soon(take, name, scope)
            await anyio.wait_all_tasks_blocked()
        impatient.cancel()
        await anyio.wait_all_tasks_blocked()
    assert taken == ["patient"]


async def test_a_turn_that_comes_together_with_a_cancellation_is_passed_on() -> None:
    turns = Turns()
    taken: list[str] = []

    async def take(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with turns:
                taken.append(name)

    first, second = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as group, turns:
        group.start_soon(take, "first", first)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(take, "second", second)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
    assert taken[-1] == "second"
    async with turns:
        pass
