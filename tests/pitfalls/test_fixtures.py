"""B23: a client that a fixture opens, and that closes in a task of its own, as pytest's plugins do it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from connections import text_of
from pitfall_mcpserver import mcp

from mcp import Client

WITH_ANYIO = """
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

mcp = MCPServer("tested")

@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b

@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

@pytest.fixture(scope="{scope}", params=["auto", "legacy"])
async def client(anyio_backend, request):
    async with Client(mcp, mode=request.param) as client:
        yield client

@pytest.mark.anyio
@pytest.mark.parametrize("number", range(3))
async def test_add(client, number):
    result = await client.call_tool("add", {{"a": 1, "b": number}})
    assert result.structured_content == {{"result": 1 + number}}
"""


@pytest.mark.parametrize("scope", ["module", "function"])
def test_b23_a_fixture_of_anyio_may_yield_an_open_client(scope: str, tmp_path: Path) -> None:
    """It failed at teardown: the task that left the client was another one than had entered it."""
    (tmp_path / "test_it.py").write_text(WITH_ANYIO.format(scope=scope), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)

    assert (done.returncode, "12 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_b23_so_may_one_whose_every_step_is_a_task_of_its_own(mode: str) -> None:
    """pytest-asyncio sets up, runs and tears down in three tasks of one event loop."""

    async def fixture() -> AsyncGenerator[Client, None]:
        async with Client(mcp, mode=mode) as client:
            yield client

    async def test(client: Client, number: int) -> None:
        assert await text_of(client, "echo", text=str(number)) == str(number)

    loop = asyncio.new_event_loop()
    try:
        opened = fixture()
        client = loop.run_until_complete(anext(opened))
        for number in range(3):
            loop.run_until_complete(test(client, number))
        with pytest.raises(StopAsyncIteration):
            loop.run_until_complete(anext(opened))
        assert asyncio.all_tasks(loop) == set()
    finally:
        loop.close()
