"""`StreamableHTTPServerTransport`: one session over HTTP whose messages a program moves itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from asgi_driver import Context
from handshake_driver import (
    Gate,
    Peer,
    Store,
    answering,
    body,
    doing,
    http_request,
    initialize,
    joined,
    messages_of,
    server_that,
)
from starlette.requests import Request

from mcp.server import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport, check_accept_headers
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio

ID = "session-1"


@asynccontextmanager
async def run(server: Server[Any], transport: StreamableHTTPServerTransport) -> AsyncGenerator[Any, None]:
    """Serves the session of a transport by `Server.run`; yields what handles its HTTP requests."""
    async with anyio.create_task_group() as group:
        started = anyio.Event()

        async def serve() -> None:
            async with transport.connect() as (read, write):
                started.set()
                await server.run(read, write, server.create_initialization_options())

        group.start_soon(serve)
        await started.wait()
        yield transport.handle_request
        await transport.terminate()


# Served by `Server.run`.


async def test_a_server_runs_over_it() -> None:
    transport = StreamableHTTPServerTransport(ID)
    async with run(server_that(), transport) as app:
        peer = await joined(app)
        assert peer.session == ID
        assert (await peer.post(doing())).json["result"] == {"done": True}
        assert (await peer.send("DELETE")).status == 200
        assert transport.is_terminated
        gone = (404, -32600, "Not Found: Session has been terminated")
        assert (await peer.post(doing())).error == gone


async def test_handlers_see_the_http_request_and_write_to_its_stream() -> None:
    async def work(ctx: Context) -> dict[str, Any]:
        await ctx.session.report_progress(1)
        return {"seen": http_request(ctx).headers["x-acme"]}

    async with run(server_that(work), StreamableHTTPServerTransport(ID)) as app:
        peer = await joined(app)
        answer = await peer.post(doing(), x_acme="yes")
    report, result = messages_of(answer)
    assert report["method"] == "notifications/progress"
    assert result["result"] == {"seen": "yes"}


async def test_questions_and_changes_find_their_streams() -> None:
    async def work(ctx: Context) -> dict[str, Any]:
        await ctx.session.send_ping()
        await ctx.session.send_tool_list_changed()
        return {"done": True}

    async with run(server_that(work), StreamableHTTPServerTransport(ID)) as app:
        peer = await joined(app)
        async with peer.getting() as stream, peer.posting(doing()) as post:
            await peer.post(answering(await post.message(), {}))
            assert [message["id"] for message in await post.rest()] == [1]
            assert (await stream.message())["method"] == "notifications/tools/list_changed"


async def test_a_cancelled_request_ends_with_an_error() -> None:
    gate = Gate()
    async with run(server_that(gate), StreamableHTTPServerTransport(ID)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await gate.started.wait()
            await peer.post(body("notifications/cancelled", {"requestId": 1}, id=None))
            await post.call.finished()
    assert post.call.answer.error == (200, -32800, "Request cancelled")


async def test_json_only_drops_notifications_and_cannot_ask() -> None:
    async def work(ctx: Context) -> dict[str, Any]:
        await ctx.session.report_progress(1)
        return {"can_ask": ctx.session.can_send_request}

    async with run(server_that(work), StreamableHTTPServerTransport(ID, is_json_response_enabled=True)) as app:
        peer = await joined(app, accept="application/json")
        assert (await peer.post(doing())).json["result"] == {"can_ask": False}


async def test_streams_are_closed_and_resumed() -> None:
    gate = Gate()
    transport = StreamableHTTPServerTransport(ID, event_store=Store(), retry_interval=5)
    async with run(server_that(gate), transport) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            assert first["retry"] == "5"
            await gate.started.wait()
            transport.close_sse_stream(99)
            transport.close_sse_stream(1)
            assert await post.rest() == []
        async with peer.getting(last_event_id=first["id"]) as stream:
            gate.may_go_on.set()
            assert [message.get("id") for message in await stream.rest()] == [None, 1]
        async with peer.getting() as standalone:
            transport.close_standalone_sse_stream()
            assert await standalone.rest() == []


async def test_without_an_event_store_only_the_standalone_stream_can_be_closed() -> None:
    gate = Gate()
    transport = StreamableHTTPServerTransport(ID)
    transport.close_sse_stream(1)
    transport.close_standalone_sse_stream()
    async with run(server_that(gate), transport) as app:
        peer = await joined(app)
        async with peer.getting() as standalone, peer.posting(doing()) as post:
            await gate.started.wait()
            transport.close_sse_stream(1)
            transport.close_standalone_sse_stream()
            assert await standalone.rest() == []
            gate.may_go_on.set()
            assert [message.get("id") for message in await post.rest()] == [None, 1]


async def test_handlers_can_close_streams_too() -> None:
    async def work(ctx: Context) -> dict[str, Any]:
        assert ctx.close_sse_stream is not None
        await ctx.close_sse_stream()
        return {"done": True}

    async with run(server_that(work), StreamableHTTPServerTransport(ID, event_store=Store())) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            assert await post.rest() == []
        async with peer.getting(last_event_id=first["id"]) as stream:
            assert [message["id"] for message in await stream.rest()] == [1]


# Moved by hand.


async def test_messages_are_moved_by_hand() -> None:
    transport = StreamableHTTPServerTransport(None)
    async with transport.connect() as (read, write):
        peer = Peer(transport.handle_request)
        async with peer.posting(doing("abc")) as post:
            got = await read.receive()
            assert isinstance(got, SessionMessage)
            assert isinstance(got.message, JSONRPCRequest)
            metadata = got.metadata
            assert isinstance(metadata, ServerMessageMetadata)
            assert isinstance(metadata.request_context, Request)
            assert (metadata.can_send_request, metadata.close_sse_stream) == (True, None)
            note = JSONRPCNotification(jsonrpc="2.0", method="acme/note")
            await write.send(SessionMessage(note, ServerMessageMetadata(related_request_id="abc")))
            await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="abc", result={"by": "hand"})))
            assert await post.rest() == [
                {"jsonrpc": "2.0", "method": "acme/note"},
                {"jsonrpc": "2.0", "id": "abc", "result": {"by": "hand"}},
            ]
        async with peer.getting() as stream:
            await write.send(SessionMessage(note))
            assert await stream.message() == {"jsonrpc": "2.0", "method": "acme/note"}


async def test_a_request_that_will_not_be_answered_can_be_given_up() -> None:
    transport = StreamableHTTPServerTransport(None)
    async with transport.connect() as (read, _), Peer(transport.handle_request).posting(doing()) as post:
        got = await read.receive()
        assert isinstance(got, SessionMessage)
        assert isinstance(got.metadata, ServerMessageMetadata)
        assert got.metadata.on_request_unanswered is not None
        await got.metadata.on_request_unanswered()
        await post.call.finished()
    assert post.call.answer.error[:2] == (200, -32800)


async def test_a_broken_answer_comes_as_an_exception() -> None:
    transport = StreamableHTTPServerTransport(None)
    async with transport.connect() as (read, _):
        answer = await Peer(transport.handle_request).post(b'{"jsonrpc":"2.0","id":1,"result":5}')
        assert isinstance(await read.receive(), Exception)
    assert answer.status == 400


async def test_a_request_that_nobody_reads_any_more_is_answered_with_an_error() -> None:
    transport = StreamableHTTPServerTransport(None)
    async with transport.connect() as (read, _):
        await read.aclose()
        answer = await Peer(transport.handle_request).post(doing())
    assert answer.error[:2] == (200, -32000)


async def test_a_write_stream_that_was_closed_takes_nothing() -> None:
    transport = StreamableHTTPServerTransport(None)
    async with transport.connect() as (read, write):
        async with write:
            pass
        with pytest.raises(anyio.ClosedResourceError):
            await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="acme/note")))
        await transport.terminate()
        with pytest.raises(anyio.EndOfStream):
            await read.receive()


# What is refused.


async def test_requests_name_the_session() -> None:
    async with run(server_that(), StreamableHTTPServerTransport(ID)) as app:
        peer = Peer(app)
        assert (await peer.post(doing())).error == (400, -32600, "Bad Request: Missing session ID")
        assert (await peer.post(doing(), mcp_session_id="other")).error == (404, -32600, "Session not found")
        assert (await peer.send("GET")).status == 400
        assert (await peer.send("DELETE", mcp_session_id="other")).status == 404
        assert (await peer.send("PUT")).status == 405
        assert (await peer.post(b"{")).status == 400


async def test_other_requests_are_refused() -> None:
    async with run(server_that(), StreamableHTTPServerTransport(None)) as app:
        peer = Peer(app)
        assert (await peer.send("DELETE")).status == 405
        assert (await peer.post(initialize(), mcp_protocol_version="2026-07-28")).error[:2] == (400, -32600)
        assert (await peer.post(initialize(), accept="text/html")).status == 406
        assert (await peer.post(b"[" + doing() + b"]")).status == 400


async def test_it_is_connected_first() -> None:
    with pytest.raises(RuntimeError, match="connect"):
        await Peer(StreamableHTTPServerTransport(None).handle_request).post(doing())


@pytest.mark.parametrize("id", ["", "a b", "é", "a\n"])
def test_a_session_id_is_visible_ascii(id: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        StreamableHTTPServerTransport(id)


async def test_the_idle_scope_ends_what_it_is_round_once_nothing_is_open() -> None:
    gate = Gate()
    transport = StreamableHTTPServerTransport(ID, idle_timeout=0.05)
    async with anyio.create_task_group() as group:
        started, ended = anyio.Event(), anyio.Event()

        async def serve() -> None:
            server = server_that(gate)
            async with transport.connect() as (read, write):
                with anyio.CancelScope() as transport.idle_scope:
                    started.set()
                    await server.run(read, write, server.create_initialization_options())
            ended.set()

        group.start_soon(serve)
        await started.wait()
        peer = await joined(transport.handle_request)
        async with peer.posting(doing()) as post:
            await gate.started.wait()
            assert transport.idle_scope is not None
            assert transport.idle_scope.deadline == float("inf")
            gate.may_go_on.set()
            await post.rest()
        await ended.wait()


def test_what_a_request_accepts() -> None:
    def request(*accept: bytes) -> Request:
        return Request({"type": "http", "headers": [(b"accept", value) for value in accept]})

    assert check_accept_headers(request(b"application/json")) == (True, False)
    assert check_accept_headers(request(b"text/event-stream")) == (False, True)
    assert check_accept_headers(request(b"application/json", b"text/event-stream")) == (True, True)
    assert check_accept_headers(request()) == (False, False)
