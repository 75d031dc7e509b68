"""A peer that accepts connections and never begins TLS: whoever gives up on it leaves no socket behind."""

import gc
import ssl
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any

import anyio
import httpx2
import pytest

from mcp import Client
from mcp.client.auth.extensions.token_exchange import identity_provider_exchange
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.client_documents import ClientDocuments
from mcp.server.auth.introspection import IntrospectionVerifier
from mcp.server.mcpserver.resources import HttpResource

pytestmark = pytest.mark.anyio


async def call_of_a_client(url: str) -> None:
    async with Client(url) as client:
        await client.list_tools()


async def resource(url: str) -> None:
    await HttpResource(uri="res://a", url=url).read()


async def client_document(url: str) -> None:
    context = ssl.create_default_context()
    await ClientDocuments(["read"], allow_private_addresses=True, ssl_context=context).client(url)


async def introspection(url: str) -> None:
    await IntrospectionVerifier(url, client_id="a", client_secret="b").verify_token("t")


async def exchange(url: str) -> None:
    async def subject() -> str:
        return "token"

    await identity_provider_exchange(url, client_id="a", subject_token=subject)("audience", "resource")


@pytest.fixture
def no_collector() -> Generator[None]:
    """Nothing is cleaned up by chance."""
    gc.disable()
    yield
    gc.enable()


async def cancelled_in_handshake(visit: Callable[[int], Coroutine[Any, Any, None]], first_answer: bytes) -> None:
    """Cancels a visitor that has sent the first bytes of its handshake, and waits until its connection is closed.

    Args:
        visit: Connects to a port.
        first_answer: What it gets for its first bytes, if these are not the handshake's yet.
    """
    began, ended = anyio.Event(), anyio.Event()

    async def accept(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            if first_answer:
                await stream.receive()
                await stream.send(first_answer)
            async for _ in stream:
                began.set()
            ended.set()

    with anyio.fail_after(20):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tg:
            tg.start_soon(listener.serve, accept)
            async with anyio.create_task_group() as visitor:
                visitor.start_soon(visit, listener.extra(anyio.abc.SocketAttribute.local_port))
                await began.wait()
                visitor.cancel_scope.cancel()
            await ended.wait()
            tg.cancel_scope.cancel()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("visit", [call_of_a_client, resource, client_document, introspection, exchange])
async def test_a_cancelled_handshake_closes_its_connection(visit: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    await cancelled_in_handshake(lambda port: visit(f"https://localhost:{port}/place"), b"")


@pytest.mark.usefixtures("no_collector")
async def test_so_does_one_behind_a_proxy() -> None:
    clients: list[Any] = []

    async def call(port: int) -> None:
        http: Any = httpx2.AsyncClient(proxy=f"http://127.0.0.1:{port}")
        clients.append(http)
        async with Client(streamable_http_client("https://shelf.example/mcp", http_client=http)) as client:
            await client.list_tools()

    await cancelled_in_handshake(call, b"HTTP/1.1 200 Connection established\r\n\r\n")
    await clients[0].aclose()


async def test_a_trace_of_the_programs_own_is_told_as_before() -> None:
    seen: list[str] = []

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        seen.append(event)

    class Traced(httpx2.AsyncClient):
        def build_request(self, *args: Any, **kwargs: Any) -> httpx2.Request:
            request: httpx2.Request = super().build_request(*args, **kwargs)
            request.extensions = {**request.extensions, "trace": trace}
            return request

    async def call(port: int) -> None:
        http: Any = Traced()
        async with http, Client(streamable_http_client(f"https://localhost:{port}/", http_client=http)) as client:
            await client.list_tools()

    await cancelled_in_handshake(call, b"")
    assert "connection.connect_tcp.complete" in seen
    assert "connection.start_tls.failed" in seen
