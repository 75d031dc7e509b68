"""The metadata of a protected resource: where it is, what it says, and who may read it."""

from typing import Any

import pytest
from protecting import http_to
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from mcp.server.auth.resource_metadata import build_resource_metadata_url, create_protected_resource_routes

pytestmark = pytest.mark.anyio

AUTHORIZATION_SERVER = AnyHttpUrl("https://auth.example.com")


def client_of(resource: str) -> Any:
    routes = create_protected_resource_routes(AnyHttpUrl(resource), [AUTHORIZATION_SERVER], ["read", "write"])
    return http_to(Starlette(routes=routes), "https://mcp.example.com")


@pytest.mark.parametrize(
    ("resource", "metadata"),
    [
        ("https://mcp.example.com", "https://mcp.example.com/.well-known/oauth-protected-resource"),
        ("https://mcp.example.com/", "https://mcp.example.com/.well-known/oauth-protected-resource"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"),
        (
            "https://mcp.example.com:8443/a/b/c",
            "https://mcp.example.com:8443/.well-known/oauth-protected-resource/a/b/c",
        ),
        (
            "https://mcp.example.com/mcp?tenant=1",
            "https://mcp.example.com/.well-known/oauth-protected-resource/mcp?tenant=1",
        ),
        ("https://mcp.example.com/mcp#part", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_the_metadata_of_a_resource_is_below_the_well_known_path_of_its_host(resource: str, metadata: str) -> None:
    assert str(build_resource_metadata_url(AnyHttpUrl(resource))) == metadata


@pytest.mark.parametrize(
    "resource",
    [
        "https://mcp.example.com",
        "https://mcp.example.com/mcp",
        "https://mcp.example.com/mcp/",
        "https://mcp.example.com/teams/one/mcp",
        "https://mcp.example.com/a%20b",
        "https://mcp.example.com/{name}",
        "https://mcp.example.com/mcp?tenant=1",
    ],
)
async def test_the_metadata_is_served_at_its_url_and_names_the_resource(resource: str) -> None:
    async with client_of(resource) as client:
        answer = await client.get(str(build_resource_metadata_url(AnyHttpUrl(resource))))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "public, max-age=3600"
        assert answer.json() == {
            "resource": str(AnyHttpUrl(resource)),
            "authorization_servers": ["https://auth.example.com/"],
            "scopes_supported": ["read", "write"],
            "bearer_methods_supported": ["header"],
        }


@pytest.mark.parametrize("suffix", ["", "/other", "/mcp/more", "/xmcp"])
async def test_other_paths_have_no_metadata(suffix: str) -> None:
    async with client_of("https://mcp.example.com/mcp") as client:
        answer = await client.get(f"/.well-known/oauth-protected-resource{suffix}")
        assert answer.status_code == 404


async def test_a_brace_in_the_url_of_a_resource_is_no_pattern() -> None:
    async with client_of("https://mcp.example.com/{name}") as client:
        answer = await client.get("/.well-known/oauth-protected-resource/mcp")
        assert answer.status_code == 404


async def test_a_web_page_of_any_origin_may_read_the_metadata() -> None:
    url = "/.well-known/oauth-protected-resource/mcp"
    async with client_of("https://mcp.example.com/mcp") as client:
        answer = await client.get(url, headers={"origin": "https://page.example.org"})
        assert answer.headers["access-control-allow-origin"] == "*"
        asked = {
            "origin": "https://page.example.org",
            "access-control-request-method": "GET",
            "access-control-request-headers": "mcp-protocol-version",
        }
        preflight = await client.options(url, headers=asked)
        assert preflight.status_code == 200
        assert "mcp-protocol-version" in preflight.headers["access-control-allow-headers"].lower()
        refused = await client.post(url)
        assert refused.status_code == 405
