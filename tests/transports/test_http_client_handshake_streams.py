"""The standalone stream of a session, on which a server of a handshake revision says what nobody asked for."""

import itertools
import logging
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import Client, types
from mcp.client import IncomingMessage
from mcp.client._http_resumption import reconnection_delay
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.anyio

T = TypeVar("T")

TOOLS_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def updated(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


class Ear:
    """A message handler that can be waited for."""

    def __init__(self) -> None:
        self.heard: list[IncomingMessage] = []
        self._changed = anyio.Event()

    async def __call__(self, message: IncomingMessage) -> None:
        self.heard.append(message)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, count: int) -> None:
        while len(self.heard) < count:
            await self._changed.wait()


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


def uris(messages: Sequence[IncomingMessage]) -> list[str]:
    """Of notifications about resources."""
    return [message.params.uri for message in messages if isinstance(message, types.ResourceUpdatedNotification)]


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


@pytest.mark.parametrize("status", ["405 Method Not Allowed", "404 Not Found", "400 Bad Request", "403 Forbidden"])
async def test_b31_a_server_without_the_stream_is_asked_once(status: str, caplog: pytest.LogCaptureFixture) -> None:
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
        "the server offers no stream for messages of its own: no stream"
    ]
    assert script.asked["initialize"] == 1


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


# Coming back to it.


def test_b33_streams_that_bring_nothing_are_asked_for_ever_less_often() -> None:
    """A server that ends idle streams cleanly was asked once a second, for ever."""
    delays = [reconnection_delay(None, fruitless) for fruitless in range(10)]
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    # The first GET at once, then after 1, 3 and 7 seconds: four in eight seconds.


def test_b33_a_delay_that_the_server_asks_for_is_kept() -> None:
    assert [reconnection_delay(3000, fruitless) for fruitless in range(4)] == [3, 3, 3, 3]
    assert [reconnection_delay(500, fruitless) for fruitless in range(4)] == [0.5, 1, 1, 1]
    assert reconnection_delay(0, 0) == 0
    assert reconnection_delay(0, 1) > 0


async def test_b33_a_server_that_ends_each_stream_at_once_is_not_hammered() -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b": nothing\r\n\r\n")
        await reply.end()

    async with connected(script):
        with anyio.move_on_after(2.5):
            await anyio.sleep_forever()
    assert script.asked["GET"] == 2


async def test_b33_a_stream_is_opened_again_after_the_time_that_the_server_names() -> None:
    script = Script()
    times: list[float] = []

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        times.append(anyio.current_time())
        await reply.open_events()
        await reply.chunk(b"retry: 1200\r\n\r\n")
        await reply.end()

    async with connected(script):
        await script.until("GET", 3)
    assert all(1.2 <= later - sooner < 1.8 for sooner, later in itertools.pairwise(times))


async def test_b34_a_stream_without_event_ids_is_opened_again() -> None:
    """Without event ids a dropped stream was never opened again."""
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        if script.asked["GET"] == 1:
            await reply.hang_up()
        else:
            await reply.event(TOOLS_CHANGED)
            await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(1)
    assert "last-event-id" not in script.received("GET")[1].headers


async def test_b35_the_last_event_id_is_kept_over_streams_that_bring_none() -> None:
    """A resumed stream that dropped again before any event forgot it."""
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        if script.asked["GET"] == 1:
            await reply.chunk(b"retry: 10\r\n\r\n")
            await reply.event(updated("x://1"), id="seven")
            await reply.event(updated("x://2"))
        elif script.asked["GET"] == 4:
            await reply.event(updated("x://3"))
            await reply.disconnected()
        else:
            await reply.chunk(b": nothing\r\n\r\n")
        await reply.hang_up()

    async with connected(script, message_handler=ear):
        await ear.until(3)
    ids = [request.headers.get("last-event-id") for request in script.received("GET")]
    assert ids == [None, "seven", "seven", "seven"]


async def test_an_event_that_carries_nothing_but_an_id_counts_as_the_last() -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        if script.asked["GET"] == 1:
            await reply.chunk(b"id: primed\r\nretry: 10\r\ndata:\r\n\r\n")
        elif script.asked["GET"] == 2:
            await reply.chunk(b"id: later\r\n\r\n")
        else:
            await reply.disconnected()
        await reply.end()

    async with connected(script):
        await script.until("GET", 3)
    ids = [request.headers.get("last-event-id") for request in script.received("GET")]
    assert ids == [None, "primed", "later"]


@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests"])
async def test_a_server_that_is_busy_is_asked_again(status: str) -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if script.asked["GET"] == 1:
            await reply.send(status)
        else:
            await reply.open_events()
            await reply.event(TOOLS_CHANGED)
            await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(1)


async def test_a_new_session_has_a_stream_of_its_own() -> None:
    script = Script()
    left: list[str] = []
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        session = request.headers["mcp-session-id"]
        await reply.open_events()
        await reply.event(updated(session), id="here")
        await reply.disconnected()
        left.append(session)

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        if request.headers["mcp-session-id"] == "session-1":
            await reply.send("404 Not Found")
        else:
            await reply.json(text(request, "done"))

    async with connected(script, message_handler=ear) as client:
        await ear.until(1)
        await client.session.call_tool("any")
        await ear.until(2)
        assert left == ["session-1"]
    assert uris(ear.heard) == ["session-1", "session-2"]
    assert "last-event-id" not in script.received("GET")[1].headers


async def test_a_client_that_is_impatient_with_answers_is_patient_with_the_stream() -> None:
    """The HTTP library's own limit of five seconds would end an idle stream every time."""
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        with anyio.move_on_after(0.5):
            await reply.disconnected()
        await reply.event(TOOLS_CHANGED)
        await reply.disconnected()

    async with serve(script) as script.server, own_client(timeout=0.2) as http_client:
        transport = streamable_http_client(script.server.url, http_client=http_client)
        async with Client(transport, mode="legacy", message_handler=ear):
            await ear.until(1)
    assert script.asked["GET"] == 1


async def test_the_stream_follows_a_redirect_to_the_same_server() -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if request.target == "/mcp":
            await reply.send("302 Found", headers={"location": "/mcp/"})
            return
        await reply.open_events()
        await reply.event(TOOLS_CHANGED)
        await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(1)
    assert script.received("GET")[1].headers["mcp-session-id"] == "session-1"
