"""From the URL of a server to the authorization server that protects it.

A protected server says where its metadata is, or has it at a well-known place (RFC 9728). That names an authorization
server, which has metadata at well-known places of its own (RFC 8414, OpenID Connect Discovery). A server of 2025-03-26
has no metadata of the first kind: it is its own authorization server.

Specification: basic/authorization/authorization-server-discovery (2026-07-28); basic/authorization under "Server
Metadata Discovery" (2025-03-26).
"""

from typing import Any, Final, NamedTuple

import httpx2
from pydantic import AnyHttpUrl

from mcp.client.auth._documents import ModelT, json_object, read_model, validated
from mcp.client.auth._places import check_place, origin_of
from mcp.client.auth._sending import Steps, redirect_note
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.types.version import LATEST_PROTOCOL_VERSION

__all__ = [
    "Discovered",
    "build_oauth_authorization_server_metadata_discovery_urls",
    "build_protected_resource_metadata_discovery_urls",
    "create_oauth_metadata_request",
    "discover_authorization_server",
    "discover_protected_resource",
    "handle_auth_metadata_response",
    "handle_protected_resource_response",
    "issuers_match",
    "validate_metadata_issuer",
]

_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_SERVER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"


class Discovered:
    """What discovery finds.

    Attributes:
        resource: What the server says of itself; None if it is of a revision that has no such metadata.
        authorization_servers: Who protects it, letter by letter as it writes them.
        issuer: The one of them that is asked.
        server: What that says of itself.
    """

    def __init__(self) -> None:
        self.resource: ProtectedResourceMetadata | None = None
        self.authorization_servers: list[str] = []
        self.issuer: str | None = None
        self.server: OAuthMetadata | None = None


class _Tried(NamedTuple):
    url: str
    outcome: str


def build_protected_resource_metadata_discovery_urls(www_auth_url: str | None, server_url: str) -> list[str]:
    """Where the metadata of a protected server may be, in the order to ask.

    Args:
        www_auth_url: Where the server says that it is.
        server_url: The server.
    """
    url = httpx2.URL(server_url)
    urls = [] if www_auth_url is None else [www_auth_url]
    if url.path not in ("", "/"):
        urls.append(origin_of(url) + _RESOURCE + _path(url))
    urls.append(origin_of(url) + _RESOURCE)
    return list(dict.fromkeys(urls))


def build_oauth_authorization_server_metadata_discovery_urls(auth_server_url: str | None, server_url: str) -> list[str]:
    """Where the metadata of an authorization server may be, in the order to ask.

    Args:
        auth_server_url: The authorization server; None if the protected server names none, and is one itself.
        server_url: The protected server.
    """
    if auth_server_url is None:
        return [origin_of(server_url) + _SERVER]
    url = httpx2.URL(auth_server_url)
    origin, path = origin_of(url), _path(url).rstrip("/")
    if not path:
        return [origin + _SERVER, origin + _OPENID]
    return [origin + _SERVER + path, origin + _OPENID + path, origin + path + _OPENID]


def _path(url: httpx2.URL) -> str:
    """The path as it travels."""
    return url.raw_path.partition(b"?")[0].decode("ascii")


def create_oauth_metadata_request(url: str) -> httpx2.Request:
    """The request for metadata."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION, "Accept": "application/json"}
    return httpx2.Request("GET", url, headers=headers)


async def handle_protected_resource_response(response: httpx2.Response) -> ProtectedResourceMetadata | None:
    """The metadata of a protected server; None if the response holds none."""
    return _model_in(ProtectedResourceMetadata, response.status_code, await response.aread())


async def handle_auth_metadata_response(response: httpx2.Response) -> tuple[bool, OAuthMetadata | None]:
    """Whether to ask at the next place if there is no metadata here, and the metadata if there is."""
    metadata = _model_in(OAuthMetadata, response.status_code, await response.aread())
    return response.status_code < 500, metadata


def _model_in(model: type[ModelT], status: int, body: bytes) -> ModelT | None:
    try:
        return read_model(model, body) if status == 200 else None
    except ValueError:
        return None


def issuers_match(a: str, b: str) -> bool:
    """Whether two identifiers are of one authorization server. A slash where there is no path makes no difference."""
    return _without_bare_slash(a) == _without_bare_slash(b)


def _without_bare_slash(issuer: str) -> str:
    scheme, separator, rest = issuer.partition("://")
    return scheme + separator + (rest[:-1] if rest.count("/") == 1 and rest.endswith("/") else rest)


def validate_metadata_issuer(oauth_metadata: OAuthMetadata, expected_issuer: str) -> None:
    """Whether metadata is of the authorization server that was asked. RFC 8414, section 3.3.

    Args:
        oauth_metadata: The metadata.
        expected_issuer: The identifier that its place was made from.

    Raises:
        OAuthFlowError: The two differ, by whatever character.
    """
    _check_issuer(str(oauth_metadata.issuer), expected_issuer)


def _check_issuer(found: object, expected: str) -> None:
    if found != expected:
        hint = " (they differ in the slash at the end)" if issuers_match(str(found), expected) else ""
        raise OAuthFlowError(
            f"Authorization server metadata issuer mismatch: the metadata of {expected} says that it is of"
            f" {str(found)[:200]}{hint}; it is not used"
        )


async def discover_protected_resource(
    found: Discovered, named_url: str | None, server_url: str, *, closed_network: bool = False
) -> Steps:
    """Asks a server for its metadata as a protected resource. `found.resource` is None after it if there is none.

    Args:
        found: Takes what is found.
        named_url: Where the server says that its metadata is.
        server_url: The server.
        closed_network: Whether names are good that mean something in a private network alone.

    Raises:
        OAuthFlowError: Whether there is metadata cannot be told: the server fails, or what it has is of no use.
    """
    tried: list[_Tried] = []
    for url in build_protected_resource_metadata_discovery_urls(named_url, server_url):
        if url == named_url:
            what = "protected resource metadata URL"
            check_place(url, what, server_url, requires_https=False, closed_network=closed_network)
        response = yield create_oauth_metadata_request(url)
        if response.status_code == 200 and (document := json_object(response.content)) is not None:
            found.resource = _resource_in(url, document)
            found.authorization_servers = document["authorization_servers"]
            return
        tried.append(_Tried(url, _outcome(response)))
    if _out_of_order(tried):
        raise OAuthFlowError(_no_metadata("Protected resource metadata request failed", tried))


def _resource_in(url: str, document: dict[str, Any]) -> ProtectedResourceMetadata:
    try:
        return validated(ProtectedResourceMetadata, document)
    except ValueError as error:
        raise OAuthFlowError(f"The protected resource metadata at {url} is of no use: {error}") from None


async def discover_authorization_server(found: Discovered, server_url: str, *, requires_https: bool) -> Steps:
    """Asks the authorization server for its metadata; `found.server` is set after it.

    Args:
        found: Says who that is, with `issuer`; None if the server has no metadata as a protected resource.
        server_url: The protected server.
        requires_https: Whether the authorization server must be reached by HTTPS, unless it is on this machine.

    Raises:
        OAuthFlowError: It has no metadata, or that is of no use.
    """
    named = found.issuer
    issuer = origin_of(server_url) if named is None else named
    check_place(issuer, "authorization server", server_url, requires_https=requires_https)
    tried: list[_Tried] = []
    for url in build_oauth_authorization_server_metadata_discovery_urls(named, server_url):
        response = yield create_oauth_metadata_request(url)
        if response.status_code == 200 and (document := json_object(response.content)) is not None:
            found.server = _server_in(url, document, issuer)
            break
        tried.append(_Tried(url, _outcome(response)))
    else:
        if named is not None or _out_of_order(tried):
            raise OAuthFlowError(_no_metadata(f"The authorization server {issuer} has no metadata", tried))
        found.server = _assumed_server(issuer)
    found.issuer = issuer
    _check_endpoints(found.server, server_url, requires_https=requires_https)


def _server_in(url: str, document: dict[str, Any], issuer: str) -> OAuthMetadata:
    try:
        metadata = validated(OAuthMetadata, document)
    except ValueError as error:
        raise OAuthFlowError(f"The authorization server metadata at {url} is of no use: {error}") from None
    _check_issuer(document["issuer"], issuer)
    return metadata


def _assumed_server(origin: str) -> OAuthMetadata:
    """What a server of 2025-03-26 without any metadata is taken to offer."""
    return OAuthMetadata(
        issuer=AnyHttpUrl(origin),
        authorization_endpoint=AnyHttpUrl(f"{origin}/authorize"),
        token_endpoint=AnyHttpUrl(f"{origin}/token"),
        registration_endpoint=AnyHttpUrl(f"{origin}/register"),
    )


def _check_endpoints(metadata: OAuthMetadata, home: str, *, requires_https: bool) -> None:
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint"):
        url = getattr(metadata, name)
        if url is not None:
            check_place(str(url), f"{name} of {metadata.issuer}", home, requires_https=requires_https)


def _outcome(response: httpx2.Response) -> str:
    if response.status_code == 200:
        return "no JSON object"
    return f"HTTP {response.status_code}{redirect_note(response)}"


def _out_of_order(tried: list[_Tried]) -> bool:
    """Whether there may be metadata, and it cannot be had now."""
    return any(outcome.startswith(("HTTP 3", "HTTP 5")) for _, outcome in tried)


def _no_metadata(problem: str, tried: list[_Tried]) -> str:
    return f"{problem}: " + "; ".join(f"{url} answers with {outcome}" for url, outcome in tried)
