"""A protected resource and an authorization server on loopback sockets, which a test can bend, and a user.

`peers()` serves both; what they were asked is in `asked`. A handler in `instead` answers in the place of a path.
"""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import anyio
import httpx2
from pydantic import AnyUrl
from scripted_http_server import Handler, Posted, Reply, serve

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

CALLBACK = "http://localhost:3030/callback"
_RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
_SERVER_METADATA = "/.well-known/oauth-authorization-server"


@dataclass
class Asked:
    """What an authorization server was asked: a path, and the form, query or JSON body."""

    path: str
    parameters: dict[str, Any]
    headers: dict[str, str]


@dataclass
class AuthServer:
    """An authorization server.

    Attributes:
        origin: Where it is.
        changes: What its metadata says in place of the usual; None leaves a field out.
        instead: What answers in the place of a path.
        asked: What came to its endpoints, in order.
        clients: The registered clients, by id.
        live: The access tokens that are good, and their scopes.
        refreshable: The refresh tokens that are good, and their scopes.
        granted: The scopes that it grants, whatever is asked for; None grants what is.
        lifetime: Seconds that an access token lives.
        issues_refresh_tokens: Whether it does.
        requested: The paths of all requests, metadata included.
    """

    origin: str = ""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    instead: dict[str, Handler] = field(default_factory=dict[str, Handler])
    asked: list[Asked] = field(default_factory=list[Asked])
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    live: dict[str, str] = field(default_factory=dict[str, str])
    refreshable: dict[str, str] = field(default_factory=dict[str, str])
    granted: str | None = None
    lifetime: int | None = 3600
    issues_refresh_tokens: bool = True
    requested: list[str] = field(default_factory=list[str])
    _codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _issued: int = 0

    def metadata(self) -> dict[str, Any]:
        fields = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return {name: value for name, value in (fields | self.changes).items() if value is not None}

    def asked_for(self, path: str) -> list[dict[str, Any]]:
        """The parameters of each request to an endpoint."""
        return [asked.parameters for asked in self.asked if asked.path == path]

    def grants(self, grant_type: str) -> list[dict[str, Any]]:
        """The token requests of one kind."""
        return [form for form in self.asked_for("/token") if form["grant_type"] == grant_type]

    def issue(self, scope: str = "") -> dict[str, Any]:
        """A token response."""
        self._issued += 1
        access, refresh = f"access-{self._issued}-{id(self)}", f"refresh-{self._issued}-{id(self)}"
        self.live[access] = scope
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer"}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.issues_refresh_tokens:
            self.refreshable[refresh] = scope
            answer["refresh_token"] = refresh
        return answer

    async def handle(self, request: Posted, reply: Reply) -> None:
        parts = urlsplit(request.target)
        self.requested.append(parts.path)
        if parts.path == _SERVER_METADATA and parts.path not in self.instead:
            await reply.json(self.metadata())
            return
        endpoint = {"/register": self._register, "/authorize": self._authorize, "/token": self._token}.get(parts.path)
        body = request.body.decode() if request.method == "POST" else parts.query
        parameters = json.loads(body) if parts.path == "/register" else dict(parse_qsl(body))
        if endpoint is not None:
            self.asked.append(Asked(parts.path, parameters, request.headers))
        if (other := self.instead.get(parts.path)) is not None:
            await other(request, reply)
        elif endpoint is None:
            await reply.send("404 Not Found")
        else:
            await endpoint(self.asked[-1], reply)

    async def _register(self, asked: Asked, reply: Reply) -> None:
        client = {**asked.parameters, "client_id": f"client-{len(self.clients)}-{id(self)}"}
        if client.setdefault("token_endpoint_auth_method", "client_secret_basic") != "none":
            client["client_secret"] = f"secret:&{len(self.clients)}-{id(self)}"
        self.clients[client["client_id"]] = client
        await reply.json(client, "201 Created")

    async def _authorize(self, asked: Asked, reply: Reply) -> None:
        code = f"code-{len(self._codes)}-{id(self)}"
        self._codes[code] = asked.parameters
        answer = {"code": code, "state": asked.parameters["state"], "iss": self.metadata()["issuer"]}
        location = f"{asked.parameters['redirect_uri']}?{urlencode(answer)}"
        await reply.send("302 Found", headers={"location": location})

    async def _token(self, asked: Asked, reply: Reply) -> None:
        form = asked.parameters
        if not self._authenticates(asked):
            await reply.json({"error": "invalid_client"}, "401 Unauthorized")
            return
        if form["grant_type"] == "refresh_token":
            scope = self.refreshable.pop(form["refresh_token"], None)
        else:
            asked_for = self._codes.pop(form["code"], {})
            scope = asked_for.get("scope", "") if _proves(form, asked_for) else None
            scope = scope if self.granted is None else self.granted
        if scope is None:
            await reply.json({"error": "invalid_grant", "error_description": "It is not good."}, "400 Bad Request")
            return
        await reply.json(self.issue(scope))

    def _authenticates(self, asked: Asked) -> bool:
        client = self.clients.get(asked.parameters["client_id"])
        if client is None or "client_secret" not in client:
            return client is not None or asked.parameters["client_id"].startswith("https://")
        basic = asked.headers.get("authorization", "").removeprefix("Basic ")
        sent = unquote(b64decode(basic).decode().partition(":")[2]) or asked.parameters.get("client_secret")
        return sent == client["client_secret"]


def _proves(form: dict[str, str], asked_for: dict[str, str]) -> bool:
    digest = sha256(form["code_verifier"].encode()).digest()
    challenge = urlsafe_b64encode(digest).decode().rstrip("=")
    return challenge == asked_for.get("code_challenge") and form["redirect_uri"] == asked_for["redirect_uri"]


@dataclass
class Resource:
    """A protected resource at `/mcp`.

    Attributes:
        auth: Its authorization server.
        origin: Where it is.
        changes: What its metadata says in place of the usual; None leaves a field out.
        challenge: Parameters of its challenge, beside those that are always there.
        names_metadata: Whether the challenge says where the metadata is.
        needs: The scope that a request to a path needs.
        instead: What answers in the place of a path.
        seen: The Authorization header of each request to a protected path.
        requested: The paths of all requests.
    """

    auth: AuthServer
    origin: str = ""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    challenge: dict[str, str] = field(default_factory=dict[str, str])
    names_metadata: bool = True
    needs: dict[str, str] = field(default_factory=dict[str, str])
    instead: dict[str, Handler] = field(default_factory=dict[str, Handler])
    seen: list[str | None] = field(default_factory=list["str | None"])
    requested: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def metadata(self) -> dict[str, Any]:
        fields = {"resource": self.url, "authorization_servers": [self.auth.origin]} | self.changes
        return {name: value for name, value in fields.items() if value is not None}

    async def handle(self, request: Posted, reply: Reply) -> None:
        path = urlsplit(request.target).path
        self.requested.append(path)
        if (other := self.instead.get(path)) is not None:
            await other(request, reply)
        elif path == f"{_RESOURCE_METADATA}/mcp":
            await reply.json(self.metadata())
        elif path.startswith("/mcp"):
            await self._protected(path, request, reply)
        else:
            await reply.send("404 Not Found")

    async def _protected(self, path: str, request: Posted, reply: Reply) -> None:
        header = request.headers.get("authorization")
        self.seen.append(header)
        scope = self.auth.live.get((header or "").removeprefix("Bearer "))
        if scope is None:
            await self._refuse(reply, "401 Unauthorized", self.challenge)
        elif (needed := self.needs.get(path)) is not None and not set(needed.split()) <= set(scope.split()):
            await self._refuse(reply, "403 Forbidden", {"error": "insufficient_scope", "scope": needed})
        else:
            await reply.json({"path": path})

    async def _refuse(self, reply: Reply, status: str, parameters: dict[str, str]) -> None:
        named = {"resource_metadata": f"{self.origin}{_RESOURCE_METADATA}/mcp"} if self.names_metadata else {}
        pairs = ", ".join(f'{name}="{value}"' for name, value in (parameters | named).items())
        await reply.send(status, b"refused", "text/plain", {"www-authenticate": f"Bearer {pairs}".rstrip()})


@asynccontextmanager
async def peers() -> AsyncGenerator[Resource, None]:
    """A protected resource, and its authorization server on another port."""
    auth = AuthServer()
    resource = Resource(auth)
    async with serve(auth.handle) as auth_server, serve(resource.handle) as resource_server:
        auth.origin, resource.origin = auth_server.origin, resource_server.origin
        yield resource


@asynccontextmanager
async def another_auth_server() -> AsyncGenerator[AuthServer, None]:
    """One more authorization server."""
    auth = AuthServer()
    async with serve(auth.handle) as server:
        auth.origin = server.origin
        yield auth


class Storage:
    """Keeps everything, as a file would: what is read is not the object that was written."""

    def __init__(self) -> None:
        self.tokens: str | None = None
        self.client_info: str | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return None if self.tokens is None else OAuthToken.model_validate_json(self.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens.model_dump_json()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.client_info is None:
            return None
        return OAuthClientInformationFull.model_validate_json(self.client_info)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client_info = client_info.model_dump_json()


class User:
    """Signs in and says yes, as fast as the browser goes.

    Attributes:
        visited: The pages that were shown.
        changes: What comes back in place of the usual; None leaves a parameter out.
    """

    def __init__(self) -> None:
        self.visited: list[str] = []
        self.changes: dict[str, str | None] = {}
        self.before: Callable[[], Any] | None = None

    async def open(self, url: str) -> None:
        self.visited.append(url)

    async def come_back(self) -> AuthorizationCodeResult:
        if self.before is not None:
            await self.before()
        browser = httpx2.AsyncClient()
        async with browser:
            answer = await browser.get(self.visited[-1])
        query: dict[str, Any] = {**dict(parse_qsl(urlsplit(answer.headers["location"]).query)), **self.changes}
        return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])


def provider(
    resource: Resource, user: User | None = None, storage: TokenStorage | None = None, **options: Any
) -> OAuthClientProvider:
    """A provider for a resource."""
    user = user or User()
    known = {name: options.pop(name) for name in ("scope", "grant_types", "client_name") if name in options}
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], **known)
    return OAuthClientProvider(
        options.pop("server_url", resource.url), metadata, storage or Storage(), user.open, user.come_back, **options
    )


@asynccontextmanager
async def client_of(auth: httpx2.Auth, **options: Any) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """An HTTP client, which follows redirects as the programs in the documentation have it."""
    client = httpx2.AsyncClient(auth=auth, follow_redirects=options.pop("follow_redirects", True), **options)
    try:
        yield client
    finally:
        await client.aclose()


def expire(provider: OAuthClientProvider) -> None:
    """Makes the access token one that has ended, at the provider and at its authorization server."""
    provider.context.token_expiry_time = 1.0


async def until(condition: Callable[[], bool]) -> None:
    """Waits until something is so."""
    with anyio.fail_after(20):
        while not condition():
            await anyio.lowlevel.checkpoint()
