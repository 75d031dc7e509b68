"""The endpoint behind a real HTTP server: streams, sizes, and clients that behave badly, on real sockets."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from asgi_driver import Context, headers, message
from uvicorn_server import everything, exchange, listening, request_bytes, sending

from mcp import Client, types
from mcp.server import Server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """uvicorn runs on asyncio alone."""
    return "asyncio"


class Params(types.RequestParams):
    reports: int = 0
    wait: bool = False


class House:
    """A server that reports, waits, and says when it was cancelled."""

    def __init__(self) -> None:
        self.server = Server("srv")
        self.server.add_request_handler("acme/do", Params, self._handler)
        self.running = 0
        self.cancelled = 0
        self.started = anyio.Event()
        self.idle = anyio.Event()
        self.go_on = anyio.Event()

    async def _handler(self, ctx: Context, params: Params) -> dict[str, Any]:
        self.running += 1
        self.started.set()
        try:
            for number in range(params.reports):
                await ctx.session.report_progress(number)
            if params.wait:
                await self.go_on.wait()
            return {"done": True}
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
            if not self.running:
                self.idle.set()


@asynccontextmanager
async def house(**options: Any) -> AsyncGenerator[tuple[House, int], None]:
    built = House()
    async with listening(built.server.streamable_http_app(**options)) as port:
        yield built, port


def do(port: int, **params: Any) -> bytes:
    return request_bytes(headers("acme/do"), message("acme/do", params, meta={"progressToken": "tok"}), port)


async def until(stream: SocketStream, end: bytes) -> bytes:
    """What arrives up to `end`."""
    data = b""
    while end not in data:
        data += await stream.receive()
    return data


# Answers.


async def test_a_plain_answer_has_a_length_and_no_session() -> None:
    async with house() as (_, port):
        status, answered, body = await exchange(do(port), port)
    assert (status, answered["content-type"], answered["content-length"]) == (200, "application/json", str(len(body)))
    assert json.loads(body)["result"]["done"] is True
    assert "mcp-session-id" not in answered


async def test_a_stream_arrives_event_by_event_and_is_not_to_be_buffered() -> None:
    async with house() as (built, port), sending(do(port, reports=2, wait=True), port) as stream:
        head, _, first = (await until(stream, b'"progress":1}}\r\n\r\n')).partition(b"\r\n\r\n")
        answered = head.lower().split(b"\r\n")
        assert b"content-type: text/event-stream" in answered
        assert b"cache-control: no-cache, no-transform" in answered
        assert b"x-accel-buffering: no" in answered
        assert b"transfer-encoding: chunked" in answered
        assert first.count(b"event: message\r\ndata: ") == 2
        built.go_on.set()
        rest = await everything(stream)
    assert rest.count(b"event: message\r\n") == 1
    assert b'"done":true' in rest
    assert rest.endswith(b"0\r\n\r\n")


async def test_many_requests_are_answered_at_once() -> None:
    answers: list[int] = []
    async with house() as (built, port), anyio.create_task_group() as group:

        async def one() -> None:
            status, _, _ = await exchange(do(port, wait=True), port)
            answers.append(status)
            if len(answers) == 50:
                assert built.running == 0

        for _ in range(50):
            group.start_soon(one)
        while built.running < 50:
            await anyio.sleep(0)
        built.go_on.set()
    assert answers == [200] * 50


async def test_our_own_client_is_served() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1, 2, "half")
        return types.CallToolResult(content=[types.TextContent(text=params.name)])

    reports: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    server = Server("srv", on_call_tool=call_tool)
    async with (
        listening(server.streamable_http_app()) as port,
        Client(f"http://127.0.0.1:{port}/mcp") as client,
    ):
        result = await client.session.call_tool("t", progress_callback=report)
        assert isinstance(result, types.CallToolResult)
        assert result.content == [types.TextContent(text="t")]
    assert reports == [(1, 2, "half")]


# Bad behaviour.


@pytest.fixture
def errors(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.WARNING)
    return caplog.records


@pytest.mark.parametrize("json_response", [True, False])
async def test_a_socket_that_closes_cancels_its_handler(json_response: bool, errors: list[Any]) -> None:
    async with house(json_response=json_response) as (built, port):
        async with sending(do(port, wait=True), port):
            await built.started.wait()
        await built.idle.wait()
        assert built.cancelled == 1
    assert errors == []


async def test_a_socket_that_closes_on_a_stream_cancels_its_handler(errors: list[Any]) -> None:
    async with house() as (built, port):
        async with sending(do(port, reports=1, wait=True), port) as stream:
            await until(stream, b"notifications/progress")
        await built.idle.wait()
        assert built.cancelled == 1
    assert errors == []


@pytest.mark.parametrize("wait", [True, False])
async def test_a_hundred_sockets_that_close_at_once_leave_a_server_that_answers(wait: bool, errors: list[Any]) -> None:
    async with house() as (built, port):
        for _ in range(100):
            async with sending(do(port, reports=1, wait=wait), port):
                pass
        await built.started.wait()
        while built.running:
            await anyio.sleep(0)
        assert (await exchange(do(port), port))[0] == 200
    assert errors == []


async def test_a_socket_that_closes_in_mid_body_is_forgotten(errors: list[Any]) -> None:
    async with house() as (built, port):
        async with sending(do(port)[:-10], port):
            pass
        assert (await exchange(do(port), port))[0] == 200
        assert not built.cancelled
    assert errors == []


async def test_a_reader_that_is_slow_holds_up_nobody_else() -> None:
    async with house() as (built, port), sending(do(port, reports=200_000), port):
        await built.started.wait()
        assert (await exchange(do(port), port))[0] == 200
    assert built.cancelled == 1


async def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    pairs = [*headers("acme/do"), (b"content-length", b"5000000")]
    async with house() as (_, port):
        status, _, body = await exchange(request_bytes(pairs, b"", port), port)
    assert (status, body) == (413, b"Request body too large: the limit is 4194304 bytes (max_request_body_size)")


async def test_a_body_of_four_mebibytes_is_taken_and_one_byte_more_is_not() -> None:
    limit = 4 * 1024 * 1024
    body = message("acme/do") + b" " * (limit - len(message("acme/do")))
    async with house() as (_, port):
        assert (await exchange(request_bytes(headers("acme/do"), body, port), port))[0] == 200
        # A connection that stays open takes the rest of the body, so that the answer is not lost in a reset.
        data = request_bytes(headers("acme/do"), body + b" ", port).replace(b"connection: close\r\n", b"")
        async with sending(data, port) as stream:
            assert (await until(stream, b"4194304 bytes")).startswith(b"HTTP/1.1 413 ")


async def test_a_foreign_host_is_not_let_in() -> None:
    async with house() as (_, port):
        data = do(port).replace(b"host: 127.0.0.1:%d" % port, b"host: evil.example")
        status, _, body = await exchange(data, port)
    assert (status, body.startswith(b"Invalid Host header")) == (421, True)
