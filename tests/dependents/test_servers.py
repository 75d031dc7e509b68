"""Servers from PyPI, which stand on the documented API, listed and called over stdio by our client."""

import functools
import http.server
import json
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from environments import environment

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent

pytestmark = [pytest.mark.e2e, pytest.mark.anyio, pytest.mark.timeout(900)]

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the peer is what these tests vary."""
    return "asyncio"


@pytest.fixture
def page(tmp_path: Path) -> Generator[str]:
    """The URL of a page on the loopback interface."""
    (tmp_path / "page.html").write_text(
        "<html><head><title>Tea</title></head><body><main><h1>Tea</h1><p>Steep it for four minutes, and then take the "
        "leaves out before it turns bitter.</p></main></body></html>",
        encoding="utf-8",
    )

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{web.server_port}/page.html"
        web.shutdown()


@asynccontextmanager
async def opened(program: str, mode: str, *arguments: str) -> AsyncGenerator[Client]:
    command = str(environment(program) / program)
    # These start for seconds, which tells a client nothing about what they speak.
    async with Client(
        StdioServerParameters(command=command, args=list(arguments)), mode=mode, probe_seconds=60
    ) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        yield client


def text_of(result: CallToolResult) -> str:
    """The text of a call that succeeded."""
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    assert not result.is_error, text
    return text


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@MODES
async def test_time(mode: str) -> None:
    async with opened("mcp-server-time", mode) as client:
        assert await names(client) == {"get_current_time", "convert_time"}
        times = {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}
        result = await client.call_tool("convert_time", times)
        assert json.loads(text_of(result)) == result.structured_content
        assert "T09:00:00+05:30" in text_of(result)
        assert (await client.call_tool("get_current_time", {"timezone": "Nowhere/Land"})).is_error


@MODES
async def test_git(mode: str, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=Tester", "-c", "user.email=tester@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / "tea.txt").write_text("Assam\n", encoding="utf-8")
    subprocess.run([*git, "add", "tea.txt"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "The first tea"], check=True)
    (tmp_path / "tea.txt").write_text("Darjeeling\n", encoding="utf-8")
    async with opened("mcp-server-git", mode, "--repository", str(tmp_path)) as client:
        assert {"git_status", "git_log", "git_diff_unstaged"} <= await names(client)
        repository = {"repo_path": str(tmp_path)}
        assert "The first tea" in text_of(await client.call_tool("git_log", repository))
        assert "+Darjeeling" in text_of(await client.call_tool("git_diff_unstaged", repository))


@MODES
async def test_fetch(mode: str, page: str) -> None:
    async with opened("mcp-server-fetch", mode, "--allow-private-ips") as client:
        assert await names(client) == {"fetch"}
        assert "four minutes" in text_of(await client.call_tool("fetch", {"url": page}))
        prompt = await client.get_prompt("fetch", {"url": page})
        assert isinstance(prompt.messages[0].content, TextContent)
        assert "four minutes" in prompt.messages[0].content.text


@MODES
async def test_excel(mode: str, tmp_path: Path) -> None:
    async with opened("excel-mcp-server", mode, "stdio", "--allow-dir", str(tmp_path)) as client:
        assert {"create_workbook", "write_range", "read_range"} <= await names(client)
        sheet = {"path": str(tmp_path / "teas.xlsx"), "sheet": "Teas"}
        text_of(await client.call_tool("create_workbook", {"path": sheet["path"], "sheets": ["Teas"]}))
        rows = [["Assam", 4], ["Sencha", 2]]
        text_of(await client.call_tool("write_range", {**sheet, "at": "A1", "rows": rows}))
        assert "Sencha" in text_of(await client.call_tool("read_range", sheet))


@MODES
async def test_markitdown(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "tea.html"
    file.write_text("<h1>Tea</h1><ul><li>Assam</li></ul>", encoding="utf-8")
    async with opened("markitdown-mcp", mode) as client:
        assert await names(client) == {"convert_to_markdown"}
        text = text_of(await client.call_tool("convert_to_markdown", {"uri": file.as_uri()}))
        assert text.splitlines()[0] == "# Tea"
