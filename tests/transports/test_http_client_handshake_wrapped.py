"""Streams that somebody has wrapped, as instrumentation does: everything works, and the wrapper sees every message."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from scripted_handshake_server import Script, said_by, text
from scripted_http_server import Posted, Reply, serve

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.engine.streams import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest

pytestmark = pytest.mark.anyio


class Seen:
    """A stream that notes the methods of what passes."""

    def __init__(self, stream: Any, methods: list[str]) -> None:
        self._stream = stream
        self._methods = methods

    def _note(self, item: Any) -> Any:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest | JSONRPCNotification):
            self._methods.append(item.message.method)
        return item

    async def send(self, item: Any) -> None:
        await self._stream.send(self._note(item))

    async def receive(self) -> Any:
        return self._note(await self._stream.receive())

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return self._note(await self._stream.__anext__())

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        await self.aclose()


@asynccontextmanager
async def wrapped(
    url: str, sent: list[str], received: list[str]
) -> AsyncGenerator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]], None]:
    async with streamable_http_client(url) as (read, write):
        yield Seen(read, received), Seen(write, sent)


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="hello"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_handshake_session_works_over_wrapped_streams(mode: str) -> None:
    script = Script()
    sent: list[str] = []
    received: list[str] = []
    heard = anyio.Event()

    @script.on("server/discover")
    async def discover(request: Posted, reply: Reply) -> None:
        await reply.send("400 Bad Request")

    @script.on("GET")
    async def get(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await reply.disconnected()

    @script.on("tools/call")
    async def call(request: Posted, reply: Reply) -> None:
        question: dict[str, Any] = {"messages": [], "maxTokens": 1}
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": question})
        await script.until("answer")
        await reply.event(text(request, "asked"))
        await reply.end()

    async def hear(message: object) -> None:
        heard.set()

    async with serve(script) as script.server:
        transport = wrapped(script.server.url, sent, received)
        async with Client(transport, mode=mode, sampling_callback=sample, message_handler=hear) as client:
            assert client.protocol_version == "2025-11-25"
            assert await said_by(client, "any") == "asked"
            await heard.wait()
            await client.session.send_ping()
    expected = ["initialize", "notifications/initialized", "tools/call", "ping"]
    assert [method for method in sent if method in expected] == expected
    assert sorted(received) == ["notifications/tools/list_changed", "sampling/createMessage"]
    for name in ("notifications/initialized", "GET", "tools/call", "answer", "ping", "DELETE"):
        assert script.received(name)[0].headers["mcp-session-id"] == "session-1"
        assert script.received(name)[0].headers["mcp-protocol-version"] == "2025-11-25"
    assert script.received("answer")[0].message["result"]["content"]["text"] == "hello"
