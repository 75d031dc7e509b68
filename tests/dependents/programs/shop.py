"""A server for other clients: over stdio, or with `http` as its argument over HTTP, where it prints its URL."""

import sys
import threading

import uvicorn

from mcp.server import MCPServer

mcp = MCPServer("Shop")


@mcp.tool()
def price(title: str, copies: int = 1) -> int:
    """What some copies of a book cost."""
    return len(title) * copies


@mcp.tool()
def refuse() -> str:
    """Fails."""
    raise ValueError("sold out")


def serve_http() -> None:
    """Serves on a free port until standard input ends."""
    config = uvicorn.Config(mcp.streamable_http_app(), host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    listener = config.bind_socket()

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        serve_http()
    else:
        mcp.run()
