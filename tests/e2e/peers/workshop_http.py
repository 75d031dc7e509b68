"""Serves workshop.py over HTTP.

    python workshop_http.py [stateless] [json]
    python workshop_http.py sse

It listens on a free loopback port, prints its URL as the first line, and ends when its standard input does.
"""

import socket
import sys
import threading
import warnings

import uvicorn
from event_log import EventLog
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from workshop import build_server

from mcp import MCPDeprecationWarning
from mcp.server.sse import SseServerTransport

RETRY_MILLISECONDS = 50


def streamable_http_app(options: list[str]) -> ASGIApp:
    return build_server().streamable_http_app(
        stateless_http="stateless" in options,
        json_response="json" in options,
        event_store=EventLog(),
        retry_interval=RETRY_MILLISECONDS,
    )


def sse_app() -> ASGIApp:
    server = build_server()
    transport = SseServerTransport("/messages/")

    class Connect:
        """The stream of one client, for as long as it is open."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            async with transport.connect_sse(scope, receive, send) as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())
            await Response()(scope, receive, send)

    return Starlette(routes=[Route("/sse", Connect()), Mount("/messages/", app=transport.handle_post_message)])


def serve(app: ASGIApp, path: str) -> None:
    http = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
        http.run(sockets=[listener])


if __name__ == "__main__":
    # The older revisions have what the newest one deprecates.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    if "sse" in sys.argv:
        serve(sse_app(), "/sse")
    else:
        serve(streamable_http_app(sys.argv[1:]), "/mcp")
