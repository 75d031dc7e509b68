"""Clients that somebody else vouches for: the identity provider of an enterprise, or the platform of a workload."""

import logging
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from grant_peers import ID_JAG, IdentityProvider, grant_peers, identity_provider
from oauth_peers import Resource, Storage, another_auth_server, client_of
from scripted_http_server import serve

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.assertions import file_assertion_provider, static_assertion_provider
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.extensions.token_exchange import ID_TOKEN_TYPE, identity_provider_exchange
from mcp.client.auth.extensions.workload_identity import WorkloadIdentityOAuthProvider
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE

pytestmark = pytest.mark.anyio

KEY = "k" * 32
SECRET = "a secret"


def assertion(server: Resource, **changed: Any) -> str:
    return jwt.encode({"sub": "alice", "aud": server.auth.origin, **changed}, KEY, "HS256")


def vouched_for(resource: Resource, storage: Storage | None = None, **changed: Any) -> IdentityAssertionOAuthProvider:
    async def provide(audience: str, resource_url: str) -> str:
        return assertion(resource, aud=audience, resource=resource_url)

    options: dict[str, Any] = {"client_secret": SECRET, "issuer": resource.auth.origin, "assertion_provider": provide}
    resource.auth.clients["agent"] = {"client_id": "agent", "client_secret": SECRET}
    return IdentityAssertionOAuthProvider(resource.url, storage or Storage(), "agent", **options | changed)


def workload(resource: Resource, **changed: Any) -> WorkloadIdentityOAuthProvider:
    options: dict[str, Any] = {"client_id": "agent", "issuer": resource.auth.origin, **changed}
    assertions = options.pop("assertion_provider", static_assertion_provider(assertion(resource)))
    resource.auth.clients["agent"] = {"client_id": "agent"}
    return WorkloadIdentityOAuthProvider(resource.url, Storage(), assertions, **options)


def keyed() -> Any:
    return grant_peers(key=KEY, algorithm="HS256")


async def test_an_identity_assertion_gets_a_token_and_the_mcp_server_is_asked_nothing() -> None:
    async with keyed() as (resource, auth):
        async with client_of(vouched_for(resource, scope="notes:read")) as http:
            assert (await http.post(resource.url, json={})).status_code == 200
        assert resource.requested == ["/mcp", "/mcp"]
        assert auth.requested == ["/.well-known/oauth-authorization-server", "/token"]
        (form,) = auth.asked_for("/token")
        (claims,) = auth.presented
    assert {name: value for name, value in form.items() if name != "assertion"} == {
        "grant_type": JWT_BEARER_GRANT_TYPE,
        "client_id": "agent",
        "client_secret": SECRET,
        "resource": resource.url,
        "scope": "notes:read",
    }
    assert (claims["aud"], claims["resource"]) == (auth.origin, resource.url)


async def test_the_secret_may_travel_in_a_header() -> None:
    async with keyed() as (resource, auth):
        async with client_of(vouched_for(resource, token_endpoint_auth_method="client_secret_basic")) as http:
            assert (await http.get(resource.url)).status_code == 200
        assert "client_secret" not in auth.asked_for("/token")[0]


async def test_when_the_token_ends_the_identity_provider_is_asked_again() -> None:
    storage = Storage()
    async with keyed() as (resource, auth):
        async with client_of(vouched_for(resource, storage)) as http:
            await http.get(resource.url)
            tokens = await storage.get_tokens()
            assert tokens is not None
            assert tokens.refresh_token is None
            auth.live.clear()
            assert (await http.get(resource.url)).status_code == 200
        assert len(auth.grants(JWT_BEARER_GRANT_TYPE)) == len(auth.asked_for("/token")) == 2
        assert storage.client_info is None


async def test_a_step_up_asks_for_the_scopes_that_were_asked_for_and_those_that_are_needed() -> None:
    async with keyed() as (resource, auth):
        resource.needs["/mcp/admin"] = "admin"
        async with client_of(vouched_for(resource, scope="read")) as http:
            await http.get(resource.url)
            assert (await http.get(f"{resource.url}/admin")).status_code == 200
        assert [form["scope"] for form in auth.asked_for("/token")] == ["read", "read admin"]


async def test_an_issuer_that_is_not_the_one_of_the_metadata_gets_nothing() -> None:
    async with keyed() as (resource, auth):

        async def never(audience: str, resource_url: str) -> str:
            raise AssertionError(audience)

        oauth = vouched_for(resource, issuer=f"{auth.origin}/", assertion_provider=never)
        async with client_of(oauth) as http:
            with pytest.raises(OAuthFlowError, match="Authorization server metadata issuer mismatch"):
                await http.get(resource.url)
        assert auth.asked_for("/token") == []


async def test_a_token_endpoint_elsewhere_gets_nothing() -> None:
    async with keyed() as (resource, auth), another_auth_server() as evil:
        auth.changes["token_endpoint"] = f"{evil.origin}/token"
        async with client_of(vouched_for(resource)) as http:
            with pytest.raises(OAuthFlowError, match=f"is at {evil.origin}, another origin: nothing was sent"):
                await http.get(resource.url)
        assert evil.requested == []


@pytest.mark.parametrize(("field", "text"), [("client_secret", "confidential clients"), ("issuer", "not taken from")])
def test_an_identity_assertion_needs_a_secret_and_an_issuer(field: str, text: str) -> None:
    async def never(audience: str, resource_url: str) -> str:
        raise AssertionError(audience)

    given: dict[str, Any] = {"client_id": "agent", "client_secret": SECRET, "issuer": "https://auth.example.com"}
    given[field] = ""
    with pytest.raises(ValueError, match=f"{field} is required: .*{text}"):
        IdentityAssertionOAuthProvider("https://mcp.example.com", Storage(), assertion_provider=never, **given)


def exchange(provider: IdentityProvider, token: str = "sign-in", **options: Any) -> Any:
    async def signed_in() -> str:
        return token

    url = options.pop("token_endpoint", f"{provider.origin}/token")
    return identity_provider_exchange(url, client_id="agent-at-idp", subject_token=signed_in, **options)


async def test_a_sign_in_is_traded_for_an_assertion_and_that_for_a_token() -> None:
    async with keyed() as (resource, auth), identity_provider() as idp:
        idp.signed_in["sign-in"] = "alice"
        async with client_of(vouched_for(resource, assertion_provider=exchange(idp, scope="read"))) as http:
            assert (await http.get(resource.url)).status_code == 200
        assert idp.asked_for("/token") == [
            {
                "client_id": "agent-at-idp",
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "requested_token_type": ID_JAG,
                "audience": auth.origin,
                "resource": resource.url,
                "subject_token": "sign-in",
                "subject_token_type": ID_TOKEN_TYPE,
                "scope": "read",
            }
        ]
        assert auth.presented[0]["sub"] == "alice"


async def test_a_confidential_client_shows_its_secret_to_the_identity_provider() -> None:
    async with identity_provider() as idp:
        idp.signed_in["sign-in"] = "alice"
        assert await exchange(idp, client_secret="s&s")("https://auth.example.com", "https://mcp.example.com")
        assert idp.asked[0].headers["authorization"] == "Basic YWdlbnQtYXQtaWRwOnMlMjZz"


async def test_a_refusal_of_the_identity_provider_is_told_without_the_sign_in() -> None:
    async with keyed() as (resource, auth), identity_provider() as idp:
        async with client_of(vouched_for(resource, assertion_provider=exchange(idp))) as http:
            with pytest.raises(OAuthTokenError, match=f"{idp.origin}/token refuses the exchange.*invalid_grant") as no:
                await http.get(resource.url)
        assert "sign-in" not in str(no.value)
        assert no.value.error == "invalid_grant"
        assert auth.asked_for("/token") == []


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        ("200 OK", {}, b'{"access_token": "t", "issued_token_type": "urn:other"}'),
        ("200 OK", {}, b'{"access_token": "", "issued_token_type": "%s"}' % ID_JAG.encode()),
        ("200 OK", {}, b"[]"),
        ("200 OK", {}, b"no json"),
        ("200 OK", {}, b" " * (300 * 1024)),
        ("302 Found", {"location": "http://127.0.0.1:1/"}, b""),
        ("500 Internal Server Error", {}, b"<html>"),
    ],
    ids=["another-type", "empty", "list", "text", "huge", "redirect", "broken"],
)
async def test_what_is_no_assertion_is_not_taken_for_one(status: str, headers: dict[str, str], body: bytes) -> None:
    async def answer(request: Any, reply: Any) -> None:
        await reply.send(status, body, "application/json", headers)

    async with serve(answer) as server:
        provide = exchange(IdentityProvider(), token_endpoint=f"{server.origin}/token")
        with pytest.raises(OAuthFlowError, match=server.origin):
            await provide("https://auth.example.com", "https://mcp.example.com")
        assert len(server.posted) == 1


async def test_an_identity_provider_that_never_answers_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.auth.extensions.token_exchange.STEP_SECONDS", 0.05)

    async def never(request: Any, reply: Any) -> None:
        await anyio.sleep_forever()

    async with serve(never) as server:
        provide = exchange(IdentityProvider(), token_endpoint=f"{server.origin}/token")
        with pytest.raises(OAuthFlowError, match=r"did not answer within 0\.05 s"):
            await provide("https://auth.example.com", "https://mcp.example.com")


def test_a_sign_in_is_not_sent_without_https() -> None:
    with pytest.raises(OAuthFlowError, match="expected https://"):
        exchange(IdentityProvider(), token_endpoint="http://idp.example.com/token")


async def test_the_program_may_bring_its_own_http_client() -> None:
    async with identity_provider() as idp, client_of(None) as http:  # type: ignore[arg-type]
        idp.signed_in["sign-in"] = "alice"
        provide = exchange(idp, http_client=http)
        assert await provide("https://a", "https://m") != await provide("https://a", "https://m")
        assert not http.is_closed


async def test_the_jwt_of_a_platform_gets_a_token() -> None:
    async with keyed() as (resource, auth):
        async with client_of(workload(resource, scope="user")) as http:
            assert (await http.get(resource.url)).status_code == 200
        (form,) = auth.asked_for("/token")
    assert form.pop("assertion") == assertion(resource)
    assert form == {
        "grant_type": JWT_BEARER_GRANT_TYPE,
        "client_id": "agent",
        "resource": resource.url,
        "scope": "user",
    }


async def test_the_jwt_is_read_anew_since_the_platform_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    async with keyed() as (resource, auth):
        path.write_text(assertion(resource, sub="first") + "\n", encoding="utf-8")
        async with client_of(workload(resource, assertion_provider=file_assertion_provider(path))) as http:
            await http.get(resource.url)
            path.write_text(assertion(resource, sub="second"), encoding="utf-8")
            auth.live.clear()
            await http.get(resource.url)
        assert [claims["sub"] for claims in auth.presented] == ["first", "second"]
        assert len(auth.asked_for("/token")) == 2


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe", b"x" * 70_000])
async def test_a_file_without_a_jwt_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OAuthFlowError, match=str(path)):
        await file_assertion_provider(path)("https://auth.example.com")


async def test_after_a_refusal_a_workload_tries_nothing_else() -> None:
    async with keyed() as (resource, auth):
        auth.issue()
        wrong = static_assertion_provider(assertion(resource, aud="https://other.example.com"))
        async with client_of(workload(resource, assertion_provider=wrong)) as http:
            with pytest.raises(OAuthTokenError, match="invalid_grant"):
                await http.get(resource.url)
        assert len(auth.asked_for("/token")) == 1
        assert resource.seen == [None]


async def test_the_jwt_is_shown_to_its_own_authorization_server_alone() -> None:
    async with keyed() as (resource, _), another_auth_server() as evil:
        resource.changes["authorization_servers"] = [evil.origin]
        async with client_of(workload(resource)) as http:
            with pytest.raises(OAuthFlowError, match="nothing was sent"):
                await http.get(resource.url)
        assert evil.requested == []


async def test_no_assertion_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with keyed() as (resource, auth), identity_provider() as idp:
        idp.signed_in["the-sign-in"] = "alice"
        provide = exchange(idp, "the-sign-in", client_secret="idp-secret")
        async with client_of(vouched_for(resource, assertion_provider=provide)) as http:
            await http.get(resource.url)
        sent = auth.asked_for("/token")[0]["assertion"]
        for secret in ("the-sign-in", "idp-secret", SECRET, sent, *auth.live):
            assert secret not in caplog.text


def test_they_are_providers_like_the_one_with_a_user() -> None:
    assert issubclass(IdentityAssertionOAuthProvider, OAuthClientProvider)
    assert issubclass(WorkloadIdentityOAuthProvider, OAuthClientProvider)
