"""A cheap HTTP load driver: raw bytes over keep-alive sockets, one request at a time on each.

It runs in a process of its own, so it shares neither interpreter lock nor event loop with the server.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from wire import FIRST_ID, HANDSHAKE_CALLS, MODERN_CALLS, CallFormat, expected_text, listing_request

Writer = Callable[[int], bytes]
"""Makes the bytes of the whole request for a call's number."""


def modern_writer(port: int) -> Writer:
    """Returns what writes calls of revision 2026-07-28."""
    return _writer(MODERN_CALLS, MODERN_CALLS.head(port))


def header_parameter_writer(port: int) -> Writer:
    """Returns what writes the same calls, and repeats their argument in a header."""
    head = MODERN_CALLS.head(port).removesuffix(b"\r\n")
    return lambda number: head + b"mcp-param-text: hello %d\r\n\r\n" % number + MODERN_CALLS.message(number)


def handshake_writer(port: int, session: str | None) -> Writer:
    """Returns what writes calls of revision 2025-11-25, of this session or of none."""
    return _writer(HANDSHAKE_CALLS, HANDSHAKE_CALLS.head(port, session))


def listing_writer(port: int) -> Writer:
    """Returns what writes `tools/list` requests of revision 2026-07-28, whose id is the text that a call would get."""
    return listing_request(port)


def _writer(calls: CallFormat, head: bytes) -> Writer:
    return lambda number: head + calls.message(number)


@dataclass(frozen=True)
class Answer:
    """One complete HTTP answer; `head` is in lower case, a chunked `body` still has its chunk lines."""

    head: bytes
    body: bytes

    @property
    def status(self) -> int:
        """The status code."""
        return int(self.head.split(b" ", 2)[1])


class AnswerReader:
    """Collects bytes until one answer, with a Content-Length or in chunks, is complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Answer | None:
        """Adds bytes that arrived; returns the answer once it is complete, and starts on the next."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._buffer[:end]).lower()
        if not self._complete(head, len(self._buffer) - end - 4):
            return None
        answer = Answer(head, bytes(self._buffer[end + 4 :]))
        self._buffer.clear()
        return answer

    def _complete(self, head: bytes, body_length: int) -> bool:
        if b"transfer-encoding: chunked" in head:
            return self._buffer.endswith(b"\r\n0\r\n\r\n")
        _, found, rest = head.partition(b"content-length:")
        if not found:
            raise RuntimeError(f"an answer with neither a length nor chunks: {head!r}")
        return body_length >= int(rest.split(b"\r\n", 1)[0])


@dataclass
class Load:
    """The calls still to make, shared by all connections, and what became of those made.

    Starts no call after `seconds`, however many of `calls` are left.
    """

    calls: int
    seconds: float
    latencies: list[float] = field(default_factory=list[float])
    started: int = 0
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.perf_counter() + self.seconds

    def next_call(self) -> int | None:
        """Returns the id of the next call to make, or None when it is time to stop."""
        if self.started >= self.calls or time.perf_counter() > self.deadline:
            return None
        self.started += 1
        return FIRST_ID + self.started


class _Connection(asyncio.Protocol):
    def __init__(self, load: Load, writer: Writer, done: asyncio.Future[None]) -> None:
        self._load = load
        self._writer = writer
        self._done = done
        self._reader = AnswerReader()
        self._number = 0
        self._sent_at = 0.0
        self._write: Callable[[bytes], None]
        self._close: Callable[[], None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._write, self._close = transport.write, transport.close
        self._send_next()

    def data_received(self, data: bytes) -> None:
        try:
            answer = self._reader.feed(data)
            if answer is None:
                return
            self._check(answer)
        except Exception as error:
            self._finish(error)
            return
        self._load.latencies.append(time.perf_counter() - self._sent_at)
        self._send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(exc or ConnectionError("the server closed a keep-alive connection"))

    def _send_next(self) -> None:
        number = self._load.next_call()
        if number is None:
            self._finish(None)
            return
        self._number, self._sent_at = number, time.perf_counter()
        self._write(self._writer(number))

    def _check(self, answer: Answer) -> None:
        if answer.status != 200 or expected_text(self._number) not in answer.body:
            raise RuntimeError(f"call {self._number} was answered with {answer.head!r} {answer.body[:500]!r}")

    def _finish(self, error: Exception | None) -> None:
        if self._done.done():
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)
        self._close()


async def drive(port: int, writers: Sequence[Writer], *, calls: int, seconds: float = 120) -> list[float]:
    """Makes `calls` tool calls over keep-alive connections, one for each writer; starts none after `seconds`.

    Returns:
        The latency in seconds of each call made.

    Raises:
        RuntimeError: an answer was not a 200 with the text that its call asked for.
        OSError: a connection was refused or lost.
    """
    loop = asyncio.get_running_loop()
    load = Load(calls, seconds)
    ends = [loop.create_future() for _ in writers]
    for writer, end in zip(writers, ends, strict=True):
        make = partial(_Connection, load, writer, end)
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*ends)
    return load.latencies
