"""How a client comes back to the standalone stream, which may end at any time."""

import itertools

import anyio
import pytest
from scripted_handshake_server import TOOLS_CHANGED, Ear, Script, connected, text, updated, uris
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import Client
from mcp.client._http_resumption import reconnection_delay
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.anyio


def test_b33_streams_that_bring_nothing_are_asked_for_ever_less_often() -> None:
    """A server that ends idle streams cleanly was asked once a second, for ever."""
    delays = [reconnection_delay(None, fruitless) for fruitless in range(10)]
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    # The first GET at once, then after 1, 3 and 7 seconds: four in eight seconds.


def test_b33_a_delay_that_the_server_asks_for_is_kept() -> None:
    assert [reconnection_delay(3000, fruitless) for fruitless in range(4)] == [3, 3, 3, 3]
    assert [reconnection_delay(500, fruitless) for fruitless in range(6)] == [0.5, 0.5, 0.5, 0.8, 1, 1]


def test_b33_a_delay_of_nothing_is_a_tenth_of_a_second_at_least() -> None:
    """A server that named no time at all was asked a thousand times a second."""
    assert [reconnection_delay(0, fruitless) for fruitless in range(6)] == [0.1, 0.2, 0.4, 0.8, 1, 1]
    assert reconnection_delay(0, 100_000) == 1


@pytest.mark.parametrize("message", [b"", b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'])
async def test_b33_a_server_that_names_no_time_is_not_hammered(message: bytes) -> None:
    """Neither where each stream brings something."""
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"id: %d\r\nretry: 0\r\ndata: %b\r\n\r\n" % (script.asked["GET"], message))
        await reply.end()

    async with connected(script):
        await anyio.sleep(1)
    assert 3 <= script.asked["GET"] <= 11


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
    assert all(1.2 <= later - sooner < 5 for sooner, later in itertools.pairwise(times))


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


@pytest.mark.parametrize("status", ["503 Service Unavailable", "429 Too Many Requests", "409 Conflict"])
@pytest.mark.parametrize("body", [b"", b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "wait"}}'])
async def test_a_server_that_is_busy_is_asked_again(status: str, body: bytes) -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if script.asked["GET"] == 1:
            await reply.send(status, body, "application/json")
        else:
            await reply.open_events()
            await reply.event(TOOLS_CHANGED)
            await reply.disconnected()

    async with connected(script, message_handler=ear):
        await ear.until(1)


async def test_a_stream_that_the_server_believes_to_be_open_is_asked_for_until_it_knows_better() -> None:
    script = Script()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if script.asked["GET"] == 2:
            await reply.send("409 Conflict")
            return
        await reply.open_events()
        await reply.chunk(b"retry: 1\r\n\r\n")
        await reply.event(TOOLS_CHANGED)
        await (reply.hang_up() if script.asked["GET"] == 1 else reply.disconnected())

    async with connected(script, message_handler=ear):
        await ear.until(2)
    assert script.asked["GET"] == 3


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
