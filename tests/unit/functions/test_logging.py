"""`configure_logging`, which programs call and the library does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp.server.mcpserver.utilities.logging import get_logger

PROGRAM = """
import logging, sys
if {hide_rich}:
    sys.modules["rich.console"] = None
{before}
from mcp.server.mcpserver.utilities.logging import configure_logging
configure_logging({level})
print(type(logging.root.handlers[0]).__name__, logging.root.level, len(logging.root.handlers))
logging.getLogger("anything").warning("a %s", "warning")
"""


def ran(level: str = "", *, hide_rich: bool = False, before: str = "") -> subprocess.CompletedProcess[str]:
    code = PROGRAM.format(level=level, hide_rich=hide_rich, before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)


def test_the_log_goes_to_stderr() -> None:
    done = ran(hide_rich=True)

    assert done.stdout.split() == ["PipeHandler", "20", "1"]
    assert done.stderr == "a warning\n"


def test_the_log_goes_to_a_file_line_by_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stderr:
        code = PROGRAM.format(level="", hide_rich=False, before="")
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=stderr, text=True, check=True
        )
    assert done.stdout.split() == ["StreamHandler", "20", "1"]
    assert log.read_text() == "a warning\n"


@pytest.mark.parametrize(("level", "number"), [("'DEBUG'", "10"), ("'CRITICAL'", "50")])
def test_the_level_is_that_of_the_argument(level: str, number: str) -> None:
    assert ran(level, hide_rich=True).stdout.split()[1] == number


@pytest.mark.parametrize(("hide_rich", "handler"), [(False, "RichHandler"), (True, "StreamHandler")])
def test_on_a_terminal_the_log_is_coloured_with_rich(hide_rich: bool, handler: str) -> None:
    pytest.importorskip("rich")
    pty = pytest.importorskip("pty", reason="this system has no terminals that a program can open")
    terminal, its_end = pty.openpty()
    code = PROGRAM.format(level="", hide_rich=hide_rich, before="")
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=its_end, text=True, timeout=30, check=True
        )
        assert done.stdout.split()[0] == handler
        assert b"a warning" in os.read(terminal, 10_000)
    finally:
        os.close(terminal)
        os.close(its_end)


def test_a_program_that_has_set_up_its_log_keeps_it() -> None:
    done = ran(before="logging.basicConfig(level=40)")

    assert done.stdout.split() == ["StreamHandler", "40", "1"]


def test_a_logger_has_the_name_that_it_is_asked_for() -> None:
    assert get_logger("mcp.a").name == "mcp.a"
