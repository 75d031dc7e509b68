"""Clients of the handshake revisions over HTTP, byte by byte, and servers for them to talk to."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from asgi_driver import Answer, Call, Context, Pairs, ask, calling

from mcp import types
from mcp.server import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage

SECONDS_OF_PATIENCE = 10
LATEST = "2025-11-25"

Handler = Callable[[Context], Awaitable[Any]]


def body(method: str, params: Any = None, id: Any = 1) -> bytes:
    """A request of a handshake revision; with an `id` of None a notification."""
    wire = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps({key: value for key, value in wire.items() if value is not None}).encode()


def initialize(version: str = LATEST, id: Any = 0) -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
    return body("initialize", params, id)


def doing(id: Any = 1, method: str = "acme/do", **params: Any) -> bytes:
    """A request to a server of `server_that`; it asks for progress."""
    return body(method, {**params, "_meta": {"progressToken": "tok"}}, id)


def answering(question: dict[str, Any], result: dict[str, Any]) -> bytes:
    """The answer to a question of the server's."""
    return json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": result}).encode()


def server_that(do: Handler | None = None, **others: Handler) -> Server[Any]:
    """A server whose `acme/do`, and each `acme/<other>`, does what its function does."""
    server: Server[Any] = Server("srv", version="1")

    def add(method: str, function: Handler) -> None:
        async def handler(ctx: Context, params: types.RequestParams) -> Any:
            return await function(ctx)

        server.add_request_handler(method, types.RequestParams, handler)

    for name, function in {"do": do or nothing, **others}.items():
        add(f"acme/{name}", function)
    return server


async def nothing(ctx: Context) -> dict[str, Any]:
    return {"done": True}


async def report(ctx: Context) -> dict[str, Any]:
    await ctx.session.report_progress(1)
    return {"done": True}


def http_request(ctx: Context) -> Any:
    """The HTTP request that a handler was called for."""
    assert ctx.request is not None
    return ctx.request


class Gate:
    """A handler that begins, waits until it may go on, reports progress and ends."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.may_go_on = anyio.Event()
        self.cancelled = anyio.Event()

    async def __call__(self, ctx: Context) -> dict[str, Any]:
        self.started.set()
        try:
            await self.may_go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        await ctx.session.report_progress(1)
        return {"done": True}


class Peer:
    """A client of one application.

    Attributes:
        session: Its session id, once it has one.
        version: What it sends as `MCP-Protocol-Version`; None sends nothing.
    """

    def __init__(self, app: Any, version: str | None = LATEST, **headers: str | None) -> None:
        self.app = app
        self.version = version
        self.session: str | None = None
        self._headers = headers

    def headers(self, **changed: str | None) -> Pairs:
        values: dict[str, str | None] = {
            "host": "127.0.0.1:8000",
            "content_type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp_session_id": self.session,
            "mcp_protocol_version": None if self.session is None else self.version,
            **self._headers,
            **changed,
        }
        return [(key.replace("_", "-").encode(), value.encode()) for key, value in values.items() if value is not None]

    async def post(self, data: bytes, **changed: str | None) -> Answer:
        """POSTs, and waits for the whole answer."""
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            return await ask(self.app, self.headers(**changed), data)

    async def send(self, verb: str, **changed: str | None) -> Answer:
        """Sends a request without a body, and waits for the whole answer."""
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            return await ask(self.app, self.headers(content_type=None, **changed), b"", verb=verb)

    @asynccontextmanager
    async def posting(self, data: bytes, **changed: str | None) -> AsyncGenerator["Reading", None]:
        """POSTs; in the block the answer comes in."""
        async with calling(self.app, self.headers(**changed), data) as call:
            yield Reading(call)

    @asynccontextmanager
    async def getting(self, **changed: str | None) -> AsyncGenerator["Reading", None]:
        """Opens a stream by GET; in the block it is open."""
        headers = self.headers(content_type=None, accept="text/event-stream", **changed)
        async with calling(self.app, headers, b"", verb="GET") as call:
            reading = Reading(call)
            await reading.start()
            yield reading


async def joined(app: Any, version: str = LATEST, **headers: str | None) -> Peer:
    """A client with a session."""
    peer = Peer(app, version, **headers)
    answer = await peer.post(initialize(version))
    assert answer.status == 200
    peer.session = answer.headers["mcp-session-id"]
    assert (await peer.post(body("notifications/initialized", id=None))).status == 202
    return peer


class Reading:
    """A response that comes in, as a client reads it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._events: list[dict[str, str]] = []
        self.status = 0

    async def start(self) -> None:
        """Waits for the headers."""
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            message = await self.call.next()
        assert message["type"] == "http.response.start"
        self.status = message["status"]

    async def event(self) -> dict[str, str]:
        """Waits for the next event: its fields, by name."""
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            while not self._events:
                message = await self.call.next()
                if message["type"] == "http.response.start":
                    assert dict(message["headers"])[b"content-type"] == b"text/event-stream"
                else:
                    self._events += events_of(message["body"])
        return self._events.pop(0)

    async def message(self) -> dict[str, Any]:
        """Waits for the next JSON-RPC message in an event."""
        while not (event := await self.event())["data"]:
            pass
        return json.loads(event["data"])

    async def rest(self) -> list[dict[str, Any]]:
        """Waits for the end of the stream; the messages up to there."""
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            await self.call.finished()
        data = self._events
        self._events = []
        while self.call.waiting:
            message = await self.call.next()
            data += events_of(message.get("body", b""))
        return [json.loads(event["data"]) for event in data if event["data"]]


def events_of(data: bytes) -> list[dict[str, str]]:
    """The fields of each event, comments left out."""
    events: list[dict[str, str]] = []
    for block in data.decode().split("\r\n\r\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\r\n") if line and not line.startswith(":"))
        if fields:
            events.append(fields)
    return events


def messages_of(answer: Answer) -> list[dict[str, Any]]:
    """The JSON-RPC messages in a whole answer that is an event stream."""
    assert answer.headers["content-type"] == "text/event-stream"
    return [json.loads(event["data"]) for event in events_of(answer.body) if event["data"]]


class Store(EventStore):
    """Keeps events in a list; the id of an event is its place."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        await anyio.sleep(0)
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        place = int(last_event_id)
        if not 0 < place <= len(self.events):
            return None
        stream_id = self.events[place - 1][0]
        for number, (stream, message) in enumerate(self.events[place:], place + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id
