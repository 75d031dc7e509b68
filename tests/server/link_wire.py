"""A server on a link, and the client's end of it as a test plays it."""

import json
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio

from mcp.engine.memorylink import MemoryLink, memory_links
from mcp.server import Server

MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"name": "me", "version": "9"}


class Wire:
    """The client's end."""

    def __init__(self, link: MemoryLink) -> None:
        self.link = link
        self._arrived: deque[Any] = deque()

    def say(self, method: str, params: dict[str, Any] | None = None, **members: Any) -> None:
        """Sends a notification, or with an `id` a request."""
        message = {"jsonrpc": "2.0", "method": method, **members}
        self.link.send(json.dumps(message if params is None else {**message, "params": params}).encode())

    def send(self, message: Any) -> None:
        """Sends any JSON."""
        self.link.send(json.dumps(message).encode())

    async def next(self) -> Any:
        """The next message of the server's."""
        while not self._arrived:
            self._arrived.extend(json.loads(frame) for frame in await self.link.receive() if isinstance(frame, bytes))
        return self._arrived.popleft()

    async def ask(self, id: int | str, method: str, params: dict[str, Any] | None = None) -> Any:
        """Sends a request, and takes what comes next for its answer."""
        self.say(method, params, id=id)
        answer = await self.next()
        assert answer.get("id") == id, answer
        return answer

    async def initialize(self, version: str = "2025-11-25", capabilities: dict[str, Any] | None = None) -> Any:
        """Opens the connection, and returns what the server says of itself."""
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": CLIENT}
        answer = await self.ask(0, "initialize", params)
        self.say("notifications/initialized")
        return answer["result"]


@asynccontextmanager
async def on_a_link(server: Server[Any], **options: Any) -> AsyncGenerator[Wire, None]:
    """Serves until the block ends, which closes the client's side."""
    ours, theirs = memory_links()
    async with server.in_process() as runtime, anyio.create_task_group() as group:
        group.start_soon(partial(runtime.serve_link, theirs, **options))
        yield Wire(ours)
        await ours.aclose()
