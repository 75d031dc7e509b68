"""Stopping a server while event streams are open: nobody has to wait for their clients to leave."""

import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mcp.server.shutdown import told_to_stop

SERVER = """
import socket
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from mcp.server import Server
from mcp.server.sse import SseServerTransport

server = Server("srv")
sse = SseServerTransport("/messages/")

class Events:
    async def __call__(self, scope, receive, send):
        async with sse.connect_sse(scope, receive, send) as (read, write):
            await server.run(read, write, server.create_initialization_options())

app = Starlette(routes=[Route("/sse", Events()), Mount("/messages/", app=sse.handle_post_message)])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
"""


@contextmanager
def opened_stream(port: int) -> Generator[socket.socket, None, None]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
        stream.sendall(b"GET /sse HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        received = b""
        while b"event: endpoint" not in received:
            received += stream.recv(4096)
        yield stream


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_a_server_that_is_told_to_stop_ends_its_streams() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline())
        with opened_stream(port) as first, opened_stream(port) as second:
            process.send_signal(signal.SIGTERM)
            for stream in (first, second):
                while chunk := stream.recv(4096):
                    assert chunk
            process.wait(20)
        assert "ERROR" not in process.stderr.read()


def test_a_process_that_is_not_told_to_stop_goes_on() -> None:
    assert told_to_stop() is False
