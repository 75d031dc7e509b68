"""`mcp_types` is ours, also where the folder of another release's was left behind and comes first on the path."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = """
import mcp_types.jsonrpc
from mcp_types.methods import METHODS
import mcp.types.jsonrpc, mcp.types.methods
assert mcp_types.Tool is mcp.types.Tool
assert mcp_types.jsonrpc.JSONRPCRequest is mcp.types.jsonrpc.JSONRPCRequest
assert METHODS is mcp.types.methods.METHODS
assert sys.modules["mcp_types"] is mcp.mcp_types
"""


@pytest.fixture
def left_behind(tmp_path: Path) -> Path:
    """A folder with a package `mcp_types` that is not ours."""
    package = tmp_path / "mcp_types"
    package.mkdir()
    for name in ("__init__", "jsonrpc", "methods"):
        (package / f"{name}.py").write_text("class Tool: ...\n", encoding="utf-8")
    return tmp_path


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "first", ["import mcp_types", "import mcp_types.jsonrpc", "from mcp_types import *", "import mcp"]
)
def test_whatever_is_imported_first_the_names_are_those_of_mcp_types(first: str, tmp_path: Path) -> None:
    assert run(f"{first}\n{CHECK}", tmp_path).stderr == ""


def test_mcp_takes_the_name_from_what_was_left_behind(left_behind: Path) -> None:
    assert run(f"import mcp\n{CHECK}", left_behind).stderr == ""


def test_what_was_left_behind_and_is_imported_first_is_warned_of(left_behind: Path) -> None:
    done = run(f"import mcp_types.jsonrpc, mcp_types.methods\nimport mcp\n{CHECK}", left_behind)
    assert f"{left_behind / 'mcp_types' / '__init__.py'} is part of another release of mcp" in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
