"""An authorization server made with `authlib`, on a loopback socket: somebody else's reading of the same RFCs.

It registers clients (RFC 7591), asks no user, takes codes with PKCE (S256 alone), and refreshes. A test may add grants
to `server`, with `register_grant`.
"""

import json
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

from served_app import served
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

# authlib has no types of its own.
rfc6749: Any = import_module("authlib.oauth2.rfc6749")
rfc6749_grants: Any = import_module("authlib.oauth2.rfc6749.grants")
rfc6749_requests: Any = import_module("authlib.oauth2.rfc6749.requests")
rfc6750: Any = import_module("authlib.oauth2.rfc6750")
rfc7591: Any = import_module("authlib.oauth2.rfc7591")
rfc7636: Any = import_module("authlib.oauth2.rfc7636")
rfc9207: Any = import_module("authlib.oauth2.rfc9207")

__all__ = ["AuthlibServer", "Client", "served_authlib"]

USER = "alice"
AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"]


class _Asked(rfc6749.OAuth2Request):
    """A request as authlib reads it."""

    def __init__(self, method: str, uri: str, headers: Any, args: dict[str, str], form: dict[str, str]) -> None:
        base: Any = super()
        base.__init__(method, uri, headers=headers)
        self._args = args
        self._form = form
        self.payload = rfc6749_requests.BasicOAuth2Payload({**args, **form})

    @property
    def args(self) -> dict[str, str]:
        return self._args

    @property
    def form(self) -> dict[str, str]:
        return self._form


class _Document(rfc6749.JsonPayload):
    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    @property
    def data(self) -> dict[str, Any]:
        return self._data


@dataclass
class Client:
    """A client; authlib asks it what it may do."""

    client_id: str
    client_secret: str = ""
    redirect_uris: list[str] = field(default_factory=list[str])
    scope: str = ""
    grant_types: list[str] = field(default_factory=lambda: ["authorization_code", "refresh_token"])
    token_endpoint_auth_method: str = "client_secret_basic"
    client_info: dict[str, Any] = field(default_factory=dict[str, Any])
    client_metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uris[0]

    def get_allowed_scope(self, scope: str | None) -> str:
        allowed = self.scope.split()
        return " ".join(one for one in (scope or self.scope).split() if one in allowed)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.client_secret.encode(), client_secret.encode())

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.token_endpoint_auth_method

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grant_types


@dataclass
class _Code:
    code: str
    client_id: str
    redirect_uri: str
    scope: str
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class _Token:
    client_id: str
    access_token: str
    scope: str

    def check_client(self, client: Client) -> bool:
        return self.client_id == client.client_id

    def get_scope(self) -> str:
        return self.scope


class _Page(Response):
    """A response that authlib may still change."""

    @property
    def location(self) -> str | None:
        return self.headers.get("location")

    @location.setter
    def location(self, value: str) -> None:
        self.headers["location"] = value


class AuthlibServer(rfc6749.AuthorizationServer):
    """The server, and what it knows.

    Attributes:
        issuer: Its identifier.
        clients: The clients, by id.
        live: The access tokens that are good, and their scopes.
        refreshable: The refresh tokens that are good.
        expires_in: Seconds that an access token lives.
        granted: The grant type of each token that was issued.
        resources: The resource that each authorization and token request named.
    """

    def __init__(self, issuer: str) -> None:
        base: Any = super()
        base.__init__()
        self.issuer = issuer
        self.clients: dict[str, Client] = {}
        self.live: dict[str, str] = {}
        self.refreshable: dict[str, _Token] = {}
        self.codes: dict[str, _Code] = {}
        self.expires_in = 3600
        self.granted: list[str] = []
        self.resources: list[str | None] = []
        generator = rfc6750.BearerTokenGenerator(_new_token, _new_token, self._life)
        self.register_token_generator("default", generator)
        self.register_grant(_CodeGrant, [rfc7636.CodeChallenge(required=True)])
        self.register_grant(_RefreshGrant)
        self.register_endpoint(_Registration)
        self.register_extension(_Named(issuer))

    def _life(self, client: Client, grant_type: str) -> int:
        return self.expires_in

    def query_client(self, client_id: str) -> Client | None:
        return self.clients.get(client_id)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        kept = _Token(request.client.client_id, token["access_token"], token.get("scope") or "")
        self.live[kept.access_token] = kept.scope
        self.granted.append(request.payload.grant_type)
        if "refresh_token" in token:
            self.refreshable[token["refresh_token"]] = kept

    def create_oauth2_request(self, request: Any) -> Any:
        self.resources.append(request.payload.data.get("resource"))
        return request

    def create_json_request(self, request: Any) -> Any:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        if isinstance(body, dict):
            return JSONResponse(body, status, dict(headers))
        return _Page(body, status, dict(headers))

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nobody listens."""

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": AUTH_METHODS,
            "authorization_response_iss_parameter_supported": True,
        }


def _new_token(**about: Any) -> str:
    return secrets.token_urlsafe()


class _Named(rfc9207.IssuerParameter):
    """Says in each authorization response whom it is of."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer

    def get_issuer(self) -> str:
        return self._issuer


class _CodeGrant(rfc6749_grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS
    server: AuthlibServer

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.server.codes[code] = _Code(
            code,
            request.client.client_id,
            data["redirect_uri"],
            request.scope or "",
            data["code_challenge"],
            data["code_challenge_method"],
        )

    def query_authorization_code(self, code: str, client: Client) -> _Code | None:
        known = self.server.codes.get(code)
        return known if known is not None and known.client_id == client.client_id else None

    def delete_authorization_code(self, authorization_code: _Code) -> None:
        del self.server.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: _Code) -> str:
        return USER


class _RefreshGrant(rfc6749_grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True
    server: AuthlibServer

    def authenticate_refresh_token(self, refresh_token: str) -> _Token | None:
        return self.server.refreshable.pop(refresh_token, None)

    def authenticate_user(self, refresh_token: _Token) -> str:
        return USER

    def revoke_old_credential(self, refresh_token: _Token) -> None:
        self.server.live.pop(refresh_token.access_token, None)


class _Registration(rfc7591.ClientRegistrationEndpoint):
    server: AuthlibServer

    def authenticate_token(self, request: Any) -> str:
        return "anybody"

    def get_server_metadata(self) -> dict[str, Any]:
        return self.server.metadata()

    def generate_client_info(self, request: Any) -> dict[str, Any]:
        return {"client_id": secrets.token_urlsafe(8), "client_secret": secrets.token_urlsafe()}

    def save_client(self, client_info: dict[str, Any], client_metadata: dict[str, Any], request: Any) -> Client:
        names = ("redirect_uris", "scope", "grant_types", "token_endpoint_auth_method")
        known = {name: client_metadata[name] for name in names if client_metadata.get(name)}
        client = Client(
            client_info["client_id"],
            client_info["client_secret"],
            client_info=client_info,
            client_metadata=client_metadata,
            **known,
        )
        self.server.clients[client.client_id] = client
        return client


def _application(server: AuthlibServer) -> Starlette:
    async def asked(request: Request) -> _Asked:
        form = dict(parse_qsl((await request.body()).decode()))
        return _Asked(request.method, str(request.url), request.headers, dict(request.query_params), form)

    async def metadata(request: Request) -> Response:
        return JSONResponse(server.metadata())

    async def authorize(request: Request) -> Response:
        about = await asked(request)
        try:
            grant = server.get_consent_grant(about, end_user=USER)
        except rfc6749.OAuth2Error as error:
            return server.handle_error_response(about, error)
        return server.create_authorization_response(about, grant_user=USER, grant=grant)

    async def token(request: Request) -> Response:
        return server.create_token_response(await asked(request))

    async def register(request: Request) -> Response:
        about = rfc6749.JsonRequest(request.method, str(request.url), request.headers)
        about.payload = _Document(json.loads(await request.body()))
        return server.create_endpoint_response(_Registration.ENDPOINT_NAME, about)

    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/authorize", authorize),
            Route("/token", token, methods=["POST"]),
            Route("/register", register, methods=["POST"]),
        ]
    )


class _Later:
    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


@contextmanager
def served_authlib() -> Generator[AuthlibServer, None, None]:
    """The server, served in a thread of this process. It needs `AUTHLIB_INSECURE_TRANSPORT` in the environment."""
    later = _Later()
    with served(later) as origin:
        server = AuthlibServer(origin)
        later.app = _application(server)
        yield server
