"""An HTTP+SSE server on a loopback socket whose stream and answers a test writes."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from scripted_http_server import Posted, Reply, Server, serve

ENDPOINT = "/messages/?session_id=abc123"

OnPost = Callable[["ScriptedSSE", Posted, Reply], Awaitable[None]]


async def accept(sse: "ScriptedSSE", posted: Posted, reply: Reply) -> None:
    """Takes a message, and answers it if it is a request."""
    await reply.send("202 Accepted", b"Accepted", "text/plain")
    if "id" in posted.message and "method" in posted.message:
        await sse.answer(posted.message["id"], {"method": posted.message["method"]})


class ScriptedSSE:
    """The server. It opens each stream with `first`, and deals with each post as `on_post` says."""

    def __init__(self, on_post: OnPost = accept, first: bytes | None = None) -> None:
        self._on_post = on_post
        self.first = b"event: endpoint\r\ndata: %b\r\n\r\n" % ENDPOINT.encode() if first is None else first
        self._stream: Reply | None = None
        self._changed = anyio.Event()
        self.gets: list[Posted] = []
        self.posts: list[Posted] = []
        self.hung_up = anyio.Event()
        """The client has closed its stream."""

    async def __call__(self, posted: Posted, reply: Reply) -> None:
        if posted.method == "POST":
            self.posts.append(posted)
            await self.streaming()
            await self._on_post(self, posted, reply)
            self.changed()
            return
        self.gets.append(posted)
        await reply.open_events()
        await reply.chunk(self.first)
        self._stream = reply
        self.changed()
        await reply.disconnected()
        self.hung_up.set()

    @property
    def stream(self) -> Reply:
        assert self._stream is not None, "no stream is open"
        return self._stream

    async def streaming(self) -> None:
        """Waits until the stream is open, and free to be written to."""
        await self.until(lambda: self._stream is not None)

    def changed(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until `condition` holds; looks after each request."""
        while not condition():
            await self._changed.wait()

    async def answer(self, id: Any, result: Any) -> None:
        """Sends the answer to a request on the stream."""
        await self.stream.event({"jsonrpc": "2.0", "id": id, "result": result})

    @property
    def methods(self) -> list[str | None]:
        """The methods of the messages that were posted; None for answers."""
        return [json.loads(posted.body).get("method") for posted in self.posts]


@asynccontextmanager
async def serving_sse(sse: ScriptedSSE) -> AsyncGenerator[Server, None]:
    """The server, at `/sse` of an origin of its own."""
    async with serve(sse) as server:
        yield server
