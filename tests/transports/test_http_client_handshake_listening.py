"""A client that does nothing but listen, and its session is forgotten: it has to find out by itself."""

import logging
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Answer, Ear, Script, connected, said_by, text, updated, uris
from scripted_http_server import Posted, Reply, serve

from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import SessionExpiredError
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio

GONE = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}


class Forgetful(Script):
    """Says the session's name on its stream, ends the stream, and knows the session no more when the client comes back.

    Args:
        lost: How many sessions are forgotten.
        body: What the 404 says.
        after: A method that has to be asked for before the first stream ends.
    """

    def __init__(self, lost: int = 1, body: Any = None, after: str = "initialize") -> None:
        super().__init__()
        self._after = after
        self._lost = [f"session-{number + 1}" for number in range(lost)]
        self._body = body
        self.answers["GET"] = self.stream
        self.answers["tools/call"] = self.call

    def knows(self, request: Posted) -> bool:
        return request.headers["mcp-session-id"] not in self._lost

    async def stream(self, request: Posted, reply: Reply) -> None:
        session = request.headers["mcp-session-id"]
        if self.knows(request):
            await reply.open_events()
            await reply.event(updated(session), id=session)
            await reply.disconnected()
        elif [get.headers["mcp-session-id"] for get in self.received("GET")].count(session) == 1:
            await reply.open_events()
            await reply.chunk(b"retry: 1\r\n\r\n")
            await reply.event(updated(session), id=session)
            await self.until(self._after)
            await reply.end()
        else:
            await self.refuse(reply)

    async def call(self, request: Posted, reply: Reply) -> None:
        if self.knows(request):
            await reply.json(text(request, f"in {request.headers['mcp-session-id']}"))
        else:
            await self.refuse(reply)

    async def refuse(self, reply: Reply) -> None:
        if self._body is None:
            await reply.send("404 Not Found", b"what?", "text/plain")
        else:
            await reply.json(self._body, "404 Not Found")


def down(script: Script, times: int, status: str = "503 Service Unavailable") -> Answer:
    """An answer to `initialize` that refuses all but the first handshake, this many times."""

    async def initialize(request: Posted, reply: Reply) -> None:
        asked = script.asked["initialize"]
        if 1 < asked <= times + 1:
            await reply.send(status)
        else:
            await script.greet(request, reply, "session-1" if asked == 1 else f"session-{asked - times}")

    return initialize


@pytest.mark.parametrize("body", [None, GONE])
async def test_a_client_that_only_listens_goes_on_in_a_new_session(body: Any) -> None:
    script = Forgetful(body=body, after="resources/subscribe")
    ear = Ear()
    async with connected(script, message_handler=ear) as client:
        await client.session.request("logging/setLevel", types.SetLevelRequestParams(level="error"), types.EmptyResult)
        await client.session.request(
            "resources/subscribe", types.SubscribeRequestParams(uri="x://1"), types.EmptyResult
        )
        await ear.until(2)
        await script.until("resources/subscribe", 2)
    assert uris(ear.heard) == ["session-1", "session-2"]
    assert "mcp-session-id" not in script.received("initialize")[1].headers
    assert "last-event-id" not in script.received("GET")[-1].headers
    for name in ("notifications/initialized", "logging/setLevel", "resources/subscribe"):
        assert [request.headers["mcp-session-id"] for request in script.received(name)] == ["session-1", "session-2"]
    assert [request.headers["mcp-session-id"] for request in script.received("DELETE")] == ["session-2"]


@pytest.mark.parametrize("status", ["503 Service Unavailable", None])
async def test_a_server_that_is_down_is_asked_for_a_new_session_until_it_is_back(status: str | None) -> None:
    script = Forgetful()
    ear = Ear()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        if script.asked["initialize"] == 2:
            await (reply.hang_up() if status is None else reply.send(status))
        else:
            await script.greet(request, reply, f"session-{script.asked['initialize']}")

    async with connected(script, message_handler=ear):
        await ear.until(2)
    assert uris(ear.heard) == ["session-1", "session-3"]
    assert script.asked["initialize"] == 3


async def test_calls_and_the_listener_that_notice_together_open_one_session() -> None:
    script = Forgetful()
    ear = Ear()
    said: list[str] = []

    async def call(client: Client) -> None:
        said.append(await said_by(client, "any"))

    async with connected(script, message_handler=ear) as client:
        await ear.until(1)
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(call, client)
        await ear.until(2)
        await client.session.send_ping()
    assert said == ["in session-2"] * 10
    assert uris(ear.heard) == ["session-1", "session-2"]
    assert script.asked["initialize"] == 2


async def test_a_call_that_finds_no_new_session_does_not_leave_the_listener_deaf() -> None:
    script = Forgetful()
    script.answers["initialize"] = down(script, 1)
    ear = Ear()
    async with connected(script, message_handler=ear) as client:
        await ear.until(1)
        with pytest.raises(SessionExpiredError):
            await client.session.call_tool("any")
        await ear.until(2)
    assert uris(ear.heard) == ["session-1", "session-2"]


async def test_an_answer_to_the_server_that_finds_the_session_gone_renews_it() -> None:
    script = Forgetful()
    ear = Ear()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        session = request.headers["mcp-session-id"]
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await reply.event(updated(session))
        await reply.disconnected()

    @script.on("answer")
    async def answer(request: Posted, reply: Reply) -> None:
        await (reply.send("202 Accepted") if script.knows(request) else script.refuse(reply))

    async with connected(script, message_handler=ear):
        await ear.until(2)
    assert uris(ear.heard) == ["session-1", "session-2"]


@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found"])
async def test_a_server_that_refuses_for_good_is_not_asked_again(status: str, caplog: pytest.LogCaptureFixture) -> None:
    script = Forgetful()
    script.answers["initialize"] = down(script, 1000, status)
    async with connected(script):
        await script.until("initialize", 2)
        with anyio.move_on_after(1.5):
            await script.until("initialize", 3)
    assert script.asked["initialize"] == 2
    assert "the session that the server no longer knows cannot be renewed: HTTP" in caplog.text


async def test_sessions_that_are_lost_again_and_again_are_opened_ever_less_often() -> None:
    script = Forgetful(lost=1000)
    async with connected(script):
        await anyio.sleep(2.5)
    assert 3 <= script.asked["initialize"] <= 4


async def test_a_client_that_is_left_meanwhile_opens_no_session() -> None:
    script = Forgetful()
    script.answers["initialize"] = down(script, 1000)
    async with serve(script) as script.server:
        async with Client(script.server.url, mode="legacy"):
            await script.until("initialize", 2)
        count = len(script.server.posted)
        await anyio.sleep(1.2)
        assert len(script.server.posted) == count
    assert script.asked["DELETE"] == 0


async def test_a_new_session_that_is_lost_at_once_keeps_the_subscriptions() -> None:
    script = Forgetful(lost=2, after="resources/subscribe")
    ear = Ear()

    @script.on("resources/subscribe")
    async def subscribe(request: Posted, reply: Reply) -> None:
        if request.headers["mcp-session-id"] == "session-2":
            await script.refuse(reply)
        else:
            await reply.result(request, {})

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if request.headers["mcp-session-id"] == "session-2":
            await reply.disconnected()
        else:
            await script.stream(request, reply)

    async with connected(script, message_handler=ear) as client:
        await client.session.request(
            "resources/subscribe", types.SubscribeRequestParams(uri="x://1"), types.EmptyResult
        )
        await ear.until(2)
    assert uris(ear.heard) == ["session-1", "session-3"]
    sessions = [request.headers["mcp-session-id"] for request in script.received("resources/subscribe")]
    assert sessions == ["session-1", "session-2", "session-3"]


def message(**members: Any) -> SessionMessage:
    return SessionMessage(types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **members}))


async def test_whoever_handles_messages_by_hand_is_told(caplog: pytest.LogCaptureFixture) -> None:
    script = Forgetful()
    async with serve(script) as script.server, streamable_http_client(script.server.url) as (read, write):
        await write.send(message(id=1, method="initialize", params={"protocolVersion": "2025-11-25"}))
        await read.receive()
        await write.send(message(method="notifications/initialized"))
        with caplog.at_level(logging.WARNING):
            await script.until("GET", 2)
            with anyio.move_on_after(0.2):
                await script.until("initialize", 2)
    assert "the server no longer knows the session: nothing more comes on its stream" in caplog.text
    assert script.asked["initialize"] == 1
