"""Keeps stdin and stdout for the protocol: everybody else in the process is led past them.

While a server serves on stdio, a stray `print`, or a child process that inherits the standard descriptors, must
neither write between the messages nor read them away.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from mcp.engine.descriptors import private_duplicate

__all__ = ["Wire", "diverted_stdin", "diverted_stdout"]

STDIN_FD = 0
STDOUT_FD = 1
STDERR_FD = 2


class Wire(NamedTuple):
    """A private descriptor for what used to be a standard one.

    Attributes:
        fd: The descriptor; the receiver closes it.
        nonblocking: It is in non-blocking mode, and nobody else uses its description.
    """

    fd: int
    nonblocking: bool


@contextmanager
def diverted_stdin(fd: int) -> Generator[Wire, None, None]:
    """Takes `fd` for the wire; in the block the process's stdin is at its end, if it was `fd`.

    Raises:
        OSError: `fd` is not open.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        with _diverted(fd, null if fd == STDIN_FD else fd, os.O_RDONLY) as wire:
            yield wire
    finally:
        os.close(null)


@contextmanager
def diverted_stdout(fd: int) -> Generator[Wire, None, None]:
    """Takes `fd` for the wire; in the block what is written to the process's stdout goes to stderr, if it was `fd`.

    Raises:
        OSError: `fd` is not open.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    elsewhere = STDERR_FD if _is_open(STDERR_FD) else null
    try:
        with _diverted(fd, elsewhere if fd == STDOUT_FD else fd, os.O_WRONLY) as wire:
            # Printed before: Python holds it back, and would write it between the messages.
            _flush_stdout()
            try:
                yield wire
            finally:
                _flush_stdout()
    finally:
        os.close(null)


@contextmanager
def _diverted(fd: int, elsewhere: int, flags: int) -> Generator[Wire, None, None]:
    # Not the wire is put back in the end: on Windows that would wait for a read that is under way on it.
    saved = os.dup(fd)
    inheritable = os.get_inheritable(fd)
    try:
        wire = Wire(*private_duplicate(fd, flags))
        with _mode_kept(saved):
            _redirect(fd, elsewhere, True)
            try:
                yield wire
            finally:
                _redirect(fd, saved, inheritable)
    finally:
        os.close(saved)


@contextmanager
def _mode_kept(fd: int) -> Generator[None, None, None]:
    # uvloop sets what it watches to non-blocking, and unless the wire is a pipe it shares its description with `fd`.
    if sys.platform == "win32":
        yield
        return
    blocking = os.get_blocking(fd)
    try:
        yield
    finally:
        os.set_blocking(fd, blocking)


def _redirect(fd: int, target: int, inheritable: bool) -> None:
    if fd == target:
        return
    os.dup2(target, fd, inheritable)
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        # Windows keeps a second table of standard handles, which child processes get theirs from.
        standard_handle = -10 - fd
        ctypes.windll.kernel32.SetStdHandle(standard_handle, ctypes.c_void_p(msvcrt.get_osfhandle(fd)))


def _flush_stdout() -> None:
    for stream in {sys.stdout, sys.__stdout__}:
        # A stream that is closed, broken or somebody's own class must not keep the server from starting or ending.
        with suppress(Exception):
            if stream is not None:
                stream.flush()


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
