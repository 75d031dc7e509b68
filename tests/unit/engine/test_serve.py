"""Serving an engine over a byte stream: what is answered, in which order, and what a peer cannot break."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from scripted_link import META, ScriptedLink, cancellation, notification, request

from mcp import types
from mcp.engine.serve import MAX_RUNNING_REQUESTS, MAX_WAITING_NOTIFICATIONS, serve_link
from mcp.protocol.codec import DecodeError
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

Context = ServerRequestContext[Any, Any]
Work = Callable[[Context, str], Awaitable[None]]


class Params(types.RequestParams):
    name: str = ""


class Notified(types.NotificationParams):
    name: str = ""


def server_that_does(work: Work) -> Server[Any]:
    """Answers `acme/work` with the name it was given, once `work` is done; hands `acme/event` to `work` as well."""
    server = Server("srv")

    async def answer(ctx: Context, params: Params) -> dict[str, Any]:
        await work(ctx, params.name)
        return {"name": params.name}

    async def notified(ctx: Context, params: Notified) -> None:
        await work(ctx, params.name)

    server.add_request_handler("acme/work", Params, answer)
    server.add_notification_handler("acme/event", Notified, notified)
    return server


async def nothing(ctx: Context, name: str) -> None:
    pass


@asynccontextmanager
async def serving(work: Work, **options: Any) -> AsyncGenerator[ScriptedLink, None]:
    """Serves until the block ends, which closes the peer's side."""
    link = ScriptedLink()
    async with anyio.create_task_group() as group, server_that_does(work).in_process() as engine:

        async def serve() -> None:
            await serve_link(engine, link, **options)

        group.start_soon(serve)
        yield link
        link.end()


def work(id: int | str, name: str = "", **meta: Any) -> bytes:
    return request(id, "acme/work", {"name": name}, **meta)


def event(name: str) -> bytes:
    return notification("acme/event", {"name": name})


def answered(message: dict[str, Any]) -> tuple[Any, Any]:
    return message["id"], message["result"]["name"]


# Requests.


async def test_a_request_is_answered_under_its_id() -> None:
    async with serving(nothing) as link:
        link.arrive(work(1, "a"))
        assert await link.next() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "name": "a",
                "resultType": "complete",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "srv", "version": ""}},
            },
        }
        link.arrive(work("two", "b"))
        assert answered(await link.next()) == ("two", "b")


async def test_requests_run_concurrently_and_are_answered_as_they_finish() -> None:
    may_finish = anyio.Event()

    async def slow_first(ctx: Context, name: str) -> None:
        if name == "slow":
            await may_finish.wait()

    async with serving(slow_first) as link:
        link.arrive(work(1, "slow"))
        link.arrive(work(2, "fast"))
        assert answered(await link.next()) == (2, "fast")
        may_finish.set()
        assert answered(await link.next()) == (1, "slow")


async def test_what_is_no_message_is_answered_with_an_error_and_the_connection_lives_on() -> None:
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":5,"method":', b"[1]", DecodeError(-32600, "too long", 7), work(1, "a"))
        refusals = [await link.next() for _ in range(3)]
        assert [(refused["id"], refused["error"]["code"]) for refused in refusals] == [
            (5, -32700),
            (None, -32600),
            (7, -32600),
        ]
        assert answered(await link.next()) == (1, "a")


async def test_answers_to_nothing_are_ignored() -> None:
    async with serving(nothing) as link:
        link.arrive(
            b'{"jsonrpc":"2.0","id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
            b'{"jsonrpc":"2.0","id":1,"result":"broken"}',
            work(1, "a"),
        )
        assert answered(await link.next()) == (1, "a")


async def test_an_id_that_is_in_use_is_refused_until_it_is_free() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "first"), work(1, "second"), work("1", "third"))
        refused = await link.next()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert refused["error"]["message"] == "Request id 1 is in use by a request that still runs"
        may_finish.set()
        assert sorted([answered(await link.next()), answered(await link.next())], key=str) == [
            ("1", "third"),
            (1, "first"),
        ]
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")


async def test_more_requests_than_can_run_are_refused_and_the_rest_are_answered() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(*(work(id) for id in range(MAX_RUNNING_REQUESTS + 2)))
        refusals = [await link.next(), await link.next()]
        assert [refused["id"] for refused in refusals] == [MAX_RUNNING_REQUESTS, MAX_RUNNING_REQUESTS + 1]
        assert "Too many requests" in refusals[0]["error"]["message"]
        may_finish.set()
        assert {(await link.next())["id"] for _ in range(MAX_RUNNING_REQUESTS)} == set(range(MAX_RUNNING_REQUESTS))


async def test_a_flood_is_not_read_faster_than_its_refusals_are() -> None:
    async with serving(nothing) as link:
        link.behind = True
        for _ in range(3):
            link.arrive(b"noise")
        await anyio.wait_all_tasks_blocked()
        assert len(link.sent) == 1
        link.behind = False
        link.changed()
        await anyio.wait_all_tasks_blocked()
        assert len(link.sent) == 3


async def test_a_request_of_the_handshake_era_is_told_what_is_served() -> None:
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}')
        error = (await link.next())["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


async def test_a_request_with_half_an_envelope_is_told_what_it_lacks() -> None:
    version = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'
    async with serving(nothing) as link:
        link.arrive(b'{"jsonrpc":"2.0","id":1,"method":"acme/work","params":{"_meta":%b}}' % version.encode())
        error = (await link.next())["error"]
        assert error["code"] == -32602
        assert error["message"].endswith(
            "missing the required envelope key(s): io.modelcontextprotocol/clientCapabilities"
        )


async def test_a_handler_that_fails_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(ctx: Context, name: str) -> None:
        errors = {"value": ValueError("secret"), "mcp": MCPError(7, "mine", {"a": 1}), "exit": SystemExit(3)}
        if name in errors:
            raise errors[name]

    async with serving(failing) as link:
        for id, name in enumerate(["value", "mcp", "exit", "fine"]):
            link.arrive(work(id, name))
        answers = {message["id"]: message for message in [await link.next() for _ in range(4)]}
    assert answers[0]["error"] == {"code": -32603, "message": "Internal server error"}
    assert answers[1]["error"] == {"code": 7, "message": "mine", "data": {"a": 1}}
    assert answers[2]["error"] == {"code": -32603, "message": "Internal server error"}
    assert answered(answers[3]) == (3, "fine")
    assert "secret" in caplog.text


# Cancellation.


async def test_a_cancelled_request_is_never_answered_and_its_id_is_free_again() -> None:
    log: list[str] = []

    async def wait(ctx: Context, name: str) -> None:
        if name == "wait":
            try:
                await anyio.sleep_forever()
            finally:
                log.append("cancelled")

    async with serving(wait) as link:
        link.arrive(work(1, "wait"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(1))
        await anyio.wait_all_tasks_blocked()
        assert log == ["cancelled"]
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")
        assert link.sent == []


async def test_a_request_that_is_cancelled_before_it_starts_is_as_if_it_never_came() -> None:
    async def wait(ctx: Context, name: str) -> None:
        if name == "wait":
            await anyio.sleep_forever()

    async with serving(wait) as link:
        link.arrive(work(1, "wait"), cancellation(1))
        await anyio.wait_all_tasks_blocked()
        link.arrive(work(1, "again"))
        assert answered(await link.next()) == (1, "again")
        assert link.sent == []


async def test_a_handler_that_answers_in_spite_of_its_cancellation_is_not_heard() -> None:
    async def stubborn(ctx: Context, name: str) -> None:
        if name == "stubborn":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                pass
            await ctx.session.report_progress(1)

    async with serving(stubborn) as link:
        link.arrive(work(1, "stubborn", progressToken="t"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(1))
        await anyio.wait_all_tasks_blocked()
        link.arrive(work(2, "next"))
        assert answered(await link.next()) == (2, "next")
        assert link.sent == []


async def test_only_the_named_request_is_cancelled() -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "one"), work("1", "text one"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation("1"))
        await anyio.wait_all_tasks_blocked()
        may_finish.set()
        assert answered(await link.next()) == (1, "one")
        assert link.sent == []


@pytest.mark.parametrize("id", [99, "1", None, True, 1.0, [1], {}])
async def test_cancelling_what_does_not_run_changes_nothing(id: object) -> None:
    may_finish = anyio.Event()

    async def wait(ctx: Context, name: str) -> None:
        await may_finish.wait()

    async with serving(wait) as link:
        link.arrive(work(1, "one"))
        await anyio.wait_all_tasks_blocked()
        link.arrive(cancellation(id), b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
        await anyio.wait_all_tasks_blocked()
        may_finish.set()
        assert answered(await link.next()) == (1, "one")


# What a handler sends besides its answer.


async def test_progress_is_sent_in_order_and_before_the_answer() -> None:
    async def report(ctx: Context, name: str) -> None:
        for step in range(3):
            await ctx.session.report_progress(step)

    async with serving(report) as link:
        link.arrive(work(1, "a", progressToken="t"))
        reports = [await link.next() for _ in range(3)]
        assert [message["params"] for message in reports] == [
            {"progressToken": "t", "progress": step} for step in range(3)
        ]
        assert answered(await link.next()) == (1, "a")


async def test_what_is_sent_after_the_answer_is_dropped() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context, name: str) -> None:
        kept.append(ctx)

    async with serving(keep) as link:
        link.arrive(work(1, "a", progressToken="t"))
        assert answered(await link.next()) == (1, "a")
        await kept[0].session.report_progress(1)
        assert link.sent == []


async def test_a_handler_waits_while_the_peer_is_behind() -> None:
    steps: list[int] = []

    async def report(ctx: Context, name: str) -> None:
        for step in range(2):
            await ctx.session.report_progress(step)
            steps.append(step)

    async with serving(report) as link:
        link.behind = True
        link.arrive(work(1, "a", progressToken="t"))
        await anyio.wait_all_tasks_blocked()
        assert (len(link.sent), steps) == (1, [])
        link.behind = False
        link.changed()
        await anyio.wait_all_tasks_blocked()
        assert (len(link.sent), steps) == (3, [0, 1])


async def test_a_peer_that_no_longer_reads_ends_nothing_but_its_answers() -> None:
    done: list[str] = []

    async def report(ctx: Context, name: str) -> None:
        await ctx.session.report_progress(1)
        done.append(name)

    async with serving(report) as link:
        link.reads = False
        link.arrive(work(1, "a", progressToken="t"), work(2, "b"))
        await anyio.wait_all_tasks_blocked()
        assert sorted(done) == ["a", "b"]
        link.reads = True
        link.arrive(work(3, "c"))
        assert answered(await link.next()) == (3, "c")


# Notifications.


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


# The end.


async def test_what_was_asked_before_the_peer_closed_its_side_is_still_answered() -> None:
    async def pause(ctx: Context, name: str) -> None:
        await anyio.sleep(0)

    async with serving(pause) as link:
        link.arrive(work(1, "a"))
        link.end()
        assert answered(await link.next()) == (1, "a")


async def test_what_still_runs_long_after_the_peer_closed_its_side_is_cancelled() -> None:
    log: list[str] = []

    async def wait(ctx: Context, name: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    async with serving(wait) as link:
        link.arrive(work(1, "a"))
    assert log == ["cancelled"]
    assert link.sent == []


async def test_raise_exceptions_ends_the_connection_with_the_first_failure_once_it_is_answered() -> None:
    link = ScriptedLink()

    async def fail(ctx: Context, name: str) -> None:
        if name == "refuse":
            raise MCPError(7, "an answer, not a failure")
        raise ValueError(name)

    link.arrive(work(0, "refuse"), work(1, "wrong"), work(2, "wrong"))
    async with server_that_does(fail).in_process() as engine:
        with pytest.raises(ValueError, match="wrong"):
            await serve_link(engine, link, raise_exceptions=True)
    answers = {message["id"]: message["error"]["code"] for message in link.sent}
    assert answers == {0: 7, 1: -32603, 2: -32603}
