"""The registration endpoint. RFC 7591; OpenID Connect Dynamic Client Registration, section 2.

Specification: basic/authorization/client-registration under "Dynamic Client Registration".
"""

import logging
import secrets
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from mcp.server.auth.client_assertions import has_keys
from mcp.server.auth.errors import (
    NO_STORE,
    RefusedRequest,
    describable,
    error_response,
    log_failure,
    stringify_pydantic_error,
)
from mcp.server.auth.json_response import PydanticJSONResponse
from mcp.server.auth.parameters import read_body
from mcp.server.auth.provider import OAuthAuthorizationServerProvider, RegistrationError, RegistrationErrorCode
from mcp.server.auth.redirects import registration_problem
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import is_json
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthClientMetadata

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["RegistrationErrorResponse", "RegistrationHandler", "RegistrationRequest"]

logger = logging.getLogger(__name__)

RegistrationRequest = OAuthClientMetadata

_GRANT_TYPES: Final = ("authorization_code", "refresh_token")
_SECRET_BYTES: Final = 32


class RegistrationErrorResponse(BaseModel):
    """Why a client is not registered. RFC 7591, section 3.2.2."""

    model_config = ConfigDict(defer_build=True)

    error: RegistrationErrorCode
    error_description: str | None


@dataclass
class RegistrationHandler:
    """Lets clients register themselves.

    What a client says of itself that this server does not do, such as other grant types, is left out of what is
    registered, and the answer tells the client.

    Attributes:
        provider: The authorization server.
        options: What may be registered.
    """

    provider: OAuthAuthorizationServerProvider[Any, Any, Any]
    options: ClientRegistrationOptions

    async def handle(self, request: "Request") -> "Response":
        """Answers a request."""
        client: OAuthClientInformationFull | None = None
        try:
            client = self._client(_metadata(await _document(request), self.options.program_schemes))
            await self.provider.register_client(client)
        except RefusedRequest as refused:
            return error_response(refused.error, refused.description, refused.status)
        except RegistrationError as refused:
            description = refused.error_description
            content = RegistrationErrorResponse.model_construct(
                error=refused.error, error_description=None if description is None else describable(description)
            )
            return PydanticJSONResponse(content, 400, headers=NO_STORE)
        except Exception as failure:
            secret = None if client is None else client.client_secret
            log_failure(logger, "register_client() of the authorization server's provider", failure, [secret])
            return error_response("server_error", "An unexpected error occurred", 500)
        return PydanticJSONResponse(client, 201, headers=NO_STORE)

    def _client(self, metadata: OAuthClientMetadata) -> OAuthClientInformationFull:
        """The client that is registered."""
        method = _authentication_method(metadata)
        issued_at = int(time.time())
        has_secret = method.startswith("client_secret")
        lifetime = self.options.client_secret_expiry_seconds
        return OAuthClientInformationFull.model_validate(
            {
                **metadata.model_dump(),
                "response_types": ["code"],
                "grant_types": _grant_types(metadata),
                "scope": self._scope(metadata.scope),
                "token_endpoint_auth_method": method,
                "client_id": str(uuid.uuid4()),
                "client_id_issued_at": issued_at,
                "client_secret": secrets.token_hex(_SECRET_BYTES) if has_secret else None,
                "client_secret_expires_at": (issued_at + lifetime if lifetime else 0) if has_secret else None,
            }
        )

    def _scope(self, asked: str | None) -> str | None:
        """What the client is registered for."""
        if not asked:
            return " ".join(self.options.default_scopes) if self.options.default_scopes else None
        if self.options.valid_scopes is not None:
            invalid = [scope for scope in asked.split() if scope not in self.options.valid_scopes]
            if invalid:
                raise _refused(f"Requested scopes are not valid: {', '.join(invalid)}")
        return " ".join(asked.split())


def _refused(description: str, error: RegistrationErrorCode = "invalid_client_metadata") -> RegistrationError:
    return RegistrationError(error, description)


async def _document(request: "Request") -> dict[str, Any]:
    """What the client says of itself, as JSON."""
    content_type = request.headers.get("content-type", "")
    if content_type and not is_json(content_type.encode("latin-1")):
        raise _refused(f"Invalid Content-Type header: expected application/json, got '{content_type}'")
    try:
        document = from_json(await read_body(request), allow_inf_nan=False)
    except ValueError as error:
        raise _refused(f"Invalid JSON: {error}") from None
    if not isinstance(document, dict):
        raise _refused("The client metadata must be a JSON object")
    return cast("dict[str, Any]", document)


def _metadata(document: dict[str, Any], program_schemes: list[str]) -> OAuthClientMetadata:
    """What the client says of itself, in order as far as that can be seen from it alone."""
    try:
        metadata = OAuthClientMetadata.model_validate(document)
    except ValidationError as error:
        wrong_uri = any(len(found["loc"]) > 1 and found["loc"][0] == "redirect_uris" for found in error.errors())
        code = "invalid_redirect_uri" if wrong_uri else "invalid_client_metadata"
        raise _refused(stringify_pydantic_error(error), code) from None
    if metadata.redirect_uris is None:
        raise _refused("redirect_uris: expected at least one")
    for uri in document["redirect_uris"]:
        problem = registration_problem(uri, metadata.application_type, program_schemes)
        if problem is not None:
            raise _refused(f"redirect_uris: '{uri}' cannot be registered: {problem}", "invalid_redirect_uri")
    if "code" not in metadata.response_types:
        raise _refused("response_types must include 'code' for authorization_code grant")
    return metadata


def _grant_types(metadata: OAuthClientMetadata) -> list[str]:
    if JWT_BEARER_GRANT_TYPE in metadata.grant_types:
        raise _refused(
            f"grant_types must not include '{JWT_BEARER_GRANT_TYPE}'; "
            "the identity-assertion grant requires a pre-registered client"
        )
    if "authorization_code" not in metadata.grant_types:
        raise _refused("grant_types must include 'authorization_code'")
    return [grant_type for grant_type in _GRANT_TYPES if grant_type in metadata.grant_types]


def _authentication_method(
    metadata: OAuthClientMetadata,
) -> Literal["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]:
    method = metadata.token_endpoint_auth_method or "client_secret_post"
    if method == "private_key_jwt" and not has_keys(metadata.jwks):
        raise _refused("token_endpoint_auth_method 'private_key_jwt' needs the keys themselves, as jwks")
    return method
