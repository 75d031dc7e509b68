"""Serves the `shout` server over HTTP on a free loopback port and prints the port on standard output."""

import argparse
import asyncio
import socket
from importlib import metadata
from typing import Any, Literal

import uvicorn
from shout import build_function_server, build_server
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.types import RequestParams, SubscriptionsListenRequestParams

Parts = tuple[Literal["h11", "httptools"], Literal["asyncio", "uvloop"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", choices=("installed", "plain", "fast"), default="installed")
    parser.add_argument("--listed-tools", type=int, default=10)
    parser.add_argument("--json-response", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--count-tasks", action="store_true", help="answer GET /tasks with the number of tasks")
    parser.add_argument("--streams", type=int, default=0, help="serve so many `subscriptions/listen` streams")
    parser.add_argument("--header-parameters", action="store_true", help="repeat an argument of each tool in a header")
    parser.add_argument("--functions", action="store_true", help="serve typed functions, on an MCPServer")
    options = parser.parse_args()

    if options.functions:
        _serve(build_function_server(options.listed_tools).streamable_http_app(), options.parts)
        return
    server = build_server(options.listed_tools, header_parameters=options.header_parameters)
    if options.streams:
        _serve_streams(server, options.streams)
    app: ASGIApp = server.streamable_http_app(json_response=options.json_response, stateless_http=options.stateless)
    if options.count_tasks:
        app = _counting_tasks(app)
    _serve(app, options.parts)


def _serve(app: ASGIApp, parts: str) -> None:
    http, loop = _parts(parts)
    config = uvicorn.Config(app, http=http, loop=loop, log_level="error", access_log=False)
    listener = _listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listener])


def _parts(choice: str) -> Parts:
    """Returns the HTTP parser and event loop: the plain ones, the fast ones, or those `mcp` itself depends on.

    Both environments have httptools and uvloop, so `installed` asks the package's own metadata what a
    user who installs nothing else would get.
    """
    if choice == "installed":
        required = metadata.requires("mcp") or []
        return (
            "httptools" if any(line.startswith("httptools") for line in required) else "h11",
            "uvloop" if any(line.startswith("uvloop") for line in required) else "asyncio",
        )
    return ("httptools", "uvloop") if choice == "fast" else ("h11", "asyncio")


def _serve_streams(server: Server[Any], most: int) -> None:
    bus = InMemorySubscriptionBus()

    async def publish(ctx: ServerRequestContext[Any, Any], params: RequestParams) -> dict[str, Any]:
        await bus.publish(ToolsListChanged())
        return {"resultType": "complete"}

    server.add_request_handler(
        "subscriptions/listen", SubscriptionsListenRequestParams, ListenHandler(bus, max_subscriptions=most)
    )
    server.add_request_handler("bench/publish", RequestParams, publish)


def _counting_tasks(app: ASGIApp) -> ASGIApp:
    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") == "/tasks":
            await PlainTextResponse(str(len(asyncio.all_tasks())))(scope, receive, send)
        else:
            await app(scope, receive, send)

    return counting


def _listen() -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the socket names its protocol.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


if __name__ == "__main__":
    main()
