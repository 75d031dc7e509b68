"""The endpoints of an authorization server, and the metadata that says where they are. RFC 8414; RFC 9207.

Specification: basic/authorization/authorization-server-discovery.
"""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import AnyHttpUrl
from starlette.routing import Route

from mcp.server.auth.client_assertions import ASSERTION_ALGORITHMS
from mcp.server.auth.cors import cors_middleware
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.revoke import RevocationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import CLIENT_AUTHENTICATION_METHODS, ClientAuthenticator
from mcp.server.auth.provider import OAuthAuthorizationServerProvider
from mcp.server.auth.resource_metadata import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthMetadata

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

__all__ = [
    "AUTHORIZATION_PATH",
    "ID_JAG_GRANT_PROFILE",
    "REGISTRATION_PATH",
    "REVOCATION_PATH",
    "TOKEN_PATH",
    "build_metadata",
    "build_resource_metadata_url",
    "cors_middleware",
    "create_auth_routes",
    "create_protected_resource_routes",
    "validate_issuer_url",
]

AUTHORIZATION_PATH = "/authorize"
TOKEN_PATH = "/token"
REGISTRATION_PATH = "/register"
REVOCATION_PATH = "/revoke"

ID_JAG_GRANT_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"

_WELL_KNOWN_PATH: Final = "/.well-known/oauth-authorization-server"
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")


def validate_issuer_url(url: AnyHttpUrl) -> None:
    """Checks that a URL can name an authorization server. RFC 8414, section 2.

    Args:
        url: The URL.

    Raises:
        ValueError: It is neither https nor on this machine, or it has a query, a fragment or a user name.
    """
    if url.scheme != "https" and url.host not in _LOOPBACK_HOSTS:
        raise ValueError("Issuer URL must be HTTPS")
    if url.fragment is not None:
        raise ValueError("Issuer URL must not have a fragment")
    if url.query is not None:
        raise ValueError("Issuer URL must not have a query string")
    if url.username is not None or url.password is not None:
        raise ValueError("Issuer URL must not have a user name")


def build_metadata(
    issuer_url: AnyHttpUrl,
    service_documentation_url: AnyHttpUrl | None,
    client_registration_options: ClientRegistrationOptions,
    revocation_options: RevocationOptions,
    supports_identity_assertion: bool = False,
    *,
    answers_carry_issuer: bool = False,
    reads_client_documents: bool = False,
) -> OAuthMetadata:
    """What an authorization server says of itself.

    Args:
        issuer_url: What names it, and where its endpoints are.
        service_documentation_url: Where developers read about it.
        client_registration_options: Whether clients may register themselves, and for which scopes.
        revocation_options: Whether clients may revoke tokens.
        supports_identity_assertion: Whether it takes the assertions of an identity provider.
        answers_carry_issuer: Whether every answer to an authorization request carries `iss`; clients then refuse one
            that does not.
        reads_client_documents: Whether a client may be the URL of a document about itself.
    """
    grant_types = ["authorization_code", "refresh_token"]
    methods = list(CLIENT_AUTHENTICATION_METHODS)
    registers, revokes = client_registration_options.enabled, revocation_options.enabled
    return OAuthMetadata(
        issuer=issuer_url,
        authorization_endpoint=_endpoint(issuer_url, AUTHORIZATION_PATH),
        token_endpoint=_endpoint(issuer_url, TOKEN_PATH),
        registration_endpoint=_endpoint(issuer_url, REGISTRATION_PATH) if registers else None,
        scopes_supported=client_registration_options.valid_scopes,
        response_types_supported=["code"],
        response_modes_supported=["query"],
        grant_types_supported=[*grant_types, JWT_BEARER_GRANT_TYPE] if supports_identity_assertion else grant_types,
        token_endpoint_auth_methods_supported=methods,
        token_endpoint_auth_signing_alg_values_supported=ASSERTION_ALGORITHMS,
        service_documentation=service_documentation_url,
        revocation_endpoint=_endpoint(issuer_url, REVOCATION_PATH) if revokes else None,
        revocation_endpoint_auth_methods_supported=methods if revokes else None,
        revocation_endpoint_auth_signing_alg_values_supported=ASSERTION_ALGORITHMS if revokes else None,
        code_challenge_methods_supported=["S256"],
        client_id_metadata_document_supported=reads_client_documents or None,
        authorization_response_iss_parameter_supported=answers_carry_issuer or None,
        authorization_grant_profiles_supported=[ID_JAG_GRANT_PROFILE] if supports_identity_assertion else None,
    )


def _endpoint(issuer_url: AnyHttpUrl, path: str) -> AnyHttpUrl:
    return AnyHttpUrl(str(issuer_url).rstrip("/") + path)


def create_auth_routes(
    provider: OAuthAuthorizationServerProvider[Any, Any, Any],
    issuer_url: AnyHttpUrl,
    service_documentation_url: AnyHttpUrl | None = None,
    client_registration_options: ClientRegistrationOptions | None = None,
    revocation_options: RevocationOptions | None = None,
    identity_assertion_enabled: bool = False,
) -> list[Route]:
    """The routes of an authorization server.

    The routes of an issuer with a path are there twice: with the path, for an application at the root of the host,
    and without it, for one that is mounted at the path. Its metadata has its place at the root of the host
    (`/.well-known/oauth-authorization-server/<path>`), which an application that is mounted elsewhere cannot serve.

    A provider may have two attributes that its protocol does not ask for: `answers_carry_issuer = True` promises that
    every answer that it builds itself carries `iss` (RFC 9207), and `client_documents`, a `ClientDocuments`, serves
    clients whose id is the URL of a document.

    Args:
        provider: The authorization server, apart from its endpoints.
        issuer_url: What names it, and where its endpoints are.
        service_documentation_url: Where developers read about it.
        client_registration_options: Whether clients may register themselves. They may not if left out.
        revocation_options: Whether clients may revoke tokens. They may not if left out.
        identity_assertion_enabled: Whether `/token` takes the assertions of an identity provider (RFC 7523).

    Raises:
        ValueError: `issuer_url` cannot name an authorization server.
    """
    validate_issuer_url(issuer_url)
    registration = client_registration_options or ClientRegistrationOptions()
    revocation = revocation_options or RevocationOptions()
    metadata = build_metadata(
        issuer_url,
        service_documentation_url,
        registration,
        revocation,
        identity_assertion_enabled,
        answers_carry_issuer=getattr(provider, "answers_carry_issuer", False),
        reads_client_documents=getattr(provider, "client_documents", None) is not None,
    )
    issuer = str(metadata.issuer)
    authenticator = ClientAuthenticator(provider, (issuer, str(metadata.token_endpoint)))
    token = TokenHandler(provider, authenticator, identity_assertion_enabled)
    endpoints: dict[str, tuple[Callable[..., Any], list[str]]] = {
        AUTHORIZATION_PATH: (AuthorizationHandler(provider, issuer).handle, ["GET", "POST"]),
        TOKEN_PATH: _for_pages(token.handle, "POST"),
    }
    if registration.enabled:
        endpoints[REGISTRATION_PATH] = _for_pages(RegistrationHandler(provider, registration).handle, "POST")
    if revocation.enabled:
        endpoints[REVOCATION_PATH] = _for_pages(RevocationHandler(provider, authenticator).handle, "POST")
    prefix = urlsplit(issuer).path.rstrip("/")
    described = _for_pages(MetadataHandler(metadata).handle, "GET")
    routes = [_route(path, *described) for path in _once(_WELL_KNOWN_PATH + prefix, _WELL_KNOWN_PATH)]
    for path, endpoint in endpoints.items():
        routes += [_route(place, *endpoint) for place in _once(prefix + path, path)]
    return routes


def _for_pages(
    handler: "Callable[[Request], Response | Awaitable[Response]]", verb: str
) -> "tuple[ASGIApp, list[str]]":
    """An endpoint that web pages of every origin may use, and its verbs."""
    verbs = [verb, "OPTIONS"]
    return cors_middleware(handler, verbs), verbs


def _once(*paths: str) -> list[str]:
    return list(dict.fromkeys(paths))


def _route(path: str, endpoint: Callable[..., Any], verbs: list[str]) -> Route:
    route = Route(path, endpoint=endpoint, methods=verbs)
    # Without the braces that Starlette would read in the path of an issuer.
    route.path_regex = re.compile(f"^{re.escape(unquote(path))}$")
    return route
