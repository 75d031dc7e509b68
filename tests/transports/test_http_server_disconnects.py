"""Clients that hang up, and answers that take long: what is cancelled, and what is kept alive."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from asgi_driver import Call, Context, calling, headers, message, post, serving

from mcp import types
from mcp.server import Server

pytestmark = pytest.mark.anyio

BODY = message("acme/do", meta={"progressToken": "tok"})


class Waiting:
    """A server whose handler begins, waits until it is cancelled or told to go on, and says which."""

    def __init__(self, begin: Callable[[Context], Awaitable[None]] | None = None) -> None:
        self.server = Server("srv")
        self.server.add_request_handler("acme/do", types.RequestParams, self._handler)
        self._begin = begin
        self.started = anyio.Event()
        self.go_on = anyio.Event()
        self.cancelled = anyio.Event()
        self.seen: list[Context] = []

    async def _handler(self, ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        self.seen.append(ctx)
        if self._begin is not None:
            await self._begin(ctx)
        self.started.set()
        try:
            await self.go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return {"done": True}


async def report(ctx: Context) -> None:
    await ctx.session.report_progress(1)


# Hanging up.


@pytest.mark.parametrize("json_response", [True, False])
async def test_a_client_that_hangs_up_cancels_its_handler(json_response: bool) -> None:
    waiting = Waiting()
    async with (
        serving(waiting.server, json_response=json_response) as app,
        calling(app, headers("acme/do"), BODY) as call,
    ):
        await waiting.started.wait()
        call.hang_up()
        await waiting.cancelled.wait()
        await call.finished()
        assert waiting.seen[0].session._exchange.cancel_requested.is_set()
    assert call.sent == []


async def test_a_client_that_hangs_up_on_a_stream_cancels_its_handler_and_gets_no_more() -> None:
    waiting = Waiting(report)
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await waiting.started.wait()
        call.hang_up()
        await waiting.cancelled.wait()
        await call.finished()
        await report(waiting.seen[0])
    assert [part["type"] for part in call.sent] == ["http.response.start", "http.response.body"]


async def test_hanging_up_is_nothing_to_log_about(caplog: pytest.LogCaptureFixture) -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await waiting.started.wait()
        call.hang_up()
        await call.finished()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_handler_that_does_not_give_up_is_not_heard() -> None:
    async def stubborn(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            ctx.session._exchange.cancel_requested.set()

    waiting = Waiting(stubborn)
    waiting.go_on.set()
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await anyio.wait_all_tasks_blocked()
        call.hang_up()
        await call.finished()
    assert call.sent == []


async def test_only_hanging_up_is_hanging_up() -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await waiting.started.wait()
        await call.trickle(b"more than the body")
        waiting.go_on.set()
        await call.finished()
    assert call.answer.status == 200


async def test_the_server_goes_on_after_a_client_hung_up() -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app:
        async with calling(app, headers("acme/do"), BODY) as call:
            await waiting.started.wait()
            call.hang_up()
            await call.finished()
        waiting.go_on.set()
        assert (await post(app, "acme/do")).status == 200


@pytest.mark.parametrize("begin", [None, report])
async def test_a_connection_that_breaks_under_the_answer_is_a_client_that_hung_up(
    begin: Callable[[Context], Awaitable[None]] | None, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = Waiting(begin)
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await waiting.started.wait()
        call.broken = True
        waiting.go_on.set()
        await call.finished()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_connection_that_breaks_under_a_notification_does_not_disturb_the_handler() -> None:
    reported: list[int] = []

    async def report_twice(ctx: Context) -> None:
        for number in range(2):
            await ctx.session.report_progress(number)
            reported.append(number)

    waiting = Waiting(report_twice)
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        call.broken = True
        await waiting.started.wait()
        waiting.go_on.set()
        await call.finished()
    assert reported == [0, 1]


# Being cancelled by the ASGI server.


async def test_a_server_that_shuts_down_cancels_handlers() -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app:
        with anyio.CancelScope() as scope:
            async with calling(app, headers("acme/do"), BODY):
                await waiting.started.wait()
                scope.cancel()
                await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert waiting.cancelled.is_set()


async def test_a_cancellation_by_the_asgi_server_is_not_swallowed(anyio_backend_name: str) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("trio has no tasks to cancel by hand")
    waiting = Waiting()
    async with serving(waiting.server) as app:
        call = Call([BODY])
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers("acme/do"), "root_path": ""}
        task = asyncio.get_running_loop().create_task(app(scope, call.receive, call.send))
        await waiting.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# Long answers.


@pytest.fixture
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_watch.KEEP_ALIVE_SECONDS", 0.02)


@pytest.mark.usefixtures("short_silence")
@pytest.mark.parametrize("begin", [None, report])
async def test_a_long_silence_is_broken_by_comments(begin: Callable[[Context], Awaitable[None]] | None) -> None:
    waiting = Waiting(begin)
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        start = await call.next()
        assert (b"content-type", b"text/event-stream") in start["headers"]
        if begin is not None:
            assert (await call.next())["body"].startswith(b"event: message")
        for _ in range(2):
            assert (await call.next())["body"] == b":\r\n\r\n"
        waiting.go_on.set()
        await call.finished()
    assert call.answer.status == 200
    assert call.answer.chunks[-1].startswith(b'event: message\r\ndata: {"jsonrpc":"2.0","id":1,"result":')


@pytest.mark.usefixtures("short_silence")
async def test_with_json_response_there_is_only_the_answer() -> None:
    waiting = Waiting()
    async with (
        serving(waiting.server, json_response=True) as app,
        calling(app, headers("acme/do"), BODY) as call,
    ):
        await waiting.started.wait()
        # Long enough for the comment that another mode would have sent.
        await anyio.sleep(0.2)
        waiting.go_on.set()
        await call.finished()
    assert call.answer.headers["content-type"] == "application/json"
    assert len(call.answer.chunks) == 1


@pytest.mark.usefixtures("short_silence")
async def test_a_client_that_hangs_up_on_comments_cancels_its_handler() -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await call.next()
        assert (await call.next())["body"] == b":\r\n\r\n"
        call.hang_up()
        await waiting.cancelled.wait()
        await call.finished()


@pytest.mark.usefixtures("short_silence")
async def test_comments_to_a_broken_connection_are_nothing_to_log_about(caplog: pytest.LogCaptureFixture) -> None:
    waiting = Waiting()
    async with serving(waiting.server) as app, calling(app, headers("acme/do"), BODY) as call:
        await waiting.started.wait()
        call.broken = True
        await anyio.sleep(0.2)
        waiting.go_on.set()
        await call.finished()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
