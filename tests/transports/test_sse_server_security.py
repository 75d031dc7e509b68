"""Which requests the server's end of HTTP+SSE lets in: hosts, origins and verbs, inside and outside Starlette."""

from typing import Any

import pytest
from asgi_driver import Call, Pairs, ask, scope_of
from sse_driver import JSON, streaming
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings

pytestmark = pytest.mark.anyio

SETTINGS = TransportSecuritySettings(allowed_hosts=["127.0.0.1:*"], allowed_origins=["https://page.example"])
GOOD: Pairs = [(b"host", b"127.0.0.1:8000"), (b"origin", b"https://page.example")]
BAD = [
    pytest.param([(b"host", b"evil.example")], 421, b"Invalid Host header", id="host"),
    pytest.param(
        [(b"host", b"127.0.0.1:8000"), (b"origin", b"http://evil.example")], 403, b"Invalid Origin", id="origin"
    ),
]


async def wait_for_the_end(read: Any, write: Any) -> None:
    async for _ in read:
        pass


def application(transport: SseServerTransport) -> Starlette:
    """The stream's endpoint as the documentation has it."""

    async def handle_sse(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await wait_for_the_end(read, write)
        return Response()

    return Starlette(routes=[Route("/sse", handle_sse, methods=["GET", "POST"])])


@pytest.mark.parametrize(("pairs", "status", "text"), BAD)
async def test_a_stream_for_another_host_or_page_is_refused(pairs: Pairs, status: int, text: bytes) -> None:
    answer = await ask(application(SseServerTransport("/messages/", SETTINGS)), pairs, b"", verb="GET", path="/sse")
    assert answer.status == status
    assert answer.body.startswith(text)


@pytest.mark.parametrize(("pairs", "status", "text"), BAD)
async def test_outside_starlette_the_refusal_is_sent_before_it_is_raised(
    pairs: Pairs, status: int, text: bytes
) -> None:
    call = Call([b""])
    transport = SseServerTransport("/messages/", SETTINGS)
    with pytest.raises(ValueError, match="The request for an event stream was refused: Invalid"):
        async with transport.connect_sse(scope_of(pairs, "GET", "/sse"), call.receive, call.send):
            pytest.fail("it was let in")
    assert call.answer.status == status
    assert call.answer.body.startswith(text)
    assert transport._sessions == {}


@pytest.mark.parametrize(("pairs", "status", "text"), BAD)
async def test_a_post_for_another_host_or_page_is_refused(pairs: Pairs, status: int, text: bytes) -> None:
    async with streaming(SseServerTransport("/messages/", SETTINGS), wait_for_the_end, GOOD) as stream:
        answer = await stream.post(pairs=[*pairs, JSON[-1]])
        assert answer.status == status
        assert answer.body.startswith(text)
        assert (await stream.post(pairs=[*GOOD, JSON[-1]])).status == 202


async def test_without_settings_everybody_is_let_in() -> None:
    async with streaming(SseServerTransport("/messages/"), wait_for_the_end, [(b"host", b"evil.example")]) as stream:
        assert (await stream.post(pairs=[(b"host", b"evil.example"), JSON[-1]])).status == 202


@pytest.mark.parametrize("verb", ["POST", "HEAD"])
async def test_a_stream_is_opened_with_get(verb: str) -> None:
    answer = await ask(application(SseServerTransport("/messages/")), GOOD, b"", verb=verb, path="/sse")
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


async def test_what_is_not_http_is_refused() -> None:
    call = Call([b""])
    with pytest.raises(ValueError, match="connect_sse takes HTTP requests, got 'websocket'"):
        async with SseServerTransport("/messages/").connect_sse({"type": "websocket"}, call.receive, call.send):
            pytest.fail("it was let in")
