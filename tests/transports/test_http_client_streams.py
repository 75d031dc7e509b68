"""The pair of streams that the transport yields, used message by message."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from held_port import held_port
from scripted_http_server import MODERN, Posted, Reply, serve

from mcp.client.streamable_http import http_connection_of, streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types.jsonrpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

pytestmark = pytest.mark.anyio


def call(id: int | str, method: str = "tools/call", **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=id, method=method, params={**MODERN, **params}))


def note(method: str, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method, params=params))


async def next_message(read: Any) -> Any:
    with anyio.fail_after(5):
        item = await read.receive()
    assert isinstance(item, SessionMessage)
    return item.message


async def test_an_answer_comes_back_as_a_message() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {"a": 1})

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        metadata = ClientMessageMetadata(headers={"Mcp-Param-Region": "eu"})
        await write.send(SessionMessage(call("x", name="add").message, metadata))
        assert await next_message(read) == JSONRPCResponse(jsonrpc="2.0", id="x", result={"a": 1})
    headers = server.posted[0].headers
    assert (headers["mcp-param-region"], headers["mcp-name"]) == ("eu", "add")


async def test_notifications_come_before_the_answer_they_belong_to() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        for step in range(3):
            params = {"progressToken": 1, "progress": step}
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await reply.event({"jsonrpc": "2.0", "id": 1, "result": {}})
        await reply.end()

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        await write.send(call(1))
        for step in range(3):
            message = await next_message(read)
            assert isinstance(message, JSONRPCNotification)
            assert message.params == {"progressToken": 1, "progress": step}
        assert isinstance(await next_message(read), JSONRPCResponse)


async def test_an_error_answer_comes_back_as_a_message() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        error = {"code": -32602, "message": "no", "data": [1]}
        await reply.json({"jsonrpc": "2.0", "id": 1, "error": error}, "400 Bad Request")

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        await write.send(call(1))
        message = await next_message(read)
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code, message.error.message, message.error.data) == (1, -32602, "no", [1])


async def test_a_connection_that_fails_answers_the_request_with_an_error() -> None:
    with held_port() as port:
        async with streamable_http_client(f"http://127.0.0.1:{port}/mcp") as (read, write):
            await write.send(call(1))
            message = await next_message(read)
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code) == (1, CONNECTION_CLOSED)
    assert message.error.message == f"Cannot connect to http://127.0.0.1:{port}: Connection refused"


async def test_a_message_that_cannot_be_sent_is_answered_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async with streamable_http_client("http://127.0.0.1:1/mcp") as (read, write):
        await write.send(call(1, name="\ud800"))
        message = await next_message(read)
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code) == (1, INTERNAL_ERROR)
    assert "could not be sent" in caplog.text


async def test_requests_run_at_the_same_time() -> None:
    arrived: list[int] = []
    both = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        arrived.append(request.message["id"])
        if len(arrived) == 2:
            both.set()
        await both.wait()
        await reply.result(request, {})

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        await write.send(call(1))
        await write.send(call(2))
        assert {(await next_message(read)).id, (await next_message(read)).id} == {1, 2}


async def test_a_cancellation_ends_the_post_and_is_not_posted() -> None:
    arrived = anyio.Event()
    gone = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        if request.message["method"] == "ping":
            await reply.result(request, {})
            return
        arrived.set()
        await reply.disconnected()
        gone.set()

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        await write.send(call(1))
        with anyio.fail_after(5):
            await arrived.wait()
            await write.send(note("notifications/cancelled", requestId=99))
            await write.send(note("notifications/cancelled", requestId={}))
            await write.send(note("notifications/cancelled", requestId=1))
            await gone.wait()
        await write.send(call(2, "ping"))
        assert (await next_message(read)).id == 2
    assert [posted.message["method"] for posted in server.posted] == ["tools/call", "ping"]


async def test_a_notification_is_posted(caplog: pytest.LogCaptureFixture) -> None:
    arrived = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        if request.message["method"] == "notifications/refused":
            await reply.send("400 Bad Request", b"no", "text/plain")
            return
        await reply.send("202 Accepted")
        arrived.set()

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        with caplog.at_level(logging.WARNING), anyio.fail_after(5):
            await write.send(note("notifications/refused"))
            await write.aclose()
            with pytest.raises(anyio.EndOfStream):
                await read.receive()
    assert "'notifications/refused' was not taken: HTTP 400 Bad Request" in caplog.text

    async with serve(handler) as server, streamable_http_client(server.url) as (_, write):
        await write.send(note("notifications/x", a=1))
        with anyio.fail_after(5):
            await arrived.wait()
    assert server.posted[0].message["params"] == {"a": 1}


async def test_an_answer_to_the_server_is_dropped_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    async with streamable_http_client("http://127.0.0.1:1/mcp") as (_, write):
        await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={})))
    assert "dropped an answer to the server" in caplog.text


async def test_a_closed_write_stream_ends_the_reading_once_everything_is_answered() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {})

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        async with write:
            await write.send(call(1))
            await write.send(call(2))
        with pytest.raises(anyio.ClosedResourceError):
            await write.send(call(3))
        with anyio.fail_after(5):
            async with read:
                assert len([item async for item in read]) == 2
        with pytest.raises(anyio.ClosedResourceError):
            await read.receive()


async def test_leaving_the_transport_ends_what_is_posted() -> None:
    arrived = anyio.Event()
    gone = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        arrived.set()
        await reply.disconnected()
        gone.set()

    async with serve(handler) as server:
        with anyio.fail_after(5):
            async with streamable_http_client(server.url) as (_, write):
                await write.send(call(1))
                await arrived.wait()
            await gone.wait()


async def test_a_reader_that_has_gone_does_not_stop_the_writer() -> None:
    answered = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {})
        if request.message["id"] == 2:
            answered.set()

    async with serve(handler) as server, streamable_http_client(server.url) as (read, write):
        await read.aclose()
        await write.send(call(1))
        await write.send(call(2))
        with anyio.fail_after(5):
            await answered.wait()


@asynccontextmanager
async def pair() -> AsyncGenerator[Any, None]:
    async with streamable_http_client("http://127.0.0.1:1/mcp") as streams:
        yield streams


async def test_the_connection_is_found_under_its_own_pair_only() -> None:
    async with pair() as (read, write), pair() as (other_read, other_write):
        assert http_connection_of(read, write) is read.connection
        assert http_connection_of(read, other_write) is None
        assert http_connection_of(other_read, write) is None
        assert http_connection_of(read, object()) is None
        assert http_connection_of(object(), write) is None
