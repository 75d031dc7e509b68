"""An authorization server that others wrote, with authlib: our clients without a user get in."""

from importlib import import_module
from typing import Any

import pytest
from authlib_server import AuthlibServer, Client, served_authlib
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from oauth_peers import AuthServer, Resource, Storage, client_of
from scripted_http_server import serve

from mcp.client.auth import OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.workload_identity import WorkloadIdentityOAuthProvider
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]

# authlib has no types of its own.
grants: Any = import_module("authlib.oauth2.rfc6749.grants")
rfc7523: Any = import_module("authlib.oauth2.rfc7523")
jwk: Any = import_module("joserfc.jwk")

SECRET = "a secret: with signs & letters é"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
PUBLIC_KEY = jwk.RSAKey.import_key(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


class Machines(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")


class Assertions(rfc7523.JWTBearerClientAssertion):
    """The assertions of clients that authenticate with one, each of which is good once."""

    CLIENT_AUTH_METHOD = "private_key_jwt"

    def __init__(self, audience: str) -> None:
        rfc7523.JWTBearerClientAssertion.__init__(self)
        self.audience = audience
        self.seen: set[str] = set()

    def get_audiences(self) -> list[str]:
        return [self.audience]

    def validate_jti(self, claims: Any, jti: str) -> bool:
        new = jti not in self.seen
        self.seen.add(jti)
        return new

    def resolve_client_public_key(self, client: Client) -> Any:
        return PUBLIC_KEY


class Vouched(rfc7523.JWTBearerGrant):
    """The assertions of a platform that vouches for its workloads."""

    def get_audiences(self) -> list[str]:
        return [self.server.issuer]

    def resolve_issuer_client(self, issuer: str) -> Any:
        return self.server.query_client(issuer)

    def resolve_client_public_key(self, client: Client) -> Any:
        return PUBLIC_KEY

    def authenticate_user(self, subject: str) -> str:
        return subject

    def has_granted_permission(self, client: Client, user: str) -> bool:
        return user == "workload"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with served_authlib() as server:
        known: Any = server
        known.register_grant(Machines)
        known.register_grant(Vouched)
        known.register_client_auth_method("private_key_jwt", Assertions(server.issuer))
        yield server


def know(server: AuthlibServer, method: str, secret: str = "") -> None:
    grant_types = ["client_credentials", JWT_BEARER_GRANT_TYPE]
    client = Client("agent", secret, [], "read", grant_types=grant_types, token_endpoint_auth_method=method)
    server.clients["agent"] = client


async def statuses(server: AuthlibServer, make: Any) -> list[int] | str | None:
    """The statuses of a request, and of another after its token has ended; or the error of the token endpoint."""
    known: Any = server
    auth = AuthServer(server.issuer)
    auth.live = known.live
    resource = Resource(auth, challenge={"scope": "read"})
    async with serve(resource.handle) as running:
        resource.origin = running.origin
        async with client_of(make(resource.url)) as http:
            try:
                first = await http.get(resource.url)
            except OAuthTokenError as failure:
                return failure.error
            known.live.clear()
            return [first.status_code, (await http.get(resource.url)).status_code]


def signed(**changed: Any) -> Any:
    names = {"issuer": "agent", "subject": "agent", "signing_key": PEM}
    return SignedJWTParameters(**names, **changed).create_assertion_provider()


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_client_gets_in_with_its_secret(server: AuthlibServer, method: Any) -> None:
    know(server, method, SECRET)

    def make(url: str) -> ClientCredentialsOAuthProvider:
        return ClientCredentialsOAuthProvider(url, Storage(), "agent", SECRET, method, issuer=server.issuer)

    assert await statuses(server, make) == [200, 200]
    assert server.granted == ["client_credentials"] * 2


async def test_a_client_gets_in_with_its_key(server: AuthlibServer) -> None:
    know(server, "private_key_jwt")

    def make(url: str) -> PrivateKeyJWTOAuthProvider:
        return PrivateKeyJWTOAuthProvider(url, Storage(), "agent", signed(), issuer=server.issuer)

    assert await statuses(server, make) == [200, 200]
    assert server.granted == ["client_credentials"] * 2


async def test_a_key_that_is_another_clients_does_not_get_in(server: AuthlibServer) -> None:
    know(server, "private_key_jwt")
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    stranger = SignedJWTParameters(issuer="agent", subject="agent", signing_key=pem).create_assertion_provider()

    def make(url: str) -> PrivateKeyJWTOAuthProvider:
        return PrivateKeyJWTOAuthProvider(url, Storage(), "agent", stranger, issuer=server.issuer)

    assert await statuses(server, make) == "invalid_client"


async def test_a_workload_gets_in_with_the_word_of_its_platform(server: AuthlibServer) -> None:
    know(server, "none")
    vouched = SignedJWTParameters(issuer="agent", subject="workload", signing_key=PEM).create_assertion_provider()

    def make(url: str) -> WorkloadIdentityOAuthProvider:
        return WorkloadIdentityOAuthProvider(url, Storage(), vouched, client_id="agent", issuer=server.issuer)

    assert await statuses(server, make) == [200, 200]
    assert server.granted == [JWT_BEARER_GRANT_TYPE] * 2
