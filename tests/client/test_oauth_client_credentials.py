"""Clients that act for themselves: with a secret, or with an assertion that they sign."""

import logging
import time
import warnings
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from grant_peers import ASSERTION_TYPE, GrantServer, grant_peers
from oauth_peers import Resource, Storage, another_auth_server, client_of

from mcp import MCPDeprecationWarning
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
    static_assertion_provider,
)

pytestmark = pytest.mark.anyio

SECRET = "a secret: with/odd&characters"
KEY = ec.generate_private_key(ec.SECP256R1())
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def with_secret(resource: Resource, storage: Storage | None = None, **changed: Any) -> ClientCredentialsOAuthProvider:
    options: dict[str, Any] = {"client_secret": SECRET, "issuer": resource.auth.origin, **changed}
    resource.auth.clients["agent"] = {"client_id": "agent", "client_secret": SECRET}
    return ClientCredentialsOAuthProvider(resource.url, storage or Storage(), "agent", **options)


def parameters(**changed: Any) -> SignedJWTParameters:
    fields: dict[str, Any] = {"issuer": "agent", "subject": "agent", "signing_key": PEM, "signing_algorithm": "ES256"}
    return SignedJWTParameters(**fields | changed)


def with_key(resource: Resource, **changed: Any) -> PrivateKeyJWTOAuthProvider:
    options: dict[str, Any] = {"issuer": resource.auth.origin, **changed}
    assertions = options.pop("assertion_provider", parameters().create_assertion_provider())
    return PrivateKeyJWTOAuthProvider(resource.url, Storage(), "agent", assertions, **options)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_the_secret_gets_a_token_without_a_user_or_a_registration(method: Any) -> None:
    async with grant_peers() as (resource, auth):
        oauth = with_secret(resource, token_endpoint_auth_method=method, scope="user")
        async with client_of(oauth) as http:
            assert (await http.post(resource.url, json={})).status_code == 200
            assert (await http.get(resource.url)).status_code == 200
    assert auth.requested == ["/.well-known/oauth-authorization-server", "/token"]
    (form,) = auth.asked_for("/token")
    assert form["grant_type"] == "client_credentials"
    assert form["scope"] == "user"
    assert form["resource"] == resource.url
    assert ("client_secret" in form) == (method == "client_secret_post")


async def test_the_storage_keeps_tokens_and_no_credentials() -> None:
    storage = Storage()
    async with grant_peers() as (resource, auth):
        async with client_of(with_secret(resource, storage)) as http:
            await http.get(resource.url)
        assert storage.client_info is None
        assert SECRET not in str(storage.tokens)
        async with client_of(with_secret(resource, storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
        assert len(auth.asked_for("/token")) == 1


async def test_a_token_that_has_ended_is_got_anew() -> None:
    async with grant_peers(issues_refresh_tokens=False) as (resource, auth):
        async with client_of(with_secret(resource)) as http:
            await http.get(resource.url)
            auth.live.clear()
            assert (await http.get(resource.url)).status_code == 200
        assert len(auth.grants("client_credentials")) == 2


async def test_more_scopes_are_asked_for_where_they_are_needed() -> None:
    async with grant_peers() as (resource, auth):
        resource.needs["/mcp/admin"] = "admin"
        async with client_of(with_secret(resource, scope="user")) as http:
            await http.get(resource.url)
            assert (await http.get(f"{resource.url}/admin")).status_code == 200
        assert [form["scope"] for form in auth.asked_for("/token")] == ["user", "user admin"]


async def test_the_secret_goes_to_its_own_authorization_server_and_to_no_other() -> None:
    async with grant_peers() as (resource, auth), another_auth_server() as evil:
        resource.changes["authorization_servers"] = [evil.origin]
        async with client_of(with_secret(resource)) as http:
            with pytest.raises(OAuthFlowError, match=f"{evil.origin}, and the credentials.* are for {auth.origin}"):
                await http.get(resource.url)
        assert evil.requested == []
        assert auth.requested == []
        resource.changes["authorization_servers"] = [evil.origin, auth.origin]
        async with client_of(with_secret(resource)) as http:
            assert (await http.get(resource.url)).status_code == 200
        assert evil.requested == []


async def test_a_server_that_is_its_own_authorization_server_must_be_the_right_one() -> None:
    async with grant_peers() as (resource, auth):

        async def nothing(request: Any, reply: Any) -> None:
            await reply.send("404 Not Found")

        resource.instead |= dict.fromkeys(
            ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"], nothing
        )
        resource.names_metadata = False
        async with client_of(with_secret(resource)) as http:
            with pytest.raises(OAuthFlowError, match=f"names the authorization server {resource.origin}"):
                await http.get(resource.url)
        assert auth.requested == []


async def test_without_an_issuer_the_program_is_warned() -> None:
    async with grant_peers() as (resource, _):
        for make in (with_secret, with_key):
            with pytest.warns(MCPDeprecationWarning, match="Pass issuer=") as caught:
                oauth = make(resource, issuer=None)
            assert caught[0].filename == __file__
            async with client_of(oauth) as http:
                resource.auth.live.clear()
                assert isinstance(resource.auth, GrantServer)
                resource.auth.key = KEY.public_key()
                assert (await http.get(resource.url)).status_code == 200


async def test_a_refusal_says_who_refused_and_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with grant_peers() as (resource, auth):
        oauth = with_secret(resource, client_secret="not-the-secret")
        async with client_of(oauth) as http:
            with pytest.raises(OAuthTokenError, match=f"{auth.origin}/token.*invalid_client") as caught:
                await http.get(resource.url)
    assert caught.value.error == "invalid_client"
    assert "not-the-secret" not in str(caught.value) + caplog.text + repr(vars(oauth))


async def test_a_signed_assertion_gets_a_token() -> None:
    async with (
        grant_peers(key=KEY.public_key(), issues_refresh_tokens=False) as (resource, auth),
        client_of(with_key(resource)) as http,
    ):
        assert (await http.get(resource.url)).status_code == 200
        auth.live.clear()
        assert (await http.get(resource.url)).status_code == 200
    first, second = auth.presented
    assert (first["iss"], first["sub"], first["aud"]) == ("agent", "agent", auth.origin)
    assert first["jti"] != second["jti"]
    assert first["exp"] - first["iat"] == 300
    form = auth.asked_for("/token")[0]
    assert (form["grant_type"], form["client_assertion_type"]) == ("client_credentials", ASSERTION_TYPE)
    assert "client_secret" not in form


async def test_an_assertion_goes_with_a_refresh_too() -> None:
    async with grant_peers(key=KEY.public_key()) as (resource, auth):
        audiences: list[str] = []

        async def provide(audience: str) -> str:
            audiences.append(audience)
            return await parameters().create_assertion_provider()(audience)

        async with client_of(with_key(resource, assertion_provider=provide)) as http:
            await http.get(resource.url)
            auth.live.clear()
            await http.get(resource.url)
        assert "client_assertion" in auth.grants("refresh_token")[0]
        assert audiences == [auth.origin] * 3


async def test_an_assertion_is_not_made_for_another_authorization_server() -> None:
    async with grant_peers() as (resource, _), another_auth_server() as evil:
        resource.changes["authorization_servers"] = [evil.origin]

        async def never(audience: str) -> str:
            raise AssertionError(audience)

        async with client_of(with_key(resource, assertion_provider=never)) as http:
            with pytest.raises(OAuthFlowError, match="nothing was sent"):
                await http.get(resource.url)


async def test_an_assertion_may_be_made_elsewhere() -> None:
    assert await static_assertion_provider("made elsewhere")("https://auth.example.com") == "made elsewhere"


async def test_the_parameters_of_an_assertion_are_its_claims() -> None:
    made = parameters(signing_key="s" * 32, signing_algorithm="HS256", lifetime_seconds=60, additional_claims={"a": 1})
    before = int(time.time())
    claims = jwt.decode(
        await made.create_assertion_provider()("aud"), "s" * 32, algorithms=["HS256"], audience="aud", issuer="agent"
    )
    assert set(claims) == {"iss", "sub", "aud", "exp", "iat", "jti", "a"}
    assert claims["exp"] - claims["iat"] == 60
    assert before <= claims["iat"] <= time.time()
    assert "s" * 32 not in repr(made)
    assert SignedJWTParameters(issuer="i", subject="s", signing_key="k").signing_algorithm == "RS256"


def test_they_are_providers_like_the_one_with_a_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        oauth = ClientCredentialsOAuthProvider("https://example.com/mcp", Storage(), "agent", SECRET)
    assert isinstance(oauth, OAuthClientProvider)
    assert oauth.context.client_metadata.grant_types == ["client_credentials"]
    assert oauth.context.client_metadata.redirect_uris is None
