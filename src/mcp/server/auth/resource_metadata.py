"""What a protected server says of itself, and where: RFC 9728."""

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import AnyHttpUrl
from starlette.routing import Route

from mcp.server.auth.cors import cors_middleware
from mcp.server.auth.handlers.metadata import ProtectedResourceMetadataHandler
from mcp.shared.auth import ProtectedResourceMetadata

if TYPE_CHECKING:
    from mcp.server.auth.settings import AuthSettings

__all__ = ["build_resource_metadata_url", "create_protected_resource_routes", "metadata_routes"]

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def build_resource_metadata_url(resource_server_url: AnyHttpUrl) -> AnyHttpUrl:
    """The URL of a protected resource's metadata. RFC 9728, section 3.1.

    Args:
        resource_server_url: The resource.
    """
    parts = urlsplit(str(resource_server_url))
    path = "" if parts.path == "/" else parts.path
    return AnyHttpUrl(urlunsplit(parts._replace(path=_WELL_KNOWN + path, fragment="")))


def create_protected_resource_routes(
    resource_url: AnyHttpUrl,
    authorization_servers: list[AnyHttpUrl],
    scopes_supported: list[str] | None = None,
    resource_name: str | None = None,
    resource_documentation: AnyHttpUrl | None = None,
) -> list[Route]:
    """The route of a protected resource's metadata. Anybody may read it, and web pages of every origin.

    Args:
        resource_url: The resource.
        authorization_servers: Whose tokens it takes.
        scopes_supported: The scopes that a client may need.
        resource_name: Its name for people.
        resource_documentation: Where developers read about it.
    """
    metadata = ProtectedResourceMetadata(
        resource=resource_url,
        authorization_servers=authorization_servers,
        scopes_supported=scopes_supported,
        resource_name=resource_name,
        resource_documentation=resource_documentation,
    )
    return [_route(metadata)]


def _route(metadata: ProtectedResourceMetadata) -> Route:
    """The route of a resource's metadata."""
    url = build_resource_metadata_url(metadata.resource)
    endpoint = cors_middleware(ProtectedResourceMetadataHandler(metadata).handle, ["GET", "OPTIONS"])
    # Without the braces that Starlette would read; the pattern is the path itself, with and without a final slash.
    path = url.path or ""
    route = Route(path, endpoint=endpoint, methods=["GET", "OPTIONS"])
    route.path_regex = re.compile(f"^{re.escape(unquote(path).rstrip('/'))}/?$")
    return route


def metadata_routes(settings: "AuthSettings", scopes_supported: list[str] | None) -> list[Route]:
    """The routes of the metadata of the server that `settings` protect; none where it has no public URL.

    Args:
        settings: How the server is protected.
        scopes_supported: The scopes that a client may need.
    """
    if settings.resource_server_url is None:
        return []
    dpop = settings.dpop
    metadata = ProtectedResourceMetadata(
        resource=settings.resource_server_url,
        authorization_servers=[settings.issuer_url],
        scopes_supported=scopes_supported,
        resource_documentation=settings.service_documentation_url,
        dpop_signing_alg_values_supported=None if dpop is None else dpop.algorithms,
        dpop_bound_access_tokens_required=None if dpop is None else dpop.required,
    )
    return [_route(metadata)]
