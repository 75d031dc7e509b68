"""A link between two queues: what its owner does, and what the transport that carries its frames does."""

import anyio
import pytest

from mcp.engine.queuelink import QueueLink
from mcp.protocol.codec import DecodeError

pytestmark = pytest.mark.anyio


async def test_what_is_put_is_received_in_order() -> None:
    link = QueueLink()
    broken = DecodeError(-32700, "no JSON")
    link.put(b"1", 1)
    link.put(broken, 7)
    assert await link.receive() == [b"1", broken]


async def test_a_receiver_waits_for_what_is_put() -> None:
    link = QueueLink()
    received: list[object] = []

    async def receive() -> None:
        received.extend(await link.receive())

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        link.put(b"1", 1)
    assert received == [b"1"]


async def test_what_is_sent_is_carried_together() -> None:
    link = QueueLink()
    carried: list[bytes] = []

    async def carry() -> None:
        carried.extend(await link.unsent())

    async with anyio.create_task_group() as group:
        group.start_soon(carry)
        await anyio.wait_all_tasks_blocked()
        link.send(b"1")
        link.send(b"2")
    assert carried == [b"1", b"2"]


async def test_closing_waits_until_everything_is_on_its_way() -> None:
    link = QueueLink()
    link.send(b"1")
    (frame,) = await link.unsent()
    link.send(b"2")
    async with anyio.create_task_group() as group:
        group.start_soon(link.aclose)
        await anyio.wait_all_tasks_blocked()
        assert link.ended
        link.sent(frame)
        assert await link.unsent() == [b"2"]
        link.sent(b"2")
    with pytest.raises(anyio.EndOfStream):
        await link.unsent()
    with pytest.raises(anyio.ClosedResourceError):
        link.send(b"3")


async def test_closing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.CLOSE_TIMEOUT", 0.01)
    link = QueueLink()
    link.send(b"1")
    await link.aclose()
    with pytest.raises(anyio.EndOfStream):
        await link.unsent()


async def test_what_has_arrived_can_be_received_after_the_end_but_not_after_closing() -> None:
    ended, closed = QueueLink(), QueueLink()
    for link in (ended, closed):
        link.put(b"1", 1)
    ended.end()
    ended.put(b"late", 4)
    assert await ended.receive() == [b"1"]
    await closed.aclose()
    for link in (ended, closed):
        with pytest.raises(anyio.EndOfStream):
            await link.receive()


async def test_after_the_end_nothing_is_sent_and_nobody_waits() -> None:
    link = QueueLink()
    link.send(b"1")
    (frame,) = await link.unsent()
    link.end()
    link.sent(frame)
    with pytest.raises(anyio.BrokenResourceError):
        link.send(b"2")
    await link.drain()
    await link.aclose()


async def test_a_sender_waits_while_the_peer_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.HIGH_WATER", 3)
    link = QueueLink()
    link.send(b"123")
    await link.drain()
    link.send(b"4")
    drained = anyio.Event()

    async def drain() -> None:
        await link.drain()
        drained.set()

    async with anyio.create_task_group() as group:
        group.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()
        link.sent(*await link.unsent())
    assert drained.is_set()


async def test_a_transport_waits_while_the_owner_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.MAX_UNTAKEN", 3)
    link = QueueLink()
    link.put(b"1", 3)
    await link.room()
    assert not link.full
    link.put(b"2", 1)
    assert link.full
    async with anyio.create_task_group() as group:
        group.start_soon(link.room)
        await anyio.wait_all_tasks_blocked()
        assert await link.receive() == [b"1", b"2"]
    link.put(b"3", 9)
    async with anyio.create_task_group() as group:
        group.start_soon(link.room)
        await anyio.wait_all_tasks_blocked()
        link.end()


async def test_a_peer_that_takes_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.MAX_UNSENT", 3)
    link = QueueLink()
    link.send(b"one large frame is fine")
    with pytest.raises(anyio.BrokenResourceError):
        link.send(b"2")
    with pytest.raises(anyio.EndOfStream):
        await link.receive()
    assert "the peer does not read: 23 bytes wait for it, and the connection ends" in caplog.text
