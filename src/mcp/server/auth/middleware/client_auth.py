"""Who a client is that asks for tokens. RFC 6749, section 2.3; RFC 7523, section 2.2."""

import base64
import binascii
import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from mcp.server.auth.client_assertions import ClientAssertions, assertion_issuer
from mcp.server.auth.client_documents import find_client
from mcp.server.auth.errors import RefusedRequest
from mcp.server.auth.parameters import Parameters, read_parameters
from mcp.server.auth.provider import OAuthAuthorizationServerProvider
from mcp.shared.auth import OAuthClientInformationFull

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["CLIENT_AUTHENTICATION_METHODS", "AuthenticationError", "ClientAuthenticator", "is_public"]

CLIENT_AUTHENTICATION_METHODS: Final = ["client_secret_post", "client_secret_basic", "private_key_jwt", "none"]

_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class AuthenticationError(Exception):
    """A client is not who it says it is, or does not say it well.

    Args:
        message: Why, in words.
        error: Why, as a code.

    Attributes:
        message: Why, in words.
        error: Why, as a code: `invalid_request` where the client mixes ways to authenticate itself.
    """

    def __init__(self, message: str, error: str = "invalid_client") -> None:
        super().__init__(message)
        self.message = message
        self.error = error


def is_public(client: OAuthClientInformationFull) -> bool:
    """Whether a client has nothing to authenticate itself with. RFC 6749, section 2.1.

    Args:
        client: The client.
    """
    method = client.token_endpoint_auth_method
    return method == "none" or (method is None and client.client_secret is None and client.jwks is None)


@dataclass
class _Presented:
    """What a client has said about itself."""

    client_id: str
    method: str
    secrets: tuple[str, ...] = ()
    """The secret, in each way that it may be meant."""
    assertion: str | None = None


class ClientAuthenticator:
    """Tells which client a request is from, and makes sure of it.

    A client authenticates itself in the way that it is registered for (`token_endpoint_auth_method`), and in no other.
    One whose registration does not say may send its secret, if it has one, in the header or in the body.

    Args:
        provider: Knows the clients.
        audiences: Whom a client's signed assertion may be meant for: the issuer and the endpoint. Empty takes none.
    """

    def __init__(
        self, provider: OAuthAuthorizationServerProvider[Any, Any, Any], audiences: Sequence[str] = ()
    ) -> None:
        self.provider = provider
        self._assertions = ClientAssertions(audiences)

    async def authenticate_request(self, request: "Request") -> OAuthClientInformationFull:
        """The client that a request is from.

        Args:
            request: The request.

        Raises:
            AuthenticationError: It is from none, or not for certain.
        """
        try:
            parameters = await read_parameters(request)
            parameters.check_repetition()
            presented = _presented(request.headers.get("authorization"), parameters)
            client = await find_client(self.provider, presented.client_id)
        except RefusedRequest as refused:
            raise AuthenticationError(refused.description, refused.error) from refused
        if client is None:
            raise AuthenticationError("Invalid client_id")
        self._check(client, presented)
        return client

    def _check(self, client: OAuthClientInformationFull, presented: _Presented) -> None:
        method = client.token_endpoint_auth_method
        if method == "none" and client.client_secret is not None:
            raise AuthenticationError("Client is registered to have no secret, but there is one on record")
        if is_public(client):
            return
        if method == "private_key_jwt":
            self._check_assertion(client, presented)
        elif method in ("client_secret_post", "client_secret_basic", None):
            _check_secret(client, presented)
        else:
            raise AuthenticationError(f"Unsupported auth method: {method}")

    def _check_assertion(self, client: OAuthClientInformationFull, presented: _Presented) -> None:
        if presented.assertion is None:
            raise AuthenticationError("Client is registered for private_key_jwt; client_assertion is required")
        problem = self._assertions.problem(presented.assertion, client)
        if problem is not None:
            raise AuthenticationError(f"Invalid client_assertion: {problem}")


def _check_secret(client: OAuthClientInformationFull, presented: _Presented) -> None:
    method = client.token_endpoint_auth_method
    if client.client_secret is None:
        raise AuthenticationError("Client is registered for secret-based authentication but has no stored secret")
    if method is not None and presented.method != "none" and presented.method != method:
        raise AuthenticationError(f"Client is registered for {method}, not for {presented.method}")
    if not presented.secrets:
        where = " in an Authorization: Basic header" if method == "client_secret_basic" else ""
        raise AuthenticationError(f"Client secret is required{where}")
    expected = client.client_secret.encode()
    matches = [hmac.compare_digest(secret.encode(), expected) for secret in presented.secrets]
    if not any(matches):
        raise AuthenticationError("Invalid client_secret")
    # 0 is "never". RFC 7591, section 3.2.1.
    if client.client_secret_expires_at and client.client_secret_expires_at < time.time():
        raise AuthenticationError("Client secret has expired")


def _presented(header: str | None, parameters: Parameters) -> _Presented:
    """What a request says about its client, which may be said in one way only."""
    named, secret, assertion = map(parameters.get, ("client_id", "client_secret", "client_assertion"))
    if sum(way is not None for way in (header, secret, assertion)) > 1:
        raise AuthenticationError("Clients must authenticate themselves in one way, not in several", "invalid_request")
    if header is not None:
        presented = _from_basic(header)
    elif assertion is not None:
        presented = _from_assertion(assertion, parameters.get("client_assertion_type"))
    elif named is None:
        raise AuthenticationError("Missing client_id")
    elif secret is not None:
        return _Presented(named, "client_secret_post", (secret,))
    else:
        return _Presented(named, "none")
    if named is not None and named != presented.client_id:
        raise AuthenticationError("client_id is not the client that is authenticated", "invalid_request")
    return presented


def _from_basic(header: str) -> _Presented:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise AuthenticationError("Missing or invalid Basic authentication in Authorization header")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
        client_id, colon, secret = text.partition(":")
        decoded = unquote_plus(secret, errors="strict")
        client_id = unquote_plus(client_id, errors="strict")
    except (binascii.Error, ValueError):
        colon, client_id, decoded, secret = "", "", "", ""
    if not colon or not client_id:
        raise AuthenticationError("Invalid Basic authentication header")
    # RFC 6749, section 2.3.1 has both form-encoded before they are joined, and many clients leave that out.
    return _Presented(client_id, "client_secret_basic", (decoded, secret) if secret else ())


def _from_assertion(assertion: str, assertion_type: str | None) -> _Presented:
    if assertion_type != _ASSERTION_TYPE:
        raise AuthenticationError(f"client_assertion_type must be {_ASSERTION_TYPE}")
    client_id = assertion_issuer(assertion)
    if client_id is None:
        raise AuthenticationError("client_assertion is not a JWT with an issuer")
    return _Presented(client_id, "private_key_jwt", assertion=assertion)
