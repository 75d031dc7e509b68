"""From file descriptors to the kind of link that suits them."""

import os
import stat
import sys

from mcp.engine.bytelink import ByteLink
from mcp.engine.lines import LineFraming
from mcp.engine.threadlink import ThreadLink

__all__ = ["open_byte_link", "private_duplicate"]


def open_byte_link(
    read_fd: int, write_fd: int, *, framing: LineFraming | None = None, nonblocking: bool = False
) -> ByteLink:
    """A link that owns both descriptors: watched by the event loop where it can, served by threads elsewhere.

    Args:
        read_fd: Where frames come from.
        write_fd: Where frames go; another descriptor than `read_fd`.
        framing: How frames lie in the stream; newline-delimited by default.
        nonblocking: `write_fd` is in non-blocking mode, and nobody else uses its description.
    """
    if sys.platform != "win32" and _is_watchable(read_fd):
        from mcp.engine.fdlink import FdLink

        return FdLink(read_fd, write_fd, framing=framing, nonblocking=nonblocking)
    return ThreadLink(read_fd, write_fd, framing=framing)


def private_duplicate(fd: int, flags: int) -> tuple[int, bool]:
    """Another descriptor for what `fd` leads to, and whether it is in non-blocking mode.

    A pipe is opened anew through /proc where there is one: that gives a description of its own, whose mode nobody
    else sees. Anything else is a plain duplicate. Child processes do not inherit either.

    Args:
        fd: The descriptor to duplicate.
        flags: `os.O_RDONLY` or `os.O_WRONLY`.

    Raises:
        OSError: `fd` is not open.
    """
    path = f"/proc/self/fd/{fd}"
    try:
        # Not a named one: opened for reading after its last writer has gone, it would never report the end.
        if sys.platform == "linux" and os.readlink(path).startswith("pipe:"):
            return os.open(path, flags | os.O_NONBLOCK), True
    except OSError:
        pass
    return os.dup(fd), False


def _is_watchable(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
