"""The token endpoint. RFC 6749, sections 4.1.3, 5 and 6; RFC 7523, section 2.1; RFC 7636, section 4.6; RFC 8707."""

import base64
import hashlib
import hmac
import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AnyHttpUrl, AnyUrl, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mcp.server.auth.errors import (
    NO_STORE,
    RefusedRequest,
    describable,
    error_headers,
    error_response,
    log_failure,
    stringify_pydantic_error,
)
from mcp.server.auth.json_response import PydanticJSONResponse
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator, is_public
from mcp.server.auth.parameters import Parameters, read_parameters, resource_problem
from mcp.server.auth.provider import (
    IdentityAssertionParams,
    OAuthAuthorizationServerProvider,
    TokenError,
    TokenErrorCode,
)
from mcp.server.auth.redirects import same_uri
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken
from mcp.shared.auth_utils import check_resource_allowed

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = [
    "AuthorizationCodeRequest",
    "JwtBearerRequest",
    "RefreshTokenRequest",
    "TokenErrorResponse",
    "TokenHandler",
    "TokenRequest",
    "TokenSuccessResponse",
    "token_request_adapter",
]

logger = logging.getLogger(__name__)

_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class AuthorizationCodeRequest(BaseModel):
    """A code is exchanged for tokens."""

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    grant_type: Literal["authorization_code"]
    code: str
    redirect_uri: AnyUrl | None = None
    client_id: str
    client_secret: str | None = None
    code_verifier: str
    resource: str | None = None


class RefreshTokenRequest(BaseModel):
    """A refresh token is exchanged for new tokens."""

    model_config = ConfigDict(defer_build=True)

    grant_type: Literal["refresh_token"]
    refresh_token: str
    scope: str | None = None
    client_id: str
    client_secret: str | None = None
    resource: str | None = None


class JwtBearerRequest(BaseModel):
    """What an identity provider has signed is exchanged for a token."""

    model_config = ConfigDict(defer_build=True)

    grant_type: Literal["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assertion: str
    scope: str | None = None
    client_id: str
    client_secret: str | None = None
    resource: str | None = None


TokenRequest = Annotated[
    AuthorizationCodeRequest | RefreshTokenRequest | JwtBearerRequest, Field(discriminator="grant_type")
]
token_request_adapter = TypeAdapter[TokenRequest](TokenRequest)

TokenSuccessResponse = OAuthToken


class TokenErrorResponse(BaseModel):
    """Why there are no tokens. RFC 6749, section 5.2."""

    model_config = ConfigDict(defer_build=True)

    error: TokenErrorCode
    error_description: str | None = None
    error_uri: AnyHttpUrl | None = None


@dataclass
class TokenHandler:
    """Sees to it that a client may have the tokens that it asks for, and lets the provider issue them.

    Attributes:
        provider: The authorization server.
        client_authenticator: Tells which client a request is from.
        identity_assertion_enabled: Whether the assertions of an identity provider are taken.
    """

    provider: OAuthAuthorizationServerProvider[Any, Any, Any]
    client_authenticator: ClientAuthenticator
    identity_assertion_enabled: bool = False

    def response(self, obj: TokenSuccessResponse | TokenErrorResponse) -> "Response":
        """The answer to a token request.

        Args:
            obj: The tokens, or why there are none.
        """
        if isinstance(obj, TokenErrorResponse):
            status = 401 if obj.error == "invalid_client" else 400
            description = obj.error_description
            told = obj.model_copy(
                update={"error_description": None if description is None else describable(description)}
            )
            return PydanticJSONResponse(told, status, headers=error_headers(status))
        # The rest of the model is what clients note down for themselves.
        told = obj.model_copy(update={"expires_at": None, "issuer": None, "token_endpoint": None})
        return PydanticJSONResponse(told, headers=NO_STORE)

    async def handle(self, request: "Request") -> "Response":
        """Answers a request."""
        try:
            parameters = await read_parameters(request)
            parameters.check_repetition()
        except RefusedRequest as refused:
            return error_response(refused.error, refused.description, refused.status)
        try:
            client = await self.client_authenticator.authenticate_request(request)
            asked = self._asked(client, parameters)
            return self.response(await self._issue(client, asked))
        except AuthenticationError as refused:
            return error_response(refused.error, refused.message, 401 if refused.error == "invalid_client" else 400)
        except TokenError as refused:
            return self.response(
                TokenErrorResponse.model_construct(error=refused.error, error_description=refused.error_description)
            )
        except Exception as failure:
            secrets = [*parameters.secrets, request.headers.get("authorization")]
            log_failure(logger, "A token request at the authorization server's provider", failure, secrets)
            return error_response("server_error", "An unexpected error occurred", 500)

    def _asked(self, client: OAuthClientInformationFull, parameters: Parameters) -> TokenRequest:
        """The request itself, of a client that may make it."""
        grant_type = parameters.get("grant_type")
        if grant_type is None:
            raise TokenError("invalid_request", "grant_type: Field required")
        self._check_grant(client, grant_type)
        try:
            # A client that authenticates itself in a header need not name itself in the body.
            asked = token_request_adapter.validate_python({**parameters.values, "client_id": client.client_id})
        except ValidationError as error:
            raise TokenError("invalid_request", stringify_pydantic_error(error)) from None
        problem = resource_problem(asked.resource)
        if problem is not None:
            raise TokenError("invalid_target", problem)
        return asked

    def _check_grant(self, client: OAuthClientInformationFull, grant_type: str) -> None:
        supported = ["authorization_code", "refresh_token"]
        if self.identity_assertion_enabled:
            supported.append(JWT_BEARER_GRANT_TYPE)
        if grant_type not in supported:
            raise TokenError(
                "unsupported_grant_type", f"Unsupported grant type (supported grant types are {supported})"
            )
        if grant_type == JWT_BEARER_GRANT_TYPE and is_public(client):
            raise TokenError("unauthorized_client", "The JWT bearer grant requires a confidential client")
        if grant_type not in client.grant_types:
            raise TokenError("unauthorized_client", f"Client is not registered for the grant type {grant_type}")

    async def _issue(self, client: OAuthClientInformationFull, asked: TokenRequest) -> OAuthToken:
        if isinstance(asked, AuthorizationCodeRequest):
            return await self._exchange_code(client, asked)
        if isinstance(asked, RefreshTokenRequest):
            return await self._refresh(client, asked)
        params = IdentityAssertionParams(
            assertion=asked.assertion, scopes=asked.scope.split() if asked.scope else None, resource=asked.resource
        )
        return await self.provider.exchange_identity_assertion(client, params)

    async def _exchange_code(self, client: OAuthClientInformationFull, asked: AuthorizationCodeRequest) -> OAuthToken:
        code = await self.provider.load_authorization_code(client, asked.code)
        # Whose code it is nobody else is told.
        if code is None or code.client_id != client.client_id:
            raise TokenError("invalid_grant", "authorization code does not exist")
        if code.expires_at < time.time():
            raise TokenError("invalid_grant", "authorization code has expired")
        if asked.redirect_uri is None:
            same_redirect = not code.redirect_uri_provided_explicitly
        else:
            same_redirect = same_uri(asked.redirect_uri, code.redirect_uri)
        if not same_redirect:
            raise TokenError("invalid_grant", "redirect_uri did not match the one used when creating auth code")
        if not _verifies(asked.code_verifier, code.code_challenge):
            raise TokenError("invalid_grant", "incorrect code_verifier")
        _check_resource(asked.resource, code.resource)
        return await self.provider.exchange_authorization_code(client, code)

    async def _refresh(self, client: OAuthClientInformationFull, asked: RefreshTokenRequest) -> OAuthToken:
        token = await self.provider.load_refresh_token(client, asked.refresh_token)
        if token is None or token.client_id != client.client_id:
            raise TokenError("invalid_grant", "refresh token does not exist")
        if token.expires_at is not None and token.expires_at < time.time():
            raise TokenError("invalid_grant", "refresh token has expired")
        scopes = asked.scope.split() if asked.scope else token.scopes
        for scope in scopes:
            if scope not in token.scopes:
                raise TokenError("invalid_scope", f"cannot request scope `{scope}` not provided by refresh token")
        _check_resource(asked.resource, token.resource)
        return await self.provider.exchange_refresh_token(client, token, scopes)


def _verifies(verifier: str, challenge: str) -> bool:
    """RFC 7636, sections 4.1 and 4.6."""
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    digest = hashlib.sha256(verifier.encode()).digest()
    return hmac.compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"="), challenge.encode())


def _check_resource(asked: str | None, granted: str | None) -> None:
    """Refuses tokens for another resource than the user has agreed to. RFC 8707, section 2.2."""
    if asked is None or asked == granted:
        return
    if granted is None:
        # Not an error: it may be a provider that leaves resources alone, though clients must always name theirs.
        logger.info("A client asks for tokens for %s, but its grant names no resource: nor will the tokens", asked)
        return
    both_ways = check_resource_allowed(asked, granted) and check_resource_allowed(granted, asked)
    if not both_ways or urlsplit(asked).query != urlsplit(granted).query:
        raise TokenError("invalid_target", f"The grant is for the resource {granted}")
