"""`configure_logging`, which programs call and the library does not."""

import subprocess
import sys

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

    assert done.stdout.split() == ["StreamHandler", "20", "1"]
    assert done.stderr == "a warning\n"


@pytest.mark.parametrize(("level", "number"), [("'DEBUG'", "10"), ("'CRITICAL'", "50")])
def test_the_level_is_that_of_the_argument(level: str, number: str) -> None:
    assert ran(level, hide_rich=True).stdout.split()[1] == number


def test_with_rich_the_log_is_coloured() -> None:
    pytest.importorskip("rich")
    done = ran()

    assert done.stdout.split()[0] == "RichHandler"
    assert "a warning" in done.stderr


def test_a_program_that_has_set_up_its_log_keeps_it() -> None:
    done = ran(before="logging.basicConfig(level=40)")

    assert done.stdout.split() == ["StreamHandler", "40", "1"]


def test_a_logger_has_the_name_that_it_is_asked_for() -> None:
    assert get_logger("mcp.a").name == "mcp.a"
