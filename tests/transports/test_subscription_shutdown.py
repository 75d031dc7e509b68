"""Stopping a server while subscriptions are open: each ends politely, and nobody has to wait."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from asgi_driver import META, headers, message
from uvicorn_server import request_bytes

PARAMS = {"notifications": {"toolsListChanged": True}}

SERVER = """
import socket, sys, anyio, uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

server = Server("srv", on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()))

async def serve_stdio():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

if sys.argv[1] == "stdio":
    anyio.run(serve_stdio)
else:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])
"""


@contextmanager
def serving(transport: str) -> Generator["subprocess.Popen[str]", None, None]:
    command = [sys.executable, "-W", "error", "-c", SERVER, transport]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def opened_stream(port: int) -> Generator[socket.socket, None, None]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
        stream.sendall(request_bytes(headers("subscriptions/listen"), message("subscriptions/listen", PARAMS), port))
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


def test_a_server_whose_stdin_ends_ends_its_streams_with_their_results() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {**PARAMS, "_meta": META}}
    with serving("stdio") as process:
        output, errors = process.communicate(json.dumps(request) + "\n", timeout=20)
    acknowledged, result = map(json.loads, output.splitlines())
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert (result["id"], result["result"]["resultType"]) == (1, "complete")
    assert (process.returncode, errors) == (0, "")
