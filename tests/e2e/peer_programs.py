"""Starts the programs that other people wrote, and the servers they talk to."""

import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import pytest

PEERS = Path(__file__).parent / "peers"
PACKAGES = PEERS / "node_modules"
V1_PYTHON = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"

SECONDS_TO_RUN = 50
SECONDS_TO_END = 20


def node() -> str:
    """The Node.js program. Without it or the packages a test fails: a peer left out is not a peer that agrees."""
    program = shutil.which("node")
    if program is None:
        pytest.fail("node is not on PATH: install Node.js 20 or newer")
    if not PACKAGES.is_dir():
        pytest.fail(f"the Node.js peers are not installed: run `npm ci` in {PEERS}")
    return program


def package(path: str) -> list[str]:
    """The command that runs a program of an installed Node.js package."""
    return [node(), str(PACKAGES / path)]


def v1_python() -> str:
    """The interpreter of the environment that holds the 1.x release of the Python SDK."""
    if not V1_PYTHON.exists():
        pytest.fail("the Python 1.x peer is not installed: run `make e2e`, which makes its environment")
    return str(V1_PYTHON)


def output_of(command: list[str]) -> str:
    """Runs a program to its end and returns what it printed."""
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS_TO_RUN, check=False
    )
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


@contextmanager
def url_of(*command: str) -> Generator[str]:
    """Runs a server that prints its URL as the first line and ends with its standard input.

    It must end without an error, and without a traceback in what it wrote.
    """
    with (
        TemporaryFile("w+", encoding="utf-8") as complaints,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            if url:
                yield url
            server.stdin.close()
            status = server.wait(timeout=SECONDS_TO_END)
        finally:
            server.kill()
        complaints.seek(0)
        written = complaints.read()
        assert url, written
        assert (status, "Traceback" in written) == (0, False), written


def stdio_workshop() -> list[str]:
    """The command that runs our server for these peers over stdio."""
    return [sys.executable, str(PEERS / "workshop.py")]


@contextmanager
def workshop_url(*options: str) -> Generator[str]:
    """Runs our server for these peers over HTTP, or with `sse` over the older transport, and gives its URL."""
    with url_of(sys.executable, str(PEERS / "workshop_http.py"), *options) as url:
        yield url
