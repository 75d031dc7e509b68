"""`stdio_client` and real processes: talking to them, learning why they ended, and leaving none behind."""

import asyncio
import io
import os
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

import anyio
import anyio.lowlevel
import pytest

from mcp.client._process_link import ProcessLink
from mcp.client.stdio import (
    FORCE_KILL_TIMEOUT,
    PROCESS_TERMINATION_TIMEOUT,
    StdioServerParameters,
    get_default_environment,
    stdio_client,
)
from mcp.engine.streams import TransportStreams, link_of
from mcp.shared.exceptions import (
    ConnectionClosedError,
    ProcessExitedError,
    ServerNotFoundError,
    ServerStartError,
    TransportError,
)
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCNotification

pytestmark = pytest.mark.anyio

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and process groups")

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""

SAY = """
def say(text):
    sys.stdout.buffer.write((json.dumps({"jsonrpc": "2.0", "method": text}) + "\\n").encode())
    sys.stdout.buffer.flush()
"""


def python(program: str) -> StdioServerParameters:
    """A server that is this Python program."""
    return StdioServerParameters(command=sys.executable, args=["-c", program])


def script(program: str) -> StdioServerParameters:
    """A server that is this Python program, which can `say(text)`: send a notification of that name."""
    return python("import json, os, signal, subprocess, sys, time\n" + SAY + program)


def notification(text: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=text))


async def heard(streams: TransportStreams) -> str:
    """The name of the next notification."""
    message = await streams[0].receive()
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCNotification)
    return message.message.method


async def closed_reason(streams: TransportStreams) -> TransportError:
    """What the server's link says once it has ended."""
    link = link_of(*streams)
    assert isinstance(link, ProcessLink)
    with pytest.raises(anyio.EndOfStream):
        await receive_all(link)
    return await link.closed_reason()


async def receive_all(link: ProcessLink) -> None:
    while True:
        await link.receive()


def runs(pid: int) -> bool:
    """Whether such a process runs. One that waits to be reaped by an init that does not counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except FileNotFoundError:
        return False


def exists(pid: int) -> bool:
    """Whether there is such a process, be it one that exited and waits to be reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_what_is_sent_arrives_and_what_is_answered_comes_back() -> None:
    async with stdio_client(python(ECHO)) as (read, write):
        for text in ("one", "žluť 中文 😀", "x" * 1_000_000):
            await write.send(notification(text))
            assert await read.receive() == notification(text)


async def test_a_server_that_exits_when_its_stdin_ends_is_not_waited_for(capfd: pytest.CaptureFixture[str]) -> None:
    async with stdio_client(script("say(str(os.getpid())); sys.stdin.read(); sys.stderr.write('done')")) as streams:
        pid = int(await heard(streams))
        start = time.monotonic()

    assert time.monotonic() - start < PROCESS_TERMINATION_TIMEOUT
    assert not exists(pid)
    assert capfd.readouterr().err == "done"


# Starting.


async def test_the_environment_is_the_allow_list_and_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    server = script("say(os.environ['PATH'] + os.environ['KEY'] + os.environ.get('SECRET', ' no secret'))")
    server.env = {"KEY": " and a key"}

    async with stdio_client(server) as streams:
        assert await heard(streams) == os.environ["PATH"] + " and a key no secret"


def test_exported_shell_functions_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "() { :; }; echo")
    monkeypatch.setenv("PATH", "/bin")

    environment = get_default_environment()

    assert environment["PATH"] == "/bin"
    assert "TERM" not in environment


async def test_the_working_directory_is_the_one_given(tmp_path: Path) -> None:
    server = script("say(os.getcwd())")
    server.cwd = tmp_path

    async with stdio_client(server) as streams:
        assert Path(await heard(streams)).samefile(tmp_path)


async def start(server: StdioServerParameters) -> None:
    async with stdio_client(server):
        pass


async def test_a_command_that_does_not_exist_is_named_with_the_path_searched() -> None:
    with pytest.raises(ServerNotFoundError) as caught:
        await start(StdioServerParameters(command="no-such-server", env={"PATH": "/nowhere"}))

    assert "'no-such-server'" in str(caught.value)
    assert "PATH: /nowhere" in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, TransportError)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


async def test_a_working_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    server = python(ECHO)
    server.cwd = tmp_path / "missing"

    with pytest.raises(ServerNotFoundError, match=r"no directory .*missing"):
        await start(server)


@posix_only
async def test_a_file_that_cannot_be_executed_is_named(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("")

    with pytest.raises(ServerStartError, match=r"server': Permission denied"):
        await start(StdioServerParameters(command=str(tmp_path / "server")))


# Encodings.


async def test_another_encoding_is_spoken_both_ways() -> None:
    server = script(
        "text = json.loads(sys.stdin.buffer.readline().decode('latin-1'))['method'] + ' \u00e9'\n"
        "message = json.dumps({'jsonrpc': '2.0', 'method': text}, ensure_ascii=False)\n"
        "sys.stdout.buffer.write(message.replace(chr(0x20ac), 'euro').encode('latin-1') + b'\\n')"
    )
    server.encoding = "latin-1"

    async with stdio_client(server) as streams:
        # The second of the two is not in the encoding, and travels as an escape.
        await streams[1].send(notification("\u00e0 \u20ac"))
        assert await heard(streams) == "\u00e0 euro \u00e9"


async def test_a_message_that_breaks_the_encoding_is_refused_alone() -> None:
    server = script("sys.stdout.buffer.write(b'\"\\xff\"\\n'); say('next')")

    async with stdio_client(server) as streams:
        assert isinstance(await streams[0].receive(), Exception)
        assert await heard(streams) == "next"


async def test_bytes_that_break_the_encoding_can_be_left_out() -> None:
    server = script('sys.stdout.buffer.write(b\'{"jsonrpc":"2.0","method":"o\\xffne"}\\n\')')
    server.encoding_error_handler = "ignore"

    async with stdio_client(server) as streams:
        assert await heard(streams) == "one"


# The server's stderr.


class Console(io.StringIO):
    """A stream as notebooks have it: it claims a descriptor, and has none."""

    def fileno(self) -> int:
        return -1


@pytest.mark.parametrize("errlog", [io.StringIO(), Console()], ids=["no descriptor", "descriptor -1"])
async def test_stderr_reaches_a_stream_without_a_descriptor(errlog: io.StringIO) -> None:
    errlog.truncate(0)
    errlog.seek(0)

    async with stdio_client(script("sys.stderr.write('žluť\\n'); say('hi'); sys.stdin.read()"), errlog) as streams:
        assert await heard(streams) == "hi"

    assert errlog.getvalue() == "žluť\n"


async def test_nothing_of_stderr_is_lost_at_exit(tmp_path: Path) -> None:
    server = script("sys.stdin.read(); sys.stderr.write('x' * 1_000_000 + 'end')")
    with (tmp_path / "log").open("w") as errlog:
        errlog.write("before ")
        await start_with_log(server, errlog)
        errlog.write(" after")

    assert (tmp_path / "log").read_text() == "before " + "x" * 1_000_000 + "end after"


async def start_with_log(server: StdioServerParameters, errlog: TextIO) -> None:
    async with stdio_client(server, errlog=errlog):
        pass


async def test_a_log_that_cannot_be_written_does_not_hold_up_the_server() -> None:
    errlog = io.StringIO()
    errlog.close()

    async with stdio_client(script("sys.stderr.write('x' * 1_000_000); say('hi')"), errlog) as streams:
        assert await heard(streams) == "hi"


@posix_only
async def test_a_log_that_nobody_reads_any_more_does_not_hold_up_the_server() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as errlog:
        async with stdio_client(script("sys.stderr.write('x' * 1_000_000); say('hi')"), errlog) as streams:
            assert await heard(streams) == "hi"


# When the server ends.


async def test_a_wrong_script_path_is_told_with_exit_code_and_stderr() -> None:
    server = StdioServerParameters(command=sys.executable, args=["nope.py", "--api-key=s3cr3t"])
    errlog = io.StringIO()

    with anyio.fail_after(5):
        async with stdio_client(server, errlog) as streams:
            reason = await closed_reason(streams)

    assert isinstance(reason, ProcessExitedError)
    assert (reason.exit_code, reason.command) == (2, sys.executable)
    assert "s3cr3t" not in str(reason)
    assert "exited with code 2" in str(reason)
    assert "can't open file" in str(reason)
    assert reason.stderr_tail in errlog.getvalue()


async def test_only_the_end_of_a_long_stderr_is_told() -> None:
    server = script("[sys.stderr.write(f'line {i}\\n') for i in range(10_000)]; sys.exit(3)")

    async with stdio_client(server, io.StringIO()) as streams:
        reason = await closed_reason(streams)

    assert isinstance(reason, ProcessExitedError)
    lines = reason.stderr_tail.splitlines()
    assert lines == [f"line {i}" for i in range(10_000 - len(lines), 10_000)]
    assert 100 < len(lines) < 300


@posix_only
async def test_the_signal_that_ended_a_server_is_told() -> None:
    async with stdio_client(script("say('hi'); os.kill(os.getpid(), signal.SIGKILL)")) as streams:
        reason = await closed_reason(streams)

    assert isinstance(reason, ProcessExitedError)
    assert reason.exit_code == -signal.SIGKILL


async def test_a_server_that_has_closed_its_output_but_runs_is_told_apart() -> None:
    async with stdio_client(script("sys.stdin.buffer.raw; os.close(1); sys.stdin.read()")) as streams:
        reason = await closed_reason(streams)

    assert type(reason) is ConnectionClosedError
    assert "has closed its stdin or stdout" in str(reason)


async def test_a_server_that_no_longer_reads_ends_the_connection() -> None:
    async with stdio_client(script("os.close(0); say('hi'); time.sleep(600)"), shutdown_grace=0) as streams:
        assert await heard(streams) == "hi"
        with anyio.fail_after(5):
            with pytest.raises(anyio.BrokenResourceError):
                await send_for_ever(streams)
            with pytest.raises(anyio.EndOfStream):
                await streams[0].receive()


async def send_for_ever(streams: TransportStreams) -> None:
    while True:
        await streams[1].send(notification("x"))
        await anyio.lowlevel.checkpoint()


async def test_after_an_own_close_there_is_no_other_reason() -> None:
    async with stdio_client(python(ECHO)) as streams:
        link = link_of(*streams)
        assert isinstance(link, ProcessLink)
        await link.aclose()
        assert type(await closed_reason(streams)) is ConnectionClosedError


# Ending the server.


async def test_what_a_server_still_writes_does_not_hold_it_up() -> None:
    # More than a pipe holds, and nobody receives it.
    server = script("say(str(os.getpid())); sys.stdin.read(); say('x' * 1_000_000); sys.stderr.write('written')")
    errlog = io.StringIO()

    async with stdio_client(server, errlog, shutdown_grace=20) as streams:
        await heard(streams)
        start = time.monotonic()

    assert time.monotonic() - start < 10
    assert errlog.getvalue() == "written"


async def test_a_server_that_needs_longer_gets_the_grace_it_was_given() -> None:
    errlog = io.StringIO()
    server = script("sys.stdin.read(); time.sleep(2.5); sys.stderr.write('flushed')")

    async with stdio_client(server, errlog, shutdown_grace=20):
        pass

    assert errlog.getvalue() == "flushed"


@posix_only
async def test_a_server_that_ignores_the_end_of_stdin_is_told_to_exit() -> None:
    errlog = io.StringIO()
    server = script(
        "def leave(*_):\n    sys.stderr.write('told')\n    sys.exit()\n"
        "signal.signal(signal.SIGTERM, leave); say('ready'); time.sleep(600)"
    )
    async with stdio_client(server, errlog, shutdown_grace=0.1) as streams:
        assert await heard(streams) == "ready"

    assert errlog.getvalue() == "told"


@posix_only
async def test_a_server_that_ignores_everything_is_killed_in_time() -> None:
    server = script("signal.signal(signal.SIGTERM, signal.SIG_IGN); say(str(os.getpid())); time.sleep(600)")

    async with stdio_client(server, shutdown_grace=0.5) as streams:
        pid = int(await heard(streams))
        # More than its stdin holds, so that closing it has to give up on this.
        await streams[1].send(notification("x" * 200_000))
        start = time.monotonic()

    assert 0.5 < time.monotonic() - start < 0.5 + FORCE_KILL_TIMEOUT
    assert not exists(pid)


async def test_the_loop_runs_on_while_a_server_is_waited_for() -> None:
    server = script("signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready'); time.sleep(600)")
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            start = time.monotonic()
            await anyio.sleep(0.01)
            longest = max(longest, time.monotonic() - start)

    async with anyio.create_task_group() as group:
        async with stdio_client(server, shutdown_grace=0.5) as streams:
            assert await heard(streams) == "ready"
            group.start_soon(watch)
        group.cancel_scope.cancel()

    assert longest < 0.4


async def test_a_cancelled_client_leaves_no_server() -> None:
    pid = 0
    with anyio.move_on_after(10) as scope:
        async with stdio_client(script("say(str(os.getpid())); time.sleep(600)"), shutdown_grace=0.1) as streams:
            pid = int(await heard(streams))
            scope.cancel()
            await streams[0].receive()

    assert pid
    assert not exists(pid)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_asyncio_task_that_is_cancelled_twice_leaves_no_server() -> None:
    pids: list[int] = []

    async def use() -> None:
        async with stdio_client(script("say(str(os.getpid())); time.sleep(600)")) as streams:
            pids.append(int(await heard(streams)))
            await streams[0].receive()

    task = asyncio.create_task(use())
    while not pids:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not exists(pids[0])


START_CHILD = """
def start(**options):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    return str(subprocess.Popen(command, **options).pid)
"""


@posix_only
async def test_no_process_that_a_server_started_in_its_group_is_left() -> None:
    wrapper = script(START_CHILD + "say(start() + ' ' + str(os.getpid())); time.sleep(600)")

    async with stdio_client(wrapper, shutdown_grace=0.1) as streams:
        pids = [int(pid) for pid in (await heard(streams)).split()]
        assert all(map(runs, pids))

    assert not any(map(runs, pids))


@posix_only
async def test_the_server_behind_a_wrapper_that_has_died_is_ended() -> None:
    # The child holds the pipes, so the connection outlives the wrapper.
    wrapper = script(START_CHILD + "say(start())")

    async with stdio_client(wrapper, shutdown_grace=0.5) as streams:
        pid = int(await heard(streams))

    assert not runs(pid)


@posix_only
async def test_a_helper_that_a_server_has_detached_is_left_alone() -> None:
    server = script(START_CHILD + "say(start(start_new_session=True)); sys.stdin.read()")
    errlog = io.StringIO()

    async with stdio_client(server, errlog) as streams:
        pid = int(await heard(streams))
        start = time.monotonic()

    try:
        assert runs(pid)
        assert time.monotonic() - start < PROCESS_TERMINATION_TIMEOUT
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_twenty_servers_one_after_the_other_leave_no_descriptor_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        async with stdio_client(StdioServerParameters(command="cat")) as streams:
            await streams[1].send(notification("hi"))
            assert await heard(streams) == "hi"

    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_message_over_the_limit_is_refused_and_the_next_one_is_taken() -> None:
    async with stdio_client(script("say('x' * 2000); say('next')"), max_message_size=1000) as streams:
        assert "limit of 1000 bytes" in str(await streams[0].receive())
        assert await heard(streams) == "next"
