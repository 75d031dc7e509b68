"""A link between two ends in one process."""

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from mcp.engine.memorylink import MAX_QUEUED, MemoryLink, memory_links

pytestmark = pytest.mark.anyio


class Waits:
    """Coroutines that run beside the test, and how many of them have ended."""

    def __init__(self) -> None:
        self.ended = 0

    async def drain(self, link: MemoryLink) -> None:
        await link.drain()
        self.ended += 1

    async def end_of(self, link: MemoryLink) -> None:
        with pytest.raises(anyio.EndOfStream):
            await link.receive()
        self.ended += 1


async def test_what_one_end_sends_the_other_receives_in_order() -> None:
    one, two = memory_links()
    one.send(b"a")
    one.send(b"b")
    two.send(b"c")
    assert await two.receive() == [b"a", b"b"]
    assert await one.receive() == [b"c"]
    one.send(b"d")
    assert await two.receive() == [b"d"]


async def test_an_end_waits_for_what_has_not_been_sent_yet() -> None:
    one, two = memory_links()
    received: list[object] = []

    async def receive() -> None:
        received.append(await two.receive())

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        await wait_all_tasks_blocked()
        assert received == []
        one.send(b"a")
    assert received == [[b"a"]]


async def test_a_receiver_that_gave_up_leaves_everything_for_the_next() -> None:
    one, two = memory_links()
    with anyio.move_on_after(0):
        await two.receive()
    one.send(b"a")
    assert await two.receive() == [b"a"]


async def test_a_sender_waits_while_the_other_end_is_far_behind() -> None:
    one, two = memory_links()
    waits = Waits()
    for _ in range(MAX_QUEUED):
        one.send(b"x")
    await one.drain()
    one.send(b"x")
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(waits.drain, one)
        await wait_all_tasks_blocked()
        assert waits.ended == 0
        assert len(await two.receive()) == MAX_QUEUED + 1
        await wait_all_tasks_blocked()
        assert waits.ended == 3


async def test_a_sender_that_gives_up_waiting_leaves_the_others_waiting() -> None:
    one, two = memory_links()
    waits = Waits()
    for _ in range(MAX_QUEUED + 1):
        one.send(b"x")
    async with anyio.create_task_group() as group:
        group.start_soon(waits.drain, one)
        await wait_all_tasks_blocked()
        with anyio.move_on_after(0):
            await one.drain()
        await wait_all_tasks_blocked()
        assert waits.ended == 0
        await two.receive()


@pytest.mark.parametrize("closing", [0, 1])
async def test_closing_either_end_ends_every_wait_at_both(closing: int) -> None:
    ends = memory_links()
    waits = Waits()
    for end in ends:
        for _ in range(MAX_QUEUED + 1):
            end.send(b"x")
    async with anyio.create_task_group() as group:
        for end in ends:
            group.start_soon(waits.drain, end)
        await wait_all_tasks_blocked()
        assert waits.ended == 0
        await ends[closing].aclose()
    assert waits.ended == 2


@pytest.mark.parametrize("closing", [0, 1])
async def test_closing_either_end_ends_both_receivers(closing: int) -> None:
    ends = memory_links()
    waits = Waits()
    async with anyio.create_task_group() as group:
        for end in ends:
            group.start_soon(waits.end_of, end)
        await wait_all_tasks_blocked()
        await ends[closing].aclose()
    assert waits.ended == 2


async def test_what_was_sent_before_the_end_is_received_before_it() -> None:
    one, two = memory_links()
    one.send(b"last")
    await one.aclose()
    assert await two.receive() == [b"last"]
    with pytest.raises(anyio.EndOfStream):
        await two.receive()


async def test_an_end_that_is_closed_says_whose_fault_it_is() -> None:
    one, two = memory_links()
    await one.aclose()
    await one.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        one.send(b"x")
    with pytest.raises(anyio.BrokenResourceError):
        two.send(b"x")
    await two.drain()
