"""A real HTTP/1.1 server on a loopback socket whose answers a test writes byte by byte."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from mcp.client.streamable_http import HTTPRequester, http_connection_of, streamable_http_client

PROTOCOL_VERSION = "2026-07-28"
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION}}


@dataclass
class Posted:
    """One request as the server received it; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    header_names: list[str]
    body: bytes

    @property
    def message(self) -> Any:
        return json.loads(self.body)


class Reply:
    """The way back for one request."""

    def __init__(self, stream: ByteStream, received: BufferedByteReceiveStream) -> None:
        self._stream = stream
        self._received = received

    async def raw(self, data: bytes) -> None:
        await self._stream.send(data)

    async def send(
        self, status: str, body: bytes = b"", content_type: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
        if content_type is not None:
            lines.append(f"content-type: {content_type}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    async def json(self, message: Any, status: str = "200 OK", headers: dict[str, str] | None = None) -> None:
        await self.send(status, json.dumps(message).encode(), "application/json; charset=utf-8", headers)

    async def result(self, request: Posted, result: dict[str, Any]) -> None:
        await self.json({"jsonrpc": "2.0", "id": request.message["id"], "result": result})

    async def open_events(self) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        await self.raw(head.encode())

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, message: Any, id: str | None = None) -> None:
        head = b"" if id is None else b"id: %b\r\n" % id.encode()
        await self.chunk(head + b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def disconnected(self) -> None:
        """Waits until the client closes the connection."""
        try:
            while True:
                await self._received.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass

    async def hang_up(self) -> None:
        await self._stream.aclose()


Handler = Callable[[Posted, Reply], Awaitable[None]]


@dataclass
class Server:
    """A running server."""

    port: int
    posted: list[Posted] = field(default_factory=list[Posted])
    connections: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"


@asynccontextmanager
async def serve(handler: Handler) -> AsyncGenerator[Server, None]:
    """Answers every request by `handler`, until the block ends."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = Server(listener.extra(SocketAttribute.local_port))

    async def converse(stream: SocketStream) -> None:
        server.connections += 1
        async with stream:
            received = BufferedByteReceiveStream(stream)
            while (request := await read_request(received)) is not None:
                server.posted.append(request)
                try:
                    await handler(request, Reply(stream, received))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, converse)
        yield server
        group.cancel_scope.cancel()


async def read_request(received: BufferedByteReceiveStream) -> Posted | None:
    """The next request on a connection; None at its end."""
    try:
        head = await received.receive_until(b"\r\n\r\n", 65536)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        pairs = [line.partition(": ") for line in lines]
        headers = {name.lower(): value for name, _, value in pairs}
        body = await received.receive_exactly(int(headers.get("content-length", "0")))
    except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return None
    return Posted(method, target, headers, [name.lower() for name, _, _ in pairs], body)


Noticed = list[tuple[str, "dict[str, Any] | None"]]


@asynccontextmanager
async def connect(url: str, noticed: Noticed | None = None, **options: Any) -> AsyncGenerator[HTTPRequester, None]:
    """Sends requests to `url`; notifications are added to `noticed`."""

    async def sink(method: str, params: dict[str, Any] | None) -> None:
        if noticed is not None:
            noticed.append((method, params))

    async with streamable_http_client(url, **options) as (read, write):
        connection = http_connection_of(read, write)
        assert connection is not None
        yield connection.open(sink)


@asynccontextmanager
async def own_client(**options: Any) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """An HTTP client of the test's own."""
    client = httpx2.AsyncClient(**options)
    try:
        yield client
    finally:
        await client.aclose()
