"""Reports about servers that run more than once, behind something that hands each request to the next one."""

import itertools
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, over_http
from http_sessions import CLIENT, Context, Peer, call, message

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

pytestmark = pytest.mark.anyio

CALLS = 50


@pytest.fixture
def anyio_backend() -> str:
    """What is tested are the servers, which uvicorn runs."""
    return "asyncio"


def worker() -> Server[Any]:
    """A server whose tool `ask` asks its client; any other answers at once."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name == "ask" and params.input_responses is None:
            form = types.ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})
            question = types.ElicitRequest(params=form)
            return types.InputRequiredResult(input_requests={"sure": question}, request_state="asked")
        return types.CallToolResult(content=[types.TextContent(text=str(params.request_state))])

    server = Server("srv", on_call_tool=call_tool)
    security = RequestStateSecurity(keys=[b"k" * 32])
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
    return server


class RoundRobin(httpx2.AsyncHTTPTransport):
    """Sends each request to the next port."""

    def __init__(self, ports: list[int]) -> None:
        super().__init__()
        self._ports = itertools.cycle(ports)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return await super().handle_async_request(request)


@contextmanager
def two_workers() -> Generator[tuple[str, httpx2.AsyncClient], None, None]:
    """The URL of one of two workers, and an HTTP client for which it stands for both."""
    with over_http(worker().streamable_http_app()) as one, over_http(worker().streamable_http_app()) as other:
        ports = [urlsplit(url).port or 0 for url in (one, other)]
        yield one, httpx2.AsyncClient(transport=RoundRobin(ports), timeout=SECONDS_OF_PATIENCE)


@asynccontextmanager
async def balanced() -> AsyncGenerator[tuple[str, httpx2.AsyncClient], None]:
    with two_workers() as (url, http):
        async with http:
            yield url, http


# B63


async def test_any_worker_answers_any_request() -> None:
    async def agree(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async with balanced() as (url, http):
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, elicitation_callback=agree, validate_output="off") as client:
            for number in range(CALLS):
                tool = "tell" if number % 5 else "ask"
                [content] = (await client.call_tool(tool)).content
                expected = "asked" if tool == "ask" else "None"
                assert content == types.TextContent(text=expected)


async def test_but_a_session_is_known_to_one_and_the_other_says_so() -> None:
    async with balanced() as (url, http):
        peer = Peer(url, http)
        peer.session = (await peer.post(message("initialize", CLIENT))).headers["mcp-session-id"]
        elsewhere = await peer.post(call("tell"))
        assert elsewhere.status_code == 404
        assert elsewhere.json()["error"]["message"] == "Session not found"
        assert (await peer.post(message("notifications/initialized", id=None))).status_code == 202
