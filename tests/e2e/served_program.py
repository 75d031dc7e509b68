"""A server as a program: it prints its URL as the first line, and ends when its standard input does."""

import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn


def serve(app: Any, prepare: Callable[[socket.socket], None] = lambda listener: None, **options: Any) -> None:
    """Serves an application on a free loopback port.

    Args:
        app: The application.
        prepare: Sets options of the listening socket.
        options: Those of `uvicorn.Config`.
    """
    http = uvicorn.Server(uvicorn.Config(app, ws="none", **options))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        prepare(listener)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        http.run(sockets=[listener])
