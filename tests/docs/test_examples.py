"""Runs the programs in examples/ as a user does."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 40
BOOKSHOPS = ["bookshop.py", "lowlevel.py"]


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", *map(str, command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def call(*arguments: str, bookshop: str = "bookshop.py") -> "subprocess.CompletedProcess[str]":
    return run(EXAMPLES / "call.py", f"{sys.executable} {EXAMPLES / bookshop}", *arguments)


def test_the_demo_reaches_the_bookshop_in_three_ways() -> None:
    result = run(EXAMPLES / "demo.py")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.strip() for line in result.stdout.splitlines()]
    for way in ("1. Over HTTP", "2. Over stdio", "3. In memory"):
        assert sum(line.startswith(way) for line in lines) == 1, way
    for step, times in {
        "connected": 3,
        "list_tools": 3,
        "call_tool": 9,
        "progress": 12,
        "read": 3,
        "an error": 3,
    }.items():
        assert sum(line.startswith(f"{step} ") for line in lines) == times, step


def test_the_demo_fails_where_the_server_does_not_start(tmp_path: Path) -> None:
    for name in ("demo.py", "call.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "bookshop.py").write_text("mcp = None\n", encoding="utf-8")
    result = run(tmp_path / "demo.py")
    assert result.returncode == 1
    assert "did not start" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_the_demo_leaves_no_process_behind_when_it_is_terminated() -> None:
    demo = subprocess.Popen([sys.executable, EXAMPLES / "demo.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert demo.stdout is not None
    while b"Over HTTP" not in demo.stdout.readline():
        pass
    children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
    assert children
    demo.terminate()
    demo.communicate(timeout=SECONDS)
    assert demo.returncode == 1
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


@pytest.mark.parametrize("bookshop", BOOKSHOPS)
def test_a_client_lists_the_tools_of_the_bookshop(bookshop: str) -> None:
    result = call(bookshop=bookshop)
    assert result.stdout.startswith("find_books: Finds books")
    assert "take_stock: Counts all books, one title after the other." in result.stdout
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("bookshop", BOOKSHOPS)
def test_a_client_calls_a_tool_and_shows_its_progress(bookshop: str) -> None:
    result = call("take_stock", bookshop=bookshop)
    assert result.stdout == "10 books in stock\n"
    assert result.stderr.splitlines()[0] == "[1/4] counted Middlemarch"
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("bookshop", "complaint"),
    [("bookshop.py", "Input should be a valid string"), ("lowlevel.py", "The argument 'title' must be a string")],
)
def test_a_client_reports_a_tool_that_failed(bookshop: str, complaint: str) -> None:
    result = call("find_books", '{"title": 1}', bookshop=bookshop)
    assert complaint in result.stdout
    assert (result.returncode, result.stderr) == (1, "")


def test_a_client_reports_a_server_that_does_not_start() -> None:
    result = call(bookshop="nowhere.py")
    assert "exited with code 2" in result.stderr
    assert result.returncode == 1


def test_the_authorization_server_serves_what_it_says() -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / "sign_in.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            issuer = process.stdout.readline().strip()
            with urlopen(f"{issuer}.well-known/oauth-authorization-server", timeout=SECONDS) as answer:
                said = json.load(answer)
        finally:
            process.terminate()
    assert said["issuer"] == issuer
    assert said["scopes_supported"] == ["books:read", "books:write"]
    assert said["client_id_metadata_document_supported"] is True
