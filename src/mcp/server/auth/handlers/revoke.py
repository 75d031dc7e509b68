"""The revocation endpoint. RFC 7009."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from mcp.server.auth.errors import NO_STORE, RefusedRequest, error_response, log_failure, stringify_pydantic_error
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.parameters import Parameters, read_parameters
from mcp.server.auth.provider import AccessToken, OAuthAuthorizationServerProvider, RefreshToken
from mcp.shared.auth import OAuthClientInformationFull

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["RevocationErrorResponse", "RevocationHandler", "RevocationRequest"]

logger = logging.getLogger(__name__)


class RevocationRequest(BaseModel):
    """A token is to be worthless from now on. RFC 7009, section 2.1."""

    model_config = ConfigDict(defer_build=True)

    token: str
    token_type_hint: Literal["access_token", "refresh_token"] | None = None
    client_id: str
    client_secret: str | None


class RevocationErrorResponse(BaseModel):
    """Why a token is not revoked. RFC 7009, section 2.2.1."""

    model_config = ConfigDict(defer_build=True)

    error: Literal["invalid_request", "unauthorized_client"]
    error_description: str | None = None


@dataclass
class RevocationHandler:
    """Has the provider revoke a client's own tokens.

    Attributes:
        provider: The authorization server.
        client_authenticator: Tells which client a request is from.
    """

    provider: OAuthAuthorizationServerProvider[Any, Any, Any]
    client_authenticator: ClientAuthenticator

    async def handle(self, request: "Request") -> Response:
        """Answers a request. A token that is not there, or is another client's, is no error: it says nothing."""
        try:
            parameters = await read_parameters(request)
            parameters.check_repetition()
        except RefusedRequest as refused:
            return error_response(refused.error, refused.description, refused.status)
        try:
            client = await self.client_authenticator.authenticate_request(request)
            token = await self._find(client, _asked(client, parameters))
            if token is not None and token.client_id == client.client_id:
                await self.provider.revoke_token(token)
        except AuthenticationError as refused:
            return error_response(refused.error, refused.message, 401 if refused.error == "invalid_client" else 400)
        except ValidationError as error:
            return error_response("invalid_request", stringify_pydantic_error(error))
        except Exception as failure:
            secrets = [*parameters.secrets, request.headers.get("authorization")]
            log_failure(logger, "A revocation at the authorization server's provider", failure, secrets)
            return error_response("server_error", "An unexpected error occurred", 500)
        return Response(headers=NO_STORE)

    async def _find(
        self, client: OAuthClientInformationFull, asked: RevocationRequest
    ) -> AccessToken | RefreshToken | None:
        """The token, whichever it is. The hint says only where to look first."""
        refresh_first = asked.token_type_hint == "refresh_token"
        if refresh_first:
            token = await self.provider.load_refresh_token(client, asked.token)
            return token or await self.provider.load_access_token(asked.token)
        token = await self.provider.load_access_token(asked.token)
        return token or await self.provider.load_refresh_token(client, asked.token)


def _asked(client: OAuthClientInformationFull, parameters: Parameters) -> RevocationRequest:
    values: dict[str, Any] = {"client_secret": None, **parameters.values, "client_id": client.client_id}
    # RFC 7009, section 2.1: there may be kinds of tokens that this server does not know, and a hint binds nobody.
    if values.get("token_type_hint") not in ("access_token", "refresh_token"):
        values.pop("token_type_hint", None)
    return RevocationRequest.model_validate(values)
