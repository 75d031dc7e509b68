"""The environment that the reference package is measured in."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

REFERENCE = "mcp==2.3.0"
# The reference does not ask for the last two; with them, no difference is owed to a missing fast part.
REQUIREMENTS = (REFERENCE, "httptools", "uvloop")
# What both packages stand on is held at the version that ours runs on.
SHARED = (
    "anyio",
    "h11",
    "httpcore2",
    "httptools",
    "httpx2",
    "pydantic",
    "pydantic-core",
    "starlette",
    "typing-extensions",
    "uvicorn",
    "uvloop",
)


def interpreter(folder: Path) -> Path:
    """Returns the path of the environment's interpreter."""
    return folder / "bin" / "python"


def create_reference(folder: Path) -> Path:
    """Creates the reference environment, unless it is there already; returns its interpreter.

    Raises:
        subprocess.CalledProcessError: pip could not install the packages.
    """
    python = interpreter(folder)
    if _is_complete(python):
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={metadata.version(name)}\n" for name in SHARED), encoding="utf-8")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(constraints), *REQUIREMENTS], check=True)
    return python


def _is_complete(python: Path) -> bool:
    if not python.exists():
        return False
    probe = f"from importlib.metadata import version; assert 'mcp==' + version('mcp') == {REFERENCE!r}"
    done = subprocess.run([str(python), "-c", probe], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0
