"""Calls of a client of a handshake revision over HTTP: answers, progress, time limits, cancellation, raw streams."""

import logging
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import ClientSession, MCPError, types
from mcp.client.streamable_http import StreamableHTTPTransport, streamable_http_client
from mcp.engine.streams import TransportStreams
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, RequestTimeoutError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio


async def unanswered(request: Posted, reply: Reply) -> None:
    await reply.open_events()
    await reply.disconnected()


# Answers.


async def test_progress_comes_before_the_answer_and_other_notifications_go_to_the_handler() -> None:
    script = Script()
    heard: list[object] = []
    reports: list[tuple[float, float | None, str | None]] = []

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        await reply.open_events()
        for step in (1, 2):
            params = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await reply.event(text(request, "done"))
        await reply.end()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def hear(message: object) -> None:
        heard.append(message)

    async with connected(script, message_handler=hear) as client:
        assert await said_by(client, "any", progress_callback=report) == "done"
        assert reports == [(1, 2, "step 1"), (2, 2, "step 2")]
    assert heard == [types.ToolListChangedNotification()]
    params = script.received("tools/call")[0].message["params"]
    assert params["_meta"] == {"progressToken": script.received("tools/call")[0].message["id"]}


async def test_meta_of_the_caller_goes_out_alone() -> None:
    script = Script()
    async with connected(script) as client:
        await client.session.send_ping(meta={"acme/k": 1})
    assert script.received("ping")[0].message["params"] == {"_meta": {"acme/k": 1}}


async def test_log_messages_reach_their_callback() -> None:
    script = Script()
    logged: list[types.LoggingMessageNotificationParams] = []

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        params = {"level": "info", "data": "hello"}
        await reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        await reply.event(text(request, "done"))
        await reply.end()

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params)

    async with connected(script, logging_callback=log) as client:
        await said_by(client, "any")
    assert [(params.level, params.data) for params in logged] == [("info", "hello")]


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_error_is_raised_as_it_came(streamed: bool) -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        error = {"code": -32050, "message": "closed", "data": {"open": "never"}}
        answer = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
        if not streamed:
            await reply.json(answer)
            return
        await reply.open_events()
        await reply.event(answer)
        await reply.end()

    async with connected(script) as client:
        with pytest.raises(MCPError, match=r"^closed$") as raised:
            await client.call_tool("any")
    assert (raised.value.code, raised.value.data) == (-32050, {"open": "never"})


async def test_an_error_status_fails_one_call_and_the_session_goes_on() -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.send("500 Oops", b"stack trace", "text/plain")

    async with connected(script) as client:
        with pytest.raises(HTTPResponseError, match=r"HTTP 500 Oops .* stack trace"):
            await client.call_tool("any")
        await client.session.send_ping()


async def test_a_request_that_is_accepted_without_an_answer_is_an_error() -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.send("202 Accepted")

    async with connected(script) as client:
        with pytest.raises(HTTPResponseError, match="It answers a request, but it has no content type"):
            await client.call_tool("any")


async def test_many_calls_run_at_a_time() -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await script.until("tools/call", 20)
        await reply.json(text(request, request.message["params"]["name"]))

    said: list[str] = []
    async with connected(script) as client, anyio.create_task_group() as group:

        async def one(name: str) -> None:
            said.append(await said_by(client, name))

        for number in range(20):
            group.start_soon(one, str(number))
    assert sorted(said, key=int) == [str(number) for number in range(20)]


# Giving up.


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server() -> None:
    script = Script(answers={"tools/call": unanswered})
    async with connected(script) as client:
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.05s waiting for 'tools/call'"):
            await client.call_tool("any", read_timeout_seconds=0.05)
        await script.until("notifications/cancelled")
        await client.session.send_ping()
    (cancelled,) = script.received("notifications/cancelled")
    id = script.received("tools/call")[0].message["id"]
    reason = "Timed out after 0.05s waiting for 'tools/call'"
    assert cancelled.message["params"] == {"requestId": id, "reason": reason}
    assert cancelled.headers["mcp-session-id"] == "session-1"


async def test_a_call_whose_caller_is_cancelled_is_cancelled_at_the_server() -> None:
    script = Script(answers={"tools/call": unanswered})
    async with connected(script) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "any")
        await script.until("tools/call")
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await script.until("notifications/cancelled")
    (cancelled,) = script.received("notifications/cancelled")
    assert cancelled.message["params"]["reason"] == "the caller was cancelled"


async def test_a_handshake_that_takes_too_long_is_not_cancelled() -> None:
    script = Script(answers={"initialize": unanswered})
    async with (
        serve(script) as script.server,
        streamable_http_client(script.server.url) as streams,
        ClientSession(*streams, read_timeout_seconds=0.05) as session,
    ):
        with pytest.raises(RequestTimeoutError, match="waiting for 'initialize'"):
            await session.initialize()
        await session.send_discover("2026-07-28")
    assert script.asked["notifications/cancelled"] == 0


async def test_a_cancellation_that_the_server_does_not_take_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(request: Posted, reply: Reply) -> None:
        await reply.send("500 Oops")

    script = Script(answers={"tools/call": unanswered, "notifications/cancelled": refuse})
    with caplog.at_level(logging.WARNING):
        async with connected(script) as client:
            with pytest.raises(RequestTimeoutError):
                await client.call_tool("any", read_timeout_seconds=0.01)
            await script.until("notifications/cancelled")
            await client.session.send_ping()
    assert "a message to the server was not taken" in caplog.text


async def test_calls_that_are_pending_when_the_client_is_left_fail() -> None:
    script = Script(answers={"tools/call": unanswered})
    failures: list[Exception] = []

    async with anyio.create_task_group() as group, connected(script) as client:

        async def call() -> None:
            try:
                await client.call_tool("any")
            except MCPError as error:
                failures.append(error)

        group.start_soon(call)
        await script.until("tools/call")
    assert [type(failure) for failure in failures] == [ConnectionClosedError]
    assert script.asked["notifications/cancelled"] == 0


# Messages one by one.


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
