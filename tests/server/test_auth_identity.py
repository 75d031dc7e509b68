"""Who is calling: in handlers, for sessions, and for the state of requests in several rounds."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
import served_app
from protecting import META, Known, bearer, handshake, http_to, modern, opened, request, settings, token

from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult, TextContent

pytestmark = pytest.mark.anyio

ISS = {"iss": "https://auth.example.com", "team": "red"}
ALICE = token("alice-1", "read", subject="alice", claims=ISS)
ALICE_AGAIN = token("alice-2", "read", "write", subject="alice", claims=ISS)
BOB = token("bob-1", "read", subject="bob", claims=ISS)
ELSEWHERE = token("alice-3", "read", subject="alice", claims={"iss": "https://other.example.com"})
OTHER_APP = token("alice-4", "read", subject="alice", client_id="app-2", claims=ISS)
EVERYBODY = Known(ALICE, ALICE_AGAIN, BOB, ELSEWHERE, OTHER_APP)
STRANGERS = [BOB.token, ELSEWHERE.token, OTHER_APP.token]

FORM: dict[str, Any] = {"type": "object", "properties": {"yes": {"type": "boolean"}}}


def server(**options: Any) -> MCPServer:
    """A server that tells who calls its tools."""
    given: dict[str, Any] = {"token_verifier": EVERYBODY, "auth": settings(), **options}
    mcp = MCPServer("who", **given)

    @mcp.tool()
    async def by_function() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.token

    @mcp.tool()
    def in_a_thread() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.token

    @mcp.tool()
    async def by_context(ctx: Context) -> str:
        user = ctx.user
        if user is None:
            return "nobody"
        return f"{user.subject} {','.join(user.scopes)} {user.claims['team']} {user.access_token.token}"

    @mcp.resource("who://me")
    async def me() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.token

    @mcp.prompt()
    def ask() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.token

    @mcp.tool()
    async def sure(ctx: Context) -> str | InputRequiredResult:
        if ctx.request_state is None:
            question = ElicitRequest(params=ElicitRequestFormParams(message="Sure?", requested_schema=FORM))
            return InputRequiredResult(input_requests={"sure": question}, request_state="asked")
        return f"state {ctx.request_state}"

    return mcp


ASKABLE: dict[str, Any] = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


async def sure(http: Any, token: str, state: str | None = None) -> Any:
    """The answer to a round of a tool that asks: the first, or the one that answers with a state."""
    answers = {"sure": {"action": "accept", "content": {"yes": True}}}
    more: dict[str, Any] = {} if state is None else {"requestState": state, "inputResponses": answers}
    body = request("tools/call", name="sure", arguments={}, _meta=ASKABLE, **more)
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "sure",
        **bearer(token),
    }
    return (await http.post("/mcp", json=body, headers=headers)).json()


def text_of(result: Any) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def connected(origin: str, how: str, token: str) -> AsyncGenerator[Client, None]:
    """A client that sends a token."""
    if how == "sse":
        async with Client(sse_client(f"{origin}/sse", headers=bearer(token))) as client:
            yield client
        return
    http: Any = httpx2.AsyncClient(headers=bearer(token), timeout=20)
    mode: Any = "auto" if how == "modern" else "legacy"
    async with http, Client(streamable_http_client(f"{origin}/mcp", http_client=http), mode=mode) as client:
        yield client


HOW = [
    pytest.param("modern", {}, id="modern"),
    pytest.param("handshake", {}, id="handshake"),
    pytest.param("handshake", {"stateless_http": True}, id="stateless"),
    pytest.param("handshake", {"json_response": True}, id="json"),
    pytest.param("sse", {}, id="sse"),
]


@pytest.mark.parametrize(("how", "options"), HOW)
async def test_every_kind_of_handler_knows_the_token_of_its_request(how: str, options: dict[str, Any]) -> None:
    mcp = server()
    with served_app.served(mcp.sse_app() if how == "sse" else mcp.streamable_http_app(**options)) as origin:
        async with connected(origin, how, ALICE.token) as client:
            assert text_of(await client.call_tool("by_function", {})) == "alice-1"
            assert text_of(await client.call_tool("in_a_thread", {})) == "alice-1"
            assert text_of(await client.call_tool("by_context", {})) == "alice read red alice-1"
            [contents] = (await client.read_resource("who://me")).contents
            assert getattr(contents, "text", None) == "alice-1"
            [message] = (await client.get_prompt("ask", {})).messages
            assert getattr(message.content, "text", None) == "alice-1"


async def test_two_callers_at_a_time_are_not_mixed_up() -> None:
    with served_app.served(server().streamable_http_app()) as origin:
        async with connected(origin, "modern", ALICE.token) as alice, connected(origin, "modern", BOB.token) as bob:
            seen: tuple[set[str], set[str]] = (set(), set())

            async def call(client: Client, tool: str, texts: set[str]) -> None:
                texts.add(text_of(await client.call_tool(tool, {})))

            async with anyio.create_task_group() as group:
                for _ in range(20):
                    for client, texts in zip((alice, bob), seen, strict=True):
                        group.start_soon(call, client, "by_function", texts)
                        group.start_soon(call, client, "in_a_thread", texts)
            assert seen == ({"alice-1"}, {"bob-1"})


async def test_in_memory_nobody_is_calling() -> None:
    async with Client(server()) as client:
        assert text_of(await client.call_tool("by_function", {})) == "nobody"
        assert text_of(await client.call_tool("by_context", {})) == "nobody"


# Sessions.


async def test_a_session_belongs_to_whoever_has_opened_it() -> None:
    async with http_to(server().streamable_http_app(json_response=True)) as http:
        session = await opened(http, ALICE.token)
        ping = request("ping", id=7)
        for stranger in STRANGERS:
            headers = {"mcp-session-id": session, "accept": "text/event-stream", **bearer(stranger)}
            for answer in (
                await handshake(http, ping, stranger, session),
                await http.get("/mcp", headers=headers),
                await http.delete("/mcp", headers=headers),
            ):
                assert answer.status_code == 404
                assert answer.json()["error"]["message"] == "Session not found"
        for own in (ALICE, ALICE_AGAIN):
            assert (await handshake(http, ping, own.token, session)).status_code == 200


NOBODY = [
    pytest.param({"claims": ISS}, id="an issuer alone"),
    pytest.param({"claims": {**ISS, "username": ""}}, id="an empty username"),
    pytest.param({"claims": {**ISS, "username": ["eve"]}}, id="a username that is no text"),
    pytest.param({"subject": "", "claims": {}}, id="an empty subject"),
]


@pytest.mark.parametrize("said", NOBODY)
async def test_what_belongs_to_a_token_that_names_nobody_is_good_with_this_token_alone(said: dict[str, Any]) -> None:
    ada, eve = (token(name, "read", client_id="", **said) for name in ("of-ada", "of-eve"))
    mcp = server(token_verifier=Known(ada, eve))
    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        session = await opened(http, ada.token)
        assert (await handshake(http, request("ping"), eve.token, session)).status_code == 404
        assert (await handshake(http, request("ping"), ada.token, session)).status_code == 200
        state = (await sure(http, ada.token))["result"]["requestState"]
        assert (await sure(http, eve.token, state))["error"]["code"] == -32602
        assert (await sure(http, ada.token, state))["result"]["content"][0]["text"] == "state asked"


@pytest.mark.parametrize("client", ["", "app"])
async def test_a_username_tells_users_apart_where_the_subject_is_left_out(client: str) -> None:
    def of(name: str, username: str, **fields: Any) -> Any:
        return token(name, "read", client_id=client, claims={**ISS, "username": username}, **fields)

    ada, again, eve = of("ada-1", "ada"), of("ada-2", "ada"), of("eve-1", "eve")
    # Somebody whose username is the subject of another.
    subject = of("ada-3", "grace", subject="ada")
    mcp = server(token_verifier=Known(ada, again, eve, subject))
    async with http_to(mcp.streamable_http_app(json_response=True)) as http:
        session = await opened(http, ada.token)
        state = (await sure(http, ada.token))["result"]["requestState"]
        for stranger in (eve, subject):
            assert (await handshake(http, request("ping"), stranger.token, session)).status_code == 404
            assert (await sure(http, stranger.token, state))["error"]["code"] == -32602
        assert (await handshake(http, request("ping"), again.token, session)).status_code == 200
        assert (await sure(http, again.token, state))["result"]["content"][0]["text"] == "state asked"


async def test_a_later_request_of_a_session_is_handled_under_its_own_token() -> None:
    async with http_to(server().streamable_http_app(json_response=True)) as http:
        session = await opened(http, ALICE.token)
        for tool in ("by_function", "in_a_thread"):
            call = request("tools/call", id=3, name=tool, arguments={})
            answer = await handshake(http, call, ALICE_AGAIN.token, session)
            assert answer.json()["result"]["content"][0]["text"] == "alice-2"


class Sends(httpx2.Auth):
    """Sends a token, which may change."""

    def __init__(self, token: str) -> None:
        self.token = token

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


async def test_an_sse_session_belongs_to_whoever_has_opened_it_and_goes_by_the_token_of_each_message() -> None:
    ids: list[str] = []
    with served_app.served(server().sse_app()) as origin:
        sends = Sends(ALICE.token)
        http: Any = httpx2.AsyncClient(base_url=origin, timeout=20)
        async with http, Client(sse_client(f"{origin}/sse", auth=sends, on_session_created=ids.append)) as client:
            url = f"/messages/?session_id={ids[0]}"
            for stranger in STRANGERS:
                assert (await http.post(url, json=request("ping"), headers=bearer(stranger))).status_code == 404
            for own in (ALICE_AGAIN, ALICE):
                sends.token = own.token
                assert text_of(await client.call_tool("by_function", {})) == own.token
                assert text_of(await client.call_tool("in_a_thread", {})) == own.token


# The state of requests in several rounds.


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_the_state_of_a_request_is_good_for_whoever_was_given_it(stranger: str) -> None:
    async with http_to(server().streamable_http_app(json_response=True)) as http:
        state = (await sure(http, ALICE.token))["result"]["requestState"]
        refused = await sure(http, stranger, state)
        assert refused["error"]["code"] == -32602
        own = await sure(http, ALICE_AGAIN.token, state)
        assert own["result"]["content"][0]["text"] == "state asked"


async def test_a_stateless_handshake_server_tells_callers_apart_as_well() -> None:
    async with http_to(server().streamable_http_app(stateless_http=True, json_response=True)) as http:
        for who in (ALICE, BOB):
            call = request("tools/call", id=3, name="by_context", arguments={})
            answer = await handshake(http, call, who.token)
            assert answer.json()["result"]["content"][0]["text"].startswith(f"{who.subject} read")
        assert (await modern(http, "tools/list", BOB.token)).status_code == 200
