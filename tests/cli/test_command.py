"""The command itself: its version, what it loads, and what it says where its extra is not installed."""

import json
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from commands import mcp

from mcp.cli import app


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert mcp("version", cwd=tmp_path) == (0, f"MCP version {version('mcp')}\n", "")


def test_mcp_on_the_command_line_is_this_application() -> None:
    [script] = entry_points(group="console_scripts", name="mcp")
    assert script.load() is app


def test_printing_the_version_loads_no_server(tmp_path: Path) -> None:
    code = (
        "import sys, json\nfrom mcp.cli import app\n"
        "try:\n    app(['version'])\nexcept SystemExit:\n    print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"mcp.server", "mcp.client", "mcp.types", "anyio", "asyncio", "dotenv", "rich"}


def test_only_the_command_loads_typer(tmp_path: Path) -> None:
    code = "import sys, mcp\nfrom mcp.server import MCPServer\nfrom mcp import Client\nprint('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("missing", ["typer", "mcp.cli.failure"])
def test_without_typer_it_says_what_to_install(tmp_path: Path, missing: str) -> None:
    code = f"import sys\nsys.modules['{missing}'] = None\nimport mcp.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert ("pip install 'mcp[cli]'" in done.stderr) == (missing == "typer")
