"""Clients from PyPI, which stand on the documented API, list and call the tools of our server."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from environments import environment

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

FOLDER = Path(__file__).parent / "programs"
SHOP = [sys.executable, str(FOLDER / "shop.py")]


@contextmanager
def shop_at(transport: str) -> Generator[list[str]]:
    """How a client reaches the server: a command to start it, or the URL of one that runs."""
    if transport == "stdio":
        yield SHOP
        return
    with subprocess.Popen([*SHOP, "http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield [server.stdout.readline().strip()]
        server.stdin.close()
        assert server.wait(timeout=30) == 0


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("program", "client"), [("openai-agents", "agents_client.py"), ("llama-index-tools-mcp", "llama_client.py")]
)
def test_a_client_lists_and_calls_our_tools(program: str, client: str, transport: str) -> None:
    python = environment(program) / "python"
    with shop_at(transport) as target:
        command = [str(python), str(FOLDER / client), *target]
        done = subprocess.run(command, cwd=python.parent, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["names"] == ["price", "refuse"]
    assert answer["structured"] == {"result": 8}
    assert answer["texts"][0] == "8"
    assert "sold out" in answer["texts"][1]
