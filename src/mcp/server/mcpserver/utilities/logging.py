"""Logging of a server's process."""

import logging
import os
import stat
import sys
from typing import IO, Final, Literal

__all__ = ["PipeHandler", "configure_logging", "get_logger"]

_AT_ONCE: Final = 512
"""What a pipe that is ready takes whole, on every system (POSIX calls the least of it `_POSIX_PIPE_BUF`)."""


def get_logger(name: str) -> logging.Logger:
    """The logger called `name`."""
    return logging.getLogger(name)


def configure_logging(level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO") -> None:
    """Sends the log to stderr, if the root logger has no handler yet.

    On a terminal through rich, if that is installed. Where stderr is a pipe, a message that would have to wait for its
    reader is dropped: a host that starts a server and never reads its stderr must not stop it.

    For programs. The library never calls it while it is imported or while a server is being constructed.

    Args:
        level: Messages below it are not logged.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(message)s", level=level, handlers=[_handler(sys.stderr)])


def _handler(stream: IO[str]) -> logging.Handler:
    if _is_pipe(stream):
        return PipeHandler(stream.fileno())
    if stream.isatty():
        try:
            from rich.console import Console
            from rich.logging import RichHandler
        except ImportError:
            pass
        else:
            return RichHandler(console=Console(stderr=True), rich_tracebacks=True)
    return logging.StreamHandler(stream)


def _is_pipe(stream: IO[str]) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class PipeHandler(logging.Handler):
    """Writes messages to a pipe, as lines, and drops those that the pipe has no room for.

    Once there is room again, a line says how many were dropped.

    Args:
        fd: The writing end.
    """

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._begun = b""
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one message, or drops it."""
        try:
            line = self._line(self.format(record))
            self._write()
            if self._dropped and not self._begun:
                self._begun = self._line(f"{self._dropped} log messages were dropped: nobody read them")
                self._dropped = 0
                self._write()
            if self._begun:
                self._dropped += 1
                return
            self._begun = line
            self._write()
        except Exception:
            self.handleError(record)

    @staticmethod
    def _line(text: str) -> bytes:
        return text.encode("utf-8", "backslashreplace") + b"\n"

    def _write(self) -> None:
        """Writes what was begun, as far as there is room for it. The rest follows with a later message."""
        from select import POLLOUT, poll

        room = poll()
        room.register(self._fd, POLLOUT)
        while self._begun and room.poll(0):
            self._begun = self._begun[os.write(self._fd, self._begun[:_AT_ONCE]) :]
