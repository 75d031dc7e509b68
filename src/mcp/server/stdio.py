"""Serving on stdin and stdout: the transport of a server that its client starts as a process.

Specification: basic/transports/stdio.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from types import TracebackType
from typing import TextIO

import anyio

from mcp.engine.descriptors import open_byte_link
from mcp.engine.lines import DEFAULT_MAX_LINE_SIZE, LineFraming
from mcp.engine.streams import MessageIteration, TransportStreams, from_frame, open_streams, to_frame
from mcp.server._diversion import Wire, diverted_stdin, diverted_stdout
from mcp.shared.message import SessionMessage

__all__ = ["stdio_server"]


@asynccontextmanager
async def stdio_server(
    stdin: anyio.AsyncFile[str] | None = None,
    stdout: anyio.AsyncFile[str] | None = None,
    *,
    max_message_size: int = DEFAULT_MAX_LINE_SIZE,
) -> AsyncGenerator[TransportStreams, None]:
    """The stream pair of a server that talks to its client on stdin and stdout.

    Messages are UTF-8 whatever the locale says. In the block the process's own stdin is empty, and its stdout leads
    to stderr, for this process and for those it starts; afterwards both are what they were. Where `sys.stdin` or
    `sys.stdout` has been replaced by something without a descriptor, that is used as it is.

    Args:
        stdin: Read from here instead.
        stdout: Write here instead.
        max_message_size: Bytes that one message may have; a longer one is refused and the next one served. Does not
            apply to a replacement for stdin.

    Yields:
        Where messages come from, and where they go.

    Raises:
        RuntimeError: The process is serving on its stdin or stdout already, or has none.
    """
    with ExitStack() as stack:
        source = stdin or _standard(stack, sys.stdin, diverted_stdin)
        sink = stdout or _standard(stack, sys.stdout, diverted_stdout)
        if not isinstance(source, Wire) or not isinstance(sink, Wire):
            yield _FileReadStream(_as_file(stack, source, "r")), _FileWriteStream(_as_file(stack, sink, "w"))
            return
        framing = LineFraming(max_message_size)
        link = open_byte_link(source.fd, sink.fd, framing=framing, nonblocking=sink.nonblocking)
        try:
            yield open_streams(link)
        finally:
            await link.aclose()


def _standard(
    stack: ExitStack, stream: TextIO | None, divert: Callable[[int], AbstractContextManager[Wire]]
) -> Wire | anyio.AsyncFile[str]:
    if stream is None:
        raise RuntimeError("This process has no stdin or no stdout (sys.stdin or sys.stdout is None)")
    try:
        fd = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return anyio.wrap_file(stream)
    stack.enter_context(_claimed(fd))
    return stack.enter_context(divert(fd))


_claims: set[int] = set()


@contextmanager
def _claimed(fd: int) -> Generator[None, None, None]:
    if fd in _claims:
        raise RuntimeError("stdio_server() is serving on this process's stdin or stdout already")
    _claims.add(fd)
    try:
        yield
    finally:
        _claims.discard(fd)


def _as_file(stack: ExitStack, side: Wire | anyio.AsyncFile[str], mode: str) -> anyio.AsyncFile[str]:
    if not isinstance(side, Wire):
        return side
    if sys.platform != "win32" and side.nonblocking:
        os.set_blocking(side.fd, True)
    return anyio.wrap_file(stack.enter_context(open(side.fd, mode, encoding="utf-8", newline="\n")))


class _FileStream:
    def __init__(self, file: anyio.AsyncFile[str]) -> None:
        self._file = file

    async def aclose(self) -> None:
        """Does nothing: the file belongs to whoever opened it."""

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _FileReadStream(MessageIteration, _FileStream):
    async def receive(self) -> SessionMessage | Exception:
        while line := await self._file.readline():
            if not line.isspace():
                # A lone surrogate makes bytes that are not UTF-8, which the codec then reports.
                return from_frame(line.rstrip("\r\n").encode("utf-8", "surrogatepass"))
        raise anyio.EndOfStream


class _FileWriteStream(_FileStream):
    async def send(self, item: SessionMessage, /) -> None:
        await self._file.write(to_frame(item).decode() + "\n")
        await self._file.flush()

    async def __aenter__(self) -> "_FileWriteStream":
        return self
