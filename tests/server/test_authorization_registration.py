"""The registration endpoint: what a client may say of itself, and what becomes of it."""

import json
import logging
import time
from typing import Any

import jwt
import pytest
from authorization_desk import CALLBACK, ISSUER, Desk, logged, refusal
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import ValidationError
from sign_in import SignIn

from mcp.server.auth.provider import RegistrationError
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull

pytestmark = pytest.mark.anyio


async def test_a_client_is_told_what_it_is_registered_as() -> None:
    desk = Desk()
    before = int(time.time())
    answer = await desk.register(client_name="Shelf")
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    told = answer.json()
    assert before <= told["client_id_issued_at"] <= time.time()
    assert told == {
        "client_id": told["client_id"],
        "client_id_issued_at": told["client_id_issued_at"],
        "client_secret": told["client_secret"],
        "client_secret_expires_at": 0,
        "client_name": "Shelf",
        "redirect_uris": [CALLBACK],
        "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "client_secret_post",
        "application_type": "native",
        "scope": "read write",
    }
    kept = desk.provider.clients[told["client_id"]]
    assert kept.model_dump(mode="json", exclude_none=True) == told


async def test_no_two_clients_share_an_id_or_a_secret_of_thirty_two_bytes() -> None:
    desk = Desk()
    one, other = (await desk.register()).json(), (await desk.register()).json()
    assert one["client_id"] != other["client_id"]
    assert one["client_secret"] != other["client_secret"]
    assert len(bytes.fromhex(one["client_secret"])) == 32


async def test_a_client_cannot_choose_its_id_or_its_secret() -> None:
    told = (await Desk().register(client_id="mine", client_secret="mine", client_secret_expires_at=9)).json()
    assert told["client_id"] != "mine"
    assert told["client_secret"] != "mine"
    assert told["client_secret_expires_at"] == 0


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_a_secret_lives_as_long_as_the_operator_says(method: str) -> None:
    desk = Desk(client_registration_options=ClientRegistrationOptions(enabled=True, client_secret_expiry_seconds=60))
    told = (await desk.register(token_endpoint_auth_method=method)).json()
    assert told["client_secret_expires_at"] == told["client_id_issued_at"] + 60
    assert told["token_endpoint_auth_method"] == method


async def test_a_public_client_gets_no_secret() -> None:
    desk = Desk(client_registration_options=ClientRegistrationOptions(enabled=True, client_secret_expiry_seconds=60))
    told = (await desk.register(token_endpoint_auth_method="none")).json()
    assert told["token_endpoint_auth_method"] == "none"
    assert not {"client_secret", "client_secret_expires_at"} & set(told)


async def test_a_client_that_signs_registers_its_keys_and_gets_no_secret() -> None:
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    jwks = {"keys": [jwt.get_algorithm_by_name("ES256").to_jwk(key, as_dict=True)]}
    told = (await Desk().register(token_endpoint_auth_method="private_key_jwt", jwks=jwks)).json()
    assert told["jwks"] == jwks
    assert "client_secret" not in told


@pytest.mark.parametrize("keys", [{}, {"jwks_uri": "https://shelf.example.com/jwks"}, {"jwks": {"keys": []}}])
async def test_a_client_that_signs_without_keys_is_refused(keys: dict[str, Any]) -> None:
    refused = await Desk().register(token_endpoint_auth_method="private_key_jwt", **keys)
    assert refusal(refused) == (
        400,
        "invalid_client_metadata",
        "token_endpoint_auth_method 'private_key_jwt' needs the keys themselves, as jwks",
    )


async def test_what_the_server_does_not_do_is_left_out_of_what_is_registered() -> None:
    device = "urn:ietf:params:oauth:grant-type:device_code"
    grant_types = ["refresh_token", "authorization_code", device, "client_credentials", "password"]
    told = (await Desk().register(grant_types=grant_types, response_types=["none", "code"], unheard_of=1)).json()
    assert told["grant_types"] == ["authorization_code", "refresh_token"]
    assert told["response_types"] == ["code"]
    assert "unheard_of" not in told


async def test_a_client_may_do_without_refresh_tokens() -> None:
    told = (await Desk().register(grant_types=["authorization_code"])).json()
    assert told["grant_types"] == ["authorization_code"]


@pytest.mark.parametrize(
    ("options", "asked", "registered"),
    [
        ({"valid_scopes": ["a", "b"], "default_scopes": ["a"]}, "b a", "b a"),
        ({"valid_scopes": ["a", "b"], "default_scopes": ["a"]}, None, "a"),
        ({"valid_scopes": ["a", "b"], "default_scopes": ["a"]}, "", "a"),
        ({"valid_scopes": ["a", "b"]}, None, None),
        ({}, "anything  at all", "anything at all"),
    ],
)
async def test_a_client_is_registered_for_scopes(
    options: dict[str, Any], asked: str | None, registered: str | None
) -> None:
    desk = Desk(client_registration_options=ClientRegistrationOptions(enabled=True, **options))
    assert (await desk.register(scope=asked)).json().get("scope") == registered


@pytest.mark.parametrize(
    ("metadata", "error", "description"),
    [
        ({"redirect_uris": None}, "invalid_client_metadata", "redirect_uris: expected at least one"),
        (
            {"redirect_uris": []},
            "invalid_client_metadata",
            "redirect_uris: List should have at least 1 item after validation, not 0",
        ),
        (
            {"redirect_uris": ["callback"]},
            "invalid_redirect_uri",
            "redirect_uris.0: Input should be a valid URL, relative URL without a base",
        ),
        (
            {"redirect_uris": [CALLBACK, "javascript:alert(1)"]},
            "invalid_redirect_uri",
            "redirect_uris: 'javascript:alert(1)' cannot be registered: its scheme must not be javascript",
        ),
        (
            {"redirect_uris": [CALLBACK, "steam://run/1"]},
            "invalid_redirect_uri",
            "redirect_uris: 'steam://run/1' cannot be registered: a program's own scheme must have a dot, as in "
            "com.example.app, and steam is not among those that this server takes without",
        ),
        (
            {"redirect_uris": ["https://shelf.example.com\\@evil.example.com"]},
            "invalid_redirect_uri",
            "redirect_uris: 'https://shelf.example.com?@evil.example.com' cannot be registered: "
            "it must be of the characters of a URI alone",
        ),
        (
            {"redirect_uris": ["http://shelf.example.com/"]},
            "invalid_redirect_uri",
            "redirect_uris: 'http://shelf.example.com/' cannot be registered: "
            "it must be https, unless its host is 127.0.0.1, [::1] or localhost",
        ),
        (
            {"application_type": "web"},
            "invalid_redirect_uri",
            f"redirect_uris: '{CALLBACK}' cannot be registered: a web application's must be https; "
            "one on the user's machine registers as application_type 'native'",
        ),
        (
            {"application_type": "toaster"},
            "invalid_client_metadata",
            "application_type: Input should be 'web' or 'native'",
        ),
        (
            {"response_types": ["token"]},
            "invalid_client_metadata",
            "response_types must include 'code' for authorization_code grant",
        ),
        (
            {"grant_types": ["refresh_token"]},
            "invalid_client_metadata",
            "grant_types must include 'authorization_code'",
        ),
        (
            {"grant_types": ["authorization_code", JWT_BEARER_GRANT_TYPE]},
            "invalid_client_metadata",
            f"grant_types must not include '{JWT_BEARER_GRANT_TYPE}'; "
            "the identity-assertion grant requires a pre-registered client",
        ),
        ({"scope": "read admin root"}, "invalid_client_metadata", "Requested scopes are not valid: admin, root"),
        (
            {"token_endpoint_auth_method": "tls_client_auth"},
            "invalid_client_metadata",
            "token_endpoint_auth_method: Input should be 'none', 'client_secret_post', 'client_secret_basic' or "
            "'private_key_jwt'",
        ),
        (
            {"logo_uri": "javascript:alert(1)", "client_name": 1},
            "invalid_client_metadata",
            "client_name: Input should be a valid string; logo_uri: URL scheme should be 'http' or 'https'",
        ),
    ],
)
async def test_a_client_is_not_registered_that(metadata: dict[str, Any], error: str, description: str) -> None:
    desk = Desk(identity_assertion_enabled=True)
    assert refusal(await desk.register(**metadata)) == (400, error, description)
    assert desk.provider.clients == {}


async def test_a_web_application_registers_what_is_https() -> None:
    told = (await Desk().register(application_type="web", redirect_uris=["https://shelf.example.com"])).json()
    assert (told["application_type"], told["redirect_uris"]) == ("web", ["https://shelf.example.com"])


@pytest.mark.parametrize("schemes", [{}, {"program_schemes": ["shelf"]}])
async def test_the_operator_says_which_programs_are_reached_by_schemes_without_a_dot(schemes: dict[str, Any]) -> None:
    desk = Desk(client_registration_options=ClientRegistrationOptions(enabled=True, **schemes))
    for uri, registered in [
        ("com.example.shelf:/callback", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", not schemes),
        ("shelf://callback", bool(schemes)),
    ]:
        assert (await desk.register(redirect_uris=[CALLBACK, uri])).status_code == (201 if registered else 400)


@pytest.mark.parametrize("scheme", ["Cursor", "cursor:", "cursor://", "", "1password"])
def test_an_operator_who_lists_what_is_no_scheme_is_told(scheme: str) -> None:
    with pytest.raises(ValidationError, match="expected schemes such as 'cursor', in lower case, got '"):
        ClientRegistrationOptions(enabled=True, program_schemes=["vscode", scheme])


@pytest.mark.parametrize(
    ("body", "description"),
    [
        (b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]", "The client metadata must be a JSON object"),
        (b'{"redirect_uris": NaN}', "Invalid JSON: expected value at line 1 column 19"),
        (b"\xff", "Invalid JSON: expected value at line 1 column 1"),
        (b'{"a":' * 1000, "Invalid JSON: recursion limit exceeded"),
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(body: bytes, description: str) -> None:
    headers = {"content-type": "application/json"}
    refused = await Desk().request("POST", "/register", content=body, headers=headers)
    status, error, told = refusal(refused)
    assert (status, error) == (400, "invalid_client_metadata")
    assert told.startswith(description)


async def test_the_body_is_json_and_says_so() -> None:
    body = json.dumps({"redirect_uris": [CALLBACK]}).encode()
    for content_type in ("application/json; charset=utf-8", None):
        headers = {} if content_type is None else {"content-type": content_type}
        answer = await Desk().request("POST", "/register", content=body, headers=headers)
        assert answer.status_code == 201
    # What a form on a page of somebody else's can send.
    refused = await Desk().request("POST", "/register", content=body, headers={"content-type": "text/plain"})
    description = "Invalid Content-Type header: expected application/json, got 'text/plain'"
    assert refusal(refused) == (400, "invalid_client_metadata", description)


class Picky(SignIn):
    """Registers nobody."""

    failure: Exception

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.secret = client_info.client_secret or ""
        raise self.failure


async def test_the_provider_may_refuse_a_client() -> None:
    provider = Picky(ISSUER)
    provider.failure = RegistrationError("unapproved_software_statement", "we do not know you")
    refused = await Desk(provider).register()
    assert refusal(refused) == (400, "unapproved_software_statement", "we do not know you")
    provider.failure = RegistrationError("invalid_client_metadata")
    assert (await Desk(provider).register()).json() == {"error": "invalid_client_metadata"}
    provider.failure = RegistrationError("too_many_clients")  # type: ignore[arg-type]
    assert (await Desk(provider).register()).json() == {"error": "too_many_clients"}


async def test_a_provider_that_fails_tells_the_client_nothing_and_the_log_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    class Failing(Picky):
        async def register_client(self, client_info: OAuthClientInformationFull) -> None:
            raise RuntimeError(f"cannot store {client_info.client_secret}")

    refused = await Desk(Failing(ISSUER)).register()
    assert refusal(refused) == (500, "server_error", "An unexpected error occurred")
    assert "RuntimeError: cannot store [secret]" in logged(caplog)


async def test_nobody_registers_unless_that_is_switched_on() -> None:
    desk = Desk(client_registration_options=None)
    assert (await desk.register()).status_code == 404
