"""What the pages docs/client/identity-assertion.md and docs/client/oauth-clients.md say of clients without a user."""

import base64
import contextlib
import warnings
from collections.abc import AsyncGenerator
from functools import partial
from types import ModuleType
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl

import httpx2
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from upstream_statements import anew, error_of, printed, refusal, states

from mcp import MCPDeprecationWarning
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, ProviderTokenVerifier, TokenVerifier
from mcp.server.auth.settings import AuthSettings

SERVER = "http://localhost:8001"
ASSERTION = "identity_assertion/tutorial001"
MACHINE = "oauth_clients/tutorial002"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Wire:
    """An application that notes what it was asked and how it answered."""

    def __init__(self, app: Any, log: list[str], forms: list[dict[str, str]]) -> None:
        self._app = app
        self._log = log
        self._forms = forms

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = bytearray()

        async def read() -> Any:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        async def write(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._log.append(f"{scope['method']} {scope['path']} {message['status']}")
            await send(message)

        await self._app(scope, read, write)
        if scope["path"] == "/token":
            self._forms.append(dict(parse_qsl(body.decode())))


def notes(verifier: TokenVerifier, issuer: str, scope: str) -> MCPServer:
    """The MCP server of the pages, whose tool says who calls it."""
    mcp = MCPServer(
        "Notes",
        token_verifier=verifier,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(issuer),
            resource_server_url=AnyHttpUrl(f"{SERVER}/mcp"),
            required_scopes=[scope],
        ),
    )

    @mcp.tool()
    def whoami() -> str:
        token = get_access_token()
        return str(token and token.subject)

    return mcp


@contextlib.asynccontextmanager
async def reachable(
    mcp: MCPServer, issuer: str, authorization_server: Any
) -> AsyncGenerator[tuple[list[str], list[dict[str, str]]]]:
    """Both servers at the addresses that the programs have in them, and what they are asked."""
    log: list[str] = []
    forms: list[dict[str, str]] = []
    app = mcp.streamable_http_app(json_response=True)
    mounts = {
        SERVER: httpx2.ASGITransport(Wire(app, log, forms)),
        issuer.rstrip("/"): httpx2.ASGITransport(Wire(authorization_server, log, forms)),
    }
    async with app.router.lifespan_context(app):
        with mock.patch.object(httpx2, "AsyncClient", partial(httpx2.AsyncClient, mounts=mounts, trust_env=False)):
            yield log, forms


@contextlib.asynccontextmanager
async def enterprise() -> AsyncGenerator[tuple[list[str], list[dict[str, str]]]]:
    server = anew("identity_assertion/tutorial002")
    mcp = notes(ProviderTokenVerifier(server.provider), server.ISSUER, "notes:read")
    async with reachable(mcp, server.ISSUER, server.auth_app) as seen:
        yield seen


@states(ASSERTION, "Wire the two files on this page together", "['whoami']\n")
async def _(program: ModuleType) -> object:
    async with enterprise():
        return await printed(program.main())


@states(
    ASSERTION,
    "The only requests on the wire are the one that drew the 401, the well-known fetch, this exchange, and MCP traffic",
    [
        "POST /mcp 401",
        "GET /.well-known/oauth-authorization-server 200",
        "POST /token 200",
        "POST /mcp 200",
        "POST /mcp 200",
    ],
)
async def _(program: ModuleType) -> object:
    async with enterprise() as (log, _):
        await printed(program.main())
        return log


@states(
    ASSERTION,
    "The whole grant is one POST /token",
    {
        "grant_type": JWT_BEARER,
        "assertion": True,
        "client_id": "finance-agent",
        "resource": f"{SERVER}/mcp",
        "scope": "notes:read",
        "client_secret": "finance-agent-secret",
    },
)
async def _(program: ModuleType) -> object:
    async with enterprise() as (_, forms):
        await printed(program.main())
        (form,) = forms
        return {
            **form,
            "assertion": form["assertion"].startswith("eyJhbGciOiJIUzI1NiIsInR5cCI6Im9hdXRoLWlkLWphZytqd3Qi"),
        }


@states(ASSERTION, "Only the two token methods are ever called", (True, None))
async def _(program: ModuleType) -> object:
    async with enterprise():
        await printed(program.main())
        storage = program.oauth.context.storage
        return storage.tokens is not None, storage.client_info


@states(
    ASSERTION,
    "A mismatch stops the flow before a single credential or assertion is sent",
    (True, ["POST /mcp 401", "GET /.well-known/oauth-authorization-server 200"]),
)
async def _(program: ModuleType) -> object:
    options = {"issuer": "https://auth.example.com", "client_id": "finance-agent", "client_secret": "s"}
    storage = program.InMemoryTokenStorage()
    provider = program.IdentityAssertionOAuthProvider(
        f"{SERVER}/mcp", storage, assertion_provider=program.fetch_id_jag, **options
    )
    setattr(program, "oauth", provider)  # noqa: B010 - a module has no such attribute, for type checkers
    async with enterprise() as (log, _):
        error = await error_of(program.main())
        return error.startswith("OAuthFlowError: Authorization server metadata issuer mismatch"), log


@states(ASSERTION, "The constructor raises `ValueError` without a client_secret", True)
async def _(program: ModuleType) -> object:
    def make() -> object:
        return program.IdentityAssertionOAuthProvider(
            f"{SERVER}/mcp", program.InMemoryTokenStorage(), "c", "", "https://auth", program.fetch_id_jag
        )

    return refusal(make).startswith("ValueError: client_secret is required")


class Taken(TokenVerifier):
    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="reporting-agent", scopes=["user"]) if token == "t" else None


def machine_server() -> Starlette:
    """An authorization server that knows one machine."""
    issuer = "http://localhost:9000/"

    async def metadata(request: Request) -> JSONResponse:
        endpoints = {"authorization_endpoint": f"{issuer}authorize", "token_endpoint": f"{issuer}token"}
        return JSONResponse({"issuer": issuer, "response_types_supported": ["code"], **endpoints})

    async def token(request: Request) -> JSONResponse:
        form = dict(parse_qsl((await request.body()).decode()))
        header = request.headers.get("authorization", "")
        known = base64.b64decode(header.removeprefix("Basic ")) == b"reporting-agent:..."
        if not known or form["grant_type"] != "client_credentials":
            return JSONResponse({"error": "invalid_client"}, 401)
        return JSONResponse({"access_token": "t", "token_type": "Bearer", "scope": form["scope"]})

    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/token", token, methods=["POST"]),
        ]
    )


@states(
    MACHINE,
    "The token endpoint is the whole flow: no browser, no registration",
    (
        "['whoami']\n",
        [
            "POST /mcp 401",
            "GET /.well-known/oauth-protected-resource/mcp 200",
            "GET /.well-known/oauth-authorization-server 200",
            "POST /token 200",
            "POST /mcp 200",
            "POST /mcp 200",
        ],
        {
            "grant_type": "client_credentials",
            "client_id": "reporting-agent",
            "resource": f"{SERVER}/mcp",
            "scope": "user",
        },
    ),
)
async def _(program: ModuleType) -> object:
    issuer = "http://localhost:9000/"
    async with reachable(notes(Taken(), issuer, "user"), issuer, machine_server()) as (log, forms):
        return await printed(program.main()), log, forms[0]


@states(MACHINE, "Without `issuer` it warns", ["MCPDeprecationWarning"])
async def _(program: ModuleType) -> object:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MCPDeprecationWarning)
        anew(MACHINE)
    return [warning.category.__name__ for warning in caught]
