"""`stdio_server` in a process of its own: what goes over the wire, what does not, and what is left behind."""

import io
import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import anyio
import pytest

from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCNotification

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
TIMEOUT = 30

Stdio = int | IO[bytes] | None

ECHO = """
async for message in read:
    await write.send(message)
"""


@pytest.fixture
def backend(anyio_backend: str) -> str:
    """The event loop of the server, where the test itself needs none."""
    return anyio_backend


def script(backend: str, body: str, *, before: str = "", after: str = "", around: str = "stdio_server()") -> str:
    """A program that runs `body` with the stream pair `read, write`."""
    return "\n".join(
        [
            "import io, os, subprocess, sys, anyio",
            "from mcp.server.stdio import stdio_server",
            before,
            "async def main():",
            f"    async with {around} as (read, write):",
            textwrap.indent(body, " " * 8),
            textwrap.indent(after, " " * 4),
            f"anyio.run(main, backend={backend!r})",
        ]
    )


def run(program: str, stdin: bytes, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[bytes]":
    """Runs a program on this input; its stdin ends after it."""
    environment = {**os.environ, **(env or {})}
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT, env=environment, check=False)


def start(program: str, stdin: Stdio, stdout: Stdio, stderr: Stdio = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", program], bufsize=0, stdin=stdin, stdout=stdout, stderr=stderr)


def test_a_message_in_is_a_line_out(backend: str) -> None:
    done = run(script(backend, ECHO), PING)

    assert (done.stdout, done.stderr, done.returncode) == (PING, b"", 0)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C", "PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_the_wire_is_utf8_whatever_the_locale(backend: str, locale: Mapping[str, str]) -> None:
    text = "žluť 中文 😀"
    message = json.dumps({"jsonrpc": "2.0", "method": "note", "params": {"text": text}}, ensure_ascii=False)

    done = run(script(backend, ECHO), message.encode() + b"\n", env=locale)

    assert json.loads(done.stdout.decode("utf-8"))["params"]["text"] == text
    assert text.encode() in done.stdout


def test_a_malformed_line_is_reported_and_the_next_one_is_served(backend: str) -> None:
    body = """
    async for message in read:
        if isinstance(message, Exception):
            print(message.code, message.id, file=sys.stderr)
        else:
            await write.send(message)
    """
    done = run(script(backend, textwrap.dedent(body)), b'{"jsonrpc":"2.0","id":5,"method":\n' + PING)

    assert done.stdout == PING
    assert done.stderr.split() == [b"-32700", b"5"]


def test_prints_and_child_processes_are_led_past_the_wire(backend: str) -> None:
    body = """
    print("printed")
    sys.stdout.flush()
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "import sys; print('by a child', repr(sys.stdin.read()))"])
    print("not flushed")
    """
    done = run(script(backend, textwrap.dedent(body) + ECHO), PING, env={"PYTHONUNBUFFERED": ""})

    assert done.stdout == PING
    assert done.stderr.splitlines() == [b"printed", b"written", b"by a child ''", b"not flushed"]


def test_what_was_printed_before_and_not_flushed_does_not_reach_the_wire(backend: str) -> None:
    program = script(backend, "os.write(1, b'while serving')\n" + ECHO, before="print('while importing')")
    done = run(program, PING, env={"PYTHONUNBUFFERED": ""})

    assert (done.stdout, done.stderr) == (PING, b"while importing\nwhile serving")


def test_afterwards_stdin_and_stdout_are_what_they_were(backend: str) -> None:
    before = "was = os.fstat(0), os.fstat(1), os.get_inheritable(0), os.get_inheritable(1)"
    after = """
    assert os.path.samestat(os.fstat(0), was[0]) and os.path.samestat(os.fstat(1), was[1])
    assert (os.get_inheritable(0), os.get_inheritable(1)) == was[2:]
    print("afterwards")
    """
    done = run(script(backend, ECHO, before=before, after=textwrap.dedent(after)), PING)

    assert (done.stdout, done.stderr, done.returncode) == (PING + b"afterwards\n", b"", 0)


def test_after_a_failure_too(backend: str) -> None:
    program = script(backend, "raise ValueError").replace("anyio.run(", "try: anyio.run(")
    done = run(program + "\nexcept ValueError: print('stdout:', sys.stdin.readline().strip())", b"left\n")

    assert (done.stdout, done.stderr, done.returncode) == (b"stdout: left\n", b"", 0)


def test_a_process_serves_on_its_stdio_once_at_a_time(backend: str) -> None:
    body = """
    try:
        async with stdio_server():
            pass
    except RuntimeError as error:
        print(error)
    """
    again = "async with stdio_server(): pass"
    done = run(script(backend, textwrap.dedent(body) + ECHO, after=again), PING)

    assert (done.stdout, done.returncode) == (PING, 0)
    assert done.stderr == b"stdio_server() is serving on this process's stdin or stdout already\n"


def test_the_process_ends_while_its_stdin_stays_open(backend: str) -> None:
    for _ in range(10):
        process = start(
            script(backend, "await write.send(await read.receive())"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(PING)
        assert process.wait(TIMEOUT) == 0
        assert process.communicate() == (PING, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_as_stdin_neither_keeps_the_process_nor_breaks_it(backend: str) -> None:
    for _ in range(3):
        ours, theirs = os.openpty()
        process = start(
            script(backend, "await write.send(await read.receive())"),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.close(theirs)
        os.write(ours, PING)
        assert process.wait(TIMEOUT) == 0
        assert process.communicate() == (PING, b"")
        os.close(ours)


def test_files_do_for_stdin_and_stdout(backend: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(PING + PING.rstrip())
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        process = start(script(backend, ECHO), stdin=source, stdout=sink)
        assert process.wait(TIMEOUT) == 0

    assert (tmp_path / "out").read_bytes() == PING + PING


@pytest.mark.skipif(sys.platform == "win32", reason="sockets as descriptors")
def test_a_socket_does_for_both(backend: str) -> None:
    # As hosts that are written for Node.js have it.
    ours, theirs = socket.socketpair()
    with ours:
        process = start(script(backend, ECHO), stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        big = PING.replace(b"ping", b"p" * 3_000_000)
        ours.sendall(PING + big)
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile("rb") as answers:
            assert answers.read() == PING + big
        assert process.wait(TIMEOUT) == 0


def test_stderr_on_the_same_pipe_stays_in_blocking_mode(backend: str) -> None:
    body = """
    for _ in range(200):
        await write.send(message)
    assert os.get_blocking(2)
    print("x" * 200_000, flush=True)
    """
    program = script(backend, "message = await read.receive()\n" + textwrap.dedent(body))
    process = start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = process.communicate(PING.replace(b"ping", b"p" * 2000), timeout=TIMEOUT)

    assert process.returncode == 0
    assert b"x" * 200_000 + b"\n" in output


def test_a_replacement_without_a_descriptor_is_used_as_it_is(backend: str) -> None:
    before = f"""
sys.stdin = io.StringIO({PING.decode()!r})
sys.stdout = io.StringIO()
"""
    done = run(script(backend, ECHO, before=before, after="sys.stderr.write(sys.stdout.getvalue())"), b"")

    assert (done.stdout, done.stderr, done.returncode) == (b"", PING, 0)


def test_one_replacement_goes_with_the_other_standard_stream(backend: str) -> None:
    before = f"sys.stdin = io.StringIO({PING.decode()!r})"
    done = run(script(backend, "print('stray', flush=True)\n" + ECHO, before=before), b"")

    assert (done.stdout, done.stderr, done.returncode) == (PING, b"stray\n", 0)


def test_without_any_stdin_there_is_a_plain_error(backend: str) -> None:
    done = run(script(backend, ECHO, before="sys.stdin = None"), b"")

    assert b"RuntimeError: This process has no stdin or no stdout" in done.stderr


@pytest.mark.anyio
async def test_files_given_are_used_instead() -> None:
    written = io.StringIO()
    lines = ['{"jsonrpc":"2.0","method":"one"}\r', "", "nonsense", '{"jsonrpc":"2.0","method":"two"}']
    source = anyio.wrap_file(io.StringIO("\n".join(lines)))

    async with stdio_server(source, anyio.wrap_file(written)) as (read, write):
        async with read, write:
            messages = [message async for message in read]
        for message in messages:
            if isinstance(message, SessionMessage):
                await write.send(message)

    one, refused, two = messages
    assert one == SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="one"))
    assert isinstance(refused, Exception)
    assert two == SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="two"))
    assert written.getvalue() == '{"jsonrpc":"2.0","method":"one"}\n{"jsonrpc":"2.0","method":"two"}\n'


def test_a_message_over_the_limit_is_refused_and_the_next_one_is_served(backend: str) -> None:
    body = """
    print((await read.receive()).message, file=sys.stderr)
    await write.send(await read.receive())
    """
    program = script(backend, textwrap.dedent(body), around="stdio_server(max_message_size=1000)")
    done = run(program, PING.replace(b"ping", b"p" * 1000) + PING)

    assert (done.stdout, done.returncode) == (PING, 0)
    assert b"limit of 1000 bytes" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop")
def test_a_socket_is_in_blocking_mode_again_after_uvloop_has_used_it() -> None:
    after = "assert os.get_blocking(0) and os.get_blocking(1)"
    program = script("asyncio", ECHO, after=after).replace("backend='asyncio'", "backend_options={'use_uvloop': True}")
    ours, theirs = socket.socketpair()
    with ours:
        process = start(program, stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        ours.sendall(PING)
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(TIMEOUT) == 0
        assert ours.recv(1000) == PING
