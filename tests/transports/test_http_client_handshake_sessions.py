"""The session of a client of a handshake revision: how it is opened, named, lost, opened anew and ended."""

import logging
from typing import Any

import anyio
import httpx2
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply, own_client, serve

from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import HTTPResponseError, SessionExpiredError

pytestmark = pytest.mark.anyio


def gone(message: str = "Session not found", code: int = -32600, id: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def forgets(script: Script, sessions: int = 1, **options: Any) -> None:
    """Makes a tool's call answer 404 in the first sessions, and `in SESSION` afterwards."""
    lost = {f"session-{number + 1}" for number in range(sessions)}

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        if request.headers["mcp-session-id"] in lost:
            await reply.json(gone(**options), "404 Not Found")
        else:
            await reply.json(text(request, f"in {request.headers['mcp-session-id']}"))


async def ask(client: Client, method: str, params: types.RequestParams) -> None:
    """A request of a verb that is deprecated."""
    await client.session.request(method, params, types.EmptyResult)


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


# Losing.


@pytest.mark.parametrize("body", [gone(), None, "gone"], ids=["error", "empty", "text"])
async def test_a_call_in_a_session_that_is_gone_is_made_in_a_new_one(body: Any) -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        if request.headers["mcp-session-id"] == "session-2":
            await reply.json(text(request, "here again"))
        elif isinstance(body, dict):
            await reply.json(body, "404 Not Found")
        else:
            await reply.send("404 Not Found", (body or "").encode(), "text/plain")

    async with connected(script) as client:
        assert await said_by(client, "any", arguments={"a": 1}) == "here again"
        assert await said_by(client, "any") == "here again"
    assert [request.message["params"]["arguments"] for request in script.received("tools/call")[:2]] == [{"a": 1}] * 2
    assert script.asked["initialize"] == 2
    assert "mcp-session-id" not in script.received("initialize")[1].headers
    assert script.received("notifications/initialized")[1].headers["mcp-session-id"] == "session-2"
    assert [request.headers["mcp-session-id"] for request in script.received("DELETE")] == ["session-2"]


async def test_calls_that_lose_their_session_together_open_one_new_one() -> None:
    script = Script()
    forgets(script)
    said: list[str] = []

    async def call(client: Client) -> None:
        said.append(await said_by(client, "any"))

    async with connected(script) as client, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(call, client)
    assert said == ["in session-2"] * 10
    assert script.asked["initialize"] == 2


async def test_a_session_can_be_lost_more_than_once() -> None:
    script = Script()
    forgets(script)
    async with connected(script) as client:
        assert await said_by(client, "any") == "in session-2"
        forgets(script, 2)
        assert await said_by(client, "any") == "in session-3"


async def test_a_call_that_loses_its_new_session_too_fails() -> None:
    script = Script()
    forgets(script, 9)
    async with connected(script) as client:
        with pytest.raises(SessionExpiredError, match=r"^Session not found$") as raised:
            await client.call_tool("any")
    assert raised.value.code == types.INVALID_REQUEST
    assert isinstance(raised.value, HTTPResponseError)
    assert raised.value.status == 404
    assert script.asked["initialize"] == 2
    assert script.asked["tools/call"] == 2
    assert script.asked["DELETE"] == 0, "the session is gone already"


async def test_a_404_without_words_of_its_own_says_that_the_session_is_terminated() -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found")

    async with connected(script) as client:
        with pytest.raises(MCPError, match=r"^Session terminated$") as raised:
            await client.call_tool("any")
    assert raised.value.code == types.INVALID_REQUEST


async def test_a_server_that_opens_no_new_session_is_said_to_have_lost_the_old_one() -> None:
    script = Script()
    forgets(script)
    async with connected(script) as client:

        @script.on("initialize")
        async def refuse(request: Posted, reply: Reply) -> None:
            await reply.send("503 Service Unavailable")

        with pytest.raises(SessionExpiredError, match="Session not found") as raised:
            await client.call_tool("any")
        assert isinstance(raised.value.__cause__, HTTPResponseError)
        assert raised.value.__cause__.status == 503
        # The next call tries again.
        del script.answers["initialize"]
        assert await said_by(client, "any") == "in session-3"


async def test_a_renewal_that_is_cancelled_is_left_to_the_next_call() -> None:
    script = Script()
    forgets(script)
    async with connected(script) as client:

        @script.on("initialize")
        async def never(request: Posted, reply: Reply) -> None:
            await reply.disconnected()

        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                group.start_soon(_cancel_when_asked, script, scope)
                await client.call_tool("any")
            assert scope.cancelled_caught
        del script.answers["initialize"]
        assert await said_by(client, "any") == "in session-3"


async def _cancel_when_asked(script: Script, scope: anyio.CancelScope) -> None:
    await script.until("initialize", 2)
    scope.cancel()


async def test_a_404_that_is_the_answer_to_the_call_is_taken_as_that() -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.json(gone("Method not found", -32601, request.message["id"]), "404 Not Found")

    async with connected(script) as client:
        with pytest.raises(MCPError, match=r"^Method not found$"):
            await client.call_tool("any")
    assert script.asked["initialize"] == 1


async def test_a_404_outside_of_a_session_opens_none() -> None:
    script = Script()

    @script.on("initialize")
    async def initialize(request: Posted, reply: Reply) -> None:
        await script.greet(request, reply, None)

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found")

    async with connected(script) as client:
        with pytest.raises(HTTPResponseError, match="Nothing is served at this path"):
            await client.call_tool("any")
    assert script.asked["initialize"] == 1


@pytest.mark.parametrize("status", ["400 Bad Request", "500 Oops"])
async def test_other_statuses_open_no_new_session(status: str) -> None:
    script = Script()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        await reply.send(status)

    async with connected(script) as client:
        with pytest.raises(HTTPResponseError):
            await client.call_tool("any")
    assert script.asked["initialize"] == 1
    assert script.asked["tools/call"] == 1


async def test_a_new_session_has_the_log_level_and_the_subscriptions_of_the_old_one() -> None:
    script = Script()
    async with connected(script) as client:
        await ask(client, "logging/setLevel", types.SetLevelRequestParams(level="error"))
        for uri in ("x://1", "x://2", "x://3"):
            await ask(client, "resources/subscribe", types.SubscribeRequestParams(uri=uri))
        await ask(client, "resources/unsubscribe", types.UnsubscribeRequestParams(uri="x://2"))
        forgets(script)
        await client.call_tool("any")
    repeated = [
        (request.message["method"], request.message["params"])
        for request in script.server.posted
        if request.method == "POST"
        and request.headers.get("mcp-session-id") == "session-2"
        and request.message["method"] in ("logging/setLevel", "resources/subscribe")
    ]
    assert repeated == [
        ("logging/setLevel", {"level": "error"}),
        ("resources/subscribe", {"uri": "x://1"}),
        ("resources/subscribe", {"uri": "x://3"}),
    ]


async def test_what_the_new_session_does_not_grant_is_logged_and_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    async with connected(script) as client:
        await ask(client, "resources/subscribe", types.SubscribeRequestParams(uri="x://1"))
        forgets(script)

        @script.on("resources/subscribe")
        async def refuse(request: Posted, reply: Reply) -> None:
            await reply.json(gone("No such resource", -32602, request.message["id"]))

        assert await said_by(client, "any") == "in session-2"
    assert "the new session refused resources/subscribe, which the old one had granted" in caplog.text


async def test_a_notification_in_a_session_that_is_gone_is_sent_in_a_new_one() -> None:
    script = Script()

    @script.on("notifications/roots/list_changed")
    async def changed(request: Posted, reply: Reply) -> None:
        await reply.send("404 Not Found" if request.headers["mcp-session-id"] == "session-1" else "202 Accepted")

    async with connected(script) as client:
        await client.session.send_notification(types.RootsListChangedNotification())
    assert [request.headers["mcp-session-id"] for request in script.received("notifications/roots/list_changed")] == [
        "session-1",
        "session-2",
    ]


async def test_a_new_session_may_speak_another_revision() -> None:
    script = Script("2025-11-25")
    forgets(script)
    async with connected(script) as client:
        script.version = "2025-03-26"
        await client.call_tool("any")
        assert client.protocol_version == "2025-03-26"
    assert script.received("tools/call")[-1].headers["mcp-protocol-version"] == "2025-03-26"


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
