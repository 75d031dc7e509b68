"""What is posted to a token endpoint, and what it answers.

Specification: RFC 6749, sections 2.3.1 and 5; RFC 8707.
"""

import time
from base64 import b64encode
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

import httpx2

from mcp.client.auth._documents import error_text, json_object, validated
from mcp.client.auth._registration import SECRET_METHODS
from mcp.client.auth._sending import redirect_note
from mcp.client.auth.exceptions import OAuthTokenError
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

__all__ = [
    "authenticated",
    "can_be_sent",
    "create_token_request",
    "handle_token_response_scopes",
    "secrets_in",
    "token_in",
]

_OWN_NOTES: Final = ("expires_at", "issuer", "token_endpoint", "resource")
"""What a client writes beside its tokens. A server has no say in it."""

_SECRETS: Final = (
    "code",
    "code_verifier",
    "refresh_token",
    "client_secret",
    "assertion",
    "client_assertion",
    "subject_token",
)


def authenticated(
    client: OAuthClientInformationFull,
    server: OAuthMetadata | None,
    data: dict[str, str],
    headers: dict[str, str],
) -> tuple[dict[str, str], dict[str, str]]:
    """A token request with the client's secret in it, where it has one.

    Args:
        client: Its credentials. If they do not say how to use the secret, the server does.
        server: What the authorization server takes; None where it is not known.
        data: The form.
        headers: The headers.

    Raises:
        OAuthTokenError: The client is to authenticate in a way that is not known here.
    """
    method = client.token_endpoint_auth_method or _method_for(client, server)
    secret = client.client_secret
    if method == "client_secret_basic" and secret is not None:
        pair = f"{quote(client.client_id, safe='')}:{quote(secret, safe='')}"
        return data, {**headers, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    if method == "client_secret_post" and secret is not None:
        return {**data, "client_id": client.client_id, "client_secret": secret}, headers
    if method in (*SECRET_METHODS, "none", "private_key_jwt"):
        return data, headers
    raise OAuthTokenError(
        f"The client is registered for the token_endpoint_auth_method {method!r}: expected none,"
        f" {' or '.join(SECRET_METHODS)}"
    )


def _method_for(client: OAuthClientInformationFull, server: OAuthMetadata | None) -> str:
    """RFC 8414, section 2, has `client_secret_basic` for a server that does not say."""
    if client.client_secret is None:
        return "none"
    offered = None if server is None else server.token_endpoint_auth_methods_supported
    if not offered:
        return "client_secret_basic"
    return next((method for method in SECRET_METHODS if method in offered), "client_secret_basic")


def create_token_request(url: str, data: dict[str, str], headers: dict[str, str]) -> httpx2.Request:
    """The request for a token.

    Args:
        url: The token endpoint.
        data: The form.
        headers: Further headers.
    """
    fixed = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return httpx2.Request("POST", url, content=urlencode(data), headers={**headers, **fixed})


def can_be_sent(access_token: str) -> bool:
    """Whether a header can hold an access token. RFC 6750, section 2.1."""
    return all("!" <= one <= "~" for one in access_token)


def secrets_in(request: httpx2.Request) -> tuple[str, ...]:
    """The secrets in a token request, which no text may repeat."""
    form = dict(parse_qsl(request.content.decode("ascii", "replace")))
    return tuple(form[name] for name in _SECRETS if name in form)


async def handle_token_response_scopes(response: httpx2.Response) -> OAuthToken:
    """The token in an answer that is a success.

    Raises:
        OAuthTokenError: There is none, or it is of no use.
    """
    await response.aread()
    return token_in(response)


def token_in(response: httpx2.Response, secrets: tuple[str, ...] = (), now: float | None = None) -> OAuthToken:
    """The token in an answer whose body has been read. `expires_at` is set if it says how long the token lives.

    Args:
        response: The answer.
        secrets: What was sent and may not be repeated in an error.
        now: When it came, in seconds since the epoch; now, if left out.

    Raises:
        OAuthTokenError: There is none, or it is of no use.
    """
    if response.status_code != 200:
        code, text = error_text(response, secrets)
        raise OAuthTokenError(text + redirect_note(response), error=code, status=response.status_code)
    document = json_object(response.content)
    if document is None:
        raise OAuthTokenError("Invalid token response: it is no JSON object", status=200)
    if "access_token" not in document and isinstance(document.get("error"), str):
        # Some servers refuse with a success.
        code, text = error_text(response, secrets)
        raise OAuthTokenError(text, error=code, status=400)
    try:
        token = validated(OAuthToken, {name: value for name, value in document.items() if name not in _OWN_NOTES})
    except ValueError as problem:
        raise OAuthTokenError(f"Invalid token response: {problem}", status=200) from None
    if not can_be_sent(token.access_token):
        raise OAuthTokenError("Invalid token response: access_token: expected visible ASCII characters", status=200)
    if token.expires_in is not None:
        token.expires_at = (time.time() if now is None else now) + token.expires_in
    return token
