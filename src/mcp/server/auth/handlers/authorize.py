"""The authorization endpoint: where a client sends its user's browser. RFC 6749, section 4.1; RFC 7636; RFC 9207.

Nothing is sent anywhere before the client and the redirect URI are proven: what is wrong until then is shown. And since
anybody can register a client, what is wrong afterwards is sent to no website that has only introduced itself: otherwise
a link to this server would be a link to anywhere (OAuth 2.1, section 7.12.2).
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AnyUrl, BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.responses import RedirectResponse

from mcp.server.auth.client_documents import find_client, registered_itself
from mcp.server.auth.errors import (
    RefusedRequest,
    describable,
    error_response,
    log_failure,
    stringify_pydantic_error,
)
from mcp.server.auth.parameters import Parameters, read_parameters, resource_problem
from mcp.server.auth.provider import (
    AuthorizationErrorCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    construct_redirect_uri,
)
from mcp.server.auth.redirects import is_answer_at, is_website, redirect_uri_problem
from mcp.server.auth.shown_errors import shown_error
from mcp.shared.auth import InvalidRedirectUriError, InvalidScopeError, OAuthClientInformationFull

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["AuthorizationErrorResponse", "AuthorizationHandler", "AuthorizationRequest", "best_effort_extract_string"]

logger = logging.getLogger(__name__)

# The code is in the URL of the page that comes next, and must not go on to the pages that are linked there.
_HEADERS: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

_STATUS: Final[dict[str, int]] = {"server_error": 500, "temporarily_unavailable": 503}
"""Of errors that are shown and that the client has no part in."""

_URL: Final[TypeAdapter[AnyUrl]] = TypeAdapter(AnyUrl, config=ConfigDict(url_preserve_empty_path=True))
_CHALLENGE_LENGTH: Final = 43
"""Of a SHA-256 in base64url without padding. RFC 7636, section 4.2."""


class AuthorizationRequest(BaseModel):
    """What a client asks for. RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707."""

    model_config = ConfigDict(url_preserve_empty_path=True, defer_build=True)

    client_id: str
    redirect_uri: AnyUrl | None = None
    response_type: Literal["code"]
    code_challenge: str
    code_challenge_method: Literal["S256"] = "S256"
    state: str | None = None
    scope: str | None = None
    resource: str | None = None


class AuthorizationErrorResponse(BaseModel):
    """What is wrong with an authorization request. RFC 6749, section 4.1.2.1."""

    model_config = ConfigDict(defer_build=True)

    error: AuthorizationErrorCode
    error_description: str | None
    error_uri: AnyUrl | None = None
    state: str | None = None


def best_effort_extract_string(key: str, params: FormData | QueryParams | None) -> str | None:
    """A parameter of a request that may be broken; None where it is not a text.

    Args:
        key: The parameter.
        params: The request's; None where they could not be read.
    """
    value = None if params is None else params.get(key)
    return value if isinstance(value, str) else None


class _Shown(Exception):
    """An error that goes to the user, since nobody is proven to wait for it."""


@dataclass
class AuthorizationHandler:
    """Sees to it that what a client asks its user is in order, and hands it to the provider, who asks.

    Attributes:
        provider: The authorization server.
        issuer: What its answers carry as `iss`; None leaves it out.
    """

    provider: OAuthAuthorizationServerProvider[Any, Any, Any]
    issuer: str | None = None

    async def handle(self, request: "Request") -> "Response":
        """Answers a request, with a redirect wherever that is safe."""
        if request.method not in ("GET", "POST"):
            # A HEAD that is answered like a GET would begin to ask the user.
            text = f"expected GET or POST, got {request.method}"
            return error_response("invalid_request", text, 405, {"Allow": "GET, POST"})
        try:
            parameters = await read_parameters(request)
        except RefusedRequest as refused:
            return error_response(refused.error, refused.description, refused.status)
        try:
            client, redirect_uri = await self._proven(parameters)
        except _Shown as shown:
            return _show(request, _error(AuthorizeError("invalid_request", str(shown)), parameters))
        except Exception as failure:
            log_failure(logger, "get_client() of the authorization server's provider", failure, parameters.secrets)
            return error_response("server_error", "An unexpected error occurred", 500)
        try:
            location = await self._authorize(client, redirect_uri, parameters)
        except AuthorizeError as refused:
            refusal = refused
        except Exception as failure:
            log_failure(logger, "authorize() of the authorization server's provider", failure, parameters.secrets)
            refusal = AuthorizeError("server_error", "An unexpected error occurred")
        else:
            return RedirectResponse(self._signed(location, redirect_uri), 302, headers=_HEADERS)
        error = _error(refusal, parameters)
        location = self._signed(construct_redirect_uri(str(redirect_uri), **error.model_dump()), redirect_uri)
        if is_website(redirect_uri) and registered_itself(self.provider, client):
            return _show(request, error, location)
        return RedirectResponse(location, 302, headers=_HEADERS)

    async def _proven(self, parameters: Parameters) -> tuple[OAuthClientInformationFull, AnyUrl]:
        """Who asks, and where the user goes back to: one of the client's registered addresses."""
        twice = parameters.repeated & {"client_id", "redirect_uri"}
        if twice:
            raise _Shown(f"Parameters must not be given more than once: {', '.join(sorted(twice))}")
        client_id, wanted = parameters.get("client_id"), parameters.get("redirect_uri")
        if client_id is None:
            raise _Shown("client_id: Field required")
        try:
            client = await find_client(self.provider, client_id)
        except RefusedRequest as refused:
            raise _Shown(refused.description) from refused
        if client is None:
            raise _Shown(f"Client ID '{client_id}' not found")
        try:
            redirect_uri = client.validate_redirect_uri(None if wanted is None else _URL.validate_python(wanted))
        except ValidationError as error:
            raise _Shown(f"redirect_uri: {stringify_pydantic_error(error)}") from None
        except InvalidRedirectUriError as error:
            raise _Shown(error.message) from None
        problem = redirect_uri_problem(wanted or str(redirect_uri))
        if problem is not None:
            raise _Shown(f"redirect_uri: {problem}")
        return client, redirect_uri

    async def _authorize(self, client: OAuthClientInformationFull, redirect_uri: AnyUrl, parameters: Parameters) -> str:
        asked = _asked(parameters)
        if "authorization_code" not in client.grant_types:
            raise AuthorizeError("unauthorized_client", "Client is not registered for authorization_code")
        try:
            scopes = client.validate_scope(asked.scope)
        except InvalidScopeError as error:
            raise AuthorizeError("invalid_scope", error.message) from None
        params = AuthorizationParams(
            state=asked.state,
            scopes=scopes,
            code_challenge=asked.code_challenge,
            redirect_uri=redirect_uri,
            redirect_uri_provided_explicitly=asked.redirect_uri is not None,
            resource=asked.resource,
            issuer=self.issuer,
        )
        return await self.provider.authorize(client, params)

    def _signed(self, location: str, redirect_uri: AnyUrl) -> str:
        """An answer with `iss`, so that the client can tell whose it is. RFC 9207."""
        if self.issuer is None or not is_answer_at(location, redirect_uri):
            return location
        if any(pair.startswith("iss=") for pair in urlsplit(location).query.split("&")):
            return location
        return construct_redirect_uri(location, iss=self.issuer)


def _asked(parameters: Parameters) -> AuthorizationRequest:
    """The request itself.

    Raises:
        AuthorizeError: It is not in order.
    """
    try:
        parameters.check_repetition()
        asked = AuthorizationRequest.model_validate(parameters.values)
    except RefusedRequest as refused:
        error = "invalid_target" if refused.error == "invalid_target" else "invalid_request"
        raise AuthorizeError(error, refused.description) from None
    except ValidationError as error:
        given = parameters.get("response_type")
        code = "invalid_request" if given in (None, "code") else "unsupported_response_type"
        raise AuthorizeError(code, stringify_pydantic_error(error)) from None
    if len(asked.code_challenge) != _CHALLENGE_LENGTH:
        raise AuthorizeError("invalid_request", f"code_challenge: expected {_CHALLENGE_LENGTH} characters, as of S256")
    problem = resource_problem(asked.resource)
    if problem is not None:
        raise AuthorizeError("invalid_target", problem)
    return asked


def _error(refusal: AuthorizeError, parameters: Parameters) -> AuthorizationErrorResponse:
    description = refusal.error_description
    return AuthorizationErrorResponse.model_construct(
        error=refusal.error,
        error_description=None if description is None else describable(description),
        state=parameters.get("state"),
    )


def _show(request: "Request", error: AuthorizationErrorResponse, way_back: str | None = None) -> "Response":
    reason = error.error if error.error_description is None else f"{error.error}: {error.error_description}"
    return shown_error(request, error, reason, _STATUS.get(error.error, 400), way_back)
