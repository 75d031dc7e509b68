"""Subscriptions of a client over HTTP: what it makes of a response that is a stream, and of its end."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from scripted_http_server import Posted, Reply, own_client, serve
from subscription_reading import lost

from mcp import Client
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError

pytestmark = pytest.mark.anyio

ID = "io.modelcontextprotocol/subscriptionId"
Script = Callable[[Reply, str], Awaitable[None]]


def note(method: str, id: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": {"_meta": {ID: id}, **params}}


async def open_stream(reply: Reply, id: str) -> None:
    await reply.open_events()
    await reply.event(note("subscriptions/acknowledged", id, notifications={"toolsListChanged": True}))


def scripted(script: Script) -> Callable[[Posted, Reply], Awaitable[None]]:
    """Answers `subscriptions/listen` as the script says."""

    async def handler(request: Posted, reply: Reply) -> None:
        assert request.headers["mcp-method"] == request.message["method"] == "subscriptions/listen"
        assert "mcp-name" not in request.headers
        await script(reply, request.message["id"])

    return handler


@asynccontextmanager
async def connected(script: Script, **options: Any) -> AsyncGenerator[Client, None]:
    with anyio.fail_after(20):
        async with serve(scripted(script)) as server, Client(server.url, mode="2026-07-28", **options) as client:
            yield client


async def test_events_come_from_the_response_and_a_result_ends_it() -> None:
    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        await reply.chunk(b":\r\n\r\n")
        await reply.event(note("tools/list_changed", "listen-7"))
        await reply.event(note("prompts/list_changed", id))
        await reply.event(note("tools/list_changed", id))
        await reply.event({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": {ID: id}}})
        await reply.end()

    async with connected(script) as client, client.listen(tools_list_changed=True) as subscription:
        assert subscription.subscription_id == "listen-1"
        assert [event async for event in subscription] == [ToolsListChanged()]


@pytest.mark.parametrize("politely", [True, False])
async def test_a_response_that_ends_without_a_result_loses_the_subscription(politely: bool) -> None:
    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        await reply.event(note("tools/list_changed", id))
        await (reply.end() if politely else reply.hang_up())

    async with connected(script) as client, client.listen(tools_list_changed=True) as subscription:
        seen, cause = await lost(subscription)
        assert seen == [ToolsListChanged()]
        assert isinstance(cause, MCPError)


async def test_a_server_that_cancels_the_request_loses_the_subscription() -> None:
    gone = anyio.Event()

    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        params = {"requestId": "listen-9"}
        await reply.event({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        await reply.event({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        await reply.disconnected()
        gone.set()

    heard: list[IncomingMessage] = []

    async def hear(message: IncomingMessage) -> None:
        heard.append(message)

    async with (
        connected(script, message_handler=hear) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        seen, cause = await lost(subscription)
        assert (seen, str(cause)) == ([], "The server cancelled the subscription: it gave no reason")
        await gone.wait()
    assert heard == []


async def test_leaving_closes_the_response() -> None:
    gone = anyio.Event()

    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        await reply.disconnected()
        gone.set()

    async with connected(script) as client:
        async with client.listen(tools_list_changed=True):
            pass
        await gone.wait()


@pytest.mark.parametrize(
    ("status", "kind"),
    [("404 Not Found", MCPError), ("503 Service Unavailable", HTTPResponseError)],
)
async def test_a_refusal_is_the_error_of_entering(status: str, kind: type[MCPError]) -> None:
    async def script(reply: Reply, id: str) -> None:
        if status.startswith("404"):
            error = {"code": -32601, "message": "Method not found"}
            await reply.json({"jsonrpc": "2.0", "id": id, "error": error}, status)
        else:
            await reply.send(status, b"busy")

    async with connected(script) as client:
        with pytest.raises(kind, match="Method not found" if kind is MCPError else "503"):
            async with client.listen(tools_list_changed=True):
                pass


async def test_a_silent_stream_outlasts_the_patience_of_a_client_of_ones_own() -> None:
    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        await anyio.sleep(0.3)
        await reply.event(note("tools/list_changed", id))
        await reply.disconnected()

    async with (
        serve(scripted(script)) as server,
        own_client(timeout=httpx2.Timeout(5, read=0.1)) as http,
        Client(streamable_http_client(server.url, http_client=http), mode="2026-07-28") as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        with anyio.fail_after(5):
            assert await anext(subscription) == ToolsListChanged()


class Wrapped:
    """A transport that stands between the client and another one, message by message."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        read, write = await self._inner.__aenter__()
        return Passing(read), Passing(write)

    async def __aexit__(self, *exc: Any) -> None:
        await self._inner.__aexit__(*exc)


class Passing:
    """A stream that passes on everything."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def receive(self) -> Any:
        return await self._inner.receive()

    async def send(self, item: Any) -> None:
        await self._inner.send(item)

    def __aiter__(self) -> "Passing":
        return self

    async def __anext__(self) -> Any:
        return await self._inner.__anext__()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "Passing":
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.aclose()


async def test_it_works_through_streams_that_somebody_wraps() -> None:
    gone = anyio.Event()

    async def script(reply: Reply, id: str) -> None:
        await open_stream(reply, id)
        await reply.event(note("tools/list_changed", id))
        if id == "listen-1":
            await reply.disconnected()
            gone.set()
        else:
            await reply.hang_up()

    with anyio.fail_after(20):
        async with serve(scripted(script)) as server:
            transport = Wrapped(streamable_http_client(server.url))
            async with Client(transport, mode="2026-07-28") as client:
                async with client.listen(tools_list_changed=True) as subscription:
                    assert await anext(subscription) == ToolsListChanged()
                await gone.wait()
                async with client.listen(tools_list_changed=True) as subscription:
                    seen, cause = await lost(subscription)
                    assert seen == [ToolsListChanged()]
                    assert isinstance(cause, MCPError)
                    assert not isinstance(cause, ConnectionClosedError)
