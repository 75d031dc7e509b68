"""Both directions against the TypeScript SDK, a peer we did not write, with the wire looked at."""

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from authorization_server import Browser, library, served_authorization_server

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent, TextResourceContents

PEERS = Path(__file__).parent / "ts"
MODERN = "2026-07-28"
PROGRESS = [{"progress": n, "total": 3, "message": f"book {n}"} for n in (1, 2, 3)]

pytestmark = pytest.mark.e2e


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the peer is what these tests vary."""
    return "asyncio"


@pytest.fixture
def node() -> str:
    """The Node.js program. Without it or the packages a test fails: a peer left out is not a peer that agrees."""
    program = shutil.which("node")
    if program is None:
        pytest.fail("node is not on PATH: install Node.js 20 or newer")
    if not (PEERS / "node_modules").is_dir():
        pytest.fail(f"the TypeScript peers are not installed: run `npm ci` in {PEERS}")
    return program


@contextmanager
def url_of(*command: str) -> Generator[str]:
    """Runs a server that prints its URL as the first line and ends with its standard input."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, f"{command} did not start"
            yield url
            process.stdin.close()
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def run_client(node: str, *arguments: str) -> dict[str, Any]:
    """Runs `client.mjs` to its end and returns what it saw."""
    command = [node, str(PEERS / "client.mjs"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def messages(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]


def assert_saw_the_library(seen: dict[str, Any]) -> None:
    assert seen["era"] == "modern"
    assert seen["supportedVersions"] == [MODERN]
    assert seen["server"] == {"name": "python-library", "version": "3.2.1"}
    assert seen["tools"] == ["find_book", "count_pages", "burn_book"]
    assert seen["found"]["structuredContent"] == {"title": "Dune", "pages": 412}
    assert seen["found"]["content"] == [{"type": "text", "text": "Dune has 412 pages"}]
    assert seen["counted"]["content"] == [{"type": "text", "text": "Counted 3 books"}]
    assert seen["failure"] == {"code": -32603, "message": "Internal server error"}
    assert seen["resource"][0]["text"] == "Open from 9 to 17, é included"
    assert seen["prompt"] == [{"role": "user", "content": {"type": "text", "text": "Recommend a calm book"}}]


def assert_sent_modern_requests_only(sent: list[dict[str, Any]]) -> None:
    methods = [message["method"] for message in sent]
    assert methods[0] == "server/discover"
    assert "initialize" not in methods
    assert {message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] for message in sent} == {MODERN}


def test_typescript_client_uses_our_server_over_http_without_a_handshake(node: str, tmp_path: Path) -> None:
    with url_of(sys.executable, str(PEERS / "library.py"), "http", str(tmp_path)) as url:
        seen = run_client(node, "http", url)
    assert_saw_the_library(seen)
    assert seen["progress"] == PROGRESS
    assert_sent_modern_requests_only(messages(tmp_path / "to_server"))


def test_typescript_client_uses_our_server_over_stdio_without_a_handshake(node: str, tmp_path: Path) -> None:
    tee = [sys.executable, str(PEERS / "tee.py"), str(tmp_path)]
    seen = run_client(node, "stdio", *tee, sys.executable, str(PEERS / "library.py"), "stdio")
    assert_saw_the_library(seen)
    assert_sent_modern_requests_only(messages(tmp_path / "to_server"))
    # This client may lose progress that arrives in one read with the result, so look at the wire instead.
    answers = messages(tmp_path / "from_server")
    reports = [answer["params"] for answer in answers if answer.get("method") == "notifications/progress"]
    token = reports[0]["progressToken"]
    assert reports == [{"progressToken": token, **report} for report in PROGRESS]


async def assert_client_agrees_with_typescript_server(client: Client) -> None:
    assert client.protocol_version == MODERN
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("typescript-library", "1.2.3")
    assert client.instructions == "Serving the modern era"
    assert [tool.name for tool in (await client.list_tools()).tools] == ["find_book", "count_pages"]

    found = await client.call_tool("find_book", {"title": "Emma"})
    assert found.structured_content == {"title": "Emma", "pages": 474}
    assert found.content == [TextContent(type="text", text="Emma has 474 pages")]
    missing = await client.call_tool("find_book", {"title": "Nobody"})
    assert missing.is_error
    with pytest.raises(MCPError) as unknown:
        await client.call_tool("burn_book")
    assert unknown.value.error.code == -32602

    reports: list[tuple[float, float | None, str | None]] = []

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    await client.call_tool("count_pages", {"books": 3}, progress_callback=note_progress)
    assert reports == [(1, 3, "book 1"), (2, 3, "book 2"), (3, 3, "book 3")]

    hours = (await client.read_resource("library://hours")).contents[0]
    assert isinstance(hours, TextResourceContents)
    assert hours.text == "Open from 9 to 17, é included"
    advice = (await client.get_prompt("recommend", {"mood": "calm"})).messages[0]
    assert advice.content == TextContent(type="text", text="Recommend a calm book")


@pytest.mark.anyio
async def test_our_client_uses_a_modern_typescript_server_over_http(node: str) -> None:
    sent: list[dict[str, Any]] = []

    async def note_request(request: httpx2.Request) -> None:
        assert request.headers["mcp-protocol-version"] == MODERN
        message = json.loads(await request.aread())
        assert request.headers["mcp-method"] == message["method"]
        sent.append(message)

    http = httpx2.AsyncClient(event_hooks={"request": [note_request]})
    with url_of(node, str(PEERS / "server.mjs"), "http") as url:
        async with http, Client(streamable_http_client(url, http_client=http)) as client:
            await assert_client_agrees_with_typescript_server(client)
    assert_sent_modern_requests_only(sent)


@pytest.mark.anyio
async def test_our_client_uses_a_modern_typescript_server_over_stdio(node: str, tmp_path: Path) -> None:
    command = [str(PEERS / "tee.py"), str(tmp_path), node, str(PEERS / "server.mjs"), "stdio"]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        await assert_client_agrees_with_typescript_server(client)
    assert_sent_modern_requests_only(messages(tmp_path / "to_server"))


@pytest.mark.anyio
async def test_a_typescript_client_gets_in_and_comes_back_when_its_token_has_ended(node: str) -> None:
    with served_authorization_server(app=library) as server:
        command = [node, str(PEERS / "oauth_client.mjs"), server.url("/mcp")]
        async with await anyio.open_process(command, stderr=None) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            said = BufferedByteReceiveStream(process.stdout)
            with anyio.fail_after(30):
                url = (await said.receive_until(b"\n", 4096)).decode()
                landed = await Browser().visit(url)
                await process.stdin.send(f"{landed}\n".encode())
                await process.stdin.aclose()
                seen = json.loads(await said.receive_until(b"\n", 4096))
                assert await process.wait() == 0
        assert seen == {"before": "alice with read", "after": "alice with read", "rotated": True}
        assert f"resource={quote_plus(server.url('/mcp'))}" in url
