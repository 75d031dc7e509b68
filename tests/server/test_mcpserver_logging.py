"""What `run()` sets up for the log, where a program has not done so itself."""

import io
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mcp.server.mcpserver.utilities.logging import PipeHandler, configure_logging

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of Windows cannot be asked for room")


@contextmanager
def bare_root() -> Generator[logging.Logger, None, None]:
    """The root logger as it is in a program that has not touched it."""
    # Not a fixture: the test run adds its own handlers behind those.
    root = logging.getLogger()
    before = (root.level, root.handlers[:])
    root.handlers.clear()
    yield root
    root.setLevel(before[0])
    root.handlers[:] = before[1]


@pytest.fixture
def pipe() -> Generator[tuple[int, int], None, None]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    for fd in (reading, writing):
        os.close(fd)


def drained(fd: int) -> str:
    text = b""
    while True:
        try:
            text += os.read(fd, 65536)
        except BlockingIOError:
            return text.decode()


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("mine", logging.INFO, __file__, 1, text, None, None)


def test_a_program_that_logs_already_is_left_alone() -> None:
    own = logging.NullHandler()
    with bare_root() as root:
        root.addHandler(own)
        level = root.level
        configure_logging("DEBUG")
        assert root.handlers == [own]
        assert root.level == level


def test_stderr_gets_the_log_from_its_level_on(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = pipe
    with os.fdopen(os.dup(writing), "w") as stderr, bare_root() as root:
        monkeypatch.setattr("sys.stderr", stderr)
        configure_logging("WARNING")
        logging.getLogger("mine").info("not this")
        logging.getLogger("mine").warning("this, and half a pair: \udcff")
        [handler] = root.handlers
        assert isinstance(handler, PipeHandler)
    assert drained(reading) == "this, and half a pair: \\udcff\n"


def test_a_stream_without_a_descriptor_is_written_to_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with bare_root():
        configure_logging("INFO")
        logging.getLogger("mine").info("heard")
    assert stream.getvalue() == "heard\n"


def test_what_a_full_pipe_has_no_room_for_is_dropped_and_counted(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    handler = PipeHandler(writing)
    for number in range(200):
        handler.emit(record(f"{number:03} " + "x" * 5000))
    text = drained(reading)
    assert 0 < len(text) < 200 * 5000
    handler.emit(record("after"))
    text += drained(reading)
    handler.emit(record("last"))
    *whole, dropped, after, last = (text + drained(reading)).splitlines()
    # The line that was begun when the pipe was full is whole, and none is missing before it.
    assert whole == [f"{number:03} " + "x" * 5000 for number in range(len(whole))]
    assert dropped == f"{200 - len(whole)} log messages were dropped: nobody read them"
    assert (after, last) == ("after", "last")


def test_a_pipe_whose_reader_is_gone_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    handler = PipeHandler(writing)
    try:
        handler.handle(record("to nobody"))
    finally:
        os.close(writing)
    assert "BrokenPipeError" in capsys.readouterr().err
