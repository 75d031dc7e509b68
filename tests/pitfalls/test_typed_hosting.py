"""Reports about serving an `MCPServer` over HTTP: host names, browsers, mounts, and what a client is told of faults."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, over_http, text_of
from eras import Era
from held_port import held_port
from pitfall_mcpserver import mcp
from raw_peers import posting, request
from served_app import served
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount

from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import TransportError

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


# B61


@asyncio_only
async def test_b61_a_host_that_is_not_let_in_is_named_with_the_setting(era: Era) -> None:
    """Deployed behind a name the server answered 421 to everything, and nobody knew why."""
    headers = {"host": "api.example.com", "mcp-method": "tools/list"}
    with over_http(mcp.streamable_http_app()) as url:
        async with posting(era, url) as (post, _):
            answer = await post(request(era, 1, "tools/list"), **headers)
    assert answer.status_code == 421
    for word in ("api.example.com", "transport_security", "allowed_hosts"):
        assert word in answer.text


@asyncio_only
async def test_b61_so_does_the_error_of_a_client(mode: str) -> None:
    """The client saw no status and no text."""
    app = mcp.streamable_http_app()
    with over_http(_as_host("api.example.com", app)) as url, pytest.raises(TransportError) as caught:
        async with Client(url, mode=mode):
            pytest.fail("it is not let in")
    for word in ("421", "api.example.com", "allowed_hosts"):
        assert word in str(caught.value)


def _as_host(name: str, app: Any) -> Any:
    """An application that is reached under another name, as behind a proxy."""

    async def renamed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers: list[tuple[bytes, bytes]] = scope["headers"]
            scope = {**scope, "headers": [(key, name.encode() if key == b"host" else value) for key, value in headers]}
        await app(scope, receive, send)

    return renamed


# B62


REQUEST_HEADERS = [
    *("authorization", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version"),
    "mcp-session-id",
]


@asyncio_only
async def test_b62_pages_of_another_origin_can_be_let_in() -> None:
    """Preflights were refused, and the session's id was hidden from the page."""
    origin = "http://localhost:3000"
    app = CORSMiddleware(
        mcp.streamable_http_app(),
        allow_origins=[origin],
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=REQUEST_HEADERS,
        expose_headers=["Mcp-Session-Id", "WWW-Authenticate"],
    )
    asks = {"origin": origin, "access-control-request-method": "DELETE"}
    with over_http(app) as url:
        http = httpx2.AsyncClient(timeout=SECONDS_OF_PATIENCE, trust_env=False)
        wanted = {**asks, "access-control-request-headers": ", ".join(REQUEST_HEADERS)}
        preflight = await http.request("OPTIONS", url, headers=wanted)
        await http.aclose()
    assert preflight.status_code == 200
    allowed = preflight.headers["access-control-allow-headers"].lower()
    assert all(header in allowed for header in REQUEST_HEADERS)
    assert "DELETE" in preflight.headers["access-control-allow-methods"]


# B65


@pytest.mark.parametrize("path", ["/a/mcp", "/a/mcp/", "/b/", "/b"])
async def test_b65_a_mounted_server_needs_no_redirect(path: str, mode: str) -> None:
    """The way from one spelling to the other led past the mount, behind proxies.

    "/b" alone is Starlette's: a mount has no such path, and its router sends the client on before anybody is asked.
    """
    one, other = MCPServer("one"), MCPServer("other")
    for server in (one, other):
        server.add_tool(lambda: "here", name="where")
    inner = one.streamable_http_app()
    at_root = other.streamable_http_app(streamable_http_path="/")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with one.session_manager.run(), other.session_manager.run():
            yield

    seen: list[int] = []
    app: Any = Starlette(routes=[Mount("/a", inner), Mount("/b", at_root)], lifespan=lifespan)

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        async def note(message: Any) -> None:
            if message["type"] == "http.response.start":
                seen.append(message["status"])
            await send(message)

        await app(scope, receive, note)

    with served(noting) as origin:
        async with Client(f"{origin}{path}", mode=mode) as client:
            assert await text_of(client, "where") == "here"
    assert path == "/b" or not [status for status in seen if 300 <= status < 400]


# B103


async def test_b103_faults_of_the_transport_are_errors_of_the_library(mode: str) -> None:
    """Programs caught those of the HTTP library, until that was another one."""
    with held_port() as port, anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(TransportError) as caught:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode):
            pytest.fail("there is nobody")
    assert isinstance(caught.value, MCPError)
    assert type(caught.value).__module__.startswith("mcp.")
    assert f"127.0.0.1:{port}" in str(caught.value)


@asyncio_only
async def test_b103_so_are_answers_that_make_no_sense(mode: str) -> None:
    """The same of a server that is there, and is another one."""

    async def other(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]}
            await send(start)
            await send({"type": "http.response.body", "body": b"<p>hello"})

    with over_http(other) as url, anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(TransportError) as caught:
        async with Client(url, mode=mode):
            pytest.fail("this is no MCP server")
    assert type(caught.value).__module__.startswith("mcp.")
