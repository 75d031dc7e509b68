"""P18, P19: what open `subscriptions/listen` streams cost a server in memory, and what it costs to tell them all."""

import resource
import socket
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from selectors import EVENT_READ, DefaultSelector

from measure import Effort, HttpServer, Result, cpu_seconds, http_server, resident_bytes, run_case
from wire import listen_request, publish_request

WARM_UP = 100
ROUNDS = 10


def memory_of_open_streams(effort: Effort) -> Result:
    """Measures the resident memory that each open stream adds to the server."""
    count = effort.count(1_000)
    with http_server("--streams", str(count + WARM_UP)) as server, open_streams(server, WARM_UP):
        before = resident_bytes(server.pid)
        with open_streams(server, count):
            grown = resident_bytes(server.pid) - before
    return Result({"kb_per_stream": grown / count / 1000})


def one_publish(effort: Effort) -> Result:
    """Measures one publish that 500 streams are to be told of: the best of several."""
    cpu: list[float] = []
    last: list[float] = []
    with http_server("--streams", "500") as server, open_streams(server, 500) as streams:
        for _ in range(max(effort.count(ROUNDS), 3)):
            started, used = time.perf_counter(), cpu_seconds(server.pid)
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as publisher:
                publisher.sendall(publish_request(server.port))
                _await_event_on(streams)
                last.append(time.perf_counter() - started)
                publisher.recv(65536)
            time.sleep(0.1)
            cpu.append(cpu_seconds(server.pid) - used)
    return Result({"server_cpu_ms": min(cpu) * 1000, "last_stream_ms": min(last) * 1000})


@contextmanager
def open_streams(server: HttpServer, count: int) -> Generator[Sequence[socket.socket], None, None]:
    """Opens streams, each acknowledged."""
    _allow_open_files(count * 2 + 200)
    with ExitStack() as stack:
        streams: list[socket.socket] = []
        for number in range(count):
            stream = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            stream.sendall(listen_request(server.port, f"listen-{number}"))
            _read_until(stream, b"notifications/subscriptions/acknowledged")
            streams.append(stream)
        yield streams


def _read_until(stream: socket.socket, text: bytes) -> None:
    received = b""
    while text not in received:
        chunk = stream.recv(65536)
        if not chunk:
            raise RuntimeError(f"the stream ended behind {received[:500]!r}")
        received += chunk


def _await_event_on(streams: Sequence[socket.socket]) -> None:
    with DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, EVENT_READ)
        waiting = len(streams)
        while waiting:
            ready = selector.select(60)
            if not ready:
                raise RuntimeError(f"{waiting} streams were not told")
            for key, _ in ready:
                stream = key.fileobj
                assert isinstance(stream, socket.socket)
                _read_until(stream, b"notifications/tools/list_changed")
                selector.unregister(stream)
                waiting -= 1


def _allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard)
        )


if __name__ == "__main__":
    run_case({"memory": memory_of_open_streams, "publish": one_publish})
