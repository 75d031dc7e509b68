"""A client that somebody else wrote, authlib's, at our authorization server on loopback."""

from collections.abc import Generator
from importlib import import_module
from typing import Any

import httpx2
import jwt
import pytest
from authorization_server import AuthorizationServer, Browser, served_authorization_server
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

# authlib has no types.
authlib: Any = import_module("authlib.oauth2.client")

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

CALLBACK = "http://127.0.0.1:3000/callback"
VERIFIER = "a-verifier-of-forty-three-characters-or-more"
RESOURCE = "https://mcp.example.com/mcp"


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the peer is what these tests vary."""
    return "asyncio"


class ClientAuth(httpx2.Auth, authlib.ClientAuth):
    """How authlib authenticates a client, on this HTTP client."""

    requires_request_body = True

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        url, headers, body = self.prepare(request.method, str(request.url), request.headers, request.content.decode())
        headers = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        yield httpx2.Request(request.method, url, headers=headers, content=body)


class AuthlibClient(authlib.OAuth2Client):
    client_auth_class = ClientAuth


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_it_gets_in_comes_back_and_leaves(method: str) -> None:
    http = httpx2.Client(timeout=10)
    with served_authorization_server() as server, http:
        metadata = http.get(server.url("/.well-known/oauth-authorization-server")).json()
        wanted = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": method, "client_name": "authlib"}
        registered = http.post(metadata["registration_endpoint"], json=wanted).json()
        client = AuthlibClient(
            http,
            registered["client_id"],
            registered.get("client_secret"),
            token_endpoint_auth_method=method,
            revocation_endpoint_auth_method=method,
            scope="read write",
            redirect_uri=CALLBACK,
            code_challenge_method="S256",
        )
        url, state = client.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=VERIFIER, resource=RESOURCE
        )
        landed = await Browser().visit(url)
        tokens = client.fetch_token(
            metadata["token_endpoint"],
            authorization_response=landed,
            state=state,
            code_verifier=VERIFIER,
            resource=RESOURCE,
        )
        assert (tokens["token_type"], tokens["scope"]) == ("Bearer", "read write")
        await _is_alices(server, tokens["access_token"])

        renewed = client.refresh_token(metadata["token_endpoint"], tokens["refresh_token"])
        assert renewed["refresh_token"] != tokens["refresh_token"]
        await _is_alices(server, renewed["access_token"])

        revoked = client.revoke_token(metadata["revocation_endpoint"], renewed["refresh_token"], "refresh_token")
        assert revoked.status_code == 200
        assert server.provider.access == {}
        with pytest.raises(authlib.OAuth2Error, match="invalid_grant"):
            client.refresh_token(metadata["token_endpoint"], renewed["refresh_token"])


async def test_it_signs_to_show_who_it_is() -> None:
    key = rsa.generate_private_key(65537, 2048)
    jwks = {"keys": [jwt.get_algorithm_by_name("RS256").to_jwk(key.public_key(), as_dict=True)]}
    http = httpx2.Client(timeout=10)
    with served_authorization_server() as server, http:
        server.register(client_id="signer", token_endpoint_auth_method="private_key_jwt", jwks=jwks)
        client = AuthlibClient(
            http,
            "signer",
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            token_endpoint_auth_method="private_key_jwt",
            redirect_uri=CALLBACK,
            code_challenge_method="S256",
        )
        signing: Any = import_module("authlib.oauth2.rfc7523")
        client.register_client_auth_method(signing.PrivateKeyJWT(server.url("/token")))
        url, _ = client.create_authorization_url(
            server.url("/authorize"), code_verifier=VERIFIER, resource=RESOURCE, scope="read"
        )
        landed = await Browser().visit(url)
        tokens = client.fetch_token(
            server.url("/token"), authorization_response=landed, code_verifier=VERIFIER, resource=RESOURCE
        )
        await _is_alices(server, tokens["access_token"])


async def _is_alices(server: AuthorizationServer, token: str) -> None:
    access = await server.provider.load_access_token(token)
    assert access is not None
    assert (access.subject, access.resource) == ("alice", RESOURCE)
