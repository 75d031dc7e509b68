"""Drives both endpoints of an `SseServerTransport` by hand: every header and byte is the test's, on any event loop."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from asgi_driver import Answer, Call, Pairs, scope_of

from mcp.protocol.sse import SSEEvent, SSEParser
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCNotification

Serve = Callable[[Any, Any], Awaitable[None]]

HOST: Pairs = [(b"host", b"127.0.0.1:8000")]
JSON: Pairs = [*HOST, (b"content-type", b"application/json")]
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def notice(text: str = "hello", size: int = 0) -> SessionMessage:
    """A message that a session sends."""
    params = {"text": text, "filler": "." * size}
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="acme/notice", params=params))


class Stream:
    """The event stream of one session, as its client sees it."""

    def __init__(self, transport: SseServerTransport, call: Call) -> None:
        self._transport = transport
        self._parser = SSEParser(None)
        self._events: list[SSEEvent] = []
        self.call = call
        self.head: dict[str, Any] = {}
        self.endpoint = ""
        self.chunks: list[bytes] = []

    async def open(self) -> None:
        """Waits for the event that names the endpoint."""
        self.head = await self.call.next()
        event = await self.event()
        assert event.event == "endpoint"
        self.endpoint = event.data

    async def chunk(self) -> bytes:
        """The next part of the body."""
        message = await self.call.next()
        assert message["more_body"] is True
        self.chunks.append(message["body"])
        return message["body"]

    async def event(self) -> SSEEvent:
        """The next event."""
        while not self._events:
            self._events += self._parser.feed(await self.chunk())
        return self._events.pop(0)

    async def message(self) -> Any:
        """The next message of the session's."""
        event = await self.event()
        assert event.event == "message"
        return json.loads(event.raw)

    async def post(
        self, body: bytes | list[bytes] = PING, pairs: Pairs = JSON, *, verb: str = "POST", user: Any = None
    ) -> Answer:
        """Posts to the endpoint, and returns the answer."""
        return await post_to(self._transport, self.endpoint, body, pairs, verb=verb, user=user)


async def post_to(
    transport: SseServerTransport,
    url: str,
    body: bytes | list[bytes] = PING,
    pairs: Pairs = JSON,
    *,
    verb: str = "POST",
    user: Any = None,
) -> Answer:
    """Posts to an endpoint, and returns the answer."""
    call = Call([body] if isinstance(body, bytes) else body)
    path, _, query = url.partition("?")
    scope = {**scope_of(pairs, verb, path), "query_string": query.encode()}
    await transport.handle_post_message({**scope, "user": user}, call.receive, call.send)
    return call.answer


@asynccontextmanager
async def streaming(
    transport: SseServerTransport, serve: Serve, pairs: Pairs = HOST, *, root_path: str = "", user: Any = None
) -> AsyncGenerator[Stream, None]:
    """A session with an open stream. It is served by `serve(read, write)`, until the block ends."""
    call = Call([b""])
    scope = {**scope_of(pairs, "GET", "/sse"), "root_path": root_path, "user": user}

    async def run() -> None:
        try:
            async with transport.connect_sse(scope, call.receive, call.send) as (read, write):
                await serve(read, write)
        finally:
            call.end()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        stream = Stream(transport, call)
        await stream.open()
        yield stream
        group.cancel_scope.cancel()
