"""The standalone stream of a session, on which a server of a handshake revision says what nobody asked for."""

import logging
from typing import Generic, TypeVar

import anyio
import pytest
from scripted_handshake_server import TOOLS_CHANGED, Ear, Script, connected, said_by, text, updated, uris
from scripted_http_server import Posted, Reply, serve

from mcp import Client, types
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.anyio

T = TypeVar("T")


class Later(Generic[T]):
    """Something that is known later."""

    def __init__(self) -> None:
        self._values: list[T] = []
        self._known = anyio.Event()

    def set(self, value: T) -> None:
        self._values.append(value)
        self._known.set()

    async def get(self) -> T:
        await self._known.wait()
        return self._values[0]


# What comes on it.


async def test_the_stream_is_opened_once_the_handshake_is_done() -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.disconnected()

    async with connected(script):
        await script.until("GET")
    (get_request,) = script.received("GET")
    assert get_request.target == "/mcp"
    assert get_request.headers["accept"] == "text/event-stream"
    assert get_request.headers["mcp-session-id"] == "session-1"
    assert get_request.headers["mcp-protocol-version"] == "2025-11-25"
    assert "last-event-id" not in get_request.headers
    assert [request.method for request in script.server.posted][:3] == ["POST", "POST", "GET"]


async def test_notifications_on_the_stream_arrive_in_order() -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b": hello\r\n\r\n")
        await reply.event(TOOLS_CHANGED)
        for number in range(50):
            await reply.event(updated(f"x://{number}"))
        await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(51)
    assert ear.heard[0] == types.ToolListChangedNotification()
    assert uris(ear.heard[1:]) == [f"x://{number}" for number in range(50)]


async def test_a_handler_that_calls_the_server_holds_nothing_up() -> None:
    script = Script()
    called = anyio.Event()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(TOOLS_CHANGED)
        await script.until("tools/call")
        await reply.event({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await reply.disconnected()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        # The answer waits for one on the stream whose reader the handler must not block.
        await script.until("answer")
        await reply.json(text(request, "refreshed"))

    async def refresh(message: IncomingMessage) -> None:
        assert await said_by(await clients.get(), "any") == "refreshed"
        called.set()

    clients = Later[Client]()
    async with connected(script, message_handler=refresh) as client:
        clients.set(client)
        await called.wait()
    assert script.received("answer")[0].message == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_progress_on_the_stream_reaches_the_call_it_is_about() -> None:
    script = Script()
    reports: list[tuple[float, float | None, str | None]] = []
    reported = anyio.Event()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await script.until("tools/call")
        token = script.received("tools/call")[0].message["params"]["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 1, "total": 2, "message": "half"}
        for wanted in (token, 9):
            said = {**params, "progressToken": wanted}
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": said})
        await reply.disconnected()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reported.wait()
        await reply.json(text(request, "done"))

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))
        reported.set()

    async with connected(script) as client:
        assert await said_by(client, "any", progress_callback=report) == "done"
    assert reports == [(1, 2, "half")]


async def test_what_is_no_message_is_logged_and_the_stream_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"data: nonsense\r\n\r\n")
        await reply.chunk(b"event: other\r\ndata: {}\r\n\r\n")
        await reply.event(TOOLS_CHANGED)
        await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(1)
    assert "skipped an event that is no JSON-RPC message" in caplog.text


async def test_an_event_over_the_limit_ends_the_stream_and_a_new_one_is_opened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        if script.asked["GET"] == 1:
            await reply.chunk(b"retry: 1\r\n\r\n")
            await reply.event(updated("x" * 5000))
        else:
            await reply.event(updated("x"))
        await reply.disconnected()

    async with serve(script) as script.server:
        transport = streamable_http_client(script.server.url, max_sse_event_size=1000)
        async with Client(transport, mode="legacy", message_handler=ear):
            await ear.until(1)
    assert "larger than 1000 bytes" in caplog.text


# Where there is none.


@pytest.mark.parametrize(
    ("status", "complaints"),
    [
        ("405 Method Not Allowed", []),
        *((status, ["no stream"]) for status in ("404 Not Found", "400 Bad Request", "403 Forbidden")),
    ],
)
async def test_b31_a_server_without_the_stream_is_asked_once(
    status: str, complaints: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A 405 was retried silently, and later calls hung."""
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no stream"}}, status)

    @script.on("tools/list")
    async def tools(request: Posted, reply: Reply) -> None:
        await reply.result(request, {"tools": []})

    with caplog.at_level(logging.WARNING):
        async with connected(script) as client:
            await script.until("GET")
            assert (await client.list_tools()).tools == []
            assert (await client.list_tools()).tools == []
    assert script.asked["GET"] == 1
    assert [record.message for record in caplog.records] == [
        f"the server offers no stream for messages of its own: {complaint}" for complaint in complaints
    ]
    assert script.asked["initialize"] == 1


@pytest.mark.parametrize("status", ["405 Method Not Allowed", "404 Not Found"])
@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
async def test_a_server_without_the_stream_is_not_said_to_be_none(
    status: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.send(status, b"nothing to see", kind)

    with caplog.at_level(logging.DEBUG):
        async with connected(script) as client:
            await script.until("GET")
            await client.session.send_ping()
    (record,) = [record for record in caplog.records if "offers no stream" in record.message]
    assert record.levelno == (logging.DEBUG if status.startswith("405") else logging.WARNING)
    assert "path" not in record.message
    assert "URL" not in record.message
    assert "no MCP endpoint" not in record.message


async def test_a_stream_of_another_kind_is_none(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.send("200 OK", b"<html>", "text/html")

    async with connected(script) as client:
        await script.until("GET")
        await client.session.send_ping()
    assert "content of type 'text/html'" in caplog.text
    assert script.asked["GET"] == 1
