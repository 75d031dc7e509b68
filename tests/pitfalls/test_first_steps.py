"""B102, B104: what a new version and a clean machine say to those who start."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("mcp"))
SERVER = "from mcp.server import MCPServer\nmcp = MCPServer('shop')\n"


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=50)


def test_b102_a_program_of_version_1_is_told_the_new_import(tmp_path: Path) -> None:
    """Nothing but "No module named 'mcp.server.fastmcp'" was said to programs that had not pinned their version."""
    done = run([sys.executable, "-c", "from mcp.server.fastmcp import FastMCP"], tmp_path)

    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: No module named 'mcp.server.fastmcp'")
    assert "from mcp.server import MCPServer" in last


@pytest.mark.skipif(sys.platform == "win32", reason="HOME and PATH decide on POSIX")
def test_b104_without_node_the_command_says_so_and_offers_another_way(tmp_path: Path) -> None:
    """`mcp dev` failed with "spawn ENOENT"."""
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    done = run([COMMAND, "dev", "server.py"], tmp_path, PATH=str(tmp_path))

    assert done.returncode == 1
    assert "\n  node: Node.js, on which the MCP Inspector runs" in done.stderr
    assert "from Python: async with Client(mcp) as client" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of Claude Desktop's configuration on Linux")
def test_b104_what_is_installed_has_absolute_paths(tmp_path: Path) -> None:
    """A host starts servers in another folder and with a short PATH, where relative paths and `uv` lead nowhere."""
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n", encoding="utf-8")
    uv.chmod(0o755)
    (tmp_path / "Claude").mkdir()
    run([COMMAND, "install", "server.py"], tmp_path, PATH=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))

    written = (tmp_path / "Claude" / "claude_desktop_config.json").read_text(encoding="utf-8")
    entry = json.loads(written)["mcpServers"]["shop"]
    assert entry["command"] == str(uv)
    assert entry["args"][-3:] == ["mcp", "run", str(tmp_path / "server.py")]
