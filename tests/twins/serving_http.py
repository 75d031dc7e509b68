"""A server behind a loopback socket."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from mcp.server import Server


@contextmanager
def served(server: Server[Any], **options: Any) -> Generator[str, None, None]:
    """The URL at which a server runs in a thread of its own, so that the test may run on any event loop."""
    app = server.streamable_http_app(**options)
    listener = socket.create_server(("127.0.0.1", 0))
    runner = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        runner.should_exit = True
        thread.join()
        listener.close()
