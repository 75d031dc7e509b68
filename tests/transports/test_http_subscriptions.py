"""`subscriptions/listen` over HTTP: the response is the stream."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from asgi_driver import Call, Context, calling, headers, message, post, scope_of, serving
from uvicorn_server import listening, request_bytes, sending

from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

LISTEN = "subscriptions/listen"
ID = "io.modelcontextprotocol/subscriptionId"
TOOLS: dict[str, Any] = {"notifications": {"toolsListChanged": True}}


class Board:
    """A server with a bus."""

    def __init__(self, **limits: int) -> None:
        self.bus = InMemorySubscriptionBus()
        self.handler = ListenHandler(self.bus, **limits)
        self.server = Server("board", on_subscriptions_listen=self.handler)


@pytest.fixture
def board() -> Board:
    return Board()


@asynccontextmanager
async def streaming(app: Any, params: dict[str, Any] = TOOLS, id: Any = 1) -> AsyncGenerator[Call, None]:
    """An open stream, acknowledged."""
    async with calling(app, headers(LISTEN), message(LISTEN, params, id)) as call:
        start = await call.next()
        assert start["status"] == 200
        assert (b"content-type", b"text/event-stream") in start["headers"]
        assert (b"x-accel-buffering", b"no") in start["headers"]
        [acknowledged] = events(await call.next())
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        yield call


def events(part: dict[str, Any]) -> list[Any]:
    """The messages in a piece of a stream."""
    *whole, rest = part["body"].split(b"\r\n\r\n")
    assert rest == b""
    assert all(event.startswith(b"event: message\r\ndata: ") for event in whole)
    return [json.loads(event.split(b"data: ", 1)[1]) for event in whole]


def changed(id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {ID: id}}}


async def test_the_response_is_a_stream_that_begins_with_the_acknowledgement(board: Board) -> None:
    params = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["r://a"]}}
    async with (
        serving(board.server) as app,
        calling(app, headers(LISTEN), message(LISTEN, params, "listen-9")) as call,
    ):
        assert (await call.next())["status"] == 200
        assert events(await call.next()) == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": {ID: "listen-9"}, "notifications": params["notifications"]},
            }
        ]
        await board.bus.publish(ResourceUpdated("r://b"))
        await board.bus.publish(ResourceUpdated("r://a"))
        [update] = events(await call.next())
        assert update["params"] == {"_meta": {ID: "listen-9"}, "uri": "r://a"}


@pytest.mark.parametrize("json_response", [True, False])
async def test_the_result_ends_the_response(board: Board, json_response: bool) -> None:
    async with serving(board.server, json_response=json_response) as app, streaming(app) as call:
        await board.bus.publish(ToolsListChanged())
        board.handler.close()
        await call.finished()
        *_, last = call.sent
        assert last["more_body"] is False
        [result] = events(last)
        assert (result["id"], result["result"]["resultType"], result["result"]["_meta"][ID]) == (1, "complete", 1)


async def test_events_that_wait_go_out_together(board: Board) -> None:
    async with serving(board.server) as app, streaming(app) as call:
        for stream in board.handler._streams:
            board.handler._published(ToolsListChanged())
            board.handler._published(ToolsListChanged())
            assert stream.id == 1
        assert events(await call.next()) == [changed(), changed()]


async def test_clients_may_use_the_same_id(board: Board) -> None:
    async with serving(board.server) as app, streaming(app, id="listen-1") as one, streaming(app, id="listen-1") as two:
        await board.bus.publish(ToolsListChanged())
        assert events(await one.next()) == events(await two.next()) == [changed("listen-1")]


async def test_a_client_that_hangs_up_is_forgotten(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(board.server) as app, streaming(app) as call, streaming(app, id=2) as other:
        call.hang_up()
        await call.finished()
        assert [stream.id for stream in board.handler._streams] == [2]
        await board.bus.publish(ToolsListChanged())
        assert events(await other.next()) == [changed(2)]
        other.hang_up()
        await other.finished()
        assert board.bus._listeners == {}
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_connection_that_breaks_under_an_event_disturbs_nobody(board: Board) -> None:
    async with serving(board.server) as app, streaming(app) as broken, streaming(app, id=2) as other:
        broken.broken = True
        for _ in range(3):
            await board.bus.publish(ToolsListChanged())
            assert events(await other.next()) == [changed(2)]
        broken.hang_up()
        await broken.finished()
        assert [stream.id for stream in board.handler._streams] == [2]


async def test_the_end_of_the_application_ends_the_streams_politely(board: Board) -> None:
    app = board.server.streamable_http_app()
    serves, stop = anyio.Event(), anyio.Event()

    async def serve() -> None:
        async with board.server.session_manager.run():
            serves.set()
            await stop.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        await serves.wait()
        async with streaming(app) as call:
            stop.set()
            await call.finished()
            [result] = events(call.sent[-1])
            assert result["result"]["resultType"] == "complete"
            assert call.sent[-1]["more_body"] is False


async def test_a_stream_that_begins_as_the_application_ends_ends_at_once(board: Board) -> None:
    app = board.server.streamable_http_app()
    serves, stop, arrived = anyio.Event(), anyio.Event(), anyio.Event()

    async def late(ctx: Context, call_next: CallNext) -> Any:
        arrived.set()
        await stop.wait()
        await anyio.wait_all_tasks_blocked()
        return await call_next(ctx)

    async def serve() -> None:
        async with board.server.session_manager.run():
            serves.set()
            await stop.wait()

    board.server.middleware.append(late)
    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        await serves.wait()
        async with calling(app, headers(LISTEN), message(LISTEN, TOOLS)) as call:
            await arrived.wait()
            stop.set()
            await call.finished()
            acknowledged, result = events(call.sent[1]) + events(call.sent[2])
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert result["result"]["resultType"] == "complete"


async def test_one_stream_too_many_is_refused() -> None:
    board = Board(max_subscriptions=1)
    async with serving(board.server) as app, streaming(app):
        answer = await post(app, LISTEN, TOOLS)
        assert answer.json["error"] == {"code": -32603, "message": "Subscription limit reached: 1 streams are open"}


async def test_middleware_may_refuse_a_stream(board: Board) -> None:
    async def gate(ctx: Context, call_next: CallNext) -> Any:
        assert ctx.request is not None
        if ctx.request.headers.get("x-user") != "alice":
            raise MCPError(-32600, "not permitted")
        return await call_next(ctx)

    board.server.middleware.append(gate)
    async with serving(board.server) as app:
        assert (await post(app, LISTEN, TOOLS)).json["error"]["message"] == "not permitted"
        async with calling(app, headers(LISTEN, x_user="alice"), message(LISTEN, TOOLS)) as call:
            assert (await call.next())["status"] == 200
            assert events(await call.next())[0]["method"] == "notifications/subscriptions/acknowledged"


async def test_a_quiet_stream_is_kept_alive(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_watch.KEEP_ALIVE_SECONDS", 0.02)
    async with serving(board.server) as app, streaming(app) as one, streaming(app, id=2) as two:
        for call in (one, two, one, two):
            assert (await call.next())["body"] == b":\r\n\r\n"


class Clogged(Call):
    """A client that reads the acknowledgement, and nothing more."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        if len(self.sent) > 2:
            await anyio.sleep_forever()


async def test_a_client_that_does_not_read_delays_nobody_and_is_given_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.server.subscriptions.END_SECONDS", 0.1)
    board = Board(max_buffered_events=5)
    clogged = Clogged([message(LISTEN, TOOLS, "clogged")])
    async with serving(board.server) as app, anyio.create_task_group() as group, streaming(app) as call:
        group.start_soon(app, scope_of(headers(LISTEN), "POST", "/mcp"), clogged.receive, clogged.send)
        while len(clogged.sent) < 2:
            await anyio.sleep(0.01)
        for _ in range(10):
            with anyio.fail_after(5):
                await board.bus.publish(ToolsListChanged())
                assert events(await call.next()) == [changed()]
        assert "'clogged': 5 events wait" in caplog.text
        with anyio.fail_after(5):
            while [stream.id for stream in board.handler._streams] != [1]:
                await anyio.sleep(0.01)
        assert "gave up the subscription stream 'clogged'" in caplog.text
        call.hang_up()
        await call.finished()
        group.cancel_scope.cancel()


async def test_a_client_that_does_not_read_keeps_its_place_until_it_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp.server.subscriptions.END_SECONDS", 0.3)
    board = Board(max_buffered_events=1, max_subscriptions=1)
    clogged = Clogged([message(LISTEN, TOOLS, "clogged")])
    async with serving(board.server) as app, anyio.create_task_group() as group:
        group.start_soon(app, scope_of(headers(LISTEN), "POST", "/mcp"), clogged.receive, clogged.send)
        while len(clogged.sent) < 2:
            await anyio.sleep(0.01)
        for _ in range(4):
            await board.bus.publish(ToolsListChanged())
        assert "Subscription limit reached" in (await post(app, LISTEN, TOOLS)).body.decode()
        with anyio.fail_after(5):
            while board.handler._streams:
                await anyio.sleep(0.01)
        async with streaming(app) as call:
            await board.bus.publish(ToolsListChanged())
            assert events(await call.next()) == [changed()]
            call.hang_up()
            await call.finished()
        group.cancel_scope.cancel()


async def test_the_end_of_a_stream_waits_for_nobody_who_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_exchange.ANSWER_SECONDS", 0.1)
    board = Board()
    clogged = Clogged([message(LISTEN, TOOLS, "clogged")])
    async with serving(board.server) as app:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(app, scope_of(headers(LISTEN), "POST", "/mcp"), clogged.receive, clogged.send)
                while len(clogged.sent) < 2:
                    await anyio.sleep(0.01)
                board.handler.close()


# Real sockets. uvicorn runs on asyncio.


@pytest.fixture
def only_on_asyncio(anyio_backend_name: str) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("uvicorn runs on asyncio")


async def acknowledged(stream: Any) -> None:
    received = b""
    while b"subscriptions/acknowledged" not in received:
        received += await stream.receive()


@pytest.mark.usefixtures("only_on_asyncio")
async def test_nothing_is_left_of_hundreds_of_streams_that_were_dropped(board: Board) -> None:
    async with listening(board.server.streamable_http_app()) as port:
        request = request_bytes(headers(LISTEN), message(LISTEN, TOOLS), port)

        async def listen_and_drop() -> None:
            async with sending(request, port) as stream:
                await acknowledged(stream)

        await listen_and_drop()
        await settled(board)
        before = len(asyncio.all_tasks())
        for _ in range(10):
            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(listen_and_drop)
            await board.bus.publish(ToolsListChanged())
        await settled(board)
        assert board.bus._listeners == {}
        with anyio.fail_after(5):
            while len(asyncio.all_tasks()) > before:
                await anyio.sleep(0.02)


async def settled(board: Board) -> None:
    with anyio.fail_after(5):
        while board.handler._streams:
            await anyio.sleep(0.02)


@pytest.mark.usefixtures("only_on_asyncio")
async def test_two_applications_in_one_process_share_a_bus() -> None:
    one, two = Board(), Board()
    two.handler._bus = one.bus
    async with (
        listening(one.server.streamable_http_app()) as first,
        listening(two.server.streamable_http_app()) as second,
        sending(request_bytes(headers(LISTEN), message(LISTEN, TOOLS, 1), first), first) as hears,
        sending(request_bytes(headers(LISTEN), message(LISTEN, TOOLS, 2), second), second) as hears_too,
    ):
        await acknowledged(hears)
        await acknowledged(hears_too)
        await one.bus.publish(ToolsListChanged())
        for stream in (hears, hears_too):
            with anyio.fail_after(5):
                assert b"notifications/tools/list_changed" in await stream.receive()
        one.handler.close()
        two.handler.close()


@pytest.mark.usefixtures("only_on_asyncio")
async def test_one_publish_reaches_five_hundred_streams(board: Board) -> None:
    async with listening(board.server.streamable_http_app()) as port, AsyncExitStack() as stack:
        request = request_bytes(headers(LISTEN), message(LISTEN, TOOLS), port)
        streams = [await stack.enter_async_context(sending(request, port)) for _ in range(500)]
        for stream in streams:
            await acknowledged(stream)
        await board.bus.publish(ToolsListChanged())
        with anyio.fail_after(10):
            for stream in streams:
                assert b"notifications/tools/list_changed" in await stream.receive()
        board.handler.close()


@pytest.mark.usefixtures("only_on_asyncio")
async def test_the_connection_of_a_client_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.subscriptions.END_SECONDS", 0.2)
    board = Board(max_buffered_events=5)
    uri = "r://" + "x" * 100_000
    params = {"notifications": {"resourceSubscriptions": [uri]}}
    async with (
        listening(board.server.streamable_http_app()) as port,
        sending(request_bytes(headers(LISTEN), message(LISTEN, params), port), port) as stream,
    ):
        await acknowledged(stream)
        for _ in range(200):
            await board.bus.publish(ResourceUpdated(uri))
        await settled(board)
        received = b""
        with anyio.fail_after(5), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                received += await stream.receive()
        assert b'"resultType"' not in received


class Transport:
    """What uvicorn has of a client that has not read everything."""

    def __init__(self, closing: bool) -> None:
        self.is_closing = lambda: closing
        self.get_write_buffer_size = lambda: 100
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.usefixtures("only_on_asyncio")
@pytest.mark.parametrize("closing", [True, False])
async def test_a_connection_that_closes_is_dropped_if_the_end_is_not_read(
    closing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.server.http_exchange.ANSWER_SECONDS", 0.05)
    board = Board()
    async with serving(board.server) as app, streaming(app) as call:
        transport = Transport(closing)
        call.__dict__["transport"] = transport
        board.handler.close()
        assert events(await call.next())[0]["result"]["resultType"] == "complete"
        assert not transport.aborted
        await call.finished()
        await anyio.sleep(0.15)
        assert transport.aborted is closing
