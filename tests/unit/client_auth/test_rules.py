"""The rules that an OAuth client goes by, one by one."""

import json
from typing import Any

import httpx2
import pytest
from pydantic import AnyUrl

from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError, PKCEParameters, oauth2, utils
from mcp.client.auth.oauth2 import OAuthContext, check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_info_from_metadata_url,
    create_client_registration_request,
    create_oauth_metadata_request,
    credentials_match_issuer,
    get_client_metadata_scopes,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    handle_registration_response,
    handle_token_response_scopes,
    is_valid_client_metadata_url,
    issuers_match,
    redirect_note,
    should_use_client_metadata_url,
    union_scopes,
    validate_authorization_response_iss,
    validate_metadata_issuer,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

AS = "https://as.example.com"
SERVER = "https://api.example.com/v1/mcp"
GRANTS = ["authorization_code", "refresh_token"]


def server(**changes: Any) -> OAuthMetadata:
    fields = {"issuer": AS, "authorization_endpoint": f"{AS}/authorize", "token_endpoint": f"{AS}/token"}
    return OAuthMetadata.model_validate(fields | changes)


def resource(*scopes: str, **changes: Any) -> ProtectedResourceMetadata:
    fields = {"resource": SERVER, "authorization_servers": [AS], "scopes_supported": list(scopes) or None}
    return ProtectedResourceMetadata.model_validate(fields | changes)


def answer(document: object, status: int = 200) -> httpx2.Response:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return httpx2.Response(status, content=body, request=httpx2.Request("GET", f"{AS}/x"))


def context(**changes: Any) -> OAuthContext:
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:3030/callback")])
    fields: dict[str, Any] = {"server_url": SERVER, "client_metadata": metadata, "storage": None}
    fields |= {"redirect_handler": None, "callback_handler": None, **changes}
    return OAuthContext(**fields)


@pytest.mark.parametrize("name", ["OAuthMetadata", "OAuthTokenError", "RedirectAwareAuth", "union_scopes"])
def test_names_can_be_imported_from_where_they_are_used(name: str) -> None:
    assert getattr(oauth2, name).__name__ == name
    with pytest.raises(AttributeError):
        getattr(oauth2, f"{name}_")
    assert utils.OAuthToken is OAuthToken


@pytest.mark.parametrize(
    ("named", "url", "places"),
    [
        (None, "https://a.example.com/v1/mcp", ["/.well-known/oauth-protected-resource/v1/mcp", ""]),
        (None, "https://a.example.com/v1/mcp/?x=1", ["/.well-known/oauth-protected-resource/v1/mcp/", ""]),
        (None, "https://a.example.com", [""]),
        (None, "https://a.example.com/", [""]),
        (
            "https://x.example.com/m",
            "https://a.example.com/mcp",
            ["x", "/.well-known/oauth-protected-resource/mcp", ""],
        ),
    ],
)
def test_where_the_metadata_of_a_server_may_be(named: str | None, url: str, places: list[str]) -> None:
    root = "/.well-known/oauth-protected-resource"
    expected = [
        "https://x.example.com/m" if place == "x" else f"https://a.example.com{place or root}" for place in places
    ]
    assert build_protected_resource_metadata_discovery_urls(named, url) == expected


@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        (None, ["https://api.example.com/.well-known/oauth-authorization-server"]),
        (AS, [f"{AS}/.well-known/oauth-authorization-server", f"{AS}/.well-known/openid-configuration"]),
        (f"{AS}/", [f"{AS}/.well-known/oauth-authorization-server", f"{AS}/.well-known/openid-configuration"]),
        (
            f"{AS}/tenant%201/",
            [
                f"{AS}/.well-known/oauth-authorization-server/tenant%201",
                f"{AS}/.well-known/openid-configuration/tenant%201",
                f"{AS}/tenant%201/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_where_the_metadata_of_an_authorization_server_may_be(issuer: str | None, places: list[str]) -> None:
    assert build_oauth_authorization_server_metadata_discovery_urls(issuer, SERVER) == places


def test_requests_for_metadata_name_the_revision() -> None:
    request = create_oauth_metadata_request(f"{AS}/.well-known/oauth-authorization-server")
    assert request.method == "GET"
    assert request.headers["mcp-protocol-version"] == "2026-07-28"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (AS, AS, True),
        (AS, f"{AS}/", True),
        (f"{AS}/a", f"{AS}/a/", False),
        (AS, "https://AS.example.com", False),
        (AS, f"{AS}:443", False),
        (AS, "http://as.example.com", False),
    ],
)
def test_one_authorization_server_has_one_identifier(one: str, other: str, same: bool) -> None:
    assert issuers_match(one, other) is same
    assert issuers_match(other, one) is same


@pytest.mark.parametrize("expected", [f"{AS}/", "https://AS.example.com", "https://evil.example.com"])
def test_metadata_of_another_issuer_is_refused_whatever_the_difference(expected: str) -> None:
    validate_metadata_issuer(server(), AS)
    with pytest.raises(OAuthFlowError, match="issuer mismatch"):
        validate_metadata_issuer(server(), expected)


@pytest.mark.parametrize("promised", [True, False, None])
def test_an_authorization_response_says_whom_it_is_from(promised: bool | None) -> None:
    metadata = server(authorization_response_iss_parameter_supported=promised)
    validate_authorization_response_iss(AS, metadata)
    for other in (f"{AS}/", "https://AS.example.com", "https://evil.example.com", ""):
        with pytest.raises(OAuthFlowError, match="iss mismatch"):
            validate_authorization_response_iss(other, metadata)
    if promised:
        with pytest.raises(OAuthFlowError, match="missing iss"):
            validate_authorization_response_iss(None, metadata)
    else:
        validate_authorization_response_iss(None, metadata)


def test_without_metadata_a_response_may_not_say_whom_it_is_from() -> None:
    validate_authorization_response_iss(None, None)
    with pytest.raises(OAuthFlowError, match="iss mismatch"):
        validate_authorization_response_iss(AS, None)


@pytest.mark.parametrize(
    ("challenge", "of_resource", "of_server", "grants", "configured", "chosen"),
    [
        pytest.param("a", resource("b"), server(scopes_supported=["c"]), GRANTS, "d", "a", id="challenge"),
        pytest.param(None, resource("b", "e"), server(scopes_supported=["c"]), GRANTS, "d", "b e", id="resource"),
        pytest.param(None, resource(), server(scopes_supported=["c"]), GRANTS, "d", "d", id="program"),
        pytest.param(None, None, server(scopes_supported=["c"]), GRANTS, None, None, id="none"),
        pytest.param(
            "a", None, server(scopes_supported=["offline_access"]), GRANTS, None, "a offline_access", id="more"
        ),
        pytest.param("a", None, server(scopes_supported=["offline_access"]), GRANTS[:1], None, "a", id="no-refresh"),
        pytest.param("a", None, server(scopes_supported=["offline_access"]), None, None, "a", id="no-grants"),
        pytest.param(None, None, server(scopes_supported=["offline_access"]), GRANTS, None, None, id="never-alone"),
        pytest.param("", resource("b"), None, GRANTS, None, "b", id="empty-challenge"),
    ],
)
def test_which_scopes_are_asked_for(
    challenge: str | None,
    of_resource: ProtectedResourceMetadata | None,
    of_server: OAuthMetadata | None,
    grants: list[str] | None,
    configured: str | None,
    chosen: str | None,
) -> None:
    assert get_client_metadata_scopes(challenge, of_resource, of_server, grants, configured) == chosen


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("a b", "b c", "a b c"),
        (None, "a", "a"),
        ("a", None, "a"),
        (None, None, None),
        ("b a", "a", "b a"),
        ("", "", ""),
    ],
)
def test_scopes_add_up(one: str | None, other: str | None, both: str | None) -> None:
    assert union_scopes(one, other) == both


@pytest.mark.parametrize(
    ("url", "valid"),
    [
        ("https://app.example.com/client.json", True),
        ("https://app.example.com", False),
        ("https://app.example.com/", False),
        ("http://app.example.com/client.json", False),
        ("https:///client.json", False),
        ("", False),
        (None, False),
    ],
)
def test_which_url_can_be_a_client_id(url: str | None, valid: bool) -> None:
    assert is_valid_client_metadata_url(url) is valid


def test_a_client_metadata_document_takes_the_place_of_a_registration_where_it_may() -> None:
    url = "https://app.example.com/client.json"
    assert should_use_client_metadata_url(server(client_id_metadata_document_supported=True), url)
    assert not should_use_client_metadata_url(server(client_id_metadata_document_supported=True), None)
    assert not should_use_client_metadata_url(server(), url)
    assert not should_use_client_metadata_url(None, url)
    info = create_client_info_from_metadata_url(url)
    assert (info.client_id, info.client_secret, info.token_endpoint_auth_method) == (url, None, "none")


def test_credentials_are_of_the_server_that_issued_them() -> None:
    def info(**fields: Any) -> OAuthClientInformationFull:
        return OAuthClientInformationFull.model_validate({"client_id": "c", **fields})

    assert credentials_match_issuer(info(), AS, None)
    assert credentials_match_issuer(info(issuer=f"{AS}/"), AS, None)
    assert not credentials_match_issuer(info(issuer="https://other.example.com"), AS, None)
    url = "https://app.example.com/client.json"
    assert credentials_match_issuer(info(client_id=url, issuer="https://other.example.com"), AS, url)
    assert not credentials_match_issuer(info(client_id=url, issuer="https://other.example.com"), AS, None)


@pytest.mark.anyio
@pytest.mark.parametrize("status", [404, 500])
async def test_a_refused_request_for_metadata_brings_none(status: int) -> None:
    assert await handle_protected_resource_response(answer({"resource": SERVER}, status)) is None
    assert await handle_auth_metadata_response(answer({}, status)) == (status < 500, None)


@pytest.mark.anyio
@pytest.mark.parametrize("document", [b"<html>", b"[]", {"a": 1}, b'{"issuer": NaN}'])
async def test_what_is_no_metadata_is_none(document: object) -> None:
    assert await handle_protected_resource_response(answer(document)) is None
    assert await handle_auth_metadata_response(answer(document)) == (True, None)


@pytest.mark.anyio
async def test_metadata_is_read() -> None:
    found = await handle_protected_resource_response(answer({"resource": SERVER, "authorization_servers": [AS]}))
    assert found is not None
    assert str(found.resource) == SERVER
    _, metadata = await handle_auth_metadata_response(answer(server().model_dump(mode="json", exclude_none=True)))
    assert metadata == server()


def test_a_registration_says_what_the_client_is() -> None:
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:1/cb")], client_name="Shop")
    request = create_client_registration_request(server(registration_endpoint=f"{AS}/reg"), metadata, "https://x")
    assert (request.method, str(request.url)) == ("POST", f"{AS}/reg")
    assert json.loads(request.content) == {
        "redirect_uris": ["http://localhost:1/cb"],
        "response_types": ["code"],
        "grant_types": GRANTS,
        "client_name": "Shop",
        "application_type": "native",
    }
    assert str(create_client_registration_request(None, metadata, "https://x/").url) == "https://x/register"


@pytest.mark.anyio
async def test_a_registration_yields_credentials() -> None:
    info = await handle_registration_response(answer({"client_id": "c", "client_secret": "s"}, 201))
    assert (info.client_id, info.client_secret) == ("c", "s")
    assert "'s'" not in repr(info)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        (
            {"error": "invalid_redirect_uri", "error_description": "no\n"},
            400,
            "HTTP 400, invalid_redirect_uri \\(no \\)",
        ),
        (b"<html>", 500, "HTTP 500"),
        ({"client_secret": "hidden"}, 201, "Invalid registration response: client_id: Field required"),
        (b"hidden", 201, "Invalid registration response: it is no JSON object"),
    ],
)
async def test_a_registration_that_fails_says_why(document: object, status: int, text: str) -> None:
    with pytest.raises(OAuthRegistrationError, match=text) as raised:
        await handle_registration_response(answer(document, status))
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"token_endpoint_auth_method": "client_secret_basic"}, "issued no client_secret"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "unsupported token_endpoint_auth_method 'private_key_jwt'"),
        ({"token_endpoint_auth_method": "tls_client_auth", "client_secret": "s"}, "'tls_client_auth'"),
        ({"token_endpoint_auth_method": "client_secret_post", "client_secret": "s"}, None),
        ({"token_endpoint_auth_method": "none"}, None),
        ({}, None),
    ],
)
def test_a_registration_must_be_one_that_the_client_can_use(fields: dict[str, str], problem: str | None) -> None:
    info = OAuthClientInformationFull.model_validate({"client_id": "c", **fields})
    if problem is None:
        check_registration_usable(info)
    else:
        with pytest.raises(OAuthRegistrationError, match=problem):
            check_registration_usable(info)


@pytest.mark.anyio
async def test_a_token_response_is_read_and_its_time_becomes_a_date() -> None:
    document = {"access_token": "t", "token_type": "bearer", "expires_in": "3600", "scope": "a"}
    token = await handle_token_response_scopes(answer({**document, "expires_at": 1, "issuer": "x", "resource": "y"}))
    assert (token.access_token, token.token_type, token.expires_in, token.scope) == ("t", "Bearer", 3600, "a")
    assert token.expires_at is not None
    assert token.expires_at > 1_700_000_000
    # What a server says of the client's own notes counts for nothing.
    assert (token.issuer, token.token_endpoint, token.resource) == (None, None, None)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("document", "status", "error", "text"),
    [
        (
            {"error": "invalid_grant", "error_description": "gone"},
            400,
            "invalid_grant",
            "HTTP 400, invalid_grant \\(gone\\)",
        ),
        ({"error": "bad_verification_code"}, 200, "bad_verification_code", "bad_verification_code"),
        ({"access_token": "hidden", "token_type": "mac"}, 200, None, "token_type: Input should be 'Bearer'"),
        ({"token_type": "Bearer"}, 200, None, "access_token: Field required"),
        (b"hidden", 200, None, "no JSON object"),
        (b"<html>", 503, None, "HTTP 503"),
        ({"error": ["x"]}, 400, None, "HTTP 400"),
    ],
)
async def test_a_token_response_without_a_token_says_why(
    document: object, status: int, error: str | None, text: str
) -> None:
    with pytest.raises(OAuthTokenError, match=text) as raised:
        await handle_token_response_scopes(answer(document, status))
    assert raised.value.error == error
    assert "hidden" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_redirect_is_noted_in_an_error() -> None:
    def moved(location: str) -> str:
        return redirect_note(httpx2.Response(302, headers={"location": location}, request=httpx2.Request("GET", AS)))

    assert (
        moved("https://login.example.com/x?secret=1")
        == " (it redirects to https://login.example.com/x, and is not followed)"
    )
    assert moved("http://x:port/") == " (it redirects to something that is no URL)"
    assert redirect_note(httpx2.Response(200)) == ""


def test_pkce_pairs_are_new_each_time_and_show_no_secret() -> None:
    one, other = PKCEParameters.generate(), PKCEParameters.generate()
    assert one.code_verifier != other.code_verifier
    assert 43 <= len(one.code_verifier) <= 128
    assert len(one.code_challenge) == 43
    assert one.code_verifier not in repr(one)


def test_the_resource_is_that_of_the_metadata_if_it_is_a_parent() -> None:
    known = context(server_url=f"{SERVER}?x=1#y")
    assert known.get_resource_url() == f"{SERVER}?x=1"
    for named, used in [
        ("https://api.example.com/", "https://api.example.com/"),
        ("https://api.example.com", "https://api.example.com"),
        ("https://evil.example.com/", f"{SERVER}?x=1"),
        (f"{SERVER}/deeper", f"{SERVER}?x=1"),
    ]:
        known.protected_resource_metadata = resource(resource=named)
        assert known.get_resource_url() == used
    assert known.get_authorization_base_url("https://api.example.com:8443/v1") == "https://api.example.com:8443"


def test_which_servers_are_told_the_resource() -> None:
    known = context()
    asked = {revision: known.should_include_resource_param(revision) for revision in ("2025-03-26", "2025-06-18", None)}
    assert asked == {"2025-03-26": False, "2025-06-18": True, None: False}
    known.protected_resource_metadata = resource()
    assert known.should_include_resource_param()


def test_a_token_is_valid_until_it_ends() -> None:
    known = context()
    assert not known.is_token_valid()
    assert not known.can_refresh_token()
    known.current_tokens = OAuthToken(access_token="hidden", refresh_token="secret", expires_in=3600)
    assert known.is_token_valid()
    assert "hidden" not in repr(known)
    assert "secret" not in repr(known)
    known.update_token_expiry(known.current_tokens)
    assert known.is_token_valid()
    known.update_token_expiry(OAuthToken(access_token="t", expires_at=1.0, expires_in=3600))
    assert not known.is_token_valid()
    assert not known.can_refresh_token()
    known.client_info = OAuthClientInformationFull(client_id="c")
    assert known.can_refresh_token()
    known.clear_tokens()
    assert known.current_tokens is None


@pytest.mark.parametrize(
    ("fields", "offered", "where"),
    [
        ({"client_secret": "s&:/é", "token_endpoint_auth_method": "client_secret_basic"}, None, "header"),
        ({"client_secret": "s&:/é", "token_endpoint_auth_method": "client_secret_post"}, None, "form"),
        ({"client_secret": "s&:/é"}, None, "header"),
        ({"client_secret": "s&:/é"}, ["client_secret_post"], "form"),
        ({"client_secret": "s&:/é"}, ["private_key_jwt"], "header"),
        ({"client_secret": "s&:/é", "token_endpoint_auth_method": "none"}, None, "nowhere"),
        ({}, None, "nowhere"),
    ],
)
def test_where_a_client_shows_its_secret(fields: dict[str, str], offered: list[str] | None, where: str) -> None:
    known = context(client_info=OAuthClientInformationFull.model_validate({"client_id": "c:1", **fields}))
    known.oauth_metadata = server(token_endpoint_auth_methods_supported=offered)
    form, headers = known.prepare_token_auth({"grant_type": "x"}, {"A": "b"})
    assert headers["A"] == "b"
    assert ("client_secret" in form, "Authorization" in headers) == (where == "form", where == "header")
    if where == "header":
        # Each half is form-encoded, so that the colon between them is the only one. RFC 6749, section 2.3.1.
        assert headers["Authorization"] == "Basic YyUzQTE6cyUyNiUzQSUyRiVDMyVBOQ=="


def test_a_client_that_authenticates_some_other_way_gets_no_token() -> None:
    known = context(client_info=OAuthClientInformationFull(client_id="c", token_endpoint_auth_method="tls_client_auth"))
    with pytest.raises(OAuthTokenError, match="'tls_client_auth': expected none, client_secret_basic or"):
        known.prepare_token_auth({})
    assert context().prepare_token_auth({"a": "b"}) == ({"a": "b"}, {})
