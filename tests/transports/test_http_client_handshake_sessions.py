"""The session of a client of a handshake revision: how it is opened, named and ended."""

import logging

import anyio
import httpx2
import pytest
from scripted_handshake_server import Script, connected
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.anyio


# Opening.


async def test_a_handshake_opens_a_session_whose_id_and_version_are_sent_from_then_on() -> None:
    script = Script("2025-06-18")
    async with connected(script) as client:
        assert client.protocol_version == "2025-06-18"
        await client.session.send_ping()
    initialize, initialized, ping = (
        script.received(name)[0] for name in ("initialize", "notifications/initialized", "ping")
    )
    assert initialize.message["params"]["protocolVersion"] == "2025-11-25"
    assert initialize.message["params"]["clientInfo"] == {"name": "mcp", "version": "0.1.0"}
    assert "_meta" not in initialize.message["params"]
    assert not {"mcp-session-id", "mcp-protocol-version", "mcp-method"} & set(initialize.headers)
    for request in (initialized, ping):
        assert request.headers["mcp-session-id"] == "session-1"
        assert request.headers["mcp-protocol-version"] == "2025-06-18"
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert "mcp-method" not in request.headers
    assert initialized.message == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ping.message == {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {}}


async def test_a_server_may_have_no_sessions() -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await script.greet(request, reply, None)

    async with connected(script) as client:
        await client.session.send_ping()
        await script.until("GET")
    assert all("mcp-session-id" not in request.headers for request in script.server.posted)
    assert script.asked["DELETE"] == 0


async def test_the_answer_to_a_handshake_may_come_as_an_event_stream() -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-session-id: streamed\r\n"
        await reply.raw(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        result = {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        await reply.event({"jsonrpc": "2.0", "id": request.message["id"], "result": result})
        await reply.end()

    async with connected(script) as client:
        await client.session.send_ping()
    assert script.received("ping")[0].headers["mcp-session-id"] == "streamed"


async def test_headers_of_the_http_client_go_with_every_request() -> None:
    script = Script()
    async with serve(script) as script.server, own_client(headers={"authorization": "Bearer token"}) as http_client:
        async with Client(streamable_http_client(script.server.url, http_client=http_client), mode="legacy"):
            await script.until("GET")
        assert not http_client.is_closed
    assert {request.method for request in script.server.posted} == {"POST", "GET", "DELETE"}
    assert all(request.headers["authorization"] == "Bearer token" for request in script.server.posted)


async def test_b46_a_version_that_the_client_does_not_know_ends_the_session() -> None:
    """The half-open session leaked."""
    script = Script("1999-01-01")
    async with serve(script) as script.server:
        with pytest.raises(RuntimeError, match=r"'1999-01-01'.*asked for '2025-11-25'"):
            async with Client(script.server.url, mode="legacy"):
                pass
    assert script.received("DELETE")[0].headers["mcp-session-id"] == "session-1"
    assert script.asked["notifications/initialized"] == 0


async def test_an_id_that_no_header_can_hold_counts_as_none(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await script.greet(request, reply, "schlüssel")

    async with connected(script) as client:
        await client.session.send_ping()
    assert "ignored the id of the session" in caplog.text
    assert "schl" not in caplog.text
    assert "mcp-session-id" not in script.received("ping")[0].headers


async def test_an_id_that_a_hook_reads_is_that_of_the_session() -> None:
    """The documented way to learn it."""
    seen: list[str] = []

    async def capture(response: httpx2.Response) -> None:
        if session := response.headers.get("mcp-session-id"):
            seen.append(session)

    script = Script()
    async with (
        serve(script) as script.server,
        own_client(event_hooks={"response": [capture]}) as http_client,
        Client(streamable_http_client(script.server.url, http_client=http_client), mode="legacy"),
    ):
        pass
    assert seen == ["session-1"]


# Ending.


async def test_leaving_ends_the_session_at_the_server() -> None:
    script = Script()
    async with connected(script):
        assert script.asked["DELETE"] == 0
    (delete,) = script.received("DELETE")
    assert delete.target == "/mcp"
    assert delete.headers["mcp-session-id"] == "session-1"
    assert delete.headers["mcp-protocol-version"] == "2025-11-25"


async def test_a_session_may_be_left_to_the_server() -> None:
    script = Script()
    async with (
        serve(script) as script.server,
        Client(streamable_http_client(script.server.url, terminate_on_close=False), mode="legacy"),
    ):
        pass
    assert script.asked["DELETE"] == 0


@pytest.mark.parametrize(
    ("status", "warned"),
    [("405 Method Not Allowed", False), ("404 Not Found", False), ("500 Oops", True)],
)
async def test_a_server_may_refuse_to_end_a_session(
    status: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script()

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.disconnected()

    @script.on("DELETE")
    async def delete(request: Posted, reply: Reply) -> None:
        await reply.send(status)

    with caplog.at_level(logging.WARNING):
        async with connected(script):
            pass
    assert [record.message for record in caplog.records] == (["Session termination failed: 500"] if warned else [])


async def test_a_server_that_never_says_that_the_session_has_ended_does_not_hold_the_client_up() -> None:
    script = Script()

    @script.on("DELETE")
    async def delete(request: Posted, reply: Reply) -> None:
        await reply.disconnected()

    with anyio.fail_after(10):
        async with connected(script):
            pass
    assert script.asked["DELETE"] == 1


async def test_a_server_that_is_gone_need_not_be_told(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()

    @script.on("DELETE")
    async def delete(request: Posted, reply: Reply) -> None:
        await reply.hang_up()

    with caplog.at_level(logging.DEBUG, "mcp.client.streamable_http"):
        async with connected(script):
            pass
    assert "the end of the session could not be told to the server" in caplog.text


async def test_a_session_is_ended_also_where_its_client_is_cancelled() -> None:
    script = Script()
    async with serve(script) as script.server:
        with anyio.CancelScope() as scope:
            async with Client(script.server.url, mode="legacy"):
                scope.cancel()
                await anyio.sleep_forever()
    assert script.asked["DELETE"] == 1


async def test_what_is_called_after_the_end_says_that_the_connection_is_closed() -> None:
    async with connected(Script()) as client:
        session = client.session
    with pytest.raises(MCPError, match="Connection closed"):
        await session.send_ping()
