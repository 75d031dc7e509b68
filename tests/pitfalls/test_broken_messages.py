"""Reports about one bad message that ended, or froze, a whole connection."""

import json
import os
import subprocess
import sys
import time
from typing import Any

import anyio
import pytest
from connections import (
    PROGRAM,
    SECONDS_OF_PATIENCE,
    Transport,
    connected,
    only_text,
    over_http,
    text_of,
)
from pitfall_server import server
from raw_peers import (
    HEADERS,
    META,
    RESULT,
    VERSION,
    Steps,
    answers_on_stdio,
    http_server_that_sends,
    post,
    request,
    stdio_server_that_sends,
)

from mcp import Client, MCPError, types

pytestmark = pytest.mark.anyio

GOOD = request(100, "tools/call", name="echo", arguments={"text": "good"})
GOOD_HEADERS = {"mcp-method": "tools/call", "mcp-name": "echo"}

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
    (b"[%b]" % request(5, "tools/list"), -32600, None),
    (b'{"id":5,"method":"m"}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":5.5,"method":"m"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":5,"method":6}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":5,"method":"m","params":[]}', -32602, 5),
]


def test_b11_a_malformed_line_is_answered_and_the_next_one_is_served() -> None:
    """A line that is no JSON was dropped, so that a peer which had numbered it waited for ever."""
    answers = answers_on_stdio([*(line for line, _, _ in BROKEN), GOOD])

    assert [(answer["error"]["code"], answer["id"]) for answer in answers[:-1]] == [
        (code, id) for _, code, id in BROKEN
    ]
    assert answers[-1]["id"] == 100
    assert answers[-1]["result"]["content"] == [{"type": "text", "text": "good"}]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_b11_a_malformed_body_is_answered_and_the_next_one_is_served() -> None:
    """The same over HTTP."""
    with over_http(server.streamable_http_app()) as url:
        for body, code, id in BROKEN:
            response = await post(url, body)
            assert response.status_code == 400
            assert (response.json()["error"]["code"], response.json()["id"]) == (code, id)
        assert (await post(url, GOOD, **GOOD_HEADERS)).json()["id"] == 100


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
    answers, _ = process.communicate(b"\n" + GOOD + b"\n", timeout=SECONDS_OF_PATIENCE)

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
async def test_b11_a_malformed_answer_fails_its_call_and_no_other(answer: str) -> None:
    """The other way round: a client dropped an answer that it could not read, and its caller waited for ever."""
    server = stdio_server_that_sends([answer], [RESULT])

    async with Client(server, mode=VERSION) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError):
            await client.call_tool("any")
        assert await text_of(client, "any") == "real"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("answer", UNREADABLE_ANSWERS)
async def test_b11_a_malformed_answer_fails_its_call_over_http(answer: str) -> None:
    """The same over HTTP."""
    with over_http(http_server_that_sends([answer])) as url:
        async with Client(url, mode=VERSION) as client:
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
async def test_b20_what_nobody_asked_for_does_no_harm(steps: Steps) -> None:
    """An answer under an unknown id, or a second one, took the session down."""
    async with Client(stdio_server_that_sends(steps), mode=VERSION) as client:
        for _ in range(3):
            assert await text_of(client, "any") == "real"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("steps", [[*STRAYS, RESULT], [RESULT, RESULT, *STRAYS]], ids=["before", "after"])
async def test_b20_what_nobody_asked_for_does_no_harm_over_http(steps: Steps) -> None:
    """The same over HTTP."""
    with over_http(http_server_that_sends(steps)) as url:
        async with Client(url, mode=VERSION) as client:
            for _ in range(3):
                assert await text_of(client, "any") == "real"


async def test_b20_an_answer_that_comes_after_its_call_was_given_up_does_no_harm() -> None:
    """An answer that came too late was taken for that of another call, or for a fault of the server."""
    late = RESULT.replace("real", "late").replace("ID", "EARLIER")
    server = stdio_server_that_sends([], [late, RESULT])

    async with Client(server, mode=VERSION) as client:
        with pytest.raises(MCPError, match="Timed out"):
            await client.call_tool("any", read_timeout_seconds=0.05)
        assert await text_of(client, "any") == "real"


def test_b20_a_server_ignores_answers_to_what_it_never_asked() -> None:
    """The same on the other side."""
    strays = [stray.replace("ID", "1").encode() for stray in STRAYS[:3]]
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}'

    assert [answer["id"] for answer in answers_on_stdio([*strays, cancel, GOOD])] == [100]


# B64

MALFORMED_PARAMS: list[Any] = [
    {"name": "echo", "arguments": "{}"},
    {"name": "echo", "arguments": []},
    {"name": "echo", "arguments": 5},
    {"name": "echo", "arguments": True},
    {"name": "echo", "arguments": {"text": "x"}, "inputResponses": "{}"},
    {"name": None, "arguments": {}},
    {"name": 5, "arguments": {}},
    {"name": ["echo"], "arguments": {}},
    {"arguments": {}},
    {},
]


async def test_b64_malformed_params_fail_alone(transport: Transport) -> None:
    """A model that sent its arguments as a string broke the server until it was restarted."""
    async with connected(transport) as client:
        for params in MALFORMED_PARAMS:
            with (
                anyio.fail_after(SECONDS_OF_PATIENCE),
                pytest.raises(MCPError, match="Invalid request param") as caught,
            ):
                await client.session.send_request(
                    types.Request[Any, Any](method="tools/call", params=dict(params)), types.CallToolResult
                )
            assert caught.value.code == types.INVALID_PARAMS
            assert await text_of(client, "echo", text="next") == "next"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_b64_null_counts_as_no_arguments(transport: Transport) -> None:
    """Some models and clients send null for a call without arguments."""
    async with connected(transport) as client:
        request = types.Request[Any, Any](method="tools/call", params={"name": "pid", "arguments": None})
        result = await client.session.send_request(request, types.CallToolResult)
        assert only_text(result).isdigit()


MALFORMED_META: list[Any] = [
    None,
    "",
    [],
    {},
    {**META, "io.modelcontextprotocol/protocolVersion": 5},
    {**META, "io.modelcontextprotocol/protocolVersion": ["2026-07-28"]},
    {**META, "io.modelcontextprotocol/protocolVersion": {}},
    {**META, "io.modelcontextprotocol/clientCapabilities": "all"},
    {**META, "io.modelcontextprotocol/clientCapabilities": None},
    {**META, "io.modelcontextprotocol/clientInfo": "me"},
    {**META, "io.modelcontextprotocol/logLevel": 5},
    {**META, "progressToken": {}},
]


def test_b64_malformed_meta_fails_alone() -> None:
    """The same for what stands in `_meta`."""
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta}}).encode()
        for id, meta in enumerate(MALFORMED_META)
    ]

    answers = {answer["id"]: answer for answer in answers_on_stdio([*lines, GOOD])}

    assert answers.keys() == {*range(len(MALFORMED_META)), 100}
    assert {answers[id]["error"]["code"] for id in range(len(MALFORMED_META))} <= {-32602, -32022, -32600}
    assert "result" in answers[100]


# B94

DEEP = [b"[" * 100_000 + b"]" * 100_000, b"[" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_b94_deep_json_is_refused_over_http() -> None:
    """A body of nothing but brackets is small, and brings naive parsers down."""
    with over_http(server.streamable_http_app()) as url:
        for body in DEEP:
            response = await post(url, body)
            assert response.status_code == 400
            assert response.json()["error"]["code"] == -32700
        assert (await post(url, GOOD, **GOOD_HEADERS)).status_code == 200


def test_b94_deep_json_is_refused_on_stdio() -> None:
    """The same on stdio, also for params of a request."""
    params = b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":%b}}' % DEEP[0]

    answers = answers_on_stdio([*DEEP, params, GOOD])

    assert [answer["error"]["code"] for answer in answers[:-1]] == [-32700] * 4
    assert answers[-1]["id"] == 100


async def test_b94_deep_values_fail_alone_on_the_way_out(transport: Transport) -> None:
    """The same for what the two sides have to write themselves: no recursion error may end a connection."""
    async with connected(transport) as client:
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


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("framing", ["content-length: 5000000", "transfer-encoding: chunked"])
async def test_b94_a_body_over_the_limit_is_refused_before_it_is_read(framing: str) -> None:
    """A server that reads a body before it looks at its size can be filled with a few requests."""
    with over_http(server.streamable_http_app(max_request_body_size=1000)) as url:
        port = int(url.split(":")[2].split("/")[0])
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                headers = {**HEADERS, "host": f"127.0.0.1:{port}"}
                head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                await stream.send(f"{head}{framing}\r\n\r\n".encode())
                if "chunked" in framing:
                    await stream.send(b"3e9\r\n" + b" " * 1001 + b"\r\n")
                # The rest never comes.
                assert (await stream.receive()).startswith(b"HTTP/1.1 413 ")
        assert (await post(url, GOOD, **GOOD_HEADERS)).status_code == 200


def test_b94_a_line_over_the_limit_is_refused_on_stdio() -> None:
    """A line without end filled the memory of the server."""
    too_long = b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":"' + b"x" * (64 * 1024 * 1024) + b'"}}'

    refusal, answer = answers_on_stdio([too_long, GOOD])

    assert (refusal["id"], refusal["error"]["code"]) == (7, -32600)
    assert "64" in refusal["error"]["message"] or "67108864" in refusal["error"]["message"]
    assert answer["id"] == 100
