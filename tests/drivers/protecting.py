"""Protected servers, and clients of them that say which token they send."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings

BASE_URL = "http://127.0.0.1:8000"
RESOURCE = f"{BASE_URL}/mcp"
METADATA_URL = f"{BASE_URL}/.well-known/oauth-protected-resource/mcp"

MODERN = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def token(name: str, *scopes: str, **fields: Any) -> AccessToken:
    """What a verifier says of a token."""
    given: dict[str, Any] = {"token": name, "client_id": "app", "scopes": list(scopes), **fields}
    return AccessToken(**given)


class Known(TokenVerifier):
    """Takes the tokens that it is given, and notes which it was asked about."""

    def __init__(self, *tokens: AccessToken) -> None:
        self._tokens = {token.token: token for token in tokens}
        self.asked: list[str] = []

    async def verify_token(self, token: str) -> AccessToken | None:
        self.asked.append(token)
        return self._tokens.get(token)


def settings(**changed: Any) -> AuthSettings:
    """The settings of a server at `RESOURCE` whose tokens need the scope `read`."""
    given: dict[str, Any] = {
        "issuer_url": "https://auth.example.com",
        "resource_server_url": RESOURCE,
        "required_scopes": ["read"],
        **changed,
    }
    return AuthSettings(**given)


@asynccontextmanager
async def http_to(app: Any, base_url: str = BASE_URL) -> AsyncGenerator[Any, None]:
    """An HTTP client of an application whose lifespan is entered."""
    http: Any = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=base_url)
    async with app.router.lifespan_context(app), http:
        yield http


def bearer(token: str | None) -> dict[str, str]:
    """The header that sends a token; none without one."""
    return {} if token is None else {"authorization": f"Bearer {token}"}


async def modern(http: Any, method: str, token: str | None = None, name: str | None = None, **params: Any) -> Any:
    """The answer to a 2026-07-28 request."""
    if name is not None:
        params["name"] = name
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **({} if name is None else {"mcp-name": name}),
        **bearer(token),
    }
    return await http.post("/mcp", json=body, headers=headers)


async def handshake(
    http: Any, body: Any, token: str | None = None, session: str | None = None, version: str = "2025-11-25"
) -> Any:
    """The answer to a POST of a handshake revision, whatever its body is."""
    headers = {"accept": "application/json, text/event-stream", **bearer(token)}
    if session is not None:
        headers |= {"mcp-session-id": session, "mcp-protocol-version": version}
    return await http.post("/mcp", json=body, headers=headers)


def request(method: str, id: int = 1, **params: Any) -> dict[str, Any]:
    """A JSON-RPC request of a handshake revision."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def opened(http: Any, token: str | None = None, version: str = "2025-11-25") -> str:
    """The id of a new session."""
    hello = request(
        "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "tester", "version": "1"}
    )
    answer = await handshake(http, hello, token)
    assert answer.status_code == 200
    id = answer.headers["mcp-session-id"]
    ready = await handshake(http, {"jsonrpc": "2.0", "method": "notifications/initialized"}, token, id, version)
    assert ready.status_code == 202
    return id


def challenge_of(answer: Any) -> Mapping[str, str]:
    """The parameters of the `Bearer` challenge of a response."""
    scheme, _, rest = answer.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    assert re.fullmatch(r'(\w+="[^"]*"(, |$))*', rest)
    return dict(re.findall(r'(\w+)="([^"]*)"', rest))
