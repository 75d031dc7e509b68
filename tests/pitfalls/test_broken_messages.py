"""Reports about one bad message that ended, or froze, a whole connection."""

import json
import os
import subprocess
import sys
import time

import anyio
import pytest
from connections import PROGRAM, SECONDS_OF_PATIENCE, over_http, text_of
from eras import MODERN, Era
from pitfall_server import server
from raw_peers import (
    RESULT,
    Steps,
    answers_on_stdio,
    http_server_that_sends,
    posting,
    request,
    stdio_server_that_sends,
)

from mcp import Client, MCPError

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

GOOD_HEADERS = {"mcp-method": "tools/call", "mcp-name": "echo"}


def good(era: Era) -> bytes:
    return request(era, 100, "tools/call", name="echo", arguments={"text": "good"})


# B11

BROKEN = [
    (b'{"jsonrpc":"2.0","id":5,"method":', -32700, 5),
    (b"hello", -32700, None),
    (b"\xff\xfe{\x00}\x00", -32700, None),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":NaN}}', -32700, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":1e999}}', -32700, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"\\ud83d"}}', -32700, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"\xff"}}', -32700, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m"} {}', -32700, 5),
    (b"null", -32600, None),
    (b"5", -32600, None),
    (b"[]", -32600, None),
    (b"[%b]" % request(MODERN, 5, "tools/list"), -32600, None),
    (b'{"id":5,"method":"m"}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":5.5,"method":"m"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":5,"method":6}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":[]}', -32602, 5),
]


def test_b11_a_malformed_line_is_answered_and_the_next_one_is_served(era: Era) -> None:
    """A line that is no JSON was dropped, so that a peer which had numbered it waited for ever."""
    answers = answers_on_stdio(era, [*(line for line, _, _ in BROKEN), good(era)])

    assert [(answer["error"]["code"], answer["id"]) for answer in answers[:-1]] == [
        (code, id) for _, code, id in BROKEN
    ]
    assert answers[-1]["id"] == 100
    assert answers[-1]["result"]["content"] == [{"type": "text", "text": "good"}]


@asyncio_only
async def test_b11_a_malformed_body_is_answered_and_the_next_one_is_served(era: Era) -> None:
    """The same over HTTP."""
    with over_http(server.streamable_http_app()) as url:
        async with posting(era, url) as (post, _):
            for body, code, id in BROKEN:
                response = await post(body)
                assert response.status_code == 400
                assert (response.json()["error"]["code"], response.json()["id"]) == (code, id)
            assert (await post(good(era), **GOOD_HEADERS)).json()["id"] == 100


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes that do not block")
def test_b11_a_peer_that_floods_and_never_reads_is_not_answered_without_end() -> None:
    """Now that bad lines are answered, the answers must not fill the memory where nobody takes them."""
    process = subprocess.Popen([sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    taken, last_taken = 0, time.monotonic()
    while taken < 20_000_000 and time.monotonic() - last_taken < 1:
        try:
            taken += os.write(process.stdin.fileno(), b"x" * 99 + b"\n")
            last_taken = time.monotonic()
        except BlockingIOError:
            time.sleep(0.001)
    assert taken < 20_000_000

    os.set_blocking(process.stdin.fileno(), True)
    answers, _ = process.communicate(b"\n" + good(MODERN) + b"\n", timeout=SECONDS_OF_PATIENCE)

    assert answers.count(b'"code":-32700') == -(-taken // 100)
    assert json.loads(answers.splitlines()[-1])["id"] == 100
    assert process.returncode == 0


UNREADABLE_ANSWERS = [
    '{"jsonrpc":"2.0","id":ID,"result":',
    '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"a":NaN}}}',
    '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\udcff"}]}}',
    '{"jsonrpc":"2.0","id":ID,"result":[]}',
    '{"jsonrpc":"2.0","id":ID,"error":"no"}',
    '{"id":ID,"result":{"content":[]}}',
]


@pytest.mark.parametrize("answer", UNREADABLE_ANSWERS)
async def test_b11_a_malformed_answer_fails_its_call_and_no_other(answer: str, mode: str) -> None:
    """The other way round: a client dropped an answer that it could not read, and its caller waited for ever."""
    server = stdio_server_that_sends([answer], [RESULT])

    async with Client(server, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError):
            await client.call_tool("any")
        assert await text_of(client, "any") == "real"


@asyncio_only
@pytest.mark.parametrize("answer", UNREADABLE_ANSWERS)
async def test_b11_a_malformed_answer_fails_its_call_over_http(answer: str, mode: str) -> None:
    """The same over HTTP."""
    with over_http(http_server_that_sends([answer])) as url:
        async with Client(url, mode=mode) as client:
            with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError):
                await client.call_tool("any")


# B20

STRAYS = [
    '{"jsonrpc":"2.0","id":999,"result":{}}',
    '{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"stray"}}',
    '{"jsonrpc":"2.0","id":"of somebody else","result":{}}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":999,"progress":1}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}',
    '{"jsonrpc":"2.0","method":"notifications/of_the_future"}',
    '{"jsonrpc":"2.0","id":ID,"method":"ping"}',
    '{"jsonrpc":"2.0","id":999,"method":"sampling/createMessage","params":{}}',
    '{"jsonrpc":"2.0","id":999,"result":',
    "[]",
    "a line that somebody printed",
    "",
]


@pytest.mark.parametrize("steps", [[*STRAYS, RESULT], [RESULT, RESULT, *STRAYS]], ids=["before", "after"])
async def test_b20_what_nobody_asked_for_does_no_harm(steps: Steps, mode: str) -> None:
    """An answer under an unknown id, or a second one, took the session down."""
    async with Client(stdio_server_that_sends(steps), mode=mode) as client:
        for _ in range(3):
            assert await text_of(client, "any") == "real"


@asyncio_only
@pytest.mark.parametrize("steps", [[*STRAYS, RESULT], [RESULT, RESULT, *STRAYS]], ids=["before", "after"])
async def test_b20_what_nobody_asked_for_does_no_harm_over_http(steps: Steps, mode: str) -> None:
    """The same over HTTP."""
    with over_http(http_server_that_sends(steps)) as url:
        async with Client(url, mode=mode) as client:
            for _ in range(3):
                assert await text_of(client, "any") == "real"


async def test_b20_an_answer_that_comes_after_its_call_was_given_up_does_no_harm(mode: str) -> None:
    """An answer that came too late was taken for that of another call, or for a fault of the server."""
    late = RESULT.replace("real", "late").replace("ID", "EARLIER")
    server = stdio_server_that_sends([], [late, RESULT])

    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError, match="Timed out"):
            await client.call_tool("any", read_timeout_seconds=0.05)
        assert await text_of(client, "any") == "real"


def test_b20_a_server_ignores_answers_to_what_it_never_asked(era: Era) -> None:
    """The same on the other side."""
    strays = [stray.replace("ID", "1").encode() for stray in STRAYS[:3]]
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}'

    assert [answer["id"] for answer in answers_on_stdio(era, [*strays, cancel, good(era)])] == [100]
