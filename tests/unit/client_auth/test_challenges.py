"""What a client reads in a `WWW-Authenticate` header."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp.client.auth._challenges import parse_challenges
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)


def refusal(*headers: str, status: int = 401) -> httpx2.Response:
    return httpx2.Response(status, headers=[("WWW-Authenticate", header) for header in headers])


@pytest.mark.parametrize(
    ("header", "scope"),
    [
        pytest.param('Bearer scope="read write"', "read write", id="quoted"),
        pytest.param("Bearer scope=read", "read", id="without-quotes"),
        pytest.param('bearer SCOPE="read"', "read", id="any-case"),
        pytest.param('Basic realm="scope=z", Bearer scope="read"', "read", id="after-another-scheme"),
        pytest.param('Bearer scope="read", Basic realm="x"', "read", id="before-another-scheme"),
        pytest.param('DPoP algs="ES256", scope="read"', "read", id="dpop"),
        pytest.param('Negotiate abc+/=, Bearer scope="read"', "read", id="after-a-token68"),
        pytest.param('Bearer scope = "read"', "read", id="spaces-around-the-sign"),
        pytest.param(r'Bearer scope="re\"ad"', 're"ad', id="escaped"),
        pytest.param('Bearer realm="a, scope=no", scope="read"', "read", id="a-comma-in-quotes"),
        pytest.param('Bearer scope="read", scope="write"', "read", id="the-first-of-two"),
        pytest.param('Bearer error="invalid_token",scope="read"', "read", id="no-space-after-the-comma"),
        pytest.param('Bearer ,,  scope="read"', "read", id="stray-commas"),
        pytest.param("Bearer", None, id="none"),
        pytest.param('Bearer scope=""', None, id="empty"),
        pytest.param('Basic scope="read"', None, id="of-another-scheme"),
        pytest.param('Bearer scope="never closed', None, id="never-closed"),
        pytest.param("", None, id="an-empty-header"),
    ],
)
def test_the_scope_of_a_challenge(header: str, scope: str | None) -> None:
    assert extract_scope_from_www_auth(refusal(header)) == scope


def test_challenges_may_be_in_headers_of_their_own() -> None:
    response = refusal('Basic realm="x"', 'Bearer scope="read", error="invalid_token"')
    assert extract_scope_from_www_auth(response) == "read"
    assert extract_field_from_www_auth(response, "error") == "invalid_token"
    assert extract_field_from_www_auth(response, "realm") is None


def test_a_metadata_url_needs_no_quotes() -> None:
    url = "https://api.example.com/.well-known/oauth-protected-resource/mcp"
    assert extract_resource_metadata_from_www_auth(refusal(f"Bearer resource_metadata={url}")) == url
    assert extract_resource_metadata_from_www_auth(refusal(f'Bearer resource_metadata="{url}"', status=403)) == url


def test_a_response_that_refuses_nothing_names_no_metadata() -> None:
    assert extract_resource_metadata_from_www_auth(refusal('Bearer resource_metadata="https://x"', status=200)) is None
    assert extract_scope_from_www_auth(httpx2.Response(401)) is None


@given(st.text(alphabet='Bearer scope="\\,= \tx\u00e9', max_size=60))
def test_no_header_is_too_odd_to_be_read(header: str) -> None:
    for scheme, parameters in parse_challenges(header):
        assert scheme == scheme.lower()
        assert all(name for name in parameters)
