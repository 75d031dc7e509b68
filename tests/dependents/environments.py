"""Virtual environments in which a program from PyPI runs on our package, made once and kept under `build`."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

__all__ = ["PROGRAMS", "environment"]

REPOSITORY = Path(__file__).parents[2]
OURS = [f"{REPOSITORY}[cli]", str(REPOSITORY / "packages" / "mcp-types")]
KEPT_IN = REPOSITORY / "build" / "dependents"

PROGRAMS = {
    "excel-mcp-server": "2.2.2",
    "llama-index-tools-mcp": "0.6.0",
    "markitdown-mcp": "0.0.1a8",
    "mcp-server-fetch": "2026.10.24",
    "mcp-server-git": "2026.10.19",
    "mcp-server-time": "2026.10.19",
    "openai-agents": "0.24.0",
}
"""What is installed, each in an environment of its own. Every one of them accepts version 2 of the API."""

PROBE = """
import importlib.metadata as metadata, json, mcp, mcp_types, mcp.types
print(json.dumps({
    "mcp": mcp.__file__, "mcp_types": mcp_types.__file__, "same": mcp_types.Tool is mcp.types.Tool,
    "versions": [metadata.version("mcp"), metadata.version("mcp-types")],
}))
"""


def environment(program: str) -> Path:
    """The folder with the executables of a program's environment. Our package goes in first, and must still be there.

    Args:
        program: Its name on PyPI.
    """
    folder = KEPT_IN / program
    python = folder / "bin" / "python"
    recipe = _recipe(program)
    made = folder / ".recipe"
    if not made.exists() or made.read_text(encoding="utf-8") != recipe:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *(part for path in OURS for part in ("--editable", path))])
        _run([*pip, f"{program}=={PROGRAMS[program]}"])
        made.write_text(recipe, encoding="utf-8")
    _check_ours(python)
    return python.parent


def _recipe(program: str) -> str:
    """What an environment was made from: it is made again when that changes."""
    needs = ", ".join(sorted(metadata.requires("mcp") or ()))
    return f"{program}=={PROGRAMS[program]}, mcp {metadata.version('mcp')} with {needs}, Python {sys.version}"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)} failed:\n{done.stdout}", pytrace=False)


def _check_ours(python: Path) -> None:
    """Fails where installing the program has brought in another package under one of our names."""
    done = subprocess.run([str(python), "-c", PROBE], cwd=python.parent, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    package = REPOSITORY / "src" / "mcp"
    assert found["mcp"] == str(package / "__init__.py")
    assert found["mcp_types"] == str(package / "mcp_types" / "__init__.py")
    assert found["same"]
    assert len(set(found["versions"])) == 1
