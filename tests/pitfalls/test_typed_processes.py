"""Reports about processes that serve an `MCPServer`."""

import json
import logging
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

import pytest
from connections import SECONDS_OF_PATIENCE, TYPED_PROGRAM
from eras import HANDSHAKE, Era
from raw_peers import INITIALIZE, INITIALIZED_NOTICE, request

from mcp.server.mcpserver import MCPServer

Process = subprocess.Popen[bytes]


@contextmanager
def serving(*command: str, stderr: int | None = None) -> Generator[Process, None, None]:
    """A server process, killed if it is still there at the end."""
    process = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.wait(SECONDS_OF_PATIENCE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def write(process: Process, *lines: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(line + b"\n" for line in lines))
    process.stdin.flush()


def open_session(process: Process, era: Era) -> None:
    if era is HANDSHAKE:
        write(process, INITIALIZE, INITIALIZED_NOTICE)
        assert "result" in read(process)


def read(process: Process) -> dict[str, object]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


# B04


@pytest.mark.parametrize("tool", ["sleep", "nap"])
def test_b04_a_server_ends_with_its_client_whatever_a_tool_is_doing(tool: str, era: Era) -> None:
    """A sync tool held up the end of the process, and servers piled up by the dozen."""
    arguments = {"seconds": 600} if tool == "sleep" else {}
    with serving(TYPED_PROGRAM) as process:
        open_session(process, era)
        write(process, request(era, 1, "tools/call", name=tool, arguments=arguments))
        write(process, request(era, 2, "tools/call", name="echo", arguments={"text": "next"}))
        assert read(process)["id"] == 2
        start = time.monotonic()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(SECONDS_OF_PATIENCE) == 0
        assert time.monotonic() - start < 5


# B15


CHATTY = """
import logging
from mcp.server.mcpserver import MCPServer

mcp = MCPServer("chatty", log_level="INFO")

@mcp.tool()
async def swallow(text: str) -> int:
    logging.getLogger("mine").info("swallowed %s", text)
    return len(text)

mcp.run()
"""


def test_b15_a_stderr_that_nobody_reads_holds_up_no_call(era: Era) -> None:
    """Logs of every call with its arguments filled the pipe, and the server stood still."""
    calls = [request(era, id, "tools/call", name="swallow", arguments={"text": "x" * 4096}) for id in range(2000)]
    with serving("-c", CHATTY, stderr=subprocess.PIPE) as process:
        open_session(process, era)
        answers: queue.Queue[bytes] = queue.Queue()
        assert process.stdout is not None
        reader = threading.Thread(target=_copy, args=(process.stdout, answers), daemon=True)
        reader.start()
        writer = threading.Thread(target=write, args=(process, *calls), daemon=True)
        writer.start()
        deadline = time.monotonic() + 2 * SECONDS_OF_PATIENCE
        seen = {json.loads(answers.get(timeout=deadline - time.monotonic()))["id"] for _ in calls}
        assert len(seen) == 2000
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(SECONDS_OF_PATIENCE) == 0
        reader.join(SECONDS_OF_PATIENCE)


def _copy(lines: IO[bytes], answers: "queue.Queue[bytes]") -> None:
    for line in lines:
        answers.put(line)


# B86


CONSTRUCTS = """
import logging

def state():
    loggers = [logging.getLogger(), *map(logging.getLogger, sorted(logging.root.manager.loggerDict))]
    return [(logger.name, logger.level, logger.handlers) for logger in loggers if logger.level or logger.handlers]

before = state()
import mcp
from mcp import Client
from mcp.server.mcpserver import MCPServer, Context

server = MCPServer("quiet", log_level="DEBUG", debug=True)

@server.tool()
def tool(a: int, ctx: Context) -> int: ...

@server.resource("a://b")
def resource() -> str: ...

@server.prompt()
def prompt() -> str: ...

server.streamable_http_app()
server.sse_app()
after = state()
assert before == after == [("root", logging.WARNING, [])], after
print("quiet")
"""


def test_b86_nothing_but_running_a_server_sets_up_logging() -> None:
    """A library set up the application's logging while it was being imported and constructed."""
    done = subprocess.run([sys.executable, "-c", CONSTRUCTS], capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout.strip(), done.stderr) == ("quiet", "")


def test_b86_a_logger_of_the_application_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """Within a program that has logging of its own."""
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("mcp").level)

    MCPServer("quiet", log_level="DEBUG", debug=True)

    assert (root.level, list(root.handlers), logging.getLogger("mcp").level) == before


RUNS = """
import logging, sys
from mcp.server.mcpserver import MCPServer
{before}
server = MCPServer("loud", log_level="ERROR")
server.run()
print(logging.getLogger().level, len(logging.getLogger().handlers), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [("", f"{logging.ERROR} 1"), ("logging.basicConfig(level=logging.CRITICAL)", f"{logging.CRITICAL} 1")],
    ids=["bare", "own"],
)
def test_b86_run_sets_up_what_the_program_has_not(before: str, after: str) -> None:
    """The log of a program that does nothing about it goes to stderr."""
    program = RUNS.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], input="", capture_output=True, text=True, timeout=60, check=True
    )

    assert (done.stdout, done.stderr.strip()) == ("", after)


# B101


# `run()` logs through rich where that is installed.
HEAVY = [
    *("starlette", "uvicorn", "httpx2", "cryptography", "jwt", "jsonschema", "jsonschema_rs", "typer"),
    *("httptools", "uvloop", "dotenv", "opentelemetry", "trio", "httpx", "websockets"),
]

SERVES = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("light")

@server.tool()
def add(a: int, b: int = 1) -> int:
    return a + b

@server.resource("a://{{b}}")
def resource(b: str) -> str:
    return b

@server.prompt()
def prompt(n: int) -> str:
    return str(n)

{run}
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("run", ["", "server.run()"], ids=["constructed", "run"])
def test_b101_a_server_on_stdio_loads_nothing_that_it_does_not_use(run: str, era: Era) -> None:
    """A local server loaded a web server, a web framework, an HTTP client and cryptography."""
    opening = [INITIALIZE, INITIALIZED_NOTICE] if era is HANDSHAKE else []
    calls = [request(era, 1, "tools/list"), request(era, 2, "tools/call", name="add", arguments={"a": 1})]
    done = subprocess.run(
        [sys.executable, "-c", SERVES.format(run=run, heavy=HEAVY)],
        input=b"".join(line + b"\n" for line in [*opening, *calls]),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == b"[]"
    if run:
        assert b'"structuredContent":{"result":2}' in done.stdout
