"""Serves an application in a thread of this process, so that a test may run on any event loop."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

SECONDS_TO_STOP: Final = 20


def loopback_listener() -> tuple[socket.socket, str]:
    """A socket that listens on a free port, and the origin of what is served on it, such as `http://127.0.0.1:4711`."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def served(app: Any, listener: socket.socket | None = None, **options: Any) -> Generator[str, None, None]:
    """The origin at which an ASGI application is served.

    Args:
        app: The application.
        listener: Where it is served, for an application that has to know its origin; else on a free port.
        **options: Of `uvicorn.Config`.
    """
    # Connections wait in the listener until the server takes them, so there is no start to wait for.
    listener = listener or loopback_listener()[0]
    config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(SECONDS_TO_STOP)
        listener.close()
        assert not thread.is_alive(), "the HTTP server does not stop"
