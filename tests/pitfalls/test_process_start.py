"""Reports about servers that do not start, or not with what they need."""

import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from connections import HERE, SECONDS_OF_PATIENCE, subprocess_server, text_of

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def failure_of(server: StdioServerParameters, mode: str) -> str:
    """Why a server cannot be connected to."""
    with anyio.fail_after(5), pytest.raises(MCPError) as caught:
        async with Client(stdio_client(server, io.StringIO()), mode=mode):
            pytest.fail("there is no such server")
    return str(caught.value)


# B03


async def test_b03_a_wrong_script_path_fails_at_once_and_says_why(mode: str) -> None:
    """A wrong path hung, and later failed with nothing but "Connection closed"."""
    with anyio.fail_after(5), pytest.raises(MCPError) as caught:
        async with Client(StdioServerParameters(command=sys.executable, args=["nope.py"]), mode=mode):
            pytest.fail("there is no such script")

    assert "exited with code 2" in str(caught.value)
    assert "can't open file" in str(caught.value)


@asyncio_only
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-m", "no_such_module"], ["exited with code 1", "No module named no_such_module"]),
        (["-c", "import no_such_module"], ["exited with code 1", "ModuleNotFoundError"]),
        (["-c", "def"], ["exited with code 1", "SyntaxError"]),
        (["-c", "import sys; sys.exit('set API_KEY first')"], ["exited with code 1", "set API_KEY first"]),
        (["-c", ""], ["exited with code 0"]),
        (["-c", "print('Usage: serve --stdio')"], ["exited with code 0"]),
        (["-c", "import os; os.abort()"], [f"exited with code {-signal.SIGABRT}"]),
    ],
)
async def test_b03_whatever_ends_a_server_early_is_told(
    args: Sequence[str], expected: Sequence[str], mode: str
) -> None:
    """The same for every other reason why a server does not come up."""
    failure = await failure_of(StdioServerParameters(command=sys.executable, args=list(args)), mode)

    assert [text for text in expected if text not in failure] == []


@asyncio_only
async def test_b03_a_command_that_does_not_exist_is_named_with_where_it_was_looked_for(mode: str) -> None:
    """A missing npx or uv was told as "No such file or directory"."""
    failure = await failure_of(StdioServerParameters(command="no-such-npx", env={"PATH": "/nowhere"}), mode)

    assert "'no-such-npx'" in failure
    assert "/nowhere" in failure


async def test_b03_a_server_that_crashes_in_a_call_is_told_the_same_way(mode: str) -> None:
    """A crash in mid-call was told as "Connection closed", and later calls hung."""
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with Client(stdio_client(subprocess_server(), io.StringIO()), mode=mode) as client:
            for _ in range(2):
                with pytest.raises(MCPError, match=r"exited with code 7.*(?s:.*)cannot go on"):
                    await client.call_tool("leave", {"code": 7})


# B16


async def test_b16_variables_are_added_to_those_every_program_needs() -> None:
    """With `env=` of one variable the server had no PATH, and npx was not found."""
    async with Client(subprocess_server(env={"KEY": "1"})) as client:
        found = json.loads(await text_of(client, "environment", names=["PATH", "KEY"]))

    assert found == {"PATH": os.environ["PATH"], "KEY": "1"}


@asyncio_only
@pytest.mark.parametrize("env", [None, {}])
async def test_b16_nothing_secret_is_passed_on_unasked(
    env: "dict[str, str] | None", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way out, to pass on everything, hands every secret to every server."""
    monkeypatch.setenv("API_KEY", "secret")

    async with Client(subprocess_server(env=env)) as client:
        found = json.loads(await text_of(client, "environment", names=["PATH", "API_KEY"]))

    assert found == {"PATH": os.environ["PATH"], "API_KEY": None}


@asyncio_only
async def test_b16_a_given_variable_wins() -> None:
    """A PATH of the user's own was ignored."""
    path = os.pathsep.join(["/opt/tools", os.environ["PATH"]])

    async with Client(subprocess_server(env={"PATH": path})) as client:
        assert json.loads(await text_of(client, "environment", names=["PATH"])) == {"PATH": path}


# B17


class Console(io.StringIO):
    """As notebooks have it: there is a `fileno`, and it leads nowhere."""

    def fileno(self) -> int:
        return -1


class Widget:
    """As text user interfaces have it: something to write to, and no more of a file than that."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)

    def getvalue(self) -> str:
        return "".join(self.parts)


@pytest.mark.parametrize("log", [io.StringIO, Console, Widget])
async def test_b17_stderr_goes_to_anything_that_can_be_written_to(
    log: "type[io.StringIO] | type[Widget]",
) -> None:
    """In notebooks and text user interfaces a server did not start, for its log had no descriptor."""
    errlog = log()

    async with Client(stdio_client(subprocess_server(), errlog=errlog)) as client:  # pyright: ignore[reportArgumentType]
        await text_of(client, "complain", text="žluť 😀")

    assert errlog.getvalue() == "žluť 😀\n"


@asyncio_only
@pytest.mark.parametrize("stderr", [io.StringIO(), Console(), None], ids=["no descriptor", "descriptor -1", "none"])
async def test_b17_the_own_stderr_may_be_replaced(
    stderr: "io.StringIO | None", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same without `errlog=`, where `sys.stderr` is the notebook's, or is missing as in windowed programs."""
    monkeypatch.setattr(sys, "stderr", stderr)

    async with Client(subprocess_server()) as client:
        await text_of(client, "complain", text="to the console")

    assert stderr is None or stderr.getvalue() == "to the console\n"


@asyncio_only
async def test_b17_a_log_that_breaks_does_not_break_the_calls() -> None:
    """A console that was closed meanwhile ended the connection, or let the server block on a full pipe."""
    errlog = io.StringIO()
    errlog.close()

    async with Client(stdio_client(subprocess_server(), errlog)) as client:
        await text_of(client, "complain", text="x" * 1_000_000)
        assert await text_of(client, "echo", text="still here") == "still here"


# B09

CLIENT = """
import sys
import anyio
from mcp import Client, StdioServerParameters

async def main():
    server = StdioServerParameters(command="sh", args=["-c", sys.argv[1]], env={{"LC_ALL": "C", "PYTHONUTF8": "0"}})
    async with Client(server) as client:
        echoed = await client.call_tool("echo", {{"text": {text!a}}})
        assert echoed.content[0].text == {text!a}

anyio.run(main)
"""


@asyncio_only
@pytest.mark.skipif(sys.platform == "win32", reason="needs tee and a shell")
@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}], ids=["cp1252", "C"]
)
async def test_b09_text_arrives_whatever_the_locales(locale: "dict[str, str]", tmp_path: Path) -> None:
    """Where the locale is not UTF-8, text was mangled, or could not be sent at all."""
    text = "žluť 中文 😀"
    server = f"{sys.executable} {HERE}/pitfall_server.py"
    pipeline = f"tee {tmp_path}/to_server | {server} | tee {tmp_path}/to_client"

    with anyio.fail_after(SECONDS_OF_PATIENCE):
        command = [sys.executable, "-c", CLIENT.format(text=text), pipeline]
        await anyio.run_process(command, env={**os.environ, **locale})

    for log in ("to_server", "to_client"):
        assert text in (tmp_path / log).read_bytes().decode("utf-8")
