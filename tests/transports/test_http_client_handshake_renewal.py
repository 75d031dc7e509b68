"""A session that the server has forgotten, and the new one that takes its place."""

from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, connected, said_by, text
from scripted_http_server import Posted, Reply

from mcp import Client, MCPError, types
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


async def test_calls_that_wait_for_a_new_session_fail_together_where_there_is_none() -> None:
    script = Script()
    forgets(script)
    failures: list[Exception] = []

    async with connected(script) as client:

        @script.on("initialize")
        async def refuse(request: Posted, reply: Reply) -> None:
            await script.until("tools/call", 3)
            with anyio.move_on_after(0.1):
                await reply.disconnected()
            await reply.send("503 Service Unavailable")

        async def call() -> None:
            try:
                await client.call_tool("any")
            except SessionExpiredError as failure:
                failures.append(failure)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call)
    assert len(failures) == 3
    assert script.asked["initialize"] == 2, "one of them tried for all"


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
