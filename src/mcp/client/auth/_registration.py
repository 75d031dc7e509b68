"""Who the client is to an authorization server: known to it, a document of its own, or registered on the spot.

Specification: basic/authorization/client-registration; RFC 7591; client ID metadata documents.
"""

import time
from typing import Final
from urllib.parse import SplitResult, urlsplit

import httpx2
from pydantic import AnyUrl

from mcp.client.auth._discovery import issuers_match
from mcp.client.auth._documents import error_text, read_model
from mcp.client.auth._places import is_local
from mcp.client.auth._sending import redirect_note
from mcp.client.auth.exceptions import OAuthRegistrationError
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata

__all__ = [
    "check_registration_usable",
    "create_client_info_from_metadata_url",
    "create_client_registration_request",
    "credentials_match_issuer",
    "handle_registration_response",
    "is_valid_client_metadata_url",
    "knows_redirect_uri",
    "registration_metadata",
    "should_use_client_metadata_url",
]

SECRET_METHODS: Final = ("client_secret_basic", "client_secret_post")


def credentials_match_issuer(
    client_info: OAuthClientInformationFull, issuer: str, client_metadata_url: str | None
) -> bool:
    """Whether credentials may be used at an authorization server: at the one that issued them, and no other.

    Args:
        client_info: The credentials. If they do not say who issued them, the program has set them, and answers for it.
        issuer: The authorization server.
        client_metadata_url: The program's client ID metadata document, which is good everywhere.
    """
    if client_metadata_url is not None and client_info.client_id == client_metadata_url:
        return True
    return client_info.issuer is None or issuers_match(client_info.issuer, issuer)


def is_valid_client_metadata_url(url: str | None) -> bool:
    """Whether a URL can be a client ID: HTTPS, with a path."""
    if not url:
        return False
    parts = urlsplit(url)
    return parts.scheme == "https" and bool(parts.hostname) and parts.path not in ("", "/")


def knows_redirect_uri(info: OAuthClientInformationFull, metadata: OAuthClientMetadata) -> bool:
    """Whether a registration lets the user come back to where the program now waits.

    Args:
        info: The registration. One that names no place leaves that to the server.
        metadata: What the program says of itself.
    """
    if not info.redirect_uris or not metadata.redirect_uris:
        return True
    wanted = urlsplit(str(metadata.redirect_uris[0]))
    for uri in info.redirect_uris:
        known = urlsplit(str(uri))
        # One of this machine that was registered without a port is good with any. RFC 8252, section 7.3.
        if wanted == known or (known.port is None and is_local(str(uri)) and _without_port(wanted) == known):
            return True
    return False


def _without_port(url: SplitResult) -> SplitResult:
    return url._replace(netloc=url.netloc.removesuffix(f":{url.port}"))


def should_use_client_metadata_url(oauth_metadata: OAuthMetadata | None, client_metadata_url: str | None) -> bool:
    """Whether the client can show its metadata document instead of registering."""
    return (
        client_metadata_url is not None
        and oauth_metadata is not None
        and oauth_metadata.client_id_metadata_document_supported is True
    )


def create_client_info_from_metadata_url(
    client_metadata_url: str, redirect_uris: list[AnyUrl] | None = None
) -> OAuthClientInformationFull:
    """The credentials of a client that is known by its metadata document.

    Args:
        client_metadata_url: Where the document is; it is the client ID.
        redirect_uris: Where users may be sent back to.
    """
    return OAuthClientInformationFull(
        client_id=client_metadata_url, redirect_uris=redirect_uris, token_endpoint_auth_method="none"
    )


def registration_metadata(
    client_metadata: OAuthClientMetadata, server: OAuthMetadata | None, scope: str | None
) -> OAuthClientMetadata:
    """What to register with: what the program says of itself, and what it will ask for.

    Args:
        client_metadata: What the program says.
        server: What the authorization server can do.
        scope: The scopes that the client will ask for.
    """
    changes: dict[str, object] = {"scope": scope}
    if "application_type" not in client_metadata.model_fields_set and _is_web(client_metadata):
        changes["application_type"] = "web"
    if client_metadata.token_endpoint_auth_method is None:
        changes["token_endpoint_auth_method"] = _method_to_register(server)
    return client_metadata.model_copy(update=changes)


def _is_web(metadata: OAuthClientMetadata) -> bool:
    """Whether users are sent back to a site. An OpenID provider takes those from web applications alone."""
    uris = [str(uri) for uri in metadata.redirect_uris or []]
    return bool(uris) and all(uri.startswith("https:") and not is_local(uri) for uri in uris)


def _method_to_register(server: OAuthMetadata | None) -> str | None:
    """How to authenticate; None stands for `client_secret_basic` (RFC 7591, section 2)."""
    offered = None if server is None else server.token_endpoint_auth_methods_supported
    if not offered or "client_secret_basic" in offered:
        return None
    return next((method for method in ("client_secret_post", "none") if method in offered), None)


def create_client_registration_request(
    auth_server_metadata: OAuthMetadata | None, client_metadata: OAuthClientMetadata, auth_base_url: str
) -> httpx2.Request:
    """The request that registers a client. RFC 7591, section 3.1.

    Args:
        auth_server_metadata: Says where to; None if the server has no metadata.
        client_metadata: What to say of the client.
        auth_base_url: The root of a server without metadata, which registers at `/register`.
    """
    endpoint = None if auth_server_metadata is None else auth_server_metadata.registration_endpoint
    url = f"{auth_base_url.rstrip('/')}/register" if endpoint is None else str(endpoint)
    body = client_metadata.model_dump_json(by_alias=True, exclude_none=True)
    return httpx2.Request("POST", url, content=body, headers={"Content-Type": "application/json"})


async def handle_registration_response(response: httpx2.Response) -> OAuthClientInformationFull:
    """The credentials that a registration yields. RFC 7591, section 3.2.

    Raises:
        OAuthRegistrationError: It was refused, or the answer is of no use.
    """
    body = await response.aread()
    if response.status_code not in (200, 201):
        _, text = error_text(response)
        raise OAuthRegistrationError(f"Registration failed: {text}{redirect_note(response)}")
    try:
        info = read_model(OAuthClientInformationFull, body)
    except ValueError as problem:
        raise OAuthRegistrationError(f"Invalid registration response: {problem}") from None
    # It tells such a client from one that was registered by hand.
    info.client_id_issued_at = info.client_id_issued_at or int(time.time())
    return info


def check_registration_usable(client_info: OAuthClientInformationFull) -> None:
    """Whether a client that was just registered can authenticate itself.

    Raises:
        OAuthRegistrationError: It is to use a method that needs a key or a secret that it has not got.
    """
    method = client_info.token_endpoint_auth_method
    if method in SECRET_METHODS and client_info.client_secret is None:
        raise OAuthRegistrationError(
            f"The authorization server registered the client for {method!r} and issued no client_secret"
        )
    if method not in (None, "none", *SECRET_METHODS):
        raise OAuthRegistrationError(
            "The authorization server registered the client with the unsupported token_endpoint_auth_method"
            f" {method!r}: expected none, {' or '.join(SECRET_METHODS)}"
        )
