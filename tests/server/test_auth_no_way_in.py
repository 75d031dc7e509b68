"""A protected server has no way in without a token: not by any verb, path, transport or era."""

import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import protecting
import pytest
from protecting import (
    METADATA_URL,
    Known,
    bearer,
    challenge_of,
    handshake,
    http_to,
    modern,
    opened,
    request,
    settings,
    token,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

from mcp.server import MCPServer, Server, ServerRequestContext
from mcp.server.auth.protection import protection as protection_of
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult

pytestmark = pytest.mark.anyio

VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "mcp", "post"]


class Issuer:
    """As much of an authorization server in the same process as decides about tokens."""

    async def load_access_token(self, token: str) -> AccessToken | None:
        return await Known(GOOD).verify_token(token)


GOOD = token("good", "read")
ran: list[str] = []


def mcpserver(**protection: Any) -> MCPServer:
    mcp = MCPServer("protected", **protection)

    @mcp.tool()
    def touch() -> str:
        ran.append("touch")
        return "touched"

    @mcp.custom_route("/health", methods=["GET"])
    async def health(request: Request) -> PlainTextResponse:
        return PlainTextResponse("well")

    return mcp


def by_mcpserver(protection: dict[str, Any], **options: Any) -> Any:
    return mcpserver(**protection).streamable_http_app(**options)


def by_server(protection: dict[str, Any], **options: Any) -> Any:
    async def call(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        ran.append("touch")
        return CallToolResult(content=[])

    return Server("protected", on_call_tool=call).streamable_http_app(**protection, **options)


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


VERIFIER: Callable[[], dict[str, Any]] = lambda: {"auth": settings(), "token_verifier": Known(GOOD)}  # noqa: E731
PROVIDER: Callable[[], dict[str, Any]] = lambda: {"auth": settings(), "auth_server_provider": Issuer()}  # noqa: E731
BOTH: Callable[[], dict[str, Any]] = lambda: {**PROVIDER(), **VERIFIER()}  # noqa: E731

STREAMABLE = [
    pytest.param(build, protection, options, id=f"{build.__name__}-{name}-{','.join(options) or 'default'}")
    for build in (by_mcpserver, by_server)
    for name, protection in (("verifier", VERIFIER), ("provider", PROVIDER), ("both", BOTH))
    for options in ({}, {"stateless_http": True}, {"json_response": True})
    if not (build is by_mcpserver and protection is BOTH)
]
PATHS = ["/mcp", "/mcp/", "//mcp", "/mcp//", "/./mcp", "/x/../mcp", "/%6dcp", "/MCP", "/mcp;x=1", "/mcp?token=good"]


@pytest.mark.parametrize(("build", "protection", "options"), STREAMABLE)
async def test_no_verb_and_no_path_of_streamable_http_lets_anybody_in_without_a_token(
    build: Any, protection: Any, options: dict[str, Any]
) -> None:
    async with http_to(build(protection(), **options)) as http:
        for verb, path in [*(("POST", path) for path in PATHS), *((verb, "/mcp") for verb in VERBS)]:
            answer = await http.request(verb, path, json=request("tools/call", name="touch", arguments={}))
            assert answer.status_code in (307, 401, 404, 405), (verb, path)
            assert "www-authenticate" in answer.headers or answer.status_code != 401
        assert (await modern(http, "tools/call", name="touch", arguments={})).status_code == 401
        assert (await handshake(http, request("initialize"))).status_code == 401
        assert ran == []
        assert (await modern(http, "tools/call", "good", name="touch", arguments={})).status_code == 200
        assert ran == ["touch"]


async def test_no_verb_helps_with_an_odd_path() -> None:
    async with http_to(by_mcpserver(VERIFIER())) as http:
        for path in PATHS:
            for verb in VERBS:
                answer = await http.request(verb, path, json=request("tools/call", name="touch", arguments={}))
                assert answer.status_code in (307, 401, 404, 405), (verb, path)
        assert ran == []


async def test_the_endpoint_itself_answers_every_verb_with_a_challenge() -> None:
    async with http_to(by_mcpserver(VERIFIER())) as http:
        for path in ("/mcp", "/mcp/"):
            for verb in VERBS:
                assert (await http.request(verb, path)).status_code == 401, (verb, path)


async def test_a_session_of_a_protected_server_takes_nothing_without_a_token() -> None:
    async with http_to(by_mcpserver(VERIFIER())) as http:
        session = await opened(http, "good")
        call = request("tools/call", id=2, name="touch", arguments={})
        for sent in (None, "bad"):
            headers = {"mcp-session-id": session, "accept": "text/event-stream", **bearer(sent)}
            assert (await handshake(http, call, sent, session)).status_code == 401
            assert (await http.get("/mcp", headers=headers)).status_code == 401
            assert (await http.delete("/mcp", headers=headers)).status_code == 401
        assert ran == []
        assert (await handshake(http, call, "good", session)).status_code == 200
        assert (await http.delete("/mcp", headers={"mcp-session-id": session, **bearer("good")})).status_code == 200


def mounted(endpoint: Any, manager: StreamableHTTPSessionManager) -> Starlette:
    """An application of somebody else's, which serves an endpoint in its own way."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with manager.run():
            yield

    return Starlette(routes=[Mount("/mcp", app=endpoint)], lifespan=lifespan)


def by_handle_request() -> Starlette:
    mcp = mcpserver(**VERIFIER())
    mcp.streamable_http_app(json_response=True)
    return mounted(mcp.session_manager.handle_request, mcp.session_manager)


def by_asgi_app() -> Starlette:
    mcp = mcpserver(**PROVIDER())
    mcp.streamable_http_app(json_response=True)
    return mounted(StreamableHTTPASGIApp(mcp.session_manager), mcp.session_manager)


def by_raw_server() -> Starlette:
    raw = mcpserver()._lowlevel_server
    raw.streamable_http_app(json_response=True, **VERIFIER())
    return mounted(raw.session_manager.asgi_app, raw.session_manager)


def by_manager_of_ones_own() -> Starlette:
    manager = StreamableHTTPSessionManager(mcpserver(**VERIFIER())._lowlevel_server, json_response=True)
    return mounted(manager.handle_request, manager)


def by_manager_with_protection() -> Starlette:
    raw = mcpserver()._lowlevel_server
    guard = protection_of(settings(), Known(GOOD), None)
    manager = StreamableHTTPSessionManager(raw, stateless=True, json_response=True, protection=guard)
    return mounted(manager.handle_request, manager)


MOUNTED = [by_handle_request, by_asgi_app, by_raw_server, by_manager_of_ones_own, by_manager_with_protection]


@pytest.mark.parametrize("build", MOUNTED)
async def test_a_manager_that_somebody_mounts_by_hand_lets_nobody_in_without_a_token(build: Any) -> None:
    async with http_to(build()) as http:
        for path in PATHS:
            for verb in VERBS:
                answer = await http.request(verb, path, json=request("tools/call", name="touch", arguments={}))
                assert answer.status_code in (307, 401, 404, 405), (verb, path)
        for sent in (None, "bad"):
            body = request("tools/call", name="touch", arguments={})
            answer = await http.post("/mcp/", json=body, headers=bearer(sent))
            assert (answer.status_code, challenge_of(answer)["resource_metadata"]) == (401, METADATA_URL)
        assert ran == []
        http.follow_redirects = True
        assert (await modern(http, "tools/call", "good", name="touch", arguments={})).status_code == 200
        assert ran == ["touch"]


async def test_a_request_that_is_not_let_in_does_not_start_the_server() -> None:
    mcp = mcpserver(**VERIFIER())
    mcp.streamable_http_app(json_response=True)
    app: Any = mcp.session_manager.handle_request
    http: Any = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=protecting.BASE_URL)
    async with http:
        assert (await modern(http, "tools/list")).status_code == 401
    async with mcp.session_manager.run():
        assert mcp.session_manager.open_sessions == 0


@pytest.mark.parametrize("protection", [VERIFIER, PROVIDER], ids=["verifier", "provider"])
async def test_neither_route_of_sse_lets_anybody_in_without_a_token(protection: Any) -> None:
    async with http_to(mcpserver(**protection()).sse_app()) as http:
        for path in ("/sse", "/sse/", "/messages/", "/messages", "/messages/x", "/messages/?session_id=" + "0" * 32):
            for verb in VERBS:
                answer = await http.request(verb, path, json=request("ping"))
                redirected = answer.status_code == 307 and "location" in answer.headers
                assert answer.status_code in (401, 404, 405) or redirected, (verb, path)
        assert (await http.get("/sse")).status_code == 401
        assert (await http.post("/messages/", json=request("ping"))).status_code == 401
        allowed = await http.post("/messages/", json=request("ping"), headers=bearer("good"))
        assert (allowed.status_code, allowed.text[:10]) == (400, "session_id")


@pytest.mark.parametrize("sse", [False, True])
async def test_custom_routes_and_the_metadata_need_no_token(sse: bool) -> None:
    verifier = Known(GOOD)
    mcp = mcpserver(auth=settings(), token_verifier=verifier)
    async with http_to(mcp.sse_app() if sse else mcp.streamable_http_app()) as http:
        for sent in (None, "bad", "good"):
            assert (await http.get("/health", headers=bearer(sent))).text == "well"
            metadata = await http.get("/.well-known/oauth-protected-resource/mcp", headers=bearer(sent))
            assert metadata.json() == {
                "resource": "http://127.0.0.1:8000/mcp",
                "authorization_servers": ["https://auth.example.com"],
                "scopes_supported": ["read"],
                "bearer_methods_supported": ["header"],
            }
        assert verifier.asked == []


async def test_without_a_public_url_there_is_no_metadata_and_still_no_way_in() -> None:
    async with http_to(by_mcpserver({"auth": settings(resource_server_url=None), "token_verifier": Known()})) as http:
        assert (await http.get("/.well-known/oauth-protected-resource/mcp")).status_code == 404
        answer = await http.post("/mcp")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer scope="read"')


async def test_the_documentation_of_the_service_is_in_the_metadata() -> None:
    documented = settings(service_documentation_url="https://docs.example.com/notes")
    async with http_to(by_mcpserver({"auth": documented, "token_verifier": Known()})) as http:
        metadata = (await http.get("/.well-known/oauth-protected-resource/mcp")).json()
        assert metadata["resource_documentation"] == "https://docs.example.com/notes"


PROGRAM = """
import sys
from mcp.server import MCPServer
from protecting import Known, settings, token

mcp = MCPServer("protected", token_verifier=Known(token("good", "read")), auth=settings(), log_level="INFO")

@mcp.tool()
def touch() -> str:
    return "touched"

mcp.run(sys.argv[1], port=0)
"""


@pytest.mark.parametrize(("transport", "path"), [("streamable-http", "/mcp"), ("sse", "/messages/")])
async def test_run_protects_the_endpoint_as_well(transport: str, path: str, tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(protecting.__file__).parent), "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, str(program), transport], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        with anyio.fail_after(20):
            origin = await anyio.to_thread.run_sync(origin_of, process, abandon_on_cancel=True)
        http: Any = httpx2.AsyncClient(base_url=origin)
        async with http:
            statuses = [
                (await http.post(path, json=request("ping"), headers=bearer(token))).status_code
                for token in (None, "bad", "good")
            ]
        assert statuses[:2] == [401, 401]
        assert statuses[2] not in (401, 403)
    finally:
        process.kill()
        process.communicate(timeout=20)


def origin_of(process: subprocess.Popen[str]) -> str:
    """Where a server listens that got its port from the system, by its own log."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"running on (http://\S+)", line):
            return found[1]
    raise AssertionError("the server has ended before it listened")
