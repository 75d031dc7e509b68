"""B94: messages that are too deep or too large, which brought naive parsers down, or filled the memory."""

from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, Transport, connected, over_http, text_of
from eras import MODERN, Era
from pitfall_server import server
from raw_peers import answers_on_stdio, posting, request

from mcp import MCPError

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

GOOD_HEADERS = {"mcp-method": "tools/call", "mcp-name": "echo"}


def good(era: Era) -> bytes:
    return request(era, 100, "tools/call", name="echo", arguments={"text": "good"})


DEEP = [b"[" * 100_000 + b"]" * 100_000, b"[" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]


@asyncio_only
async def test_b94_deep_json_is_refused_over_http(era: Era) -> None:
    """A body of nothing but brackets is small, and brings naive parsers down."""
    with over_http(server.streamable_http_app()) as url:
        async with posting(era, url) as (post, _):
            for body in DEEP:
                response = await post(body)
                assert response.status_code == 400
                assert response.json()["error"]["code"] == -32700
            assert (await post(good(era), **GOOD_HEADERS)).status_code == 200


def test_b94_deep_json_is_refused_on_stdio(era: Era) -> None:
    """The same on stdio, also for params of a request."""
    params = b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":%b}}' % DEEP[0]

    answers = answers_on_stdio(era, [*DEEP, params, good(era)])

    assert [answer["error"]["code"] for answer in answers[:-1]] == [-32700] * 4
    assert answers[-1]["id"] == 100


async def test_b94_deep_values_fail_alone_on_the_way_out(transport: Transport, mode: str) -> None:
    """The same for what the two sides have to write themselves: no recursion error may end a connection."""
    async with connected(transport, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError):
            await client.call_tool("nest", {"depth": 100_000})
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises((MCPError, ValueError)):
            await client.call_tool("echo", {"text": deep})
        assert await text_of(client, "echo", text="next") == "next"
        # Freed level by level: a destructor that recurses is not what is tested here.
        while deep:
            deep = deep.pop()


@asyncio_only
@pytest.mark.parametrize("framing", ["content-length: 5000000", "transfer-encoding: chunked"])
async def test_b94_a_body_over_the_limit_is_refused_before_it_is_read(framing: str, era: Era) -> None:
    """A server that reads a body before it looks at its size can be filled with a few requests."""
    with (
        over_http(server.streamable_http_app(max_request_body_size=1000)) as url,
        anyio.fail_after(SECONDS_OF_PATIENCE),
    ):
        port = int(url.split(":")[2].split("/")[0])
        async with posting(era, url) as (post, headers):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                lines = [f"{name}: {value}" for name, value in {**headers, "host": f"127.0.0.1:{port}"}.items()]
                await stream.send("\r\n".join(["POST /mcp HTTP/1.1", *lines, framing, "", ""]).encode())
                if "chunked" in framing:
                    await stream.send(b"3e9\r\n" + b" " * 1001 + b"\r\n")
                # The rest never comes.
                assert (await stream.receive()).startswith(b"HTTP/1.1 413 ")
            assert (await post(good(era), **GOOD_HEADERS)).status_code == 200


def test_b94_a_line_over_the_limit_is_refused_on_stdio() -> None:
    """A line without end filled the memory of the server."""
    too_long = b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":"' + b"x" * (64 * 1024 * 1024) + b'"}}'

    refusal, answer = answers_on_stdio(MODERN, [too_long, good(MODERN)])

    assert (refusal["id"], refusal["error"]["code"]) == (7, -32600)
    assert "64" in refusal["error"]["message"] or "67108864" in refusal["error"]["message"]
    assert answer["id"] == 100
