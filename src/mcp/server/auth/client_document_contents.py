"""What the document of a client says, if it is in order.

Specification: basic/authorization/client-registration under "Client ID Metadata Documents";
draft-ietf-oauth-client-id-metadata-document-00, section 4.1.
"""

from collections.abc import Collection
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import from_json

from mcp.server.auth.client_assertions import has_keys
from mcp.server.auth.errors import RefusedRequest, stringify_pydantic_error
from mcp.server.auth.redirects import registration_problem
from mcp.shared.auth import OAuthClientInformationFull

__all__ = ["UnreachableDocumentError", "client_of", "refused_document", "unreachable_document"]


class UnreachableDocumentError(RefusedRequest):
    """A document cannot be had now."""


def refused_document(reason: str) -> RefusedRequest:
    """A document is not in order.

    Args:
        reason: What is wrong with it, in words.
    """
    return RefusedRequest(f"client_id: {reason}", "invalid_client")


def unreachable_document(reason: str) -> RefusedRequest:
    """A document cannot be had now.

    Args:
        reason: Why, in words.
    """
    return UnreachableDocumentError(f"client_id: {reason}", "invalid_client")


def client_of(
    client_id: str, body: bytes, scopes: list[str], program_schemes: Collection[str]
) -> OAuthClientInformationFull:
    """The client that a document is about. Section 4.1 of the draft.

    Args:
        client_id: Its URL.
        body: The document.
        scopes: What the client may ask for.
        program_schemes: As in `ClientRegistrationOptions`.

    Raises:
        RefusedRequest: The document is not in order.
    """
    try:
        parsed = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise refused_document("its document is not JSON") from None
    if not isinstance(parsed, dict):
        raise refused_document("its document is not a JSON object")
    document = cast("dict[str, Any]", parsed)
    if document.get("client_id") != client_id:
        raise refused_document("its document is about another client_id")
    if "client_secret" in document or "client_secret_expires_at" in document:
        raise refused_document("its document must not hold a secret")
    document = {"token_endpoint_auth_method": "none", "application_type": "native", **document}
    try:
        client = OAuthClientInformationFull.model_validate(document)
    except ValidationError as error:
        raise refused_document(f"its document is not in order: {stringify_pydantic_error(error)}") from None
    _check(client, document, program_schemes)
    asked = scopes if client.scope is None else [scope for scope in client.scope.split() if scope in scopes]
    grants = [grant for grant in ("authorization_code", "refresh_token") if grant in client.grant_types]
    return client.model_copy(update={"scope": " ".join(asked), "grant_types": grants, "issuer": None})


def _check(client: OAuthClientInformationFull, document: dict[str, Any], program_schemes: Collection[str]) -> None:
    if not client.client_name or not client.redirect_uris:
        raise refused_document("its document must have a client_name and redirect_uris")
    kind = "web" if client.application_type == "web" else "native"
    for uri in document["redirect_uris"]:
        problem = registration_problem(uri, kind, program_schemes)
        if problem is not None:
            raise refused_document(f"its redirect URI '{uri}' cannot be used: {problem}")
    method = client.token_endpoint_auth_method
    if method != "none" and not (method == "private_key_jwt" and has_keys(client.jwks)):
        raise refused_document("its token_endpoint_auth_method must be none, or private_key_jwt with its keys as jwks")
