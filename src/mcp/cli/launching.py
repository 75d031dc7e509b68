"""The commands that start a server in an environment of its own, by uv, and the MCP Inspector, by npx."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from mcp.cli.failure import CommandError

__all__ = ["become", "inspector_command", "mcp_requirement", "uv_arguments"]

INSPECTOR = "@modelcontextprotocol/inspector"


def mcp_requirement(package: str = "mcp") -> str:
    """The requirement by which another environment gets the release that is running.

    Args:
        package: `mcp`, with extras as `mcp[cli]`.

    Returns:
        `package==<version>`, and no more than `package` for a build that no registry has (development, local versions).
    """
    installed = version("mcp")
    return package if "dev" in installed or "+" in installed else f"{package}=={installed}"


def uv_arguments(
    server: str, *, frozen: bool = False, with_packages: Sequence[str] = (), with_editable: Path | None = None
) -> list[str]:
    """What stands behind `uv` in the command that runs a server.

    Args:
        server: `file.py` or `file.py:object`, absolute.
        frozen: Whether uv must leave a lock file that it finds as it is.
        with_packages: Further requirements of the server's environment.
        with_editable: A project to install into it.
    """
    arguments = ["run"]
    if frozen:
        arguments.append("--frozen")
    for package in dict.fromkeys([mcp_requirement("mcp[cli]"), *with_packages]):
        arguments += ["--with", package]
    if with_editable is not None:
        arguments += ["--with-editable", str(with_editable)]
    return [*arguments, "mcp", "run", server]


def inspector_command(server_arguments: Sequence[str]) -> list[str]:
    """The command that opens the MCP Inspector on a server that uv runs.

    Args:
        server_arguments: What `uv_arguments` made.

    Raises:
        CommandError: Node.js, npx or uv is not on PATH. The message names each that is missing.
    """
    advice = {
        "node": "Node.js, on which the MCP Inspector runs: https://nodejs.org",
        "npx": "comes with Node.js, and fetches the MCP Inspector: https://nodejs.org",
        "uv": "builds the environment of the server: https://docs.astral.sh/uv, or pip install uv",
    }
    missing = [f"  {name}: {words}" for name, words in advice.items() if shutil.which(name) is None]
    if missing:
        python_only = "Without them, from Python: async with Client(mcp) as client: print(await client.list_tools())"
        raise CommandError("\n".join(["`mcp dev` needs what is not on PATH here:", *missing, python_only]))
    return [str(shutil.which("npx")), INSPECTOR, str(shutil.which("uv")), *server_arguments]


def become(command: list[str]) -> NoReturn:
    """Hands this process over to a command, so that signals and the exit code are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform != "win32":
        os.execv(command[0], command)
    try:
        code = subprocess.call(command)
    except KeyboardInterrupt:  # Windows only: the console has told the command as well
        code = 130
    raise SystemExit(code)
