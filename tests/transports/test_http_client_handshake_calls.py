"""Calls of a client of a handshake revision over HTTP: answers, progress, time limits, cancellation."""

import logging

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply, serve

from mcp import ClientSession, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, RequestTimeoutError

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
