"""P17, P22: what sessions of the handshake era cost a server in memory, and what they leave behind."""

import asyncio
import resource
import urllib.request
from contextlib import ExitStack

from handshake_sessions import open_get_stream, session_opener
from http_load import Writer, drive, handshake_writer
from measure import Effort, HttpServer, Result, http_server, resident_bytes, run_case

WARM_UP = 100
ROUNDS = 10


def memory_of_open_sessions(effort: Effort, *, with_stream: bool) -> Result:
    """Measures the resident memory that each open session adds to the server."""
    count = effort.count(2_000)
    _allow_open_files(count + WARM_UP + 100)
    with http_server() as server, ExitStack() as streams, session_opener(server.port) as opener:

        def open_some(number: int) -> None:
            for _ in range(number):
                session = opener.open()
                if with_stream:
                    streams.enter_context(open_get_stream(server.port, session))

        open_some(WARM_UP)
        before = resident_bytes(server.pid)
        open_some(count)
        grown = resident_bytes(server.pid) - before
    return Result({"kb_per_session": grown / count / 1000})


def _allow_open_files(count: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard))


def growth(effort: Effort) -> Result:
    """Compares memory and tasks after 100,000 requests and 10,000 sessions to those after a tenth of them."""
    with http_server("--count-tasks") as server, session_opener(server.port) as opener:
        writers = [handshake_writer(server.port, opener.open()) for _ in range(16)]
        samples: list[tuple[int, int]] = []
        for _ in range(ROUNDS):
            _one_round(server, writers, effort)
            samples.append((resident_bytes(server.pid), _tasks(server)))
    (first_memory, first_tasks), (last_memory, last_tasks) = samples[0], samples[-1]
    return Result({"times_the_memory": last_memory / first_memory, "tasks_left": last_tasks - first_tasks})


def _one_round(server: HttpServer, writers: list[Writer], effort: Effort) -> None:
    asyncio.run(drive(server.port, writers, calls=effort.count(100_000) // ROUNDS))
    with session_opener(server.port) as opener:
        for _ in range(effort.count(10_000) // ROUNDS):
            opener.close(opener.open())


def _tasks(server: HttpServer) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/tasks", timeout=60) as answer:
        return int(answer.read())


if __name__ == "__main__":
    run_case(
        {
            "alone": lambda effort: memory_of_open_sessions(effort, with_stream=False),
            "with-stream": lambda effort: memory_of_open_sessions(effort, with_stream=True),
            "growth": growth,
        }
    )
