"""The command line of the MCP Inspector against our server: what people look at a server with."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from peer_programs import output_of, package, stdio_workshop, workshop_url

pytestmark = pytest.mark.e2e


@pytest.fixture(params=["stdio", "http", "sse"])
def target(request: pytest.FixtureRequest) -> Generator[tuple[str, ...]]:
    """What the Inspector is pointed at: a command to run or the URL of a server that runs."""
    if request.param == "stdio":
        yield tuple(stdio_workshop())
    else:
        with workshop_url(*(["sse"] if request.param == "sse" else [])) as url:
            yield (url,)


def inspect(target: tuple[str, ...], *arguments: str, era: str = "legacy") -> dict[str, Any]:
    """The result that the Inspector prints for one request."""
    program = package("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    return json.loads(output_of([*program, "--cli", *target, "--protocol-era", era, *arguments]))


def test_every_kind_of_request_of_the_handshake_era(target: tuple[str, ...]) -> None:
    tools = inspect(target, "--method", "tools/list")["tools"]
    assert {"name", "description", "inputSchema"} <= set(tools[0])
    assert "add" in [tool["name"] for tool in tools]

    added = inspect(target, "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3")
    assert added == {"content": [{"type": "text", "text": "5"}], "isError": False}

    read = inspect(target, "--method", "resources/read", "--uri", "workshop://board")
    assert read == {"contents": [{"uri": "workshop://board", "mimeType": "text/plain", "text": "Grüße, 世界"}]}

    greeting = {"role": "user", "content": {"type": "text", "text": "Greet Ada"}}
    got = inspect(target, "--method", "prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada")
    assert got == {"messages": [greeting]}

    assert inspect(target, "--method", "logging/setLevel", "--log-level", "error") == {}


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_the_same_server_answers_in_the_modern_era(kind: str) -> None:
    call = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3")
    if kind == "stdio":
        added = inspect(tuple(stdio_workshop()), *call, era="modern")
    else:
        with workshop_url() as url:
            added = inspect((url,), *call, era="modern")
    assert added["content"] == [{"type": "text", "text": "5"}]
    assert added["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "workshop"
