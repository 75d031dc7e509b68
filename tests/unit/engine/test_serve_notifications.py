"""Notifications on a byte stream: in order, one at a time, and in nobody's way."""

import logging

import anyio
import pytest
from scripted_link import META, notification
from served_link import Context, answered, event, nothing, serving, work

from mcp.engine.duplex import MAX_WAITING_NOTIFICATIONS

pytestmark = pytest.mark.anyio


async def test_notifications_are_handled_one_at_a_time_in_order() -> None:
    log: list[str] = []

    async def note(ctx: Context, name: str) -> None:
        log.append(f"{name} begins")
        await anyio.sleep(0)
        log.append(f"{name} ends")

    async with serving(note) as link:
        link.arrive(event("a"), event("b"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(event("c"))
        await anyio.wait_all_tasks_blocked()
    assert log == [f"{name} {step}" for name in "abc" for step in ("begins", "ends")]


async def test_a_notification_handler_never_holds_up_requests() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        if name == "wait":
            await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(event("wait"), work(1, "a"))
        assert answered(await link.next()) == (1, "a")
        may_finish.set()


@pytest.mark.parametrize(
    "bad",
    [
        event("fails"),
        notification("acme/event", {"name": 5}),
        notification("acme/unknown"),
        notification("acme/event", {"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": 5}}),
        notification("acme/event", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}),
        b'{"jsonrpc":"2.0","method":"acme/event","params":{"name":"no envelope"}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ],
)
async def test_a_notification_that_fails_or_does_not_fit_is_passed_over(bad: bytes) -> None:
    log: list[str] = []

    async def note(ctx: Context, name: str) -> None:
        if name == "fails":
            raise ValueError("wrong")
        log.append(name)

    async with serving(note) as link:
        link.arrive(bad, event("next"))
        await anyio.wait_all_tasks_blocked()
        assert log == ["next"]
        assert link.sent == []


async def test_a_bad_notification_is_no_error_of_the_servers(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(nothing) as link:
        link.arrive(
            notification("acme/event", {"name": 5}),
            notification("acme/event", {"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": 5}}),
        )
        await anyio.wait_all_tasks_blocked()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "dropped acme/event" in caplog.text


async def test_what_is_wrong_with_the_envelope_of_a_notification_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mcp.server"):
        async with serving(nothing) as link:
            link.arrive(
                notification(
                    "acme/event", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
                ),
                b'{"jsonrpc":"2.0","method":"acme/event"}',
            )
            await anyio.wait_all_tasks_blocked()
    assert "dropped acme/event: Unsupported protocol version" in caplog.text
    assert "dropped acme/event: 'acme/event' came before initialize" in caplog.text


async def test_notifications_that_pile_up_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []
    may_finish = anyio.Event()

    async def note(ctx: Context, name: str) -> None:
        await may_finish.wait()
        log.append(name)

    async with serving(note) as link:
        link.arrive(event("running"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(*(event(str(number)) for number in range(MAX_WAITING_NOTIFICATIONS + 1)))
        await anyio.wait_all_tasks_blocked()
        may_finish.set()
        await anyio.wait_all_tasks_blocked()
    assert len(log) == MAX_WAITING_NOTIFICATIONS + 1
    assert f"dropped acme/event: {MAX_WAITING_NOTIFICATIONS} notifications are waiting" in caplog.text
