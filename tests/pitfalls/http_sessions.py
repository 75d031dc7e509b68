"""Servers and clients of handshake sessions over HTTP, for the reports about them."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from connections import SECONDS_OF_PATIENCE, over_http

from mcp import types
from mcp.server import Server, ServerRequestContext

Context = ServerRequestContext[Any, Any]

VERSION = "2025-11-25"
CLIENT = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def message(method: str, params: Mapping[str, Any] | None = None, id: int | None = 1) -> bytes:
    """A request; with an `id` of None a notification."""
    wire = {"jsonrpc": "2.0", "method": method, "params": params, "id": id}
    return json.dumps({key: value for key, value in wire.items() if value is not None}).encode()


def call(tool: str, id: int = 1, **arguments: Any) -> bytes:
    """A tool call."""
    return message("tools/call", {"name": tool, "arguments": arguments}, id)


def new_server() -> Server[Any]:
    """A server whose tools tell what the server holds, and what they see of their request."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "nap":
            await asyncio.sleep(0.05)
        if params.name == "change":
            await ctx.session.send_tool_list_changed()
        seen = {
            "tasks": len(asyncio.all_tasks()),
            "contexts": _alive(ServerRequestContext) if params.name == "contexts" else None,
            "request": ctx.request_id,
            "mark": None if ctx.request is None else ctx.request.headers.get("x-mark"),
        }
        return types.CallToolResult(content=[], structured_content=seen)

    return Server("srv", version="1", on_call_tool=call_tool)


def _alive(kind: type) -> int:
    gc.collect()
    return sum(isinstance(thing, kind) for thing in gc.get_objects())


class Peer:
    """A client of one endpoint."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.http = http
        self.session: str | None = None

    async def open(self) -> "Peer":
        """Opens a session."""
        self.session = (await self.post(message("initialize", CLIENT))).headers["mcp-session-id"]
        await self.post(message("notifications/initialized", id=None))
        return self

    @property
    def headers(self) -> dict[str, str]:
        named = {} if self.session is None else {"mcp-session-id": self.session, "mcp-protocol-version": VERSION}
        return {**HEADERS, **named}

    async def post(self, body: bytes, **more: str) -> httpx2.Response:
        """POSTs."""
        headers = {**self.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        return await self.http.post(self.url, content=body, headers=headers)

    async def send(self, verb: str, **headers: str) -> httpx2.Response:
        """Sends a request without a body."""
        return await self.http.request(verb, self.url, headers={**self.headers, **headers})

    async def seen(self, body: bytes, **headers: str) -> dict[str, Any]:
        """What a tool saw."""
        return (await self.post(body, **headers)).json()["result"]["structuredContent"]


@asynccontextmanager
async def serving(server: Server[Any], **options: Any) -> AsyncGenerator[Callable[[], Peer], None]:
    """Serves on a socket; yields what makes clients."""
    http = httpx2.AsyncClient(timeout=SECONDS_OF_PATIENCE, trust_env=False)
    with over_http(server.streamable_http_app(**options)) as url:
        try:
            yield lambda: Peer(url, http)
        finally:
            await http.aclose()
