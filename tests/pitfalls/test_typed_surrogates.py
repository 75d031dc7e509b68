"""B93, B94: text that no UTF-8 can hold and values of any depth, as functions of an `MCPServer` meet them."""

import logging
from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, Transport, connected, over_http, text_of
from eras import HANDSHAKE, MODERN, Era
from pitfall_mcpserver import mcp
from pitfall_server import HALF_AN_EMOJI
from raw_peers import posting, request

from mcp import Client, MCPError

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.fixture(autouse=True)
def unlogged(caplog: pytest.LogCaptureFixture) -> None:
    """Exceptions are logged as they are, and the test runner's own connections break of such text."""
    caplog.set_level(logging.CRITICAL + 1, "mcp")


async def fails(client: Client, tool: str, **arguments: Any) -> bool:
    """Whether a call of a tool fails, in either of the ways to say so. What is said must be sendable."""
    try:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            result = await client.call_tool(tool, arguments)
    except (MCPError, ValueError) as error:
        return bool(str(error).encode(errors="replace"))
    result.model_dump_json()
    return result.is_error


async def test_b93_a_function_that_says_it_fails_in_that_call_alone(transport: Transport, mode: str) -> None:
    """A tool returned a file name that is not UTF-8, and the connection was lost."""
    async with connected(transport, "typed", mode=mode) as client:
        for where in ("text", "value", "key", "exception", "tool error"):
            assert await fails(client, "name_a_file", where=where), where
            assert await text_of(client, "echo", text="next") == "next"
        assert await fails(client, "name_a_file_in_structure")
        with pytest.raises(MCPError):
            await client.read_resource("files://undecodable")
        with pytest.raises(MCPError):
            await client.get_prompt("undecodable_prompt")
        assert await text_of(client, "echo", text="next 😀") == "next 😀"


async def test_b93_a_client_that_says_it_fails_in_that_call_alone(transport: Transport, mode: str) -> None:
    """The same the other way round."""
    async with connected(transport, "typed", mode=mode) as client:
        assert await fails(client, "echo", text=f"a{HALF_AN_EMOJI}")
        assert await fails(client, "anything", value={HALF_AN_EMOJI: 1})
        assert await text_of(client, "echo", text="next") == "next"


# B94


async def test_b94_deep_values_fail_alone_on_the_way_out(transport: Transport, mode: str) -> None:
    """A function may return what no peer can read."""
    async with connected(transport, "typed", mode=mode) as client:
        for depth in (1_000, 50_000):
            assert await fails(client, "nest", depth=depth)
            assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
async def test_b94_deep_arguments_and_large_bodies_are_refused_over_http(era: Era) -> None:
    """They ended the process, or were read to the end before anybody looked at their size."""
    deep = b"[" * 100_000 + b"]" * 100_000
    call = request(era, 7, "tools/call", name="anything", arguments={"value": "VALUE"})
    headers = {"mcp-method": "tools/call", "mcp-name": "anything"} if era is MODERN else {}
    with over_http(mcp.streamable_http_app(max_request_body_size=300_000)) as url:
        async with posting(era, url) as (post, _):
            answer = await post(call.replace(b'"VALUE"', deep), **headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
            answer = await post(call.replace(b"VALUE", b"x" * 300_000), **headers)
            assert answer.status_code == 413
            answer = await post(call, **headers)
            assert (answer.status_code, "VALUE" in answer.text) == (200, True)


def test_b94_both_eras_are_tried() -> None:
    """The headers above are of one of them."""
    assert MODERN.mode != HANDSHAKE.mode
