"""A server behind a loopback socket."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server import Server
from mcp.server.sse import SseServerTransport


@contextmanager
def running(app: ASGIApp) -> Generator[str, None, None]:
    """Where an application runs in a thread of its own, so that the test may run on any event loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    runner = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        runner.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def served(server: Server[Any], **options: Any) -> Generator[str, None, None]:
    """The URL at which a server speaks streamable HTTP."""
    with running(server.streamable_http_app(**options)) as origin:
        yield f"{origin}/mcp"


@contextmanager
def served_over_sse(server: Server[Any]) -> Generator[str, None, None]:
    """The URL of the event stream of a server that speaks HTTP+SSE."""
    transport = SseServerTransport("/messages/")

    class Events:
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            async with transport.connect_sse(scope, receive, send) as (read, write):
                await server.run(read, write, server.create_initialization_options())

    routes = [Route("/sse", Events()), Mount("/messages/", app=transport.handle_post_message)]
    with running(Starlette(routes=routes)) as origin:
        yield f"{origin}/sse"
