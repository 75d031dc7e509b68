"""A client of a protected server: every transport and revision, while tokens end and users take their time."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from oauth_peers import AuthServer, Storage, User, until
from pydantic import AnyUrl
from scripted_http_server import Posted, Reply, own_client, serve
from served_app import served

from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.shared.auth import OAuthClientMetadata
from mcp.shared.exceptions import HTTPResponseError, RequestTimeoutError

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])


class Live(TokenVerifier):
    """Takes the tokens that an authorization server has issued and not revoked."""

    def __init__(self, auth: AuthServer) -> None:
        self.auth = auth
        self.resource: str | None = None
        self.taken: list[str] = []

    async def verify_token(self, token: str) -> AccessToken | None:
        scope = self.auth.live.get(token)
        if scope is None:
            return None
        self.taken.append(token)
        return AccessToken(token=token, client_id="c", scopes=scope.split(), resource=self.resource)


@dataclass
class Shop:
    """A protected MCP server, its authorization server, and a user.

    Attributes:
        url: Where it is.
        verifier: Says which tokens it was shown.
        server: The server.
        auth: The authorization server.
        user: The user.
        provider: Gets the user's program in.
    """

    url: str
    verifier: Live
    server: MCPServer[Any]
    auth: AuthServer
    user: User
    provider: OAuthClientProvider

    def revoke(self) -> None:
        """Ends every access token; refresh tokens stay good."""
        self.auth.live.clear()


class _Later:
    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


@contextmanager
def protected(auth: AuthServer, app_of: Callable[[MCPServer[Any]], Any], path: str):
    later = _Later()
    origin: str
    with served(later) as origin:
        verifier = Live(auth)
        settings = AuthSettings.model_validate(
            {"issuer_url": auth.origin, "resource_server_url": f"{origin}{path}", "required_scopes": ["read"]}
        )
        server: MCPServer[Any] = MCPServer("shop", token_verifier=verifier, auth=settings)
        verifier.resource = f"{origin}{path}"

        @server.tool()
        async def add(a: int, b: int) -> int:
            return a + b

        @server.tool(scopes=["write"])
        async def write() -> str:
            return "written"

        @server.tool()
        async def grow(ctx: Context) -> str:
            server.add_tool(lambda: "new", name=f"new-{time.monotonic_ns()}")
            return "grown"

        later.app = app_of(server)
        yield f"{origin}{path}", verifier, server


@asynccontextmanager
async def shop(
    app_of: Callable[[MCPServer[Any]], Any] = MCPServer.streamable_http_app, path: str = "/mcp"
) -> AsyncGenerator[Shop, None]:
    auth, user = AuthServer(), User()
    async with serve(auth.handle) as running:
        auth.origin = running.origin
        with protected(auth, app_of, path) as (url, verifier, server):
            metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:3030/callback")])
            provider = OAuthClientProvider(url, metadata, Storage(), user.open, user.come_back)
            yield Shop(url, verifier, server, auth, user, provider)


@asynccontextmanager
async def connected(shop: Shop, mode: str, **options: Any) -> AsyncGenerator[Client, None]:
    async with (
        own_client(auth=shop.provider, follow_redirects=True) as http_client,
        Client(streamable_http_client(shop.url, http_client=http_client), mode=mode, **options) as client,
    ):
        yield client


async def sum_of(client: Client) -> Any:
    return (await client.call_tool("add", {"a": 1, "b": 2})).structured_content


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy", "auto"])
async def test_a_client_gets_in_and_stays_in_when_its_token_ends(mode: str) -> None:
    async with shop() as it, connected(it, mode) as client:
        assert await sum_of(client) == {"result": 3}
        it.revoke()
        assert await sum_of(client) == {"result": 3}
    assert len(it.user.visited) == 1
    assert len(it.auth.grants("refresh_token")) == 1


@ERAS
async def test_a_call_that_needs_more_scopes_is_made_again_with_them(mode: str) -> None:
    async with shop() as it, connected(it, mode) as client:
        assert await sum_of(client) == {"result": 3}
        assert (await client.call_tool("write", {})).structured_content == {"result": "written"}
    assert [page["scope"] for page in it.auth.asked_for("/authorize")] == ["read", "read write"]


async def test_over_sse_the_stream_and_the_messages_carry_the_token() -> None:
    async with (
        shop(MCPServer.sse_app, "/sse") as it,
        Client(sse_client(it.url, auth=it.provider), mode="legacy") as client,
    ):
        assert await sum_of(client) == {"result": 3}
        it.revoke()
        assert await sum_of(client) == {"result": 3}
    assert len(it.user.visited) == 1


async def test_a_subscription_that_is_opened_again_carries_the_new_token() -> None:
    async with shop() as it, connected(it, "2026-07-28") as client:
        for _ in range(2):
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool("grow", {})
                with anyio.fail_after(20):
                    await anext(aiter(changes))
            it.revoke()
    assert len(set(it.verifier.taken)) == 2


async def test_fifty_calls_at_once_with_an_ended_token_are_made_after_one_refresh() -> None:
    sums: list[Any] = []
    async with shop() as it, connected(it, "2026-07-28") as client:
        await sum_of(client)
        it.revoke()

        async def call() -> None:
            sums.append(await sum_of(client))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(call)
    assert sums == [{"result": 3}] * 50
    assert len(it.auth.grants("refresh_token")) == 1


@ERAS
async def test_the_time_that_a_user_takes_is_not_the_calls(mode: str) -> None:
    async with shop() as it:

        async def think() -> None:
            await anyio.sleep(1.5)

        it.user.before = think
        async with connected(it, mode, read_timeout_seconds=1) as client:
            assert await sum_of(client) == {"result": 3}


async def test_calls_that_wait_for_the_user_of_another_do_not_run_out_of_time() -> None:
    async with shop() as it:

        async def think() -> None:
            await anyio.sleep(1.5)

        async with connected(it, "2026-07-28", read_timeout_seconds=1) as client:
            await sum_of(client)
            it.revoke()
            it.auth.refreshable.clear()
            it.user.before = think
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(sum_of, client)
    assert len(it.user.visited) == 2


async def test_calls_that_wait_for_the_refresh_of_another_run_out_of_time() -> None:
    over: list[Exception] = []
    three = anyio.Event()

    async def slow(request: Posted, reply: Reply) -> None:
        await three.wait()
        await reply.json({"error": "temporarily_unavailable"}, "503 Service Unavailable")

    async with shop() as it, connected(it, "2026-07-28", read_timeout_seconds=1) as client:
        await sum_of(client)
        it.revoke()
        it.auth.instead["/token"] = slow

        async def call() -> None:
            try:
                await sum_of(client)
            except RequestTimeoutError as failure:
                over.append(failure)
            if len(over) == 3:
                three.set()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(call)
    # The one that refreshes hears it to the end, and is late as well.
    assert len(over) == 4


async def test_a_server_that_is_slow_after_the_user_was_is_still_given_up() -> None:
    async with shop() as it:

        @it.server.tool()
        async def sleep() -> None:
            await anyio.sleep(30)

        async with connected(it, "2026-07-28", read_timeout_seconds=1) as client:
            await sum_of(client)
            it.revoke()
            it.auth.refreshable.clear()
            with pytest.raises(RequestTimeoutError):
                await client.call_tool("sleep", {})
            assert len(it.user.visited) == 2


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy", "auto"])
async def test_a_flow_that_fails_is_what_entering_the_client_raises(mode: str) -> None:
    async with shop() as it:
        it.user.changes["state"] = "other"
        with pytest.raises(OAuthFlowError, match="another state"):
            async with connected(it, mode) as client:
                await sum_of(client)


@ERAS
async def test_a_server_that_refuses_a_fresh_token_is_told_apart_from_one_that_wants_a_token(mode: str) -> None:
    async with shop() as it:
        it.verifier.resource = "https://other.example.com/mcp"
        with pytest.raises(HTTPResponseError) as raised:
            async with connected(it, mode) as client:
                await sum_of(client)
        text = raised.value.message
        assert raised.value.status == 401
        assert "It refuses the credentials that were sent" in text
        token = next(iter(it.auth.live))
        assert token not in text
    async with shop() as it:
        with pytest.raises(HTTPResponseError, match="give the `http_client` an `auth=`"):
            async with Client(it.url, mode=mode) as client:
                await sum_of(client)


async def test_an_authorization_server_that_cannot_be_reached_is_named() -> None:
    async with shop() as it:
        it.auth.changes["registration_endpoint"] = "http://127.0.0.1:1/register"
        with pytest.raises(MCPError, match=r"Cannot connect to http://127\.0\.0\.1:1"):
            async with connected(it, "2026-07-28") as client:
                await sum_of(client)


async def test_an_authorization_server_that_hangs_up_is_named() -> None:
    async def hang_up(request: Posted, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        await reply.hang_up()

    async with shop() as it:
        it.auth.instead["/token"] = hang_up
        with pytest.raises(MCPError) as raised:
            async with connected(it, "2026-07-28") as client:
                await sum_of(client)
    assert raised.value.message.startswith(f"The connection to {it.auth.origin} broke before the answer was complete")


async def test_a_call_whose_scopes_are_not_granted_says_which_it_needs() -> None:
    async with shop() as it, connected(it, "2026-07-28") as client:
        await sum_of(client)
        it.auth.granted = "read"
        with pytest.raises(MCPError, match="The tool 'write' needs the scope write"):
            await client.call_tool("write", {})
        assert await sum_of(client) == {"result": 3}
    assert len(it.user.visited) == 2


@pytest.mark.parametrize(
    ("challenge", "sent", "text"),
    [
        ('Bearer error="insufficient_scope", scope="a b"', True, "It needs the scopes 'a b', which the token that was"),
        (
            'Bearer error="insufficient_scope"',
            True,
            "It needs more scopes, which the token that was sent does not have",
        ),
        ("Bearer", True, "It refuses this client: look at the authorization"),
        ('Bearer error="insufficient_scope"', False, "It refuses this client: look at the authorization"),
    ],
)
async def test_a_403_says_what_the_token_lacks(challenge: str, sent: bool, text: str) -> None:
    async def forbid(request: Posted, reply: Reply) -> None:
        await reply.send("403 Forbidden", b"no", "text/plain", {"www-authenticate": challenge})

    headers = {"authorization": "Bearer a-secret"} if sent else {}
    async with serve(forbid) as server, own_client(headers=headers) as http_client:
        with pytest.raises(HTTPResponseError, match=text) as raised:
            async with Client(streamable_http_client(server.url, http_client=http_client)) as client:
                await client.list_tools()
    assert "a-secret" not in raised.value.message


async def test_a_session_that_the_server_sends_to_by_itself_goes_on_with_the_new_token() -> None:
    seen: list[str] = []

    async def notice(message: Any) -> None:
        seen.append(type(message).__name__)

    async with shop() as it, connected(it, "legacy", message_handler=notice) as client:
        await client.call_tool("grow", {})
        it.revoke()
        await client.call_tool("grow", {})
        await until(lambda: len(seen) >= 2)
    assert len(it.user.visited) == 1
