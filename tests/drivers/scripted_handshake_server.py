"""A server of a handshake revision on a loopback socket, whose answers a test writes where they matter."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from scripted_http_server import Posted, Reply, Server, serve

from mcp import Client, types
from mcp.client import IncomingMessage
from mcp.client.callbacks import ProgressFnT

VERSION = "2025-11-25"
TOOLS_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
NO_STREAM = "405 Method Not Allowed"

Answer = Callable[[Posted, Reply], Awaitable[None]]


class Script:
    """What the server does. Each method and verb has a usual answer, which a test may replace.

    Args:
        version: The revision that it speaks.
        answers: By JSON-RPC method, or by the verbs `GET` and `DELETE`, what to answer.
    """

    def __init__(self, version: str = VERSION, answers: dict[str, Answer] | None = None) -> None:
        self.version = version
        self.answers = answers or {}
        self.server: Server
        self.asked: Counter[str] = Counter()
        self._came = anyio.Event()

    def on(self, name: str) -> Callable[[Answer], Answer]:
        """Replaces the usual answer."""

        def replace(answer: Answer) -> Answer:
            self.answers[name] = answer
            return answer

        return replace

    def received(self, name: str) -> list[Posted]:
        """The requests of one method or verb, oldest first."""
        return [posted for posted in self.server.posted if _name(posted) == name]

    async def until(self, name: str, count: int = 1) -> None:
        """Waits until this many of a method or verb have come."""
        while self.asked[name] < count:
            await self._came.wait()

    async def __call__(self, request: Posted, reply: Reply) -> None:
        name = _name(request)
        self.asked[name] += 1
        self._came.set()
        self._came = anyio.Event()
        await self.answers.get(name, self._usual)(request, reply)

    async def _usual(self, request: Posted, reply: Reply) -> None:
        if request.method == "GET":
            await reply.send(NO_STREAM)
        elif request.method == "DELETE":
            await reply.send("200 OK")
        elif "id" not in request.message or "method" not in request.message:
            await reply.send("202 Accepted")
        elif request.message["method"] == "initialize":
            await self.greet(request, reply, f"session-{self.asked['initialize']}")
        else:
            await reply.result(request, {})

    async def greet(self, request: Posted, reply: Reply, session: str | None) -> None:
        """The usual answer to `initialize`."""
        result = {
            "protocolVersion": self.version,
            "capabilities": {"tools": {}, "resources": {"subscribe": True}, "logging": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
        headers = {} if session is None else {"Mcp-Session-Id": session}
        await reply.json({"jsonrpc": "2.0", "id": request.message["id"], "result": result}, headers=headers)


def _name(request: Posted) -> str:
    if request.method != "POST":
        return request.method
    message: Any = request.message
    return "batch" if type(message) is list else message.get("method", "answer")


@asynccontextmanager
async def connected(script: Script, **options: Any) -> AsyncGenerator[Client, None]:
    """A client that has shaken hands with the server."""
    async with serve(script) as script.server, Client(script.server.url, mode="legacy", **options) as client:
        yield client


def text(request: Posted, said: str) -> dict[str, Any]:
    """The answer to a tool's call."""
    result = {"content": [{"type": "text", "text": said}]}
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": result}


async def said_by(
    client: Client,
    tool: str,
    arguments: dict[str, Any] | None = None,
    progress_callback: ProgressFnT | None = None,
) -> str:
    """What a tool's call says."""
    (content,) = (await client.session.call_tool(tool, arguments, None, progress_callback)).content
    assert isinstance(content, types.TextContent)
    return content.text


def updated(uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


class Ear:
    """A message handler that can be waited for."""

    def __init__(self) -> None:
        self.heard: list[IncomingMessage] = []
        self._changed = anyio.Event()

    async def __call__(self, message: IncomingMessage) -> None:
        self.heard.append(message)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, count: int) -> None:
        while len(self.heard) < count:
            await self._changed.wait()


def uris(messages: Sequence[IncomingMessage]) -> list[str]:
    """Of notifications about resources."""
    return [message.params.uri for message in messages if isinstance(message, types.ResourceUpdatedNotification)]
