"""The `authorization` target: requests to an authorization server, as no decent client would send them."""

import asyncio
import json
import re
from random import Random
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from fuzz_parsers import MOST_SECONDS, target
from pydantic import AnyHttpUrl, AnyUrl
from starlette.applications import Starlette

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.redirects import redirect_uri_problem
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

CALLBACK: Final = "https://shelf.example.com/callback"
CHALLENGE: Final = "y5UF0tmp0ICTDGza0Ou2vUvx2cu7DBN0Xwf0z0RDfTw"
ANSWERS: Final = {200, 201, 302, 400, 401, 405, 413}
DESCRIPTION: Final = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]*")


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Knows one client and no token, and agrees to everything."""

    def __init__(self) -> None:
        self.registered: list[OAuthClientInformationFull] = []
        self.client = OAuthClientInformationFull(
            client_id="shelf", client_secret="secret", redirect_uris=[AnyUrl(CALLBACK)], scope="read write"
        )

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.client if client_id == "shelf" else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.registered.append(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        return construct_redirect_uri(str(params.redirect_uri), code="a", state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        raise TokenError("invalid_grant")

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        raise TokenError("invalid_grant")

    async def load_access_token(self, token: str) -> AccessToken | None:
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise AssertionError("no token is known")


PROVIDER: Final = Provider()
APPLICATION: Final = Starlette(
    routes=create_auth_routes(
        PROVIDER,
        AnyHttpUrl("https://as.example.com"),
        client_registration_options=ClientRegistrationOptions(enabled=True),
        revocation_options=RevocationOptions(enabled=True),
        identity_assertion_enabled=True,
    )
)

ASKED: Final = {
    "client_id": "shelf",
    "client_secret": "secret",
    "redirect_uri": CALLBACK,
    "response_type": "code",
    "code_challenge": CHALLENGE,
    "state": "s",
    "scope": "read",
    "resource": "https://mcp.example.com",
}
CORPUS: Final = (
    b"GET /authorize\n\n" + urlencode(ASKED).encode(),
    b"POST /authorize\n\n" + urlencode(ASKED).encode(),
    b"POST /token\n\n" + urlencode({**ASKED, "grant_type": "authorization_code", "code": "a"}).encode(),
    b"POST /token\nBasic c2hlbGY6c2VjcmV0\ngrant_type=refresh_token&refresh_token=a",
    b"POST /token\n\nclient_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&grant_type=a"
    b"&client_assertion=eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJzaGVsZiJ9.c2ln",
    b"POST /revoke\n\ntoken=a&token_type_hint=access_token&client_id=shelf&client_secret=secret",
    b"POST /register\n\n" + json.dumps({"redirect_uris": [CALLBACK, "http://127.0.0.1/"], "scope": "a"}).encode(),
)
FRAGMENTS: Final = (
    *b"%00 %ff %0d%0a &client_id=x &redirect_uri=//evil &resource=http://[ \\ # @evil.example.com".split(),
    *b"javascript: &state=%22%5C &state= + %2B == : ;".split(),
)


@target("authorization", CORPUS, FRAGMENTS)
def check_authorization(data: bytes, random: Random) -> None:
    """Every request gets an answer that is none of a failure, and the browser goes to the registered URI alone."""
    status, headers, body = asyncio.run(asyncio.wait_for(_answer(data), MOST_SECONDS))
    assert status in ANSWERS, (status, body)
    assert all(b"\n" not in value and b"\r" not in value for value in headers.values())
    if status == 302:
        location = headers[b"location"].decode()
        assert location.startswith(f"{CALLBACK}?")
        query = dict(parse_qsl(urlsplit(location).query, strict_parsing=True))
        assert query["iss"] == "https://as.example.com/"
        _check_description(query)
    elif status >= 400 and headers.get(b"content-type") == b"application/json":
        _check_description(json.loads(body))
    for client in PROVIDER.registered:
        assert client.redirect_uris
        assert [uri for uri in client.redirect_uris if redirect_uri_problem(str(uri)) is not None] == []
    PROVIDER.registered.clear()


def _check_description(error: dict[str, Any]) -> None:
    assert DESCRIPTION.fullmatch(error.get("error_description", "")), error


async def _answer(data: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    """The answer to a request: its verb and path, its credentials, and what it says."""
    head, authorization, said = [*data.split(b"\n", 2), b"", b""][:3]
    verb, _, path = head.decode("latin-1").partition(" ")
    content_type = b"application/json" if path == "/register" else b"application/x-www-form-urlencoded"
    headers = [(b"content-type", content_type)]
    if authorization:
        headers.append((b"authorization", authorization))
    scope: dict[str, Any] = {"type": "http", "method": verb, "path": path, "headers": headers, "scheme": "https"}
    scope["query_string"] = said if verb == "GET" else b""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": said, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    if path not in ("/authorize", "/token", "/revoke", "/register"):
        # What the framework answers at other paths is its own.
        return 400, {}, b""
    await APPLICATION(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])
