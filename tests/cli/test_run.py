"""`mcp run FILE`: what it serves, and what it says where it cannot."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMAND, mcp, program

from mcp import Client
from mcp.client.stdio import StdioServerParameters

LOW_LEVEL = """
from mcp.server import Server

server = Server("low")
"""


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the process on the other side is what these tests are about."""
    return "asyncio"


def served(*arguments: str, cwd: Path) -> StdioServerParameters:
    return StdioServerParameters(command=COMMAND, args=["run", *arguments], cwd=cwd)


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "mode"), [("mcp", "auto"), ("server", "legacy"), ("app", "auto")])
async def test_the_server_is_the_global_mcp_server_or_app(tmp_path: Path, name: str, mode: str) -> None:
    program(tmp_path, name)
    async with Client(served("server.py", cwd=tmp_path), mode=mode) as client:
        result = await client.call_tool("price", {"title": "Dune"})
    assert result.structured_content == {"result": 4}


@pytest.mark.anyio
async def test_a_name_behind_the_colon_chooses_another_global(tmp_path: Path) -> None:
    program(tmp_path, "bookshop")
    async with Client(served("server.py:bookshop", "--transport", "stdio", cwd=tmp_path)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["price"]


@pytest.mark.anyio
async def test_a_file_may_import_its_neighbours_and_they_may_import_it(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from mcp.server import MCPServer\nmcp = MCPServer('shop')\nimport tools\n", encoding="utf-8"
    )
    (tmp_path / "tools.py").write_text(
        "from shop import mcp\n\n@mcp.tool()\ndef price() -> int:\n    return 3\n", encoding="utf-8"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with Client(served(str(tmp_path / "shop.py"), cwd=elsewhere)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["price"]


@pytest.mark.anyio
async def test_a_file_with_the_name_of_a_loaded_module_does_not_replace_it(tmp_path: Path) -> None:
    program(tmp_path, file="typing.py")
    async with Client(served("typing.py", cwd=tmp_path)) as client:
        assert (await client.call_tool("price", {"title": "It"})).structured_content == {"result": 2}


def test_a_low_level_server_is_refused_with_the_way_to_serve_it(tmp_path: Path) -> None:
    (tmp_path / "low.py").write_text(LOW_LEVEL, encoding="utf-8")
    for spec in ("low.py", "low.py:server"):
        code, out, err = mcp("run", spec, cwd=tmp_path)
        assert (code, out) == (1, "")
        assert "is a low-level Server, and this command serves an MCPServer only" in err
        assert "await server.run(read, write, server.create_initialization_options())" in err


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("missing.py", "missing.py does not exist. Give the Python file of a server"),
        (".", "is a folder. Give the Python file of a server"),
        ("pipe.py", "pipe.py is a FIFO (a named pipe), and no file. Give the Python file of a server"),
        ("x" * 300 + ".py", ".py cannot be read (File name too long). Give the Python file of a server"),
        ("server.py:", "'server.py:' names no object"),
        ("server.py:a.b", "'a.b' cannot be a global name of server.py"),
        ("server.py:shop", "server.py has no global named 'shop'. Did you mean server.py:bookshop?"),
        ("server.py:price", "server.py:price is of type function, and not an MCPServer"),
        ("server.py", "server or app. Did you mean server.py:bookshop?"),
        ("empty.py", "Make the server a global of the file"),
        ("server.txt", "server.txt is not a Python file: its name must end in .py"),
        ("https://example.com/mcp", "does not exist. Give the Python file of a server"),
    ],
)
def test_what_cannot_be_found_is_named(tmp_path: Path, spec: str, message: str) -> None:
    program(tmp_path, "bookshop")
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    (tmp_path / "server.txt").write_text("", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.py")
    code, out, err = mcp("run", spec, cwd=tmp_path)
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err


def test_a_file_whose_path_has_a_colon_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a:b.py").write_text("", encoding="utf-8")
    assert "a:b.py has no MCPServer" in mcp("run", "a:b.py", cwd=tmp_path).err


def test_an_unknown_transport_is_answered_with_those_there_are(tmp_path: Path) -> None:
    code, _, err = mcp("run", str(program(tmp_path)), "-t", "websocket", cwd=tmp_path)
    assert code == 1
    assert err == "There is no transport 'websocket': choose one of stdio, sse, streamable-http\n"


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def build():\n    return 1 / 0\n\nmcp = build()", "ZeroDivisionError: division by zero"),
        ("mcp = (", "SyntaxError: '(' was never closed"),
    ],
)
def test_an_error_in_the_file_is_shown_from_the_file_on(tmp_path: Path, source: str, last: str) -> None:
    (tmp_path / "broken.py").write_text(source, encoding="utf-8")
    code, out, err = mcp("run", "broken.py", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert "broken.py could not be imported:" in err
    assert err.rstrip().endswith(last)
    assert "importlib" not in err
    assert "mcp/cli" not in err


def test_what_serving_raises_is_a_plain_traceback(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(
        "from mcp.server import MCPServer\n"
        "class Odd(MCPServer):\n"
        "    def run(self, *args: object) -> None:\n"
        "        raise OSError('no')\n"
        "mcp = Odd('odd')\n",
        encoding="utf-8",
    )
    code, _, err = mcp("run", "server.py", cwd=tmp_path)
    assert code == 1
    assert err.startswith("Traceback")
    assert err.endswith("OSError: no\n")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_ends_it_without_a_word(tmp_path: Path) -> None:
    file = program(tmp_path)
    file.write_text(file.read_text(encoding="utf-8") + "\nprint('imported', flush=True)\n", encoding="utf-8")
    # A test run in the background may have been told to ignore interrupts, and would hand that on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [COMMAND, "run", str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"imported\n"
        # Serving, or about to: an interrupt is the same in both.
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b""
