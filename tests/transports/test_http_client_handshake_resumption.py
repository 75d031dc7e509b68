"""Streams of answers that break off, and how a client of a handshake revision takes them up again."""

from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import ClientSession, MCPError, types
from mcp.client.streamable_http import ResumptionError, StreamableHTTPError, streamable_http_client
from mcp.shared.exceptions import ConnectionClosedError, RequestTimeoutError, TransportError
from mcp.shared.message import ClientMessageMetadata

pytestmark = pytest.mark.anyio


def reported(request: Posted, progress: int) -> dict[str, Any]:
    token = request.message["params"]["_meta"]["progressToken"]
    params = {"progressToken": token, "progress": progress}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


class Interrupted:
    """Answers a tool's call on a stream that breaks off, and the rest to those who come back for it.

    Args:
        script: The server.
        ways: What each stream but the last one does before it ends.
    """

    def __init__(self, script: Script, *ways: bytes, ending: str = "end") -> None:
        self._script = script
        self._ways = list(ways)
        self._ending = ending
        self.call: Posted | None = None
        self.came_back: list[tuple[float, str | None]] = []
        script.answers["tools/call"] = self._first
        script.answers["GET"] = self._get

    async def _first(self, request: Posted, reply: Reply) -> None:
        self.call = request
        await self._stream(reply)

    async def _get(self, request: Posted, reply: Reply) -> None:
        if "last-event-id" not in request.headers:
            await reply.send("405 Method Not Allowed")
            return
        self.came_back.append((anyio.current_time(), request.headers["last-event-id"]))
        await self._stream(reply)

    async def _stream(self, reply: Reply) -> None:
        assert self.call is not None
        await reply.open_events()
        if self._ways:
            way = self._ways.pop(0)
            if way:
                await reply.chunk(way)
            await (reply.end() if self._ending == "end" else reply.hang_up())
        else:
            await reply.event(text(self.call, "the rest"))
            await reply.end()

    @property
    def ids(self) -> list[str | None]:
        return [id for _, id in self.came_back]


@pytest.mark.parametrize("ending", ["end", "hang up"])
async def test_a_stream_that_ends_before_its_answer_is_taken_up_after_its_last_event(ending: str) -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 41\r\nretry: 10\r\ndata:\r\n\r\nid: 42\r\ndata:\r\n\r\n", ending=ending)
    async with connected(script) as client:
        assert await said_by(client, "any") == "the rest"
    assert interrupted.ids == ["42"]
    resumed = script.received("GET")[-1]
    assert resumed.headers["accept"] == "text/event-stream"
    assert resumed.headers["mcp-session-id"] == "session-1"
    assert script.asked["tools/call"] == 1
    assert script.asked["notifications/cancelled"] == 0


async def test_the_time_that_the_server_names_is_waited() -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 1\r\nretry: 600\r\ndata:\r\n\r\n", b"", b"")
    async with connected(script) as client:
        begun = anyio.current_time()
        assert await said_by(client, "any") == "the rest"
    first, second, third = (time - begun for time, _ in interrupted.came_back)
    assert 0.6 <= first < 0.9
    assert 0.6 <= second - first < 0.9
    assert 0.6 <= third - second < 0.9


async def test_a_server_may_have_its_client_come_back_as_often_as_it_likes() -> None:
    """Polling: the server closes the stream in the middle of a call, each time, and names a time to come back."""
    script = Script()
    polls = [b"id: %d\r\nretry: 5\r\ndata:\r\n\r\n" % number for number in range(4)]
    interrupted = Interrupted(script, *polls)
    async with connected(script) as client:
        assert await said_by(client, "any") == "the rest"
    assert interrupted.ids == ["0", "1", "2", "3"]


async def test_what_comes_before_and_after_a_break_reaches_the_call() -> None:
    script = Script()
    reports: list[float] = []

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"retry: 5\r\n\r\n")
        await reply.event(reported(request, 1), id="1")
        await reply.hang_up()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        if "last-event-id" not in request.headers:
            await reply.send("405 Method Not Allowed")
            return
        (posted,) = script.received("tools/call")
        await reply.open_events()
        await reply.event(reported(posted, 2), id="2")
        await reply.event({"jsonrpc": "2.0", "id": "q", "method": "ping"}, id="3")
        await script.until("answer")
        await reply.event(text(posted, "the rest"), id="4")
        await reply.end()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async with connected(script) as client:
        assert await said_by(client, "any", progress_callback=report) == "the rest"
    assert reports == [1, 2]


@pytest.mark.parametrize("ending", ["end", "hang up"])
async def test_a_stream_without_event_ids_cannot_be_taken_up(ending: str) -> None:
    script = Script()
    interrupted = Interrupted(script, b": nothing\r\n\r\n", ending=ending)
    async with connected(script) as client:
        with pytest.raises(ConnectionClosedError):
            await client.call_tool("any")
        await client.session.send_ping()
    assert interrupted.came_back == []


async def test_a_server_that_lets_nobody_come_back_ends_the_call() -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 1\r\nretry: 5\r\ndata:\r\n\r\n")
    del script.answers["GET"]
    async with connected(script) as client:
        with pytest.raises(ResumptionError) as raised:
            await client.call_tool("any")
        await client.session.send_ping()
    assert interrupted.came_back == []
    assert isinstance(raised.value, StreamableHTTPError)
    assert isinstance(raised.value, TransportError)
    assert f"The event stream from {script.server.origin} broke off before the answer to 'tools/call'" in str(
        raised.value
    )
    assert "HTTP 405 Method Not Allowed" in str(raised.value)
    assert str(raised.value).endswith("It offers no event stream.")


async def test_a_session_that_is_gone_when_the_client_comes_back_ends_the_call_and_does_not_repeat_it() -> None:
    script = Script()
    Interrupted(script, b"id: 1\r\nretry: 5\r\ndata:\r\n\r\n")

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "who?"}}, "404 Not Found")

    async with connected(script) as client:
        with pytest.raises(ResumptionError, match=r"could not be taken up again: who\?$"):
            await client.call_tool("any")
    assert script.asked["tools/call"] == 1
    assert script.asked["initialize"] == 1


async def test_a_session_that_is_gone_is_not_taken_for_a_wrong_url() -> None:
    script = Script()
    Interrupted(script, b"id: 1\r\nretry: 5\r\ndata:\r\n\r\n")

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found", b"<html>gone", "text/html")

    async with connected(script) as client:
        with pytest.raises(ResumptionError, match="no longer knows the session") as raised:
            await client.call_tool("any")
    assert "URL" not in str(raised.value)


@pytest.mark.parametrize("event", [b"", b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\r\n'])
async def test_b33_a_server_that_names_no_time_to_come_back_is_not_hammered(event: bytes) -> None:
    script = Script()
    interrupted = Interrupted(script, *[b"id: %d\r\nretry: 0\r\n%b\r\n" % (number, event) for number in range(1000)])
    async with connected(script) as client:
        with pytest.raises(RequestTimeoutError):
            await client.call_tool("any", read_timeout_seconds=1)
        await script.until("notifications/cancelled")
    assert 3 <= len(interrupted.came_back) <= 11


async def test_a_server_that_believes_the_stream_to_be_open_is_tried_again() -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 1\r\nretry: 5\r\ndata:\r\n\r\n")
    get = script.answers["GET"]

    @script.on("GET")
    async def conflict(request: Posted, reply: Reply) -> None:
        if "last-event-id" in request.headers and not conflicts:
            conflicts.append(True)
            error = {"code": -32600, "message": "Conflict"}
            await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, "409 Conflict")
        else:
            await get(request, reply)

    conflicts: list[bool] = []
    async with connected(script) as client:
        assert await said_by(client, "any") == "the rest"
    assert interrupted.ids == ["1"]


async def test_streams_that_bring_nothing_are_given_up() -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 1\r\ndata:\r\n\r\n", b"", b"", b"")
    async with connected(script) as client:
        with pytest.raises(ResumptionError, match="each time it was taken up again, it ended at once"):
            await client.call_tool("any")
    assert interrupted.ids == ["1", "1"]


async def test_a_server_that_is_busy_is_tried_again() -> None:
    script = Script()
    interrupted = Interrupted(script, b"id: 1\r\nretry: 5\r\ndata:\r\n\r\n")
    get = script.answers["GET"]

    @script.on("GET")
    async def busy(request: Posted, reply: Reply) -> None:
        if "last-event-id" in request.headers and not busy_once:
            busy_once.append(True)
            await reply.send("503 Service Unavailable")
        else:
            await get(request, reply)

    busy_once: list[bool] = []
    async with connected(script) as client:
        assert await said_by(client, "any") == "the rest"
    assert interrupted.ids == ["1"]


async def test_a_time_limit_holds_over_all_the_streams_of_a_call() -> None:
    script = Script()
    Interrupted(script, *[b"id: 1\r\nretry: 50\r\ndata:\r\n\r\n"] * 1000)
    async with connected(script) as client:
        with pytest.raises(RequestTimeoutError, match=r"0\.3s waiting for 'tools/call'"):
            await client.call_tool("any", read_timeout_seconds=0.3)
        await script.until("notifications/cancelled")
    (cancelled,) = script.received("notifications/cancelled")
    assert cancelled.message["params"]["requestId"] == script.received("tools/call")[0].message["id"]


async def test_the_id_of_an_event_may_be_any_text() -> None:
    script = Script()
    interrupted = Interrupted(script, "id: příště 42\r\nretry: 5\r\ndata:\r\n\r\n".encode())
    async with connected(script) as client:
        assert await said_by(client, "any") == "the rest"
    assert [(id or "").encode("latin-1").decode() for id in interrupted.ids] == ["příště 42"]


# Tokens that outlive the process.


async def test_the_ids_of_events_are_told_to_whoever_asks() -> None:
    script = Script()
    tokens: list[str] = []

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"id: primed\r\ndata:\r\n\r\n")
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="first")
        await reply.event(text(request, "done"), id="last")
        await reply.end()

    async def note(token: str) -> None:
        tokens.append(token)

    async with connected(script) as client:
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="any"))
        metadata = ClientMessageMetadata(on_resumption_token_update=note)
        await client.session.send_request(request, types.CallToolResult, metadata=metadata)
    assert tokens == ["primed", "first", "last"]


async def test_an_answer_can_be_fetched_by_another_process() -> None:
    """As documented for programs that are restarted: session id by header, token by metadata."""
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 1234, "result": {"content": [{"type": "text", "text": "at last"}]}})
        await reply.end()

    async with (
        serve(script) as script.server,
        own_client(headers={"mcp-session-id": "of-old", "mcp-protocol-version": "2025-11-25"}) as http_client,
        streamable_http_client(script.server.url, http_client=http_client, terminate_on_close=False) as (read, write),
        ClientSession(read, write) as session,
    ):
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="any"))
        metadata = ClientMessageMetadata(resumption_token="token-7")
        result = await session.send_request(request, types.CallToolResult, metadata=metadata)
    assert result.content == [types.TextContent(text="at last")]
    (request_made,) = script.server.posted
    assert request_made.method == "GET"
    assert request_made.headers["last-event-id"] == "token-7"
    assert request_made.headers["mcp-session-id"] == "of-old"


async def test_a_token_that_the_server_does_not_know_is_an_error() -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.send("400 Bad Request")

    async with connected(script) as client:
        metadata = ClientMessageMetadata(resumption_token="nobody's")
        request = types.CallToolRequest(params=types.CallToolRequestParams(name="any"))
        with pytest.raises(MCPError, match="could not be taken up again: HTTP 400 Bad Request"):
            await client.session.send_request(request, types.CallToolResult, metadata=metadata)
    assert script.asked["tools/call"] == 0
