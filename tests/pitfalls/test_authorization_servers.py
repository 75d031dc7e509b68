"""B116: a server that is its own authorization server takes no token for another, and no consent from elsewhere."""

import re
from collections.abc import Generator

import httpx2
import pytest
from authorization_server import AuthorizationServer, Browser, Program, answer_at, library, served_authorization_server
from oauth_peers import Storage
from pydantic import AnyUrl

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.types import TextContent

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Generator[AuthorizationServer, None, None]:
    with served_authorization_server(app=library) as server:
        yield server


async def status_of(server: AuthorizationServer, token: str) -> int:
    """What the MCP endpoint answers a request that brings a token."""
    http = httpx2.AsyncClient(timeout=10)
    async with http:
        answer = await http.post(server.url("/mcp"), json={}, headers={"authorization": f"Bearer {token}"})
    return answer.status_code


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_finds_its_way_in_and_comes_back(server: AuthorizationServer, mode: str) -> None:
    browser, storage = Browser(), Storage()
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(Program.CALLBACK)], client_name="reader")
    oauth = OAuthClientProvider(
        server.url("/mcp"), metadata, storage, browser.redirect_handler, browser.callback_handler
    )
    http = httpx2.AsyncClient(auth=oauth, timeout=10)
    async with http, Client(streamable_http_client(server.url("/mcp"), http_client=http), mode=mode) as client:
        said: list[str] = []
        for _ in range(2):
            (content,) = (await client.call_tool("whoami")).content
            assert isinstance(content, TextContent)
            said.append(content.text)
            # As if the access token had ended.
            server.provider.access.clear()
    assert said == ["alice with read", "alice with read"]
    assert len(browser.visited) == 1, "the second token is had without the user"


async def test_the_endpoint_takes_an_access_token_and_nothing_else_that_was_issued(
    server: AuthorizationServer,
) -> None:
    program = Program(server)
    await program.register()
    code = (await program.ask(scope="read"))["code"]
    assert await status_of(server, code) == 401
    tokens = (await program.exchange(code)).json()
    assert await status_of(server, tokens["access_token"]) not in (401, 403)
    for other in (tokens["refresh_token"], code, program.client_id, program.secret["client_secret"]):
        assert await status_of(server, other) == 401
    await program.post("/revoke", token=tokens["refresh_token"])
    assert await status_of(server, tokens["access_token"]) == 401


async def test_a_token_for_another_resource_or_without_the_scope_is_refused(server: AuthorizationServer) -> None:
    tokens = await Program(server).get_in(scope="read", resource="https://other.example.com/mcp")
    assert await status_of(server, tokens["access_token"]) == 401
    tokens = await Program(server).get_in(scope="write")
    assert await status_of(server, tokens["access_token"]) == 403


async def test_a_question_is_answered_in_the_browser_that_it_was_asked_in(server: AuthorizationServer) -> None:
    """Somebody who begins a flow, reads the question, and sends its page to a user gets no consent of that user's."""
    program = Program(server)
    await program.register()
    attacker, victim = httpx2.AsyncClient(timeout=10), httpx2.AsyncClient(timeout=10)
    async with attacker, victim:
        started = await attacker.get(program.authorization_url())
        page = (await attacker.get(started.headers["location"])).text
        question = re.search(r'name="question" value="([^"]+)"', page)
        assert question is not None
        assert (await victim.get(started.headers["location"])).status_code == 404
        form = {"question": question[1], "user": "alice", "password": "wonderland", "answer": "yes"}
        assert (await victim.post(server.url("/sign-in"), data=form)).status_code == 403
        victim.cookies.set("browser", "guessed")
        assert (await victim.post(server.url("/sign-in"), data=form)).status_code == 403
        wrong = {**form, "password": "guessed"}
        assert (await attacker.post(server.url("/sign-in"), data=wrong)).status_code == 403
        answered = await attacker.post(server.url("/sign-in"), data=form)
        assert answer_at(answered.headers["location"])["iss"] == server.issuer
        assert (await attacker.post(server.url("/sign-in"), data=form)).status_code == 403, "it is answered once"


async def test_a_question_shows_who_asks_for_what_and_where_the_user_goes(server: AuthorizationServer) -> None:
    program = Program(server)
    await program.register(client_name="<script>alert(1)</script>")
    http = httpx2.AsyncClient(timeout=10, follow_redirects=True)
    async with http:
        page = await http.get(program.authorization_url(scope="read"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; wants to act for you" in page.text
    assert "<script>" not in page.text
    assert "It asks for: read." in page.text
    assert "<b>127.0.0.1</b>" in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "HttpOnly" in page.headers["set-cookie"]
