"""Reports about servers that do not end, or do not end well, when their client goes."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import anyio
import pytest
from connections import (
    HERE,
    PROGRAM,
    SECONDS_OF_PATIENCE,
    exists,
    python,
    runs,
    subprocess_server,
    text_of,
)

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import FORCE_KILL_TIMEOUT, PROCESS_TERMINATION_TIMEOUT, stdio_client

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups"),
]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# Serves, and does something of its own before and after.
SERVER = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
import anyio, pitfall_server
{before}
anyio.run(pitfall_server.serve, "server")
{after}
"""

# Starts the real server, as npx and uv do, and takes no notice of its own stdin.
WRAPPER = """
import signal, subprocess, sys, time
server = subprocess.Popen([sys.executable, sys.argv[1]])
{after}
"""


def server(before: str = "", after: str = "") -> StdioServerParameters:
    return python(SERVER.format(before=before, after=after), HERE)


IGNORES_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
STUBBORN = server(IGNORES_SIGTERM, "time.sleep(600)")


@contextmanager
def at_most(seconds: float) -> Generator[None, None, None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


# B02


async def test_b02_a_server_that_ignores_eof_and_sigterm_is_gone_within_its_grace_and_two_seconds() -> None:
    """Leaving the client hung for ever, since the server ignored every request to end."""
    async with Client(stdio_client(STUBBORN, shutdown_grace=0.5)) as client:
        pid = int(await text_of(client, "pid"))
        start = time.monotonic()

    assert time.monotonic() - start < 0.5 + FORCE_KILL_TIMEOUT
    assert not exists(pid)


@asyncio_only
async def test_b02_a_server_that_needs_four_seconds_gets_them_if_the_grace_allows_it() -> None:
    """A server that flushes its data at exit was killed after two seconds, with no way to give it more."""
    errlog = io.StringIO()
    slow = server(after="time.sleep(4); print('flushed', file=sys.stderr)")

    async with Client(stdio_client(slow, errlog, shutdown_grace=30)) as client:
        pid = int(await text_of(client, "pid"))
        start = time.monotonic()

    assert time.monotonic() - start < 30
    assert errlog.getvalue() == "flushed\n"
    assert not exists(pid)


@asyncio_only
async def test_b02_a_stubborn_server_does_not_hold_up_the_error_that_ends_the_block() -> None:
    """An error in the block was never seen, since the exit hung."""
    with pytest.raises(ZeroDivisionError), at_most(SECONDS_OF_PATIENCE):
        async with Client(stdio_client(STUBBORN, shutdown_grace=0)):
            raise ZeroDivisionError


@asyncio_only
async def test_b02_leaving_in_the_middle_of_a_call_ends_the_call_and_the_server(mode: str) -> None:
    """Leaving the block waited for a call of another task, which waited for the server."""
    ended: list[Exception] = []
    started = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    async def call(client: Client) -> None:
        try:
            await client.call_tool("nap", progress_callback=note)
        except MCPError as error:
            ended.append(error)

    pid = 0
    stubborn = stdio_client(STUBBORN, shutdown_grace=0)
    async with anyio.create_task_group() as group, Client(stubborn, mode=mode) as client:
        pid = int(await text_of(client, "pid"))
        group.start_soon(call, client)
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            await started.wait()

    assert [str(error) for error in ended] == ["Connection closed"]
    assert pid
    assert not exists(pid)


# B06


@asyncio_only
@pytest.mark.parametrize(
    "after", ["time.sleep(600)", "", f"{IGNORES_SIGTERM}; time.sleep(600)"], ids=["waits", "exits", "stubborn"]
)
async def test_b06_a_server_behind_a_wrapper_is_ended_with_it(after: str) -> None:
    """With npx or uv the wrapper was ended, and the server behind it ran on."""
    wrapper = python(WRAPPER.format(after=after), PROGRAM)

    async with Client(stdio_client(wrapper, shutdown_grace=0.2)) as client:
        pid = int(await text_of(client, "pid"))
        group = os.getpgid(pid)

    assert not runs(pid)
    assert not runs(group)


@asyncio_only
async def test_b06_a_stubborn_server_behind_a_wrapper_is_ended_with_it() -> None:
    """The wrapper obeyed at once, and then nobody asked whether the server did."""
    inner = SERVER.format(before=IGNORES_SIGTERM, after="time.sleep(600)")
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]])"

    async with Client(stdio_client(python(program, inner, HERE), shutdown_grace=0.2)) as client:
        pid = int(await text_of(client, "pid"))

    assert not runs(pid)


@asyncio_only
async def test_b06_a_helper_in_the_servers_group_is_ended_with_it() -> None:
    """A browser or language server that an MCP server starts outlived it."""
    async with Client(stdio_client(subprocess_server(), shutdown_grace=0.2)) as client:
        helper = int(await text_of(client, "start_helper"))
        assert runs(helper)

    assert not runs(helper)


@asyncio_only
@pytest.mark.parametrize("keeps_pipes", [False, True])
async def test_b06_a_helper_that_the_server_detached_lives_on(keeps_pipes: bool) -> None:
    """A daemon that a server means to leave behind must not die with it, nor hold up the exit by its pipes."""
    async with Client(stdio_client(subprocess_server(), io.StringIO())) as client:
        helper = int(await text_of(client, "start_helper", detached=True, keeps_pipes=keeps_pipes))
        start = time.monotonic()

    try:
        assert time.monotonic() - start < PROCESS_TERMINATION_TIMEOUT + FORCE_KILL_TIMEOUT
        assert runs(helper)
    finally:
        with suppress(ProcessLookupError):
            os.kill(helper, signal.SIGKILL)


# B08

ENDS_WITH_STDIN = """
import sys
sys.path.insert(0, sys.argv[1])
import anyio, pitfall_server
anyio.run(pitfall_server.serve, "server", backend=sys.argv[2])
"""
ENDS_BY_ITSELF = """
import sys
sys.path.insert(0, sys.argv[1])
import anyio, pitfall_server
async def main():
    async with anyio.create_task_group() as group:
        group.start_soon(pitfall_server.serve, "server")
        await anyio.sleep(0.01)
        group.cancel_scope.cancel()
anyio.run(main, backend=sys.argv[2])
"""


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
@pytest.mark.parametrize("program", [ENDS_WITH_STDIN, ENDS_BY_ITSELF], ids=["ends with stdin", "ends by itself"])
def test_b08_the_interpreter_exits_in_order_every_time(program: str, kind: str) -> None:
    """Now and then a server aborted at exit, as a thread was still reading its stdin."""
    backends = ("asyncio", "trio", "asyncio", "trio", "asyncio")
    started = [_started(program, kind, backend) for backend in backends]
    if program is ENDS_WITH_STDIN:
        for _, stdin in started:
            # What a terminal takes for the end of its input; a pipe just ends.
            os.write(stdin, b"\x04") if kind == "terminal" else os.close(stdin)
    for process, _ in started:
        _, complaint = process.communicate(timeout=SECONDS_OF_PATIENCE)
        assert (process.returncode, complaint) == (0, b"")
    if not (program is ENDS_WITH_STDIN and kind == "pipe"):
        for _, stdin in started:
            os.close(stdin)


def _started(program: str, kind: str, backend: str) -> "tuple[subprocess.Popen[bytes], int]":
    """A server, and the descriptor that is the other end of its stdin."""
    if kind == "terminal":
        ours, theirs = os.openpty()
    else:
        theirs, ours = os.pipe()
    with open(theirs, "rb") as stdin:
        command = [sys.executable, "-c", program, HERE, backend]
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return process, ours
