"""A peer that accepts connections and never begins TLS: whoever gives up on it leaves no socket behind."""

import gc
import ssl
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import anyio
import pytest

from mcp import Client
from mcp.client.auth.extensions.token_exchange import identity_provider_exchange
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


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("visit", [call_of_a_client, resource, client_document, introspection, exchange])
async def test_a_cancelled_handshake_closes_its_connection(visit: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    ended = anyio.Event()
    began = anyio.Event()

    async def accept(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            async for _ in stream:
                began.set()
            ended.set()

    with anyio.fail_after(20):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tg:
            tg.start_soon(listener.serve, accept)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            async with anyio.create_task_group() as visitor:
                visitor.start_soon(visit, f"https://localhost:{port}/place")
                await began.wait()
                visitor.cancel_scope.cancel()
            await ended.wait()
            tg.cancel_scope.cancel()
