"""B115, B117, B121: servers that take tokens."""

from typing import Any

import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, only_text, over_http
from protecting import METADATA_URL, Known, bearer, challenge_of, http_to, modern, settings, token

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context, MCPServer

pytestmark = pytest.mark.anyio

READER = token("token-of-ada", "read", subject="ada", claims={"team": "red"})
WRITER = token("token-of-grace", "read", "w", subject="grace", claims={"team": "blue"})


def protected() -> MCPServer:
    mcp = MCPServer("protected", token_verifier=Known(READER, WRITER), auth=settings())

    @mcp.tool()
    def who(ctx: Context) -> str:
        return f"{ctx.user.subject} {ctx.user.scopes} {ctx.user.claims}"

    @mcp.tool(scopes=["w"])
    def write() -> str:
        return "written"

    _ = who, write
    return mcp


def client_of(url: str, headers: dict[str, str], mode: str) -> Any:
    """An HTTP client with its own headers, and a client that uses it."""
    http = httpx2.AsyncClient(headers=headers, timeout=SECONDS_OF_PATIENCE, trust_env=False)
    return http, Client(streamable_http_client(url, http_client=http), mode=mode)


async def test_b115_who_brought_no_token_is_told_what_to_get_and_not_that_it_was_wrong() -> None:
    """There was no `scope`, and `error="invalid_token"` without any token."""
    poor = token("poor", "other")
    mcp = MCPServer("protected", token_verifier=Known(READER, poor), auth=settings())
    async with http_to(mcp.streamable_http_app()) as http:
        answer = await modern(http, "tools/list")
        assert answer.status_code == 401
        assert challenge_of(answer) == {"scope": "read", "resource_metadata": METADATA_URL}
        answer = await modern(http, "tools/list", "poor")
        assert answer.status_code == 403
        assert challenge_of(answer)["scope"] == "read"


async def test_b117_a_token_goes_no_further_than_the_server_that_it_is_for(mode: str) -> None:
    """What a gateway was called with went to the servers behind it."""
    seen: list[str | None] = []
    behind = MCPServer("behind")

    @behind.tool()
    def seen_here(ctx: Context) -> str:
        assert ctx.headers is not None
        seen.append(ctx.headers.get("authorization"))
        return "done"

    with over_http(behind.streamable_http_app()) as url_behind:
        gateway = MCPServer("gateway", token_verifier=Known(READER), auth=settings())

        @gateway.tool()
        async def plain() -> str:
            async with Client(url_behind, mode=mode) as client:
                return only_text(await client.call_tool("seen_here"))

        @gateway.tool()
        async def asked_for() -> str:
            http, client = client_of(url_behind, bearer("token-for-behind"), mode)
            async with http, client:
                return only_text(await client.call_tool("seen_here"))

        with over_http(gateway.streamable_http_app()) as url:
            http, client = client_of(url, bearer(READER.token), mode)
            async with http, client:
                assert only_text(await client.call_tool("plain")) == "done"
                assert only_text(await client.call_tool("asked_for")) == "done"
    assert seen == [None, "Bearer token-for-behind"]


async def test_b121_one_attribute_says_who_is_calling_and_what_they_may(mode: str) -> None:
    """The token was behind a function, and its claims behind the token."""
    with over_http(protected().streamable_http_app()) as url:
        for mine in (READER, WRITER):
            http, client = client_of(url, bearer(mine.token), mode)
            async with http, client:
                said = only_text(await client.call_tool("who"))
                assert said == f"{mine.subject} {mine.scopes} {mine.claims}"


async def test_b121_a_tool_with_a_scope_is_hidden_from_those_without_and_challenges_their_calls(mode: str) -> None:
    """Every server had to do it by hand."""
    with over_http(protected().streamable_http_app()) as url:
        for mine, expected in ((READER, ["who"]), (WRITER, ["who", "write"])):
            http, client = client_of(url, bearer(mine.token), mode)
            async with http, client:
                assert [tool.name for tool in (await client.list_tools()).tools] == expected
                if mine is WRITER:
                    assert only_text(await client.call_tool("write")) == "written"
    async with http_to(protected().streamable_http_app()) as http:
        answer = await modern(http, "tools/call", READER.token, name="write", arguments={})
        assert answer.status_code == 403
        assert challenge_of(answer)["error"] == "insufficient_scope"
        assert challenge_of(answer)["scope"] == "read w"
