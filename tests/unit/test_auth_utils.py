"""The small rules of authorization that servers and clients share."""

import time

import pytest
from pydantic import AnyUrl

from mcp.shared.auth_utils import calculate_token_expiry, check_resource_allowed, resource_url_from_server_url


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("https://Example.com/mcp", "https://example.com/mcp"),
        ("HTTPS://EXAMPLE.com/Path/?q=1#part", "https://example.com/Path/?q=1"),
        ("https://example.com:8443", "https://example.com:8443"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
        (AnyUrl("https://example.com/mcp#part"), "https://example.com/mcp"),
    ],
)
def test_a_server_is_named_by_its_url_without_the_fragment(url: str | AnyUrl, resource: str) -> None:
    assert resource_url_from_server_url(url) == resource


@pytest.mark.parametrize(
    ("requested", "configured"),
    [
        ("https://e.com/mcp", "https://e.com/mcp"),
        ("https://e.com/mcp/below", "https://e.com/mcp"),
        ("https://e.com/mcp/", "https://e.com/mcp"),
        ("https://e.com/mcp", "https://e.com/mcp/"),
        ("https://e.com", "https://e.com/"),
        ("https://E.com/mcp", "https://e.com/mcp"),
        ("https://e.com:443/mcp", "https://e.com/mcp"),
        ("https://e.com/mcp?tenant=1", "https://e.com/mcp"),
    ],
)
def test_a_resource_covers_itself_and_what_is_below(requested: str, configured: str) -> None:
    assert check_resource_allowed(requested, configured)


@pytest.mark.parametrize(
    ("requested", "configured"),
    [
        ("https://e.com/mcp-other", "https://e.com/mcp"),
        ("https://e.com/", "https://e.com/mcp"),
        ("https://e.com/MCP", "https://e.com/mcp"),
        ("http://e.com/mcp", "https://e.com/mcp"),
        ("https://e.com:8443/mcp", "https://e.com/mcp"),
        ("https://f.com/mcp", "https://e.com/mcp"),
        ("https://e.com/mcp/../admin", "https://e.com/mcp"),
        ("https://e.com/mcp/%2e%2e/admin", "https://e.com/mcp"),
        ("https://e.com/mcp/..%5cadmin", "https://e.com/mcp"),
        ("https://e.com:port/mcp", "https://e.com/mcp"),
        ("https://[e.com/mcp", "https://e.com/mcp"),
    ],
)
def test_a_resource_covers_nothing_else(requested: str, configured: str) -> None:
    assert not check_resource_allowed(requested, configured)


def test_the_end_of_a_token_is_counted_from_now() -> None:
    assert calculate_token_expiry(None) is None
    for expires_in in (3600, "3600"):
        expiry = calculate_token_expiry(expires_in)
        assert expiry is not None
        assert abs(expiry - time.time() - 3600) < 60
    with pytest.raises(ValueError, match="soon"):
        calculate_token_expiry("soon")
