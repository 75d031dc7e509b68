"""A cheap HTTP load driver: raw bytes over keep-alive sockets, one request at a time on each.

It runs in a process of its own, so it shares neither interpreter lock nor event loop with the server.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from wire import FIRST_ID, call_message, expected_text, request_head


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
    def __init__(self, load: Load, head: bytes, done: asyncio.Future[None]) -> None:
        self._load = load
        self._head = head
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
        self._write(self._head + call_message(number))

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


async def drive(port: int, *, calls: int, connections: int = 16, seconds: float = 60) -> list[float]:
    """Makes `calls` tool calls over `connections` keep-alive connections; starts none after `seconds`.

    Returns:
        The latency in seconds of each call made.

    Raises:
        RuntimeError: an answer was not a 200 with the text that its call asked for.
        OSError: a connection was refused or lost.
    """
    loop = asyncio.get_running_loop()
    load, head = Load(calls, seconds), request_head(port)
    ends = [loop.create_future() for _ in range(connections)]
    for end in ends:
        await loop.create_connection(lambda end=end: _Connection(load, head, end), "127.0.0.1", port)
    await asyncio.gather(*ends)
    return load.latencies
