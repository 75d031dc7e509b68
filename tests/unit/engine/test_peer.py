"""Asking over a byte stream: every request gets its own answer, whatever else the server sends."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from scripted_link import ScriptedLink

from mcp.engine.backend import open_spawner
from mcp.engine.peer import MAX_WAITING_NOTIFICATIONS, LinkRequester
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import DecodeError
from mcp.shared.exceptions import (
    ConnectionClosedError,
    MalformedResultError,
    MCPError,
    ProcessExitedError,
    RequestTimeoutError,
    TransportError,
)

pytestmark = pytest.mark.anyio


class Peer:
    """A requester, what it did with what it was sent, and the link to the test."""

    def __init__(self, link: ScriptedLink) -> None:
        self.link = link
        self.requester = LinkRequester(link, self._sink)
        self.noticed: list[tuple[str, Any]] = []
        self.noticing = anyio.Event()
        self.may_notice = anyio.Event()
        self.may_notice.set()

    async def _sink(self, method: str, params: dict[str, Any] | None) -> None:
        self.noticing.set()
        await self.may_notice.wait()
        self.noticed.append((method, params))

    async def ask(self, id: int | str = 1, **options: Any) -> dict[str, Any]:
        return await self.requester.request(id, "acme/ask", {}, CallOptions(**options))

    def answer(self, id: object, **members: Any) -> None:
        self.link.arrive(json.dumps({"jsonrpc": "2.0", "id": id, **members}).encode())

    def notify(self, method: str, params: Any = None) -> None:
        self.link.arrive(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


@asynccontextmanager
async def connected(link: ScriptedLink | None = None) -> AsyncGenerator[Peer, None]:
    peer = Peer(link or ScriptedLink())
    async with open_spawner() as spawner:
        spawner.spawn(peer.requester.read)
        spawner.spawn(peer.requester.dispatch)
        yield peer
        await peer.requester.aclose()


async def fails_with(error: type[MCPError], peer: Peer, id: int | str = 1, **options: Any) -> MCPError:
    with pytest.raises(error) as raised:
        await peer.ask(id, **options)
    return raised.value


# Answers.


async def test_a_request_is_sent_and_its_result_returned() -> None:
    async with connected() as peer, anyio.create_task_group() as group:
        peer.answer(1, result={"a": 1})
        assert await peer.ask() == {"a": 1}
        group.cancel_scope.cancel()
    assert peer.link.sent == [{"jsonrpc": "2.0", "id": 1, "method": "acme/ask", "params": {}}]


async def test_an_error_is_raised() -> None:
    async with connected() as peer:
        peer.answer(1, error={"code": 7, "message": "no", "data": {"x": 1}})
        error = await fails_with(MCPError, peer)
    assert (error.code, error.message, error.data) == (7, "no", {"x": 1})


async def test_answers_may_come_in_any_order() -> None:
    results: dict[int, Any] = {}

    async with connected() as peer:

        async def ask(id: int) -> None:
            results[id] = await peer.ask(id)

        async with anyio.create_task_group() as group:
            for id in (1, 2, 3):
                group.start_soon(ask, id)
            await anyio.wait_all_tasks_blocked()
            for id in (3, 1, 2):
                peer.answer(id, result={"id": id})
    assert results == {id: {"id": id} for id in (1, 2, 3)}


async def test_what_answers_nothing_is_passed_over() -> None:
    async with connected() as peer:
        peer.answer(999, result={})
        peer.answer("1", result={})
        peer.answer(None, error={"code": 1, "message": "whose?"})
        peer.answer(1, result={"mine": True})
        peer.answer(1, result={"again": True})
        assert await peer.ask() == {"mine": True}


async def test_only_the_first_answer_counts() -> None:
    async with connected() as peer:
        peer.link.arrive(b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', b'{"jsonrpc":"2.0","id":1,"result":{"a":2}}')
        assert await peer.ask() == {"a": 1}


async def test_what_is_no_message_is_logged_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as peer:
        peer.link.arrive(b"Starting server...", DecodeError(-32600, "too long"))
        peer.answer(1, result={})
        assert await peer.ask() == {}
    assert caplog.text.count("Failed to parse JSONRPC message from server") == 2


async def test_a_broken_answer_ends_the_request_it_was_for() -> None:
    async with connected() as peer:
        peer.answer(1, result=5)
        error = await fails_with(MalformedResultError, peer)
    assert "'acme/ask'" in error.message
    assert "result must be an object" in error.message


async def test_a_request_from_the_server_is_refused() -> None:
    async with connected() as peer:
        peer.answer(5, method="roots/list")
        assert await peer.link.next() == {
            "jsonrpc": "2.0",
            "id": 5,
            "error": {"code": -32601, "message": "Method not found", "data": "roots/list"},
        }


# Giving up.


async def test_a_request_that_takes_too_long_is_cancelled_at_the_server() -> None:
    async with connected() as peer:
        error = await fails_with(RequestTimeoutError, peer, timeout=0.01)
        assert (await peer.link.next())["method"] == "acme/ask"
        assert await peer.link.next() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1, "reason": "Timed out after 0.01s waiting for 'acme/ask'"},
        }
        assert error.message == "Timed out after 0.01s waiting for 'acme/ask'"
        peer.answer(1, result={"late": True})
        peer.answer(2, result={"on time": True})
        assert await peer.ask(2) == {"on time": True}


async def test_a_request_in_time_is_not_cancelled() -> None:
    async with connected() as peer:
        peer.answer(1, result={})
        assert await peer.ask(timeout=30) == {}
        assert len(peer.link.sent) == 1


async def test_a_caller_that_is_cancelled_cancels_at_the_server() -> None:
    async with connected() as peer:
        with anyio.move_on_after(0):
            await peer.ask()
        assert [message["method"] for message in peer.link.sent] == ["acme/ask", "notifications/cancelled"]
        assert peer.link.sent[1]["params"] == {"requestId": 1, "reason": "the caller was cancelled"}


@pytest.mark.parametrize("broken", [True, False])
async def test_cancelling_does_not_need_a_server_that_reads(broken: bool) -> None:
    async with connected() as peer:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(peer.ask)
                await anyio.wait_all_tasks_blocked()
                peer.link.reads = not broken
                peer.link.closed = not broken
                scope.cancel()
        assert scope.cancelled_caught
        assert len(peer.link.sent) == 1


# Progress and notifications.


async def test_progress_reaches_the_callback_in_order_and_before_the_result() -> None:
    log: list[Any] = []

    async with connected() as peer:

        async def report(params: dict[str, Any]) -> None:
            await anyio.sleep(0)
            log.append(params["progress"])
            if params["progress"] == 1:
                peer.notify("notifications/progress", {"progressToken": 1, "progress": 2})
                peer.answer(1, result={})

        for progress in range(2):
            peer.notify("notifications/progress", {"progressToken": 1, "progress": progress})
        await peer.ask(on_progress=report)
        log.append("result")
        peer.notify("notifications/progress", {"progressToken": 1, "progress": 9})
        await anyio.wait_all_tasks_blocked()
    assert log == [0, 1, 2, "result"]
    assert peer.noticed == []


async def test_progress_that_nobody_asked_for_is_passed_over() -> None:
    async with connected() as peer:
        for params in (None, {}, {"progressToken": 2}, {"progressToken": [1]}, {"progressToken": 1}):
            peer.notify("notifications/progress", params)
        peer.answer(1, result={})
        assert await peer.ask() == {}


async def test_notifications_reach_the_sink_one_at_a_time_in_order() -> None:
    async with connected() as peer:
        peer.may_notice = anyio.Event()
        peer.notify("a", {"x": 1})
        await peer.noticing.wait()
        peer.notify("b")
        peer.answer(1, result={})
        assert await peer.ask() == {}
        assert peer.noticed == []
        peer.may_notice.set()
        await anyio.wait_all_tasks_blocked()
        peer.notify("c")
        await anyio.wait_all_tasks_blocked()
    assert peer.noticed == [("a", {"x": 1}), ("b", None), ("c", None)]


async def test_notifications_that_pile_up_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as peer:
        peer.may_notice = anyio.Event()
        peer.notify("first")
        await peer.noticing.wait()
        frame = b'{"jsonrpc":"2.0","method":"more"}'
        peer.link.arrive(*[frame] * (MAX_WAITING_NOTIFICATIONS + 1))
        await anyio.wait_all_tasks_blocked()
        peer.may_notice.set()
        await anyio.wait_all_tasks_blocked()
    assert len(peer.noticed) == 1 + MAX_WAITING_NOTIFICATIONS
    assert f"dropped more: {MAX_WAITING_NOTIFICATIONS} notifications wait for a callback" in caplog.text


async def test_a_notification_is_sent_and_waits_while_the_server_is_behind() -> None:
    async with connected() as peer:
        await peer.requester.notify("acme/event", {"a": 1})
        assert peer.link.sent == [{"jsonrpc": "2.0", "method": "acme/event", "params": {"a": 1}}]
        assert peer.link.drains == 1


# The end.


async def test_when_the_link_ends_every_pending_request_fails() -> None:
    async with connected() as peer, anyio.create_task_group() as group:
        for id in (1, 2):
            group.start_soon(fails_with, ConnectionClosedError, peer, id)
        await anyio.wait_all_tasks_blocked()
        peer.link.end()


async def test_after_the_end_every_call_says_so_and_sends_nothing() -> None:
    async with connected() as peer:
        await peer.requester.aclose()
        assert (await fails_with(ConnectionClosedError, peer)).message == "Connection closed"
        with pytest.raises(ConnectionClosedError):
            await peer.requester.notify("acme/event", None)
        assert peer.link.sent == []


async def test_what_is_known_of_the_end_is_told() -> None:
    class ProcessLink(ScriptedLink):
        async def closed_reason(self) -> TransportError:
            return ProcessExitedError("server.py", 2, "no such file")

    async with connected(ProcessLink()) as peer:
        peer.link.end()
        error = await fails_with(ProcessExitedError, peer)
    assert "exited with code 2" in error.message


async def test_a_link_that_closed_meanwhile_is_a_closed_connection() -> None:
    async with connected() as peer:
        peer.link.closed = True
        await fails_with(ConnectionClosedError, peer)


async def test_a_server_that_no_longer_reads_may_still_answer() -> None:
    async with connected() as peer:
        peer.link.reads = False
        peer.answer(1, result={"last": "words"})
        assert await peer.ask() == {"last": "words"}
