"""B121: who is calling, as functions of an `MCPServer` see it, whoever has authenticated them."""

from typing import Any

import anyio
import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, only_text, over_http
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context, MCPServer

pytestmark = pytest.mark.anyio


class ByHeader(AuthenticationBackend):
    """Takes everybody for who they say they are."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get("x-user")
        return None if name is None else (AuthCredentials(["read"]), SimpleUser(name))


def asking_who() -> MCPServer:
    mcp = MCPServer("who")

    @mcp.tool()
    async def who(ctx: Context) -> str:
        return repr(ctx.user and ctx.user.display_name)

    @mcp.tool()
    def who_in_a_thread(ctx: Context) -> str:
        return repr(ctx.user and ctx.user.display_name)

    @mcp.resource("who://{verb}")
    def resource(verb: str, ctx: Context) -> str:
        return repr(ctx.user and ctx.user.display_name)

    _ = who, who_in_a_thread, resource
    return mcp


async def said_to(url: str, name: str, mode: str) -> set[str]:
    """What the server says to somebody."""
    http = httpx2.AsyncClient(headers={"x-user": name}, timeout=SECONDS_OF_PATIENCE, trust_env=False)
    said: list[str] = []

    async def call(client: Client, tool: str) -> None:
        said.append(only_text(await client.call_tool(tool)))

    try:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(call, client, "who")
                    group.start_soon(call, client, "who_in_a_thread")
            [content] = (await client.read_resource("who://am")).contents
            said.append(getattr(content, "text", ""))
    finally:
        await http.aclose()
    return set(said)


async def test_b121_a_function_is_told_who_is_calling(mode: str) -> None:
    """It took private ways into the request, and they mixed up callers."""
    app: Any = AuthenticationMiddleware(asking_who().streamable_http_app(), backend=ByHeader())
    said: dict[str, set[str]] = {}

    async def ask(url: str, name: str) -> None:
        said[name] = await said_to(url, name, mode)

    with over_http(app) as url:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, url, "ann")
            group.start_soon(ask, url, "bob")
    assert said == {"ann": {"'ann'"}, "bob": {"'bob'"}}


async def test_b121_where_nobody_asked_there_is_nobody(mode: str) -> None:
    """Without authentication in front, and without HTTP."""
    mcp = asking_who()
    with over_http(mcp.streamable_http_app()) as url:
        for target in (mcp, url):
            async with Client(target, mode=mode) as client:
                assert only_text(await client.call_tool("who")) == "None"
