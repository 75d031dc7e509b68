"""A server behind a loopback socket."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import served_app
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from mcp.server import MCPServer, Server
from mcp.server.sse import SseServerTransport


@contextmanager
def served(server: Server[Any] | MCPServer[Any], **options: Any) -> Generator[str, None, None]:
    """The URL at which a server speaks streamable HTTP."""
    with served_app.served(server.streamable_http_app(**options)) as origin:
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
    with served_app.served(Starlette(routes=routes)) as origin:
        yield f"{origin}/sse"
