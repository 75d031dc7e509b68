"""Stopping a server while subscriptions are open: each ends politely, and nobody has to wait."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from asgi_driver import META, headers, message
from uvicorn_server import request_bytes

URI = "r://" + "x" * 20_000
PARAMS = {"notifications": {"toolsListChanged": True}}

SERVER = """
import socket, sys, threading, anyio, uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

bus = InMemorySubscriptionBus()
server = Server("srv", on_subscriptions_listen=ListenHandler(bus))

async def serve_stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

async def publish():
    for _ in range(int(sys.argv[2])):
        await bus.publish(ResourceUpdated("r://" + "x" * 20_000))

def publish_when_told():
    sys.stdin.readline()
    anyio.run(publish)
    print("published", flush=True)

if sys.argv[1] == "stdio":
    anyio.run(serve_stdio)
else:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
    if sys.argv[2:]:
        threading.Thread(target=publish_when_told, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])
"""


@contextmanager
def serving(*arguments: str) -> Generator["subprocess.Popen[str]", None, None]:
    command = [sys.executable, "-W", "error", "-c", SERVER, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def opened_stream(
    port: int, params: Any = PARAMS, receive_buffer: int | None = None
) -> Generator[socket.socket, None, None]:
    with socket.socket() as stream:
        stream.settimeout(20)
        if receive_buffer is not None:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        stream.connect(("127.0.0.1", port))
        stream.sendall(request_bytes(headers("subscriptions/listen"), message("subscriptions/listen", params), port))
        received = b""
        while b"subscriptions/acknowledged" not in received:
            received += stream.recv(4096)
        yield stream


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_a_server_that_is_told_to_stop_ends_its_streams_with_their_results() -> None:
    with serving("http") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline())
        with opened_stream(port) as first, opened_stream(port) as second:
            process.send_signal(signal.SIGTERM)
            for stream in (first, second):
                received = b""
                while chunk := stream.recv(4096):
                    received += chunk
                assert b'"resultType":"complete"' in received
            process.wait(20)
        assert process.stderr.read() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
@pytest.mark.parametrize("events", [2, 400])
def test_a_server_that_is_told_to_stop_gives_up_who_does_not_read(events: int) -> None:
    """Two events fit into what uvicorn keeps for a connection: nothing is stuck but the end of that."""
    with serving("http", str(events)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline())
        with opened_stream(port, {"notifications": {"resourceSubscriptions": [URI]}}, receive_buffer=4096):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "published\n"
            told = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            # It did wait: there was something left to read.
            assert time.monotonic() - told > 3
        assert process.stderr.read() in ("", "gave up the subscription stream 1: its client does not read\n")


def test_a_server_whose_stdin_ends_ends_its_streams_with_their_results() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {**PARAMS, "_meta": META}}
    with serving("stdio") as process:
        output, errors = process.communicate(json.dumps(request) + "\n", timeout=20)
    acknowledged, result = map(json.loads, output.splitlines())
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert (result["id"], result["result"]["resultType"]) == (1, "complete")
    assert (process.returncode, errors) == (0, "")
