"""A cheap stdio load driver: raw lines through a server's pipes, so many calls in flight at a time."""

import json
import os
import subprocess
import time
from collections.abc import Iterator

from wire import FIRST_ID, MODERN_CALLS, expected_text


def drive(server: subprocess.Popen[bytes], *, calls: int, in_flight: int) -> float:
    """Makes `calls` tool calls, keeping `in_flight` of them unanswered at a time; returns the seconds it took.

    What fits one read is answered with one write, as a busy client would.

    Raises:
        RuntimeError: an answer was not the one that its call asked for, or the server closed its output.
    """
    assert server.stdin is not None
    assert server.stdout is not None
    stdin, answers = server.stdin.fileno(), _lines(server.stdout.fileno())
    numbers = iter(range(FIRST_ID, FIRST_ID + calls))
    waiting: set[int] = set()
    began = time.perf_counter()
    _send(stdin, numbers, in_flight, waiting)
    while waiting:
        batch = next(answers)
        for line in batch:
            _check(line, waiting)
        _send(stdin, numbers, len(batch), waiting)
    return time.perf_counter() - began


def _send(stdin: int, numbers: Iterator[int], count: int, waiting: set[int]) -> None:
    chosen = [number for _, number in zip(range(count), numbers, strict=False)]
    waiting.update(chosen)
    data = b"".join(MODERN_CALLS.message(number) + b"\n" for number in chosen)
    while data:
        data = data[os.write(stdin, data) :]


def _lines(stdout: int) -> Iterator[list[bytes]]:
    rest = b""
    while data := os.read(stdout, 1 << 16):
        *complete, rest = (rest + data).split(b"\n")
        if complete:
            yield complete
    raise RuntimeError("the server closed its standard output; see its standard error above")


def _check(line: bytes, waiting: set[int]) -> None:
    number = json.loads(line).get("id")
    if number not in waiting or expected_text(number) not in line:
        raise RuntimeError(f"unexpected line: {line[:500]!r}")
    waiting.remove(number)
