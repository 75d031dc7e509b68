"""Stopping a server while event streams are open: nobody has to wait for their clients to leave."""

import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest
from handshake_driver import initialize

from mcp.server.shutdown import told_to_stop

LISTENING = """
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
"""

STREAMABLE_HTTP_SERVER = """
import socket
import uvicorn
from mcp.server import Server

app = Server("srv").streamable_http_app()
"""

SSE_SERVER = """
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
"""


@contextmanager
def opened_stream(port: int, head: str, begun: bytes) -> Generator[socket.socket, None, None]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
        stream.sendall(f"GET {head}\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
        received = b""
        while begun not in received:
            received += stream.recv(4096)
        yield stream


@contextmanager
def sse_stream(port: int) -> Generator[socket.socket, None, None]:
    with opened_stream(port, "/sse HTTP/1.1", b"event: endpoint") as stream:
        yield stream


@contextmanager
def standalone_stream(port: int) -> Generator[socket.socket, None, None]:
    """The stream that a client listens to for what belongs to no request."""
    accept = "application/json, text/event-stream"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/mcp", initialize(), {"content-type": "application/json", "accept": accept})
    session = connection.getresponse().headers["mcp-session-id"]
    connection.close()
    head = f"/mcp HTTP/1.1\r\naccept: text/event-stream\r\nmcp-session-id: {session}"
    with opened_stream(port, head, b"text/event-stream") as stream:
        yield stream


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
@pytest.mark.parametrize(
    ("server", "opened"), [(SSE_SERVER, sse_stream), (STREAMABLE_HTTP_SERVER, standalone_stream)], ids=["sse", "http"]
)
def test_a_server_that_is_told_to_stop_ends_its_streams(
    server: str, opened: Callable[[int], AbstractContextManager[socket.socket]]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", server + LISTENING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline())
        with opened(port) as first, opened(port) as second:
            process.send_signal(signal.SIGTERM)
            for stream in (first, second):
                while stream.recv(4096):
                    pass
            process.wait(20)
        assert "ERROR" not in process.stderr.read()


def test_a_process_that_is_not_told_to_stop_goes_on() -> None:
    assert told_to_stop() is False
