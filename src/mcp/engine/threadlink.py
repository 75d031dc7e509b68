"""A link over descriptors that an event loop cannot watch: files, devices, terminals, and anything on Windows.

One daemon thread reads and one writes, with `os.read` and `os.write` alone: at interpreter exit a thread that holds
the lock of a Python file object would bring the process down. Each closes its own descriptor, since closing one under
a blocked call is undefined, and on Windows waits for that call to end.
"""

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final

from mcp.engine.bytelink import READ_AHEAD, READ_SIZE, ByteLink
from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame

__all__ = ["ThreadLink"]


_RETRY_INTERVAL: Final = 0.01


class ThreadLink(ByteLink):
    """A `Link` that reads and writes in threads of its own.

    Args:
        read_fd: Where frames come from; closed after the link is, as soon as a read that is under way has ended.
        write_fd: Where frames go; closed likewise.
        framing: How frames lie in the stream; newline-delimited by default.
    """

    def __init__(self, read_fd: int, write_fd: int, *, framing: LineFraming | None = None) -> None:
        super().__init__(framing)
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._may_read = threading.Event()
        self._may_read.set()
        self._read_ended = False
        self._to_write: SimpleQueue[bytes | None] = SimpleQueue()
        self._unsent: list[bytes] = []
        self._write_ended = False
        threading.Thread(target=self._read_loop, name="mcp-link-reader", daemon=True).start()
        threading.Thread(target=self._write_loop, name="mcp-link-writer", daemon=True).start()

    # In the event loop's thread.

    def _taken(self, frames: list[Frame]) -> None:
        self._may_read.set()

    def _on_chunk(self, chunk: bytes) -> None:
        if self._read_ended:
            return
        if not chunk:
            self._stop_reading()
            return
        self._arrived(chunk)
        if self._inbox.backlog <= READ_AHEAD:
            self._may_read.set()

    def _stop_reading(self) -> None:
        if not self._read_ended:
            self._read_ended = True
            self._may_read.set()
            self._finish()

    def _queue(self, pieces: tuple[bytes, ...]) -> None:
        self._backlog.change(sum(map(len, pieces)))
        if not self._unsent:
            self._reactor.call_soon(self._hand_over)
        self._unsent += pieces

    def _hand_over(self) -> None:
        if self._unsent:
            self._to_write.put(b"".join(self._unsent))
            self._unsent.clear()

    def _on_written(self, size: int) -> None:
        if not self._write_ended:
            self._backlog.change(-size)

    def _on_broken(self) -> None:
        self._broken = True
        self._stop_writing()

    def _stop_writing(self) -> None:
        if not self._write_ended:
            self._write_ended = True
            self._unsent.clear()
            self._to_write.put(None)
            self._backlog.change(-self._backlog.size)

    # In the two threads.

    def _read_loop(self) -> None:
        while True:
            # One chunk at a time, so that a loop that is busy is not buried in chunks.
            self._may_read.wait()
            self._may_read.clear()
            if self._read_ended:
                break
            chunk = _read(self._read_fd)
            if not self._post(partial(self._on_chunk, chunk)) or not chunk:
                break
        os.close(self._read_fd)

    def _write_loop(self) -> None:
        while (data := self._to_write.get()) is not None:
            try:
                _write_all(self._write_fd, data)
            except OSError:
                self._post(self._on_broken)
                break
            if not self._post(partial(self._on_written, len(data))):
                break
        os.close(self._write_fd)

    def _post(self, callback: Callable[[], None]) -> bool:
        """Whether there still is a loop that will run `callback`."""
        try:
            self._reactor.call_soon_threadsafe(callback)
        except RuntimeError:
            return False
        return True


def _read(fd: int) -> bytes:
    while True:
        try:
            return os.read(fd, READ_SIZE)
        except BlockingIOError:
            # Somebody who shares the description has set it to non-blocking, as happens to terminals.
            time.sleep(_RETRY_INTERVAL)
        except OSError:
            return b""


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            time.sleep(_RETRY_INTERVAL)
