"""What an authorization server says of itself, and where it says it."""

from typing import Any

import pytest
from authorization_desk import ISSUER, Desk
from pydantic import AnyHttpUrl
from sign_in import SignIn
from starlette.applications import Starlette
from starlette.datastructures import FormData, QueryParams, UploadFile
from starlette.routing import Mount

from mcp.server.auth.handlers.authorize import best_effort_extract_string
from mcp.server.auth.routes import (
    AUTHORIZATION_PATH,
    REGISTRATION_PATH,
    REVOCATION_PATH,
    TOKEN_PATH,
    build_metadata,
    create_auth_routes,
    validate_issuer_url,
)
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

pytestmark = pytest.mark.anyio

WELL_KNOWN = "/.well-known/oauth-authorization-server"
METHODS = ["client_secret_post", "client_secret_basic", "private_key_jwt", "none"]
ALGORITHMS = ["ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]


async def test_a_server_says_where_its_endpoints_are_and_what_they_do() -> None:
    answer = await Desk(service_documentation_url=AnyHttpUrl("https://docs.example.com/")).request("GET", WELL_KNOWN)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {
        "issuer": ISSUER,
        "authorization_endpoint": f"{ISSUER}authorize",
        "token_endpoint": f"{ISSUER}token",
        "registration_endpoint": f"{ISSUER}register",
        "revocation_endpoint": f"{ISSUER}revoke",
        "service_documentation": "https://docs.example.com/",
        "scopes_supported": ["read", "write"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": METHODS,
        "token_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "revocation_endpoint_auth_methods_supported": METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "authorization_response_iss_parameter_supported": True,
    }


async def test_a_server_does_not_speak_of_what_is_switched_off() -> None:
    metadata = build_metadata(AnyHttpUrl(ISSUER), None, ClientRegistrationOptions(), RevocationOptions())
    assert set(metadata.model_dump(exclude_none=True)) == {
        "issuer",
        "authorization_endpoint",
        "token_endpoint",
        "response_types_supported",
        "response_modes_supported",
        "grant_types_supported",
        "code_challenge_methods_supported",
        "token_endpoint_auth_methods_supported",
        "token_endpoint_auth_signing_alg_values_supported",
    }


async def test_identity_assertions_are_advertised_where_they_are_taken() -> None:
    said = (await Desk(identity_assertion_enabled=True).request("GET", WELL_KNOWN)).json()
    assert said["grant_types_supported"][-1] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert said["authorization_grant_profiles_supported"] == ["urn:ietf:params:oauth:grant-profile:id-jag"]


async def test_a_provider_that_does_not_promise_to_name_its_issuer_is_not_said_to() -> None:
    class Older(SignIn):
        answers_carry_issuer = False

    said = (await Desk(Older(ISSUER)).request("GET", WELL_KNOWN)).json()
    assert "authorization_response_iss_parameter_supported" not in said


@pytest.mark.parametrize("issuer", ["https://as.example.com/tenants/{one}", "https://as.example.com/tenants/{one}/"])
async def test_the_endpoints_of_an_issuer_with_a_path_are_where_its_metadata_says(issuer: str) -> None:
    desk = Desk(SignIn(issuer))
    said = (await desk.request("GET", f"{WELL_KNOWN}/tenants/%7Bone%7D")).json()
    assert said["issuer"] == str(AnyHttpUrl(issuer))
    assert said["token_endpoint"] == "https://as.example.com/tenants/%7Bone%7D/token"
    for name, status in (("authorization", 400), ("token", 401), ("registration", 400), ("revocation", 401)):
        verb = "GET" if name == "authorization" else "POST"
        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert (await desk.request(verb, said[f"{name}_endpoint"], headers=headers)).status_code == status
    assert (await desk.request("GET", f"{WELL_KNOWN}/tenants/two")).status_code == 404


async def test_an_issuer_with_a_path_may_be_mounted_there() -> None:
    desk = Desk()
    routes = create_auth_routes(SignIn("https://as.example.com/one"), AnyHttpUrl("https://as.example.com/one"))
    desk.app = Starlette(routes=[Mount("/one", routes=routes)])
    said = (await desk.request("GET", f"/one{WELL_KNOWN}")).json()
    assert (await desk.post(said["token_endpoint"], b"client_id=x")).status_code == 401


def test_the_paths_are_constants() -> None:
    paths = (AUTHORIZATION_PATH, TOKEN_PATH, REGISTRATION_PATH, REVOCATION_PATH)
    assert paths == ("/authorize", "/token", "/register", "/revoke")


@pytest.mark.parametrize(
    "issuer", ["https://as.example.com", "http://localhost:9000", "http://127.0.0.1", "http://[::1]"]
)
def test_an_issuer_is_https_or_on_this_machine(issuer: str) -> None:
    validate_issuer_url(AnyHttpUrl(issuer))


@pytest.mark.parametrize(
    ("issuer", "reason"),
    [
        ("http://as.example.com", "HTTPS"),
        ("http://localhost.example.com", "HTTPS"),
        ("http://127.0.0.1.example.com", "HTTPS"),
        ("https://as.example.com/?tenant=1", "query"),
        ("https://as.example.com/#tenant", "fragment"),
        ("https://as.example.com/#", "fragment"),
        ("https://localhost@as.example.com/", "user name"),
    ],
)
def test_what_cannot_be_an_issuer_serves_nothing(issuer: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        create_auth_routes(SignIn(issuer), AnyHttpUrl(issuer))


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        (None, None),
        (QueryParams("state=1"), "1"),
        (QueryParams("other=1"), None),
        (FormData([("state", "1")]), "1"),
    ],
)
def test_a_parameter_is_read_out_of_what_may_be_broken(parameters: Any, value: str | None) -> None:
    assert best_effort_extract_string("state", parameters) == value


def test_a_file_is_no_parameter() -> None:
    import io

    with io.BytesIO() as content:
        assert best_effort_extract_string("state", FormData([("state", UploadFile(content))])) is None
