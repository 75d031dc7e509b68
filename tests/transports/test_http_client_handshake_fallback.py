"""How a client finds out over HTTP that its server is an old one, and what it falls back to.

Specification: basic/transports/streamable-http under "Backward Compatibility" (2026-07-28); basic/transports under
"Backwards Compatibility" (2025-11-25).
"""

import json
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script
from scripted_http_server import Posted, Reply, serve
from scripted_sse_server import ENDPOINT, ScriptedSSE

from mcp import Client, ClientSession, MCPError, types
from mcp.client.client import negotiate_auto
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import HTTPResponseError, TransportError

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"


def error(code: int, message: str = "What?", data: Any = None, id: object = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}}).encode()


def discovers(status: str, body: bytes = b"", kind: str | None = "application/json") -> Script:
    """An old server that answers `server/discover` like this."""
    script = Script()

    @script.on("server/discover")
    async def discover(request: Posted, reply: Reply) -> None:
        await reply.send(status, body, kind if body else None)

    return script


async def settled(script: Script, **options: Any) -> str:
    """The revision that a client and the server settle on."""
    async with serve(script) as script.server, Client(script.server.url, **options) as client:
        await client.session.send_request(types.ListToolsRequest(), types.EmptyResult)
        return client.protocol_version


async def failure_of(script: Script, **options: Any) -> Exception:
    async with serve(script) as script.server:
        with pytest.raises(Exception) as raised:
            async with Client(script.server.url, **options):
                pass
    return raised.value


NOT_MODERN = {
    "400 empty": ("400 Bad Request", b"", None),
    "400 text": ("400 Bad Request", b"Bad Request: Missing session ID", "text/plain"),
    "400 -32600": ("400 Bad Request", error(-32600, id=None), "application/json"),
    "400 -32000": ("400 Bad Request", error(-32000, id="server-error"), "application/json"),
    "404": ("404 Not Found", b"Not Found", "text/plain"),
    "404 session": ("404 Not Found", error(-32001, "Session not found", id=None), "application/json"),
    "405": ("405 Method Not Allowed", b"", None),
    "406": ("406 Not Acceptable", b"", None),
    "415": ("415 Unsupported Media Type", b"", None),
    "500": ("500 Internal Server Error", b"oops", "text/plain"),
    "200 -32601": ("200 OK", error(-32601), "application/json"),
    "200 -32602": ("200 OK", error(-32602), "application/json"),
    "200 -32603": ("200 OK", error(-32603), "application/json"),
    "200 code 0": ("200 OK", error(0), "application/json"),
    "200 html": ("200 OK", b"<html>", "text/html"),
    "200 {}": ("200 OK", b'{"jsonrpc": "2.0", "id": 1, "result": {}}', "application/json"),
    "202": ("202 Accepted", b"", None),
    "old versions only": (
        "400 Bad Request",
        error(-32022, data={"supported": ["2025-11-25", "2025-06-18"], "requested": MODERN}),
        "application/json",
    ),
}


@pytest.mark.parametrize("answer", NOT_MODERN.values(), ids=NOT_MODERN)
async def test_whatever_is_no_modern_error_is_the_answer_of_an_old_server(
    answer: tuple[str, bytes, str | None],
) -> None:
    script = discovers(*answer)
    assert await settled(script) == "2025-11-25"
    discover, initialize = script.server.posted[:2]
    assert discover.message["method"] == "server/discover"
    assert discover.headers["mcp-protocol-version"] == MODERN
    assert initialize.message["method"] == "initialize"
    assert initialize.target == discover.target
    assert "mcp-protocol-version" not in initialize.headers
    call = script.received("tools/list")[0]
    assert call.headers["mcp-protocol-version"] == "2025-11-25"
    assert "_meta" not in call.message.get("params", {})
    assert "mcp-method" not in call.headers


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32022, {"supported": ["2099-01-01"], "requested": MODERN}),
        (-32022, None),
        (-32020, None),
        (-32021, {"requiredCapabilities": {"sampling": {}}}),
    ],
)
async def test_a_modern_error_is_final(code: int, data: Any) -> None:
    script = discovers("400 Bad Request", error(code, "No.", data))
    failure = await failure_of(script)
    assert isinstance(failure, MCPError)
    assert (failure.code, failure.message, failure.data) == (code, "No.", data)
    assert script.asked["initialize"] == 0


async def test_a_server_that_cannot_be_reached_is_not_asked_twice() -> None:
    script = Script()

    @script.on("server/discover")
    async def discover(request: Posted, reply: Reply) -> None:
        await reply.hang_up()

    assert isinstance(await failure_of(script), TransportError)
    assert script.asked["initialize"] == 0


async def test_a_slow_server_is_not_taken_for_an_old_one() -> None:
    """Unlike on a pipe, an answer always comes."""
    script = Script()

    @script.on("server/discover")
    async def discover(request: Posted, reply: Reply) -> None:
        with anyio.move_on_after(0.3):
            await reply.disconnected()
        await reply.result(request, {"supportedVersions": [MODERN], "capabilities": {}, "resultType": "complete"})

    assert await settled(script, probe_seconds=0.01) == MODERN
    assert script.asked["initialize"] == 0


async def test_a_modern_server_that_fails_is_quoted_for_that_and_not_for_knowing_no_handshake() -> None:
    script = discovers("200 OK", error(-32603, "the database is down"))

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found", error(-32601, "Method not found", id=2), "application/json")

    failure = await failure_of(script)
    assert isinstance(failure, MCPError)
    assert failure.message == "the database is down"


async def test_an_old_server_that_refuses_the_handshake_is_quoted_for_that() -> None:
    script = discovers("400 Bad Request")

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await reply.send("401 Unauthorized")

    failure = await failure_of(script)
    assert isinstance(failure, HTTPResponseError)
    assert failure.status == 401


async def test_a_session_can_be_settled_by_hand() -> None:
    script = discovers("404 Not Found")
    async with (
        serve(script) as script.server,
        streamable_http_client(script.server.url) as streams,
        ClientSession(*streams) as session,
    ):
        await negotiate_auto(session)
        assert session.protocol_version == "2025-11-25"


# HTTP+SSE.


class OldSSE(ScriptedSSE):
    """A server of 2024-11-05, which knows nothing of POSTs to the URL of its stream."""

    def __init__(self, status: str = "405 Method Not Allowed") -> None:
        super().__init__(_answer)
        self._status = status
        self.refused: list[Any] = []

    async def __call__(self, posted: Posted, reply: Reply) -> None:
        if posted.method == "POST" and posted.target == "/mcp":
            self.refused.append(posted.message["method"])
            await reply.send(self._status)
        else:
            await super().__call__(posted, reply)


async def _answer(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
    await reply.send("202 Accepted", b"Accepted", "text/plain")
    if "id" not in posted.message:
        return
    result: dict[str, Any] = {}
    if posted.message["method"] == "initialize":
        server = {"name": "older", "version": "1"}
        result = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": server}
    await sse.answer(posted.message["id"], result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_a_server_without_streamable_http_is_spoken_to_over_sse(mode: str, status: str) -> None:
    sse = OldSSE(status)
    async with serve(sse) as server, Client(server.url, mode=mode) as client:
        assert client.protocol_version == "2024-11-05"
        assert client.server_info is not None
        assert client.server_info.name == "older"
        await client.session.send_ping()
    assert sse.refused == (["server/discover", "initialize"] if mode == "auto" else ["initialize"])
    (get,) = sse.gets
    assert get.target == "/mcp"
    assert get.headers["accept"] == "text/event-stream"
    assert [posted.message["method"] for posted in sse.posts] == ["initialize", "notifications/initialized", "ping"]
    assert {posted.target for posted in sse.posts} == {ENDPOINT}


async def test_a_server_that_speaks_neither_is_quoted_for_refusing_the_handshake() -> None:
    script = discovers("404 Not Found")

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found", b"nothing here", "text/plain")

    failure = await failure_of(script)
    assert isinstance(failure, HTTPResponseError)
    assert failure.status == 404
    assert "nothing here" in failure.message
    assert script.asked["GET"] == 1
    assert isinstance(failure.__cause__, HTTPResponseError)
    assert failure.__cause__.status == 405


async def test_a_stream_that_names_no_endpoint_is_not_of_an_sse_server() -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await reply.send("400 Bad Request")

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await reply.disconnected()

    failure = await failure_of(script, mode="legacy")
    assert isinstance(failure, HTTPResponseError)
    assert failure.status == 400


@pytest.mark.parametrize("answer", [("400 Bad Request", error(-32602, "bad client")), ("500 Oops", b"")])
async def test_a_refusal_of_another_kind_does_not_lead_to_sse(answer: tuple[str, bytes]) -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await reply.send(*answer, "application/json" if answer[1] else None)

    assert isinstance(await failure_of(script, mode="legacy"), MCPError)
    assert script.asked["GET"] == 0
