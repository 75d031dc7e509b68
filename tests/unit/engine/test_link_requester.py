"""A client's side of a link: the table of pending requests, and the reader that settles them."""

import json
import logging
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from anyio import wait_all_tasks_blocked
from scripted_link import ScriptedLink

from mcp.client.inbound import Inbound
from mcp.client.link_requester import LinkRequester
from mcp.engine.backend import open_spawner
from mcp.engine.duplex import MAX_WAITING_NOTIFICATIONS
from mcp.engine.pending import MAX_WAITING_PROGRESS
from mcp.engine.requester import CallOptions
from mcp.engine.supervisor import Held
from mcp.protocol.codec import DecodeError
from mcp.shared.exceptions import (
    ConnectionClosedError,
    MalformedResultError,
    MCPError,
    ProcessExitedError,
    RequestTimeoutError,
    TransportError,
)
from mcp.types.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR

pytestmark = pytest.mark.anyio

Noticed = list[tuple[str, "dict[str, Any] | None"]]
NO_OPTIONS = CallOptions()


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def result(id: int | str, **members: Any) -> bytes:
    return frame(id=id, result=members)


def progress(token: object, value: int) -> bytes:
    return frame(method="notifications/progress", params={"progressToken": token, "progress": value})


@asynccontextmanager
async def connected(
    link: ScriptedLink,
    noticed: Noticed | None = None,
    gate: anyio.Event | None = None,
    *,
    inbound: Inbound | None = None,
) -> AsyncGenerator[LinkRequester, None]:
    """A requester on a link; notifications go to `inbound`, or to `noticed`, each once `gate` is open."""

    class Noting(Inbound):
        async def __call__(self, method: str, params: dict[str, Any] | None) -> None:
            if gate is not None:
                await gate.wait()
            if noticed is not None:
                noticed.append((method, params))

    async with open_spawner() as spawner:
        requester = LinkRequester(link, spawner, inbound or Noting(None, None))
        try:
            yield requester
        finally:
            await requester.aclose()


class Call:
    """A request that runs beside the test."""

    def __init__(
        self, group: anyio.abc.TaskGroup, requester: LinkRequester, id: int | str, options: CallOptions = NO_OPTIONS
    ) -> None:
        self.scope = anyio.CancelScope()
        self._outcome: Any = None
        self._done = anyio.Event()
        group.start_soon(self._run, requester, id, options)

    async def _run(self, requester: LinkRequester, id: int | str, options: CallOptions) -> None:
        with self.scope:
            try:
                self._outcome = await requester.request(id, "acme/do", {"id": id}, options)
            except MCPError as error:
                self._outcome = error
        self._done.set()

    @property
    def pending(self) -> bool:
        return not self._done.is_set()

    async def result(self) -> Any:
        await self._done.wait()
        return self._outcome


# Requests and answers.


async def test_a_request_is_sent_and_its_answer_is_its_result() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        assert await link.next() == {"jsonrpc": "2.0", "id": 1, "method": "acme/do", "params": {"id": 1}}
        link.arrive(result(1, fine=True))
        assert await call.result() == {"fine": True}


async def test_an_error_answer_is_raised() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(frame(id=1, error={"code": -5, "message": "no", "data": [1]}))
        error = await call.result()
        assert type(error) is MCPError
        assert (error.code, error.message, error.data) == (-5, "no", [1])


async def test_answers_find_their_requests_in_any_order() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        calls = [Call(group, requester, id) for id in (1, 2, "two", 3)]
        for _ in calls:
            await link.next()
        link.arrive(result(3, n=3), result("two", n="two"))
        link.arrive(result(2, n=2), result(1, n=1))
        assert [await call.result() for call in calls] == [{"n": 1}, {"n": 2}, {"n": "two"}, {"n": 3}]


async def test_answers_to_nobody_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()
    with caplog.at_level(logging.DEBUG, "mcp.engine"):
        async with connected(link) as requester, anyio.create_task_group() as group:
            call = Call(group, requester, 1)
            await link.next()
            link.arrive(
                result(2), result("1"), frame(id=None, error={"code": -1, "message": "?"}), result(1, mine=True)
            )
            assert await call.result() == {"mine": True}
            link.arrive(result(1, late=True))
            again = Call(group, requester, 2)
            await link.next()
            link.arrive(result(2, second=True))
            assert await again.result() == {"second": True}
    for id in (2, "1", None, 1):
        assert f"ignored an answer to {id!r}, which is not pending" in caplog.text


async def test_the_first_answer_counts() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1, first=True), result(1, first=False))
        assert await call.result() == {"first": True}


async def test_params_that_are_no_json_leave_no_trace() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        with pytest.raises(ValueError, match="cannot be written as JSON"):
            await requester.request(1, "acme/do", {"it": object()}, NO_OPTIONS)
        assert link.sent == []
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1))
        assert await call.result() == {}


# Broken messages.


async def test_a_broken_answer_ends_the_request_it_was_for(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        other = Call(group, requester, 2)
        await link.next()
        link.arrive(frame(id=1, result=5))
        error = await call.result()
        assert other.pending
        link.arrive(result(2))
        assert await other.result() == {}
        assert isinstance(error, MalformedResultError)
        assert str(error) == "The result for 'acme/do' does not fit: result must be an object, got an integer"
    assert "Failed to parse JSONRPC message from server: result must be an object" in caplog.text


async def test_nonsense_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(
            b"nonsense", b"[]", b'{"jsonrpc":"1.0"}', DecodeError(PARSE_ERROR, "too long"), frame(id=9, result=5)
        )
        link.arrive(result(1))
        assert await call.result() == {}
        assert link.sent == []
    assert caplog.text.count("Failed to parse JSONRPC message from server") == 5
    assert "Failed to parse JSONRPC message from server: too long" in caplog.text


async def test_a_broken_request_of_the_server_is_refused_under_its_id() -> None:
    link = ScriptedLink()
    async with connected(link):
        link.arrive(frame(id=7, method=5))
        refused = await link.next()
        assert (refused["id"], refused["error"]["code"]) == (7, INVALID_REQUEST)


async def test_a_request_of_the_server_is_refused_under_its_id(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(frame(id=1, method="sampling/createMessage", params={}))
        assert await link.next() == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": "sampling/createMessage"},
        }
        assert call.pending
        link.arrive(result(1))
        assert await call.result() == {}
    assert "refused sampling/createMessage" in caplog.text


async def test_a_request_of_the_server_that_cannot_be_refused_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.reads = False
        link.arrive(frame(id=5, method="roots/list"), result(1, fine=True))
        assert await call.result() == {"fine": True}
        again = Call(group, requester, 2)
        link.closed = True
        link.arrive(frame(id=6, method="roots/list"))
        assert isinstance(await again.result(), ConnectionClosedError)
    assert "a task of the connection failed" not in caplog.text


# Progress.


class Climb:
    """A progress callback that waits at its first report until it is let go on."""

    def __init__(self, *, waits: bool = False) -> None:
        self.reports: list[int] = []
        self.begun = anyio.Event()
        self.may_go_on = anyio.Event()
        if not waits:
            self.may_go_on.set()

    async def __call__(self, params: dict[str, Any]) -> None:
        self.begun.set()
        await self.may_go_on.wait()
        self.reports.append(params["progress"])


async def test_reports_run_in_order_before_the_answer_is_returned() -> None:
    link, climb = ScriptedLink(), Climb()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(on_progress=climb))
        await link.next()
        link.arrive(*[progress(1, step) for step in range(10)], result(1))
        await call.result()
    assert climb.reports == list(range(10))


async def test_reports_run_while_the_answer_is_awaited() -> None:
    link, climb = ScriptedLink(), Climb()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(on_progress=climb))
        await link.next()
        link.arrive(progress(1, 1))
        await climb.begun.wait()
        assert call.pending
        link.arrive(result(1))
        await call.result()
    assert climb.reports == [1]


async def test_a_slow_callback_holds_up_its_own_request_alone() -> None:
    link, climb = ScriptedLink(), Climb(waits=True)
    async with connected(link) as requester, anyio.create_task_group() as group:
        slow = Call(group, requester, 1, CallOptions(on_progress=climb))
        quick = Call(group, requester, 2)
        await link.next()
        link.arrive(progress(1, 1), progress(1, 2), result(1, slow=True), result(2, slow=False))
        assert await quick.result() == {"slow": False}
        assert slow.pending
        climb.may_go_on.set()
        assert await slow.result() == {"slow": True}
    assert climb.reports == [1, 2]


async def test_a_callback_that_is_much_too_slow_misses_the_oldest_reports() -> None:
    link, climb = ScriptedLink(), Climb(waits=True)
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(on_progress=climb))
        await link.next()
        link.arrive(progress(1, 0))
        await climb.begun.wait()
        link.arrive(*[progress(1, step) for step in range(1, MAX_WAITING_PROGRESS + 11)], result(1))
        climb.may_go_on.set()
        await call.result()
    assert climb.reports == [0, *range(11, MAX_WAITING_PROGRESS + 11)]


async def test_reports_that_belong_to_no_waiting_callback_are_dropped() -> None:
    link, climb = ScriptedLink(), Climb()
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    inbound = Inbound(None, hear)
    async with connected(link, inbound=inbound) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(on_progress=climb))
        plain = Call(group, requester, 2)
        await link.next()
        tokens: list[object] = [2, 3, "1", None, [1], {}, 1.5, True]
        link.arrive(*[progress(token, 1) for token in tokens], frame(method="notifications/progress"))
        link.arrive(result(1), progress(1, 2), result(2))
        await call.result()
        await plain.result()
        await wait_all_tasks_blocked()
    assert climb.reports == []
    assert heard == []


async def test_a_time_limit_holds_for_callbacks_too() -> None:
    link, climb = ScriptedLink(), Climb(waits=True)
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(timeout=0.05, on_progress=climb))
        await link.next()
        link.arrive(progress(1, 1))
        assert isinstance(await call.result(), RequestTimeoutError)


# Time limits and cancellation.


@pytest.mark.parametrize("seconds", [0.01, 0.0, -1.0])
async def test_a_request_without_an_answer_in_time_is_cancelled_at_the_peer(seconds: float) -> None:
    link = ScriptedLink()
    async with connected(link) as requester:
        with pytest.raises(RequestTimeoutError) as raised:
            await requester.request(1, "acme/do", {}, CallOptions(timeout=seconds))
        assert (raised.value.method, raised.value.seconds) == ("acme/do", max(seconds, 0))
        assert [message["method"] for message in link.sent] == ["acme/do", "notifications/cancelled"]
        assert link.sent[1]["params"] == {"requestId": 1, "reason": str(raised.value)}


async def test_an_answer_in_time_is_taken() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1, CallOptions(timeout=60))
        await link.next()
        link.arrive(result(1))
        assert await call.result() == {}
        assert link.sent == []


async def test_an_abandoned_request_is_cancelled_at_the_peer_and_its_answer_ignored() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, "one")
        await link.next()
        call.scope.cancel()
        assert await call.result() is None
        assert await link.next() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "one", "reason": "the caller was cancelled"},
        }
        link.arrive(result("one"), frame(method="acme/after"))
        await wait_all_tasks_blocked()
        again = Call(group, requester, "one")
        await link.next()
        assert again.pending
        link.arrive(result("one", again=True))
        assert await again.result() == {"again": True}


async def test_a_peer_that_no_longer_reads_does_not_hide_a_timeout() -> None:
    link = ScriptedLink()
    link.reads = False
    async with connected(link) as requester:
        with pytest.raises(RequestTimeoutError):
            await requester.request(1, "acme/do", {}, CallOptions(timeout=0.01))


async def test_a_peer_that_no_longer_reads_does_not_hide_a_cancellation() -> None:
    link = ScriptedLink()
    link.reads = False
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await anyio.lowlevel.checkpoint()
        call.scope.cancel()
        assert await call.result() is None
        assert call.scope.cancelled_caught


# Notifications.


async def test_a_notification_is_sent_and_waits_for_room() -> None:
    link = ScriptedLink()
    async with connected(link) as requester:
        await requester.notify("acme/note", {"a": 1})
        await requester.notify("acme/note", None)
        assert link.sent == [
            {"jsonrpc": "2.0", "method": "acme/note", "params": {"a": 1}},
            {"jsonrpc": "2.0", "method": "acme/note"},
        ]
        assert link.drains == 2


async def test_notifications_are_delivered_in_order() -> None:
    link, noticed = ScriptedLink(), Noticed()
    async with connected(link, noticed) as requester, anyio.create_task_group() as group:
        link.arrive(*[frame(method="acme/note", params={"n": number}) for number in range(100)])
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1))
        await call.result()
        await delivered(noticed, 100)
    assert noticed == [("acme/note", {"n": number}) for number in range(100)]


async def delivered(noticed: Noticed, count: int) -> None:
    with anyio.fail_after(10):
        while len(noticed) < count:
            await anyio.lowlevel.checkpoint()


async def test_a_callback_that_waits_holds_up_no_answer() -> None:
    link, noticed, gate = ScriptedLink(), Noticed(), anyio.Event()
    async with connected(link, noticed, gate) as requester, anyio.create_task_group() as group:
        link.arrive(frame(method="acme/note"))
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1))
        assert await call.result() == {}
        assert noticed == []
        gate.set()
        await delivered(noticed, 1)


async def test_notifications_that_nobody_takes_are_dropped_once_there_are_too_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    link, noticed, gate = ScriptedLink(), Noticed(), anyio.Event()
    async with connected(link, noticed, gate) as requester, anyio.create_task_group() as group:
        many = [frame(method="acme/note", params={"n": number}) for number in range(MAX_WAITING_NOTIFICATIONS + 5)]
        link.arrive(*many)
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1))
        await call.result()
        gate.set()
        await delivered(noticed, MAX_WAITING_NOTIFICATIONS)
    assert [(params or {})["n"] for _, params in noticed] == list(range(MAX_WAITING_NOTIFICATIONS))
    assert caplog.text.count("dropped acme/note") == 5


# The end.


async def test_the_end_of_the_link_fails_everything_that_is_pending() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        calls = [Call(group, requester, id) for id in range(3)]
        for _ in calls:
            await link.next()
        link.end()
        for call in calls:
            assert isinstance(await call.result(), ConnectionClosedError)
        with pytest.raises(ConnectionClosedError, match="Connection closed"):
            await requester.request(9, "acme/do", {}, NO_OPTIONS)
        with pytest.raises(ConnectionClosedError, match="Connection closed"):
            await requester.notify("acme/note", None)
        assert link.sent == []


async def test_everybody_gets_an_error_of_their_own_when_the_link_ends() -> None:
    link = ScriptedLink()
    errors: list[Any] = []
    async with connected(link) as requester, anyio.create_task_group() as group:
        calls = [Call(group, requester, number) for number in range(3)]
        for _ in calls:
            await link.next()
        link.end()
        errors += [await call.result() for call in calls]
        for _ in range(2):
            with pytest.raises(ConnectionClosedError) as raised:
                await requester.request(9, "acme/do", {}, NO_OPTIONS)
            errors.append(raised.value)
    assert len({id(error) for error in errors}) == 5
    depths = [sum(1 for _ in traceback.walk_tb(error.__traceback__)) for error in errors]
    assert depths[0] == depths[1] == depths[2]
    assert depths[3] == depths[4]


async def test_a_link_that_knows_why_it_ended_says_so() -> None:
    class ProcessLink(ScriptedLink):
        async def closed_reason(self) -> TransportError:
            return ProcessExitedError("server", 3)

    link = ProcessLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.end()
        error = await call.result()
        assert isinstance(error, ProcessExitedError)
        assert error.exit_code == 3
        await requester.aclose()
        with pytest.raises(ProcessExitedError, match="exited with code 3"):
            await requester.request(9, "acme/do", {}, NO_OPTIONS)


async def test_an_answer_that_came_before_the_end_is_taken() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        link.arrive(result(1, last=True))
        link.end()
        assert await call.result() == {"last": True}


async def test_closing_cancels_and_fails_what_is_pending_and_closes_the_link() -> None:
    link = ScriptedLink()
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await link.next()
        await requester.aclose()
        assert isinstance(await call.result(), ConnectionClosedError)
        assert link.closed
        [cancelled] = link.sent
        assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", 1)


async def test_a_link_that_was_closed_under_a_requester_is_a_closed_connection() -> None:
    class StillOpenLink(ScriptedLink):
        async def receive(self) -> Any:
            await anyio.sleep_forever()

    link = StillOpenLink()
    async with connected(link) as requester:
        link.closed = True
        with pytest.raises(ConnectionClosedError):
            await requester.request(1, "acme/do", {}, NO_OPTIONS)
        with pytest.raises(ConnectionClosedError):
            await requester.notify("acme/note", None)


async def test_what_cannot_be_sent_waits_to_learn_why() -> None:
    link = ScriptedLink()
    link.reads = False
    async with connected(link) as requester, anyio.create_task_group() as group:
        call = Call(group, requester, 1)
        await requester.notify("acme/note", None)
        link.end()
        assert isinstance(await call.result(), ConnectionClosedError)


async def test_notifications_that_came_before_the_end_are_delivered() -> None:
    link, noticed, gate = ScriptedLink(), Noticed(), anyio.Event()
    async with connected(link, noticed, gate) as requester:
        link.arrive(frame(method="acme/note"), frame(method="acme/note"))
        link.end()
        with pytest.raises(ConnectionClosedError):
            await requester.request(1, "acme/do", {}, NO_OPTIONS)
        gate.set()
        await delivered(noticed, 2)


async def test_a_request_to_a_peer_that_is_behind_waits_within_its_limit_and_leaves_nothing_behind() -> None:
    link = ScriptedLink()
    link.behind = True
    async with connected(link) as requester:
        for options in (CallOptions(timeout=0.01), CallOptions(bound=0.01)):
            with anyio.fail_after(5), pytest.raises(RequestTimeoutError):
                await requester.request(1, "acme/do", {}, options)
        assert link.sent == []
        async with anyio.create_task_group() as group:
            call = Call(group, requester, 2, CallOptions(timeout=5))
            await wait_all_tasks_blocked()
            assert link.sent == []
            link.behind = False
            link.changed()
            await link.next()
            link.arrive(result(2, done=True))
            assert await call.result() == {"done": True}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_notification_handler_may_close_its_own_connection() -> None:
    link = ScriptedLink()
    seen: list[str] = []

    class Closing(Inbound):
        async def __call__(self, method: str, params: dict[str, Any] | None) -> None:
            seen.append(method)
            await held.close()
            seen.append("closed")

    held = Held(connected(link, inbound=Closing(None, None)))
    with anyio.fail_after(5):
        await held.open()
        link.arrive(frame(method="acme/first"), frame(method="acme/second"))
        while "closed" not in seen:
            await anyio.sleep(0.001)
        await wait_all_tasks_blocked()
    assert seen == ["acme/first", "closed"]
