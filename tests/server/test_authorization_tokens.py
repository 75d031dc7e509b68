"""The token endpoint: codes, refresh tokens and assertions, and who gets nothing for them."""

import base64
import hashlib
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from authorization_desk import CALLBACK, ISSUER, Desk, logged, refusal
from authorization_server import Program
from pydantic import AnyHttpUrl
from sign_in import SignIn

from mcp.server.auth.handlers.token import TokenErrorResponse, TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import AuthorizationCode, IdentityAssertionParams, TokenError
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken

pytestmark = pytest.mark.anyio

WITHOUT_ASSERTIONS = "Unsupported grant type (supported grant types are ['authorization_code', 'refresh_token'])"


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client()
    return desk


async def test_tokens_are_kept_out_of_caches(desk: Desk) -> None:
    answer = await desk.exchange(await desk.code())
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")


@pytest.mark.parametrize(
    ("changed", "error", "description"),
    [
        ({"grant_type": None}, "invalid_request", "grant_type: Field required"),
        ({"grant_type": "password"}, "unsupported_grant_type", WITHOUT_ASSERTIONS),
        ({"grant_type": JWT_BEARER_GRANT_TYPE}, "unsupported_grant_type", WITHOUT_ASSERTIONS),
        ({"code": None}, "invalid_request", "authorization_code.code: Field required"),
        ({"code": ""}, "invalid_request", "authorization_code.code: Field required"),
        ({"code": "made-up"}, "invalid_grant", "authorization code does not exist"),
        ({"code_verifier": None}, "invalid_request", "authorization_code.code_verifier: Field required"),
        ({"code_verifier": f"{Program.VERIFIER}x"}, "invalid_grant", "incorrect code_verifier"),
        ({"code_verifier": Program.CHALLENGE}, "invalid_grant", "incorrect code_verifier"),
        ({"code_verifier": "ünïcödé" * 10}, "invalid_grant", "incorrect code_verifier"),
        (
            {"redirect_uri": None},
            "invalid_grant",
            "redirect_uri did not match the one used when creating auth code",
        ),
        (
            {"redirect_uri": f"{CALLBACK}/other"},
            "invalid_grant",
            "redirect_uri did not match the one used when creating auth code",
        ),
        (
            {"redirect_uri": "callback"},
            "invalid_request",
            "authorization_code.redirect_uri: Input should be a valid URL, relative URL without a base",
        ),
    ],
)
async def test_a_code_is_exchanged_only_as_it_was_asked_for(
    desk: Desk, changed: dict[str, Any], error: str, description: str
) -> None:
    code = await desk.code()
    refused = await desk.exchange(**{"code": code, **changed})
    assert refusal(refused) == (400, error, description)
    assert (await desk.exchange(code)).status_code == 200, "a mistake spends no code"


async def test_a_verifier_that_is_too_short_to_be_one_is_refused_though_it_fits(desk: Desk) -> None:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(b"short").digest()).rstrip(b"=").decode()
    code = await desk.code(code_challenge=challenge)
    assert refusal(await desk.exchange(code, code_verifier="short"))[1:] == ("invalid_grant", "incorrect code_verifier")


async def test_a_code_ends(desk: Desk) -> None:
    code = await desk.code()
    desk.provider.codes[code].expires_at = 1
    assert refusal(await desk.exchange(code)) == (400, "invalid_grant", "authorization code has expired")


async def test_the_code_of_another_client_does_not_exist(desk: Desk) -> None:
    code = await desk.code()
    desk.client(client_id="thief")
    refused = await desk.exchange(code, client_id="thief")
    assert refusal(refused) == (400, "invalid_grant", "authorization code does not exist")


async def test_a_refresh_token_that_was_not_used_in_time_is_refused(desk: Desk) -> None:
    tokens = (await desk.exchange(await desk.code())).json()
    form = {"grant_type": "refresh_token", "client_id": "shelf", "refresh_token": tokens["refresh_token"]}
    desk.provider.refresh[tokens["refresh_token"]].expires_at = 1
    assert refusal(await desk.post("/token", form)) == (400, "invalid_grant", "refresh token has expired")
    desk.provider.refresh[tokens["refresh_token"]].expires_at = None
    assert (await desk.post("/token", form)).status_code == 200


async def test_a_client_that_did_not_register_for_refreshing_gets_and_uses_no_refresh_token(desk: Desk) -> None:
    desk.client(grant_types=["authorization_code"])
    tokens = (await desk.exchange(await desk.code())).json()
    assert "refresh_token" not in tokens
    refused = await desk.post("/token", {"grant_type": "refresh_token", "client_id": "shelf", "refresh_token": "x"})
    assert refusal(refused) == (
        400,
        "unauthorized_client",
        "Client is not registered for the grant type refresh_token",
    )


@pytest.mark.parametrize("resource", ["mcp.example.com", "https://mcp.example.com/#x", "https://[mcp"])
@pytest.mark.parametrize("granted", [None, "https://mcp.example.com"])
async def test_what_names_no_resource_is_refused_whatever_the_user_agreed_to(
    desk: Desk, resource: str, granted: str | None
) -> None:
    expected = (400, "invalid_target", "resource: expected an absolute URI without a fragment")
    code = await desk.code(resource=granted)
    assert refusal(await desk.exchange(code, resource=resource)) == expected
    tokens = (await desk.exchange(code)).json()
    form = {"grant_type": "refresh_token", "client_id": "shelf", "refresh_token": tokens["refresh_token"]}
    assert refusal(await desk.post("/token", {**form, "resource": resource})) == expected


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("https://mcp.example.com/a?b=1", True),
        ("HTTPS://MCP.example.com:443/a/?b=1", True),
        ("https://mcp.example.com/a", False),
        ("https://mcp.example.com/a?b=2", False),
        ("https://mcp.example.com/a/c?b=1", False),
        ("https://mcp.example.com/?b=1", False),
        ("http://mcp.example.com/a?b=1", False),
        ("https://mcp.example.com:99999/a?b=1", False),
    ],
)
async def test_a_code_is_for_the_resource_that_the_user_agreed_to(desk: Desk, asked: str, same: bool) -> None:
    code = await desk.code(resource="https://mcp.example.com/a?b=1")
    answer = await desk.exchange(code, resource=asked)
    if same:
        assert answer.status_code == 200
    else:
        assert refusal(answer)[1:] == ("invalid_target", "The grant is for the resource https://mcp.example.com/a?b=1")


async def test_tokens_of_a_grant_that_names_no_resource_name_none_whatever_the_client_asks_for(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tokens = (await desk.exchange(await desk.code(), resource="https://mcp.example.com")).json()
    assert desk.provider.access[tokens["access_token"]].resource is None
    assert "A client asks for tokens for https://mcp.example.com, but its grant names no resource" in logged(caplog)


class Trusting(SignIn):
    """Takes assertions."""

    def __init__(self) -> None:
        super().__init__(ISSUER)
        self.taken: list[tuple[str, IdentityAssertionParams]] = []

    async def exchange_identity_assertion(
        self, client: OAuthClientInformationFull, params: IdentityAssertionParams
    ) -> OAuthToken:
        self.taken.append((client.client_id, params))
        if params.assertion == "forged":
            raise TokenError("invalid_grant", "the assertion did not verify")
        return OAuthToken(access_token="granted")


ASSERTION = {"grant_type": JWT_BEARER_GRANT_TYPE, "client_id": "shelf", "client_secret": "the-secret", "assertion": "a"}


def trusting(**client: Any) -> tuple[Desk, Trusting]:
    provider = Trusting()
    desk = Desk(provider, identity_assertion_enabled=True)
    values = {
        "grant_types": [JWT_BEARER_GRANT_TYPE],
        "client_secret": "the-secret",
        "token_endpoint_auth_method": "client_secret_post",
        "redirect_uris": None,
        **client,
    }
    desk.client(**values)
    return desk, provider


async def test_an_identity_assertion_is_handed_to_the_provider_as_it_is() -> None:
    desk, provider = trusting()
    answer = await desk.post("/token", {**ASSERTION, "scope": "read write", "resource": "https://mcp.example.com"})
    assert answer.json() == {"access_token": "granted", "token_type": "Bearer"}
    params = IdentityAssertionParams(assertion="a", scopes=["read", "write"], resource="https://mcp.example.com")
    assert provider.taken == [("shelf", params)]
    refused = await desk.post("/token", {**ASSERTION, "assertion": "forged"})
    assert refusal(refused) == (400, "invalid_grant", "the assertion did not verify")


@pytest.mark.parametrize(
    ("client", "form", "expected"),
    [
        (
            {"token_endpoint_auth_method": "none", "client_secret": None},
            {},
            (400, "unauthorized_client", "The JWT bearer grant requires a confidential client"),
        ),
        (
            {"token_endpoint_auth_method": None, "client_secret": None},
            {},
            (400, "unauthorized_client", "The JWT bearer grant requires a confidential client"),
        ),
        (
            {"grant_types": ["authorization_code", "refresh_token"]},
            {},
            (400, "unauthorized_client", f"Client is not registered for the grant type {JWT_BEARER_GRANT_TYPE}"),
        ),
        ({}, {"client_secret": "guessed"}, (401, "invalid_client", "Invalid client_secret")),
        ({}, {"client_secret": ""}, (401, "invalid_client", "Client secret is required")),
        ({}, {"assertion": ""}, (400, "invalid_request", f"{JWT_BEARER_GRANT_TYPE}.assertion: Field required")),
    ],
)
async def test_no_assertion_is_taken_from(
    client: dict[str, Any], form: dict[str, str], expected: tuple[int, str, str]
) -> None:
    desk, provider = trusting(**client)
    assert refusal(await desk.post("/token", {**ASSERTION, **form})) == expected
    assert provider.taken == []


async def test_no_assertion_is_taken_unless_that_is_switched_on() -> None:
    provider = Trusting()
    desk = Desk(provider)
    desk.client(grant_types=[JWT_BEARER_GRANT_TYPE], client_secret="the-secret", token_endpoint_auth_method=None)
    assert refusal(await desk.post("/token", ASSERTION)) == (400, "unsupported_grant_type", WITHOUT_ASSERTIONS)
    assert provider.taken == []


async def test_a_provider_without_the_hook_takes_no_assertion() -> None:
    desk = Desk(identity_assertion_enabled=True)
    desk.client(grant_types=[JWT_BEARER_GRANT_TYPE], client_secret="the-secret", token_endpoint_auth_method=None)
    assert refusal(await desk.post("/token", ASSERTION)) == (
        400,
        "unsupported_grant_type",
        "This server takes no identity assertions",
    )


class Failing(SignIn):
    """Fails with all that it was brought."""

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> None:
        raise RuntimeError(f"no row for {refresh_token} of {client.client_secret}")


async def test_a_provider_that_fails_tells_the_client_nothing_and_the_log_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    desk = Desk(Failing(ISSUER))
    desk.client(client_secret="the-secret", token_endpoint_auth_method="client_secret_post")
    form = {"grant_type": "refresh_token", "client_id": "shelf", "client_secret": "the-secret"}
    refused = await desk.post("/token", {**form, "refresh_token": "the-token"})
    assert refusal(refused) == (500, "server_error", "An unexpected error occurred")
    assert "RuntimeError: no row for [secret] of [secret]" in logged(caplog)
    assert "the-secret" not in logged(caplog)
    assert "the-token" not in logged(caplog)


def test_the_notes_that_a_client_makes_for_itself_are_not_told_to_it() -> None:
    provider = SignIn(ISSUER)
    handler = TokenHandler(provider, ClientAuthenticator(provider))
    token = OAuthToken(access_token="t", expires_at=1.0, issuer="https://a.example", token_endpoint="https://a.example")
    assert handler.response(token).body == b'{"access_token":"t","token_type":"Bearer"}'
    refused = handler.response(TokenErrorResponse(error="invalid_client"))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Basic realm="oauth"')
    assert refused.body == b'{"error":"invalid_client"}'
    page = AnyHttpUrl("https://as.example.com/help")
    refused = handler.response(TokenErrorResponse(error="invalid_grant", error_description='no "code"', error_uri=page))
    assert json.loads(bytes(refused.body)) == {
        "error": "invalid_grant",
        "error_description": "no 'code'",
        "error_uri": "https://as.example.com/help",
    }


class Transacting(SignIn):
    """Refuses every code, within a transaction."""

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[None, None]:
        yield

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        async with self.transaction():
            raise TokenError("invalid_grant", "used before")


async def test_a_provider_may_refuse_from_within_a_transaction() -> None:
    desk = Desk(Transacting(ISSUER, asks=False))
    desk.client()
    assert refusal(await desk.exchange(await desk.code())) == (400, "invalid_grant", "used before")


async def test_a_code_that_is_defined_elsewhere_is_passed_on() -> None:
    class Extended(SignIn):
        async def exchange_authorization_code(
            self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
        ) -> OAuthToken:
            raise TokenError("use_dpop_nonce")  # type: ignore[arg-type]

    desk = Desk(Extended(ISSUER, asks=False))
    desk.client()
    answer = await desk.exchange(await desk.code())
    assert (answer.status_code, answer.json()) == (400, {"error": "use_dpop_nonce"})
