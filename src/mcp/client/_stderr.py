"""Carries a server's stderr to where the user wants it, and remembers how it ended."""

import codecs
import os
import threading
import time
from contextlib import suppress
from typing import Final, Protocol, TextIO

__all__ = ["StderrPump"]

_TAIL_SIZE: Final = 2048
_READ_SIZE: Final = 64 * 1024
_RETRY_INTERVAL: Final = 0.01


class StderrPump:
    """A daemon thread that copies from a pipe to `errlog` until the pipe's last writer is gone.

    A thread, since writing to a log may block. It outlives the connection where a helper of the server's still writes.

    Args:
        fd: The pipe; the thread closes it.
        errlog: Gets everything: as bytes where it has a descriptor, else as text through its `write`. If that fails,
            or if it is None, the pipe is read all the same, so that the server is not held up.
    """

    def __init__(self, fd: int, errlog: TextIO | None) -> None:
        self._fd = fd
        self._tail = b""
        self._sink = _open_sink(errlog)
        self._thread = threading.Thread(target=self._run, name="mcp-server-stderr", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether there may be more to come."""
        return self._thread.is_alive()

    def tail(self) -> str:
        """The last two kilobytes or so, from the start of a line."""
        tail = self._tail
        text = tail.decode("utf-8", "replace")
        if len(tail) == _TAIL_SIZE:
            text = text.partition("\n")[2] or text
        return text.strip()

    def _run(self) -> None:
        while chunk := _read(self._fd):
            self._tail = (self._tail + chunk)[-_TAIL_SIZE:]
            # The log may be closed, full or broken, and be of any class.
            try:
                self._sink.write(chunk)
            except Exception:
                self._close_sink()
        self._close_sink()
        os.close(self._fd)

    def _close_sink(self) -> None:
        with suppress(Exception):
            self._sink.close()
        self._sink = _Discard()


class _Sink(Protocol):
    def write(self, chunk: bytes) -> None: ...

    def close(self) -> None: ...


class _Discard:
    def write(self, chunk: bytes) -> None: ...

    def close(self) -> None: ...


class _DescriptorSink:
    # A descriptor of its own, and no Python file object: a daemon thread that holds the lock of one when the
    # interpreter exits would abort it.
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                # Somebody who shares the description has set it to non-blocking, as happens to terminals.
                time.sleep(_RETRY_INTERVAL)

    def close(self) -> None:
        os.close(self._fd)


class _TextSink:
    def __init__(self, errlog: TextIO) -> None:
        self._errlog = errlog
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, chunk: bytes) -> None:
        self._errlog.write(self._decoder.decode(chunk))
        self._errlog.flush()

    def close(self) -> None:
        if rest := self._decoder.decode(b"", final=True):
            self._errlog.write(rest)


def _open_sink(errlog: TextIO | None) -> _Sink:
    if errlog is None:
        return _Discard()
    with suppress(Exception):
        # What the user wrote before comes before.
        errlog.flush()
    try:
        return _DescriptorSink(os.dup(errlog.fileno()))
    except (AttributeError, OSError, ValueError, TypeError):
        return _TextSink(errlog)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _READ_SIZE)
    except OSError:
        return b""
