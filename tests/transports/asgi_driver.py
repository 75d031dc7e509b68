"""Drives an ASGI application by hand: every header and byte is the test's, on any event loop."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

from mcp.server import Server, ServerRequestContext

Context = ServerRequestContext[Any, Any]
Pairs = list[tuple[bytes, bytes]]

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method: str, params: Mapping[str, Any] | None = None, id: Any = 1, meta: Any = None) -> bytes:
    """The body of a 2026-07-28 request; `meta` is added to its `_meta`."""
    wire: dict[str, Any] = {**(params or {}), "_meta": {**META, **(meta or {})}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": wire}).encode()


def headers(method: str, name: str | None = None, **changed: str | None) -> Pairs:
    """The headers of a 2026-07-28 request; `changed` replaces some (`mcp_method=...`), or with None leaves them out."""
    values: dict[str, str | None] = {
        "host": "127.0.0.1:8000",
        "content_type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp_protocol_version": "2026-07-28",
        "mcp_method": method,
        "mcp_name": name,
        **changed,
    }
    return [(key.replace("_", "-").encode(), value.encode()) for key, value in values.items() if value is not None]


@dataclass
class Answer:
    """A whole response."""

    status: int
    headers: dict[str, str]
    chunks: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        assert int(self.headers["content-length"]) == len(self.body)
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, int, str]:
        """HTTP status, error code, error message."""
        error = self.json["error"]
        return self.status, error["code"], error["message"]


class Call:
    """One request that an application is answering."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = list(chunks)
        self._hung_up = False
        self._changed = anyio.Event()
        self._taken = 0
        self.sent: list[dict[str, Any]] = []
        self.received_bytes = 0
        self.ended = False
        self.broken = False
        """What the application sends raises, as some ASGI servers do once the client is gone."""

    def hang_up(self) -> None:
        """The client closes the connection."""
        self._hung_up = True
        self._notify()

    async def trickle(self, chunk: bytes) -> None:
        """Sends more than the body, and waits until the application has taken it."""
        self._chunks.append(chunk)
        self._notify()
        while self._chunks:
            await self._changed.wait()

    async def finished(self) -> None:
        """Waits until the application has returned."""
        while not self.ended:
            await self._changed.wait()

    async def next(self) -> dict[str, Any]:
        """Waits for the next message that the application sends."""
        while len(self.sent) == self._taken:
            await self._changed.wait()
        self._taken += 1
        return self.sent[self._taken - 1]

    @property
    def waiting(self) -> bool:
        """Whether `next` would not wait."""
        return len(self.sent) > self._taken

    @property
    def answer(self) -> Answer:
        """What was sent, which must be a whole response in the order that ASGI demands."""
        start, *rest = self.sent
        assert start["type"] == "http.response.start"
        assert [part["type"] for part in rest] == ["http.response.body"] * len(rest)
        assert [part.get("more_body", False) for part in rest] == [True] * (len(rest) - 1) + [False]
        pairs: Pairs = start["headers"]
        assert len({name for name, _ in pairs}) == len(pairs), "a header is sent twice"
        shown = {name.decode(): value.decode() for name, value in pairs}
        return Answer(start["status"], shown, [part.get("body", b"") for part in rest])

    # The application's end.

    async def receive(self) -> dict[str, Any]:
        while not self._chunks and not self._hung_up:
            await self._changed.wait()
        if self._hung_up:
            return {"type": "http.disconnect"}
        chunk = self._chunks.pop(0)
        self.received_bytes += len(chunk)
        self._notify()
        return {"type": "http.request", "body": chunk, "more_body": bool(self._chunks)}

    async def send(self, message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        if self.broken:
            raise OSError("the client is gone")
        self.sent.append(message)
        self._notify()

    def end(self) -> None:
        self.ended = True
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def scope_of(pairs: Pairs, verb: str, path: str) -> dict[str, Any]:
    """The ASGI scope of a request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": verb,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": pairs,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }


@asynccontextmanager
async def calling(
    app: Any, pairs: Pairs, body: bytes | Sequence[bytes], *, verb: str = "POST", path: str = "/mcp"
) -> AsyncGenerator[Call, None]:
    """Sends one request; in the block the application answers it."""
    call = Call([body] if isinstance(body, bytes) else body)

    async def run() -> None:
        try:
            await app(scope_of(pairs, verb, path), call.receive, call.send)
        finally:
            call.end()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        yield call
        group.cancel_scope.cancel()


async def ask(
    app: Any, pairs: Pairs, body: bytes | Sequence[bytes], *, verb: str = "POST", path: str = "/mcp"
) -> Answer:
    """Sends one request and waits for the whole answer."""
    call = Call([body] if isinstance(body, bytes) else body)
    await app(scope_of(pairs, verb, path), call.receive, call.send)
    return call.answer


async def post(app: Any, method: str, params: Mapping[str, Any] | None = None, **changed: str | None) -> Answer:
    """Sends a well-formed 2026-07-28 request, but for the `changed` headers; waits for the whole answer."""
    name = (params or {}).get("name", (params or {}).get("uri"))
    return await ask(app, headers(method, name, **changed), message(method, params))


@asynccontextmanager
async def serving(server: Server[Any], **options: Any) -> AsyncGenerator[Any, None]:
    """The server's application, its lifespan entered."""
    app = server.streamable_http_app(**options)
    async with server.session_manager.run():
        yield app
