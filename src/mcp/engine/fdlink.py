"""A link over two descriptors that the event loop can watch: pipes and sockets. POSIX only.

Nothing here sets `O_NONBLOCK`. The flag belongs to the open file description, which a descriptor that was inherited
shares with strangers: another process, or this process's own stderr after `2>&1`, whose writers would find their
output cut short. So reads happen only when there is something to read, and a write is one that cannot block: at most
`PIPE_BUF` bytes to what polls as writable.
"""

import os
import select
import sys

from mcp.engine.bytelink import READ_AHEAD, READ_SIZE, ByteLink
from mcp.engine.lines import LineFraming
from mcp.engine.link import Frame
from mcp.engine.queues import Outbox

assert sys.platform != "win32"

__all__ = ["FdLink"]


class FdLink(ByteLink):
    """A `Link` that reads and writes in callbacks of the event loop.

    Args:
        read_fd: Where frames come from; closed with the link.
        write_fd: Where frames go; another descriptor than `read_fd`, and closed with the link.
        framing: How frames lie in the stream; newline-delimited by default.
        nonblocking: `write_fd` is in non-blocking mode, and nobody else uses its description.
    """

    def __init__(
        self, read_fd: int, write_fd: int, *, framing: LineFraming | None = None, nonblocking: bool = False
    ) -> None:
        super().__init__(framing)
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._outbox = Outbox(self._backlog)
        self._poll = None if nonblocking else _poll(write_fd, select.POLLOUT)
        self._paused = True
        self._answering = False
        self._flush_due = False
        self._writable_watched = False
        self._resume_reading()

    def _resume_reading(self) -> None:
        if self._paused and self._read_fd >= 0:
            self._paused = False
            self._reactor.add_reader(self._read_fd, self._on_readable)

    def _taken(self, frames: list[Frame]) -> None:
        self._resume_reading()
        self._answering = len(frames) == 1

    def _on_readable(self) -> None:
        try:
            chunk = os.read(self._read_fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._stop_reading()
            return
        self._arrived(chunk)
        if self._inbox.backlog > READ_AHEAD:
            self._paused = True
            self._reactor.remove_reader(self._read_fd)

    def _read_rest(self) -> None:
        """Ends the read side after what has arrived: to what could not be written, no answer will come."""
        while self._read_fd >= 0 and not self._paused and _poll(self._read_fd, select.POLLIN).poll(0):
            self._on_readable()
        self._stop_reading()

    def _stop_reading(self) -> None:
        if self._read_fd < 0:
            return
        self._reactor.remove_reader(self._read_fd)
        os.close(self._read_fd)
        self._read_fd = -1
        self._finish()

    def _queue(self, pieces: tuple[bytes, ...]) -> None:
        self._outbox.push(pieces)
        if self._flush_due:
            if self._backlog.size >= select.PIPE_BUF and not self._writable_watched:
                # As much as one write takes: written now, the peer works on it while the rest is made.
                self._flush()
            return
        if self._answering:
            # One message came in, so this is likely the one that goes out: written now, it saves a turn of the loop.
            self._answering = False
            self._flush()
        else:
            self._flush_due = True
            self._reactor.call_soon(self._flush)

    def _flush(self) -> None:
        """Writes until all is written or the peer takes no more; in that case goes on when it does."""
        try:
            while data := self._outbox.front():
                written = self._write(data)
                if not written:
                    self._watch_writable()
                    return
                self._outbox.consume(written)
        except OSError:
            self._broken = True
            self._stop_writing()
            self._reactor.call_soon(self._read_rest)
        else:
            self._unwatch_writable()
        self._flush_due = False

    def _write(self, data: memoryview) -> int:
        """How many bytes could be written without blocking; none means not now."""
        if self._poll is not None:
            if not self._poll.poll(0):
                return 0
            data = data[: select.PIPE_BUF]
        try:
            return os.write(self._write_fd, data)
        except BlockingIOError:
            return 0

    def _watch_writable(self) -> None:
        if not self._writable_watched:
            self._flush_due = self._writable_watched = True
            self._reactor.add_writer(self._write_fd, self._flush)

    def _unwatch_writable(self) -> None:
        if self._writable_watched:
            self._writable_watched = False
            self._reactor.remove_writer(self._write_fd)

    def _stop_writing(self) -> None:
        if self._write_fd < 0:
            return
        self._unwatch_writable()
        os.close(self._write_fd)
        self._write_fd = -1
        self._outbox.clear()


def _poll(fd: int, event: int) -> select.poll:
    poll = select.poll()
    poll.register(fd, event)
    return poll
