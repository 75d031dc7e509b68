"""A handshake session message by message: on a pair of streams, or with the transport in parts."""

import logging
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, text
from scripted_http_server import Posted, Reply, own_client, serve

from mcp.client.streamable_http import StreamableHTTPTransport, streamable_http_client
from mcp.engine.streams import TransportStreams
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio


async def unanswered(request: Posted, reply: Reply) -> None:
    await reply.open_events()
    await reply.disconnected()


async def shake_hands(streams: TransportStreams) -> JSONRPCResponse:
    """The handshake, message by message."""
    read, write = streams
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    await write.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method="initialize", params=params)))
    answer = await read.receive()
    assert isinstance(answer, SessionMessage)
    await write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")))
    assert isinstance(answer.message, JSONRPCResponse)
    return answer.message


async def received(streams: TransportStreams) -> Any:
    message = await streams[0].receive()
    assert isinstance(message, SessionMessage), message
    return message.message


async def test_streams_carry_everything_that_the_server_says() -> None:
    script = Script("2025-06-18")

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await reply.event({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})
        await reply.disconnected()

    async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
        answer = await shake_hands(streams)
        assert answer.result["protocolVersion"] == "2025-06-18"
        notification, question = await received(streams), await received(streams)
        assert notification == JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")
        assert question == JSONRPCRequest(jsonrpc="2.0", id="q", method="roots/list")
        await streams[1].send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="q", result={"roots": []})))
        await script.until("answer")
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="ping")))
        assert await received(streams) == JSONRPCResponse(jsonrpc="2.0", id=2, result={})
    for name in ("notifications/initialized", "GET", "answer", "ping", "DELETE"):
        (request,) = script.received(name)
        assert request.headers["mcp-session-id"] == "session-1"
        assert request.headers["mcp-protocol-version"] == "2025-06-18"


async def test_a_cancellation_on_streams_is_posted_and_ends_the_call() -> None:
    script = Script(answers={"tools/call": unanswered})
    async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
        await shake_hands(streams)
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call", params={})))
        await script.until("tools/call")
        params = {"requestId": 2, "reason": "no more"}
        cancelled = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)
        await streams[1].send(SessionMessage(cancelled))
        await script.until("notifications/cancelled")
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=3, method="ping")))
        assert await received(streams) == JSONRPCResponse(jsonrpc="2.0", id=3, result={})
    assert [request.message["params"] for request in script.received("notifications/cancelled")] == [params]


async def test_a_session_that_is_gone_is_an_error_on_streams() -> None:
    """Whoever handles messages one by one shakes hands again by himself."""

    async def gone(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found")

    script = Script(answers={"tools/call": gone})
    async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
        await shake_hands(streams)
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call", params={})))
        answer = await received(streams)
        assert isinstance(answer, JSONRPCError)
        assert (answer.id, answer.error.code, answer.error.message) == (2, -32600, "Session terminated")
        await shake_hands(streams)
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=3, method="ping")))
        assert await received(streams) == JSONRPCResponse(jsonrpc="2.0", id=3, result={})
    assert script.received("ping")[0].headers["mcp-session-id"] == "session-2"


async def test_metadata_on_streams_names_headers_and_takes_event_ids() -> None:
    script = Script()
    tokens: list[str] = []

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(text(request, "done"), id="only")
        await reply.end()

    async def note(token: str) -> None:
        tokens.append(token)

    async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
        await shake_hands(streams)
        metadata = ClientMessageMetadata(headers={"X-Tenant": "acme"}, on_resumption_token_update=note)
        request = JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call", params={})
        await streams[1].send(SessionMessage(request, metadata))
        assert isinstance(await received(streams), JSONRPCResponse)
    assert tokens == ["only"]
    assert script.received("tools/call")[0].headers["x-tenant"] == "acme"


async def test_what_the_server_says_to_streams_that_nobody_reads_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await closed.wait()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await script.until("ping")
        await reply.disconnected()

    closed = anyio.Event()
    with caplog.at_level(logging.DEBUG, "mcp.client.streamable_http"):
        async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
            await shake_hands(streams)
            await script.until("GET")
            await streams[0].aclose()
            closed.set()
            await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="ping")))
            await script.until("ping")
    assert "dropped a message from the server: nobody reads any more" in caplog.text


async def test_nothing_overtakes_the_end_of_the_handshake_on_streams() -> None:
    script = Script()
    order: list[str] = []

    @script.on("notifications/initialized")
    async def initialized(request: Posted, reply: Reply) -> None:
        with anyio.move_on_after(0.1):
            await reply.disconnected()
        order.append("initialized")
        await reply.send("202 Accepted")

    @script.on("ping")
    async def ping(request: Posted, reply: Reply) -> None:
        order.append("ping")
        await reply.result(request, {})

    async with serve(script) as script.server, streamable_http_client(script.server.url) as streams:
        await shake_hands(streams)
        await streams[1].send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=2, method="ping")))
        await received(streams)
    assert order == ["initialized", "ping"]


async def test_the_transport_can_be_run_in_parts() -> None:

    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await reply.disconnected()

    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](10)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    async with serve(script) as script.server, own_client() as http_client, anyio.create_task_group() as group:
        transport = StreamableHTTPTransport(script.server.url)
        assert transport.session_id is None
        await transport.handle_get_stream(http_client, to_client)
        await transport.terminate_session(http_client)
        assert script.server.posted == [], "there is no session yet"

        def listen() -> None:
            group.start_soon(transport.handle_get_stream, http_client, to_client)

        group.start_soon(transport.post_writer, http_client, from_client, to_client, to_server, listen, group)
        streams = (from_server, to_server)
        await shake_hands(streams)
        assert transport.session_id == "session-1"
        notification = await received(streams)
        assert notification == JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")
        await transport.terminate_session(http_client)
        assert script.asked["DELETE"] == 1
        assert transport.session_id is None
        to_server.close()
        with pytest.raises(anyio.EndOfStream):
            await from_server.receive()
        group.cancel_scope.cancel()
    from_server.close()
    from_client.close()
