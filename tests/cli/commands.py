"""Runs the `mcp` command as a user does: another process, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["COMMAND", "Outcome", "executable", "mcp", "program", "with_input_open"]

COMMAND = str(Path(sys.executable).with_name("mcp"))

SERVER = """
from mcp.server import MCPServer

{name} = MCPServer("Book shop", dependencies=["pandas"])

@{name}.tool()
def price(title: str) -> int:
    return len(title)

if __name__ == "__main__":
    raise SystemExit("not when it is imported")
"""


class Outcome(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def mcp(*arguments: str, cwd: Path, **environment: str) -> Outcome:
    """Runs `mcp` with its input at its end, in the folder `cwd`."""
    done = subprocess.run(
        [COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def with_input_open(*arguments: str, cwd: Path) -> Outcome:
    """Runs `mcp` with an input in which nothing comes, as in a terminal."""
    with subprocess.Popen(
        [COMMAND, *arguments],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            code = running.wait(timeout=50)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
        assert running.stdout is not None
        assert running.stderr is not None
        return Outcome(code, running.stdout.read(), running.stderr.read())


def program(folder: Path, name: str = "mcp", file: str = "server.py") -> Path:
    """Writes a file with an `MCPServer` in a global."""
    path = folder / file
    path.write_text(SERVER.format(name=name), encoding="utf-8")
    return path


def executable(folder: Path, name: str, script: str) -> Path:
    """Writes a shell script that stands for another program, whose folder goes on PATH."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
