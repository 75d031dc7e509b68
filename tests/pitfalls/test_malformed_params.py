"""B64: params that do not fit, which brought a whole server down."""

import json
from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, Transport, connected, only_text, text_of
from eras import HANDSHAKE, MODERN, Era
from raw_peers import META, Message, answers_on_stdio, request

from mcp import MCPError, types

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

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


async def test_b64_malformed_params_fail_alone(transport: Transport, mode: str) -> None:
    """A model that sent its arguments as a string broke the server until it was restarted."""
    async with connected(transport, mode=mode) as client:
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


@asyncio_only
async def test_b64_null_counts_as_no_arguments(transport: Transport, mode: str) -> None:
    """Some models and clients send null for a call without arguments."""
    async with connected(transport, mode=mode) as client:
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
    answers = _answers_under(MODERN, MALFORMED_META)

    assert {answer["error"]["code"] for answer in answers} <= {-32602, -32022, -32600}


WITHOUT_USE: list[Any] = [None, "", [], 5, {}, {"progressToken": {}}, {"progressToken": True}, {"progressToken": None}]


def test_b64_malformed_meta_fails_alone_in_a_session() -> None:
    """The same before 2026-07-28, where `_meta` may be left out, and is taken or refused."""
    answers = _answers_under(HANDSHAKE, WITHOUT_USE)

    assert {answer["error"]["code"] for answer in answers if "error" in answer} <= {-32602, -32600}


def _answers_under(era: Era, metas: list[Any]) -> list[Message]:
    """What a request is answered under each of these, while the one after them all is served."""
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta}}).encode()
        for id, meta in enumerate(metas)
    ]
    good = request(era, 100, "tools/call", name="echo", arguments={"text": "good"})

    answers = {answer["id"]: answer for answer in answers_on_stdio(era, [*lines, good])}

    assert answers.keys() == {*range(len(metas)), 100}
    assert answers.pop(100)["result"]["content"][0]["text"] == "good"
    return list(answers.values())
