"""Users who log in at this machine's browser, or later, and processes that share what they got."""

import logging
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from authorization_server import AuthorizationServer, Browser, library, served_authorization_server
from oauth_peers import CALLBACK, Resource, Storage, User, client_of, peers
from pydantic import AnyUrl

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.exceptions import AuthorizationResponseError, LoginRequired
from mcp.client.auth.file_storage import FileTokenStorage
from mcp.client.auth.headless import HeadlessLogin
from mcp.client.auth.loopback import LoopbackLogin
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

pytestmark = pytest.mark.anyio

METADATA = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)])


@pytest.fixture(scope="module")
def server() -> Generator[AuthorizationServer]:
    """A protected MCP server, which is its own authorization server."""
    with served_authorization_server(app=library) as server:
        yield server


async def answer_of(server: AuthorizationServer, auth: httpx2.Auth) -> str:
    """Who the server says is calling."""
    http = httpx2.AsyncClient(auth=auth, follow_redirects=True, trust_env=False)
    async with http, Client(streamable_http_client(server.url("/mcp"), http_client=http)) as client:
        result = await client.call_tool("whoami")
        return getattr(result.content[0], "text", "")


def at_this_machine(server: AuthorizationServer, browser: Browser, storage: Any) -> OAuthClientProvider:
    async def visit(url: str) -> None:
        landed = await browser.visit(url)
        http = httpx2.AsyncClient(trust_env=False)
        async with http:
            await http.get(landed)

    login = LoopbackLogin(open_browser=visit, timeout=20)
    metadata = login.client_metadata(client_name="Shelf", scope="read")
    return OAuthClientProvider(server.url("/mcp"), metadata, storage, login.redirect_handler, login.callback_handler)


async def test_a_user_at_this_machine_logs_in_once_and_is_known_in_the_next_run(
    server: AuthorizationServer, tmp_path: Path
) -> None:
    browsers = [Browser(), Browser()]
    for browser in browsers:
        storage = FileTokenStorage(tmp_path / "tokens", server.url("/mcp"))
        assert await answer_of(server, at_this_machine(server, browser, storage)) == "alice with read"
    assert [len(browser.visited) for browser in browsers] == [1, 0]


@pytest.mark.parametrize(
    ("registered", "registrations"),
    [("http://127.0.0.1:1/callback", 1), ("http://127.0.0.1/callback", 0), ("http://localhost/callback", 1), (None, 0)],
)
async def test_a_client_that_waits_elsewhere_than_it_is_registered_for_registers_anew(
    registered: str | None, registrations: int
) -> None:
    login, user, storage = LoopbackLogin(port=3031), User(), Storage()
    async with peers() as resource:
        resource.auth.clients["known"] = {"client_id": "known"}
        uris = None if registered is None else [AnyUrl(registered)]
        await storage.set_client_info(
            OAuthClientInformationFull(client_id="known", issuer=resource.auth.origin, redirect_uris=uris)
        )
        oauth = OAuthClientProvider(resource.url, login.client_metadata(), storage, user.open, user.come_back)
        async with client_of(oauth) as http:
            assert (await http.get(resource.url)).status_code == 200
        asked = resource.auth.asked_for("/register")
        assert [one["redirect_uris"] for one in asked] == [["http://127.0.0.1:3031/callback"]] * registrations


async def test_a_user_who_says_no_is_heard_and_not_asked_again(server: AuthorizationServer) -> None:
    browser = Browser(agrees=False)
    oauth = at_this_machine(server, browser, Storage())
    with pytest.raises(AuthorizationResponseError, match="access_denied") as caught:
        await answer_of(server, oauth)
    assert caught.value.iss == server.issuer
    assert len(browser.visited) == 1


async def test_a_program_without_a_user_is_told_where_to_log_in_and_goes_on_when_somebody_has(
    server: AuthorizationServer,
) -> None:
    login, storage, browser = HeadlessLogin(), Storage(), Browser()
    oauth = OAuthClientProvider(server.url("/mcp"), METADATA, storage, login.redirect_handler, login.callback_handler)
    pages: list[str] = []
    for _ in range(2):
        with pytest.raises(LoginRequired) as caught:
            await answer_of(server, oauth)
        pages.append(caught.value.url)
    assert pages[0] == pages[1]
    login.finish(await browser.visit(pages[0]))
    assert (await answer_of(server, oauth)).startswith("alice with")
    assert storage.tokens is not None


async def test_a_login_that_would_ask_for_something_else_begins_anew() -> None:
    login = HeadlessLogin()
    async with peers() as resource:
        oauth = OAuthClientProvider(resource.url, METADATA, Storage(), login.redirect_handler, login.callback_handler)
        states: list[str] = []
        for scope in ("read", "read", "write"):
            resource.challenge["scope"] = scope
            async with client_of(oauth) as http:
                with pytest.raises(LoginRequired) as caught:
                    await http.get(resource.url)
            states.append(parse_qs(urlsplit(caught.value.url).query)["state"][0])
        assert states[0] == states[1] != states[2]


async def test_of_many_requests_without_a_user_each_is_told_where_to_log_in() -> None:
    login = HeadlessLogin()
    async with peers() as resource:
        oauth = OAuthClientProvider(resource.url, METADATA, Storage(), login.redirect_handler, login.callback_handler)
        async with client_of(oauth) as http:
            pages: list[str] = []

            async def get() -> None:
                with pytest.raises(LoginRequired) as caught:
                    await http.get(resource.url)
                pages.append(caught.value.url)

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(get)
        assert len(pages) == 5
        assert all(page.startswith(f"{resource.auth.origin}/authorize?") for page in pages)


async def test_a_refusal_that_is_not_of_the_server_that_was_asked_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def nothing(url: str) -> None:
        return None

    async def refused() -> AuthorizationCodeResult:
        raise AuthorizationResponseError("send_money", "Call 555-1234", iss="https://evil.example.com")

    async with peers() as resource:
        oauth = OAuthClientProvider(resource.url, METADATA, Storage(), nothing, refused)
        async with client_of(oauth) as http:
            with pytest.raises(OAuthFlowError, match="iss mismatch") as caught:
                await http.get(resource.url)
    shown = caplog.text + str(caught.value) + str(caught.value.__context__) + str(caught.value.__cause__)
    assert "send_money" not in shown
    assert "555-1234" not in shown


def program(directory: Path, url: str) -> str:
    """A program that sends one request with what is kept in a directory, once it is told to."""
    return f"""
import anyio, httpx2, sys
from pydantic import AnyUrl
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.file_storage import FileTokenStorage
from mcp.shared.auth import OAuthClientMetadata

async def main():
    storage = FileTokenStorage({str(directory)!r}, {url!r})
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl({CALLBACK!r})])
    client = httpx2.AsyncClient(auth=OAuthClientProvider({url!r}, metadata, storage), trust_env=False)
    async with client:
        print("!", end="", flush=True)
        sys.stdin.readline()
        print((await client.get({url!r})).status_code, flush=True)

anyio.run(main)
"""


async def test_processes_that_share_a_file_refresh_once(tmp_path: Path) -> None:
    directory = tmp_path / "tokens"
    async with peers() as resource:
        await keep_an_ended_token(FileTokenStorage(directory, resource.url), resource)
        command = [sys.executable, "-W", "error", "-c", program(directory, resource.url)]
        printed: list[bytes] = []
        with anyio.fail_after(40):
            async with anyio.create_task_group() as tasks:
                processes = [await anyio.open_process(command, stderr=None) for _ in range(3)]
                for process in processes:
                    assert process.stdout is not None
                    assert await process.stdout.receive(1) == b"!"
                for process in processes:
                    tasks.start_soon(go, process, printed)
        assert printed == [b"200\n"] * 3
        assert len(resource.auth.grants("refresh_token")) == 1


async def go(process: Any, printed: list[bytes]) -> None:
    async with process:
        await process.stdin.send(b"go\n")
        printed.append(b"".join([chunk async for chunk in process.stdout]))


async def keep_an_ended_token(storage: FileTokenStorage, resource: Resource) -> None:
    """What a process of yesterday has left."""
    resource.auth.clients["c"] = {"client_id": "c"}
    resource.auth.refreshable["yesterday"] = ""
    await storage.set_client_info(OAuthClientInformationFull(client_id="c", issuer=resource.auth.origin))
    await storage.set_tokens(
        OAuthToken(
            access_token="ended",
            refresh_token="yesterday",
            expires_at=1.0,
            issuer=resource.auth.origin,
            token_endpoint=f"{resource.auth.origin}/token",
        )
    )
