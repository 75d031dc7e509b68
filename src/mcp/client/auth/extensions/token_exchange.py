"""The first half of enterprise-managed authorization: from a user's sign-in to an assertion. RFC 8693.

The identity provider of an enterprise trades the token of a user who has signed in for an Identity Assertion JWT
Authorization Grant (ID-JAG), which `IdentityAssertionOAuthProvider` takes to the authorization server.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
import httpx2

from mcp.client.auth._documents import error_text, json_object
from mcp.client.auth._places import check_place
from mcp.client.auth._sending import STEP_SECONDS, read_answer
from mcp.client.auth._tokens import authenticated, create_token_request, secrets_in
from mcp.client.auth.exceptions import OAuthFlowError, OAuthTokenError
from mcp.shared._handshakes import HandshakeTrace
from mcp.shared.auth import OAuthClientInformationFull

__all__ = ["ID_JAG_TOKEN_TYPE", "ID_TOKEN_TYPE", "SAML2_TOKEN_TYPE", "identity_provider_exchange"]

TOKEN_EXCHANGE_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG_TOKEN_TYPE: Final = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN_TYPE: Final = "urn:ietf:params:oauth:token-type:id_token"
SAML2_TOKEN_TYPE: Final = "urn:ietf:params:oauth:token-type:saml2"


def identity_provider_exchange(
    token_endpoint: str,
    *,
    client_id: str,
    subject_token: Callable[[], Awaitable[str]],
    subject_token_type: str = ID_TOKEN_TYPE,
    client_secret: str | None = None,
    scope: str | None = None,
    http_client: httpx2.AsyncClient | None = None,
) -> Callable[[str, str], Awaitable[str]]:
    """The `assertion_provider` of an `IdentityAssertionOAuthProvider` that asks the identity provider.

    Args:
        token_endpoint: The identity provider's token endpoint.
        client_id: The client's identifier there. The authorization server may know it under another.
        subject_token: Returns the token of the user's sign-in, fresh enough to be traded.
        subject_token_type: What that token is.
        client_secret: The client's secret there, which is sent as HTTP Basic; None for a public client.
        scope: What to ask for, separated by spaces; None leaves it to the identity provider.
        http_client: Sends the request; None for a client of its own, which takes proxies from the environment.

    Returns:
        A callback of an audience and a resource. It raises `OAuthTokenError` where the identity provider refuses, or
        answers with something else than an ID-JAG.

    Raises:
        OAuthFlowError: The endpoint is not one that secrets may be sent to.
    """
    check_place(token_endpoint, "token endpoint of the identity provider", token_endpoint)
    method = "none" if client_secret is None else "client_secret_basic"
    client = OAuthClientInformationFull(
        client_id=client_id, client_secret=client_secret, token_endpoint_auth_method=method
    )

    async def exchange(audience: str, resource: str) -> str:
        fields = {
            "client_id": client_id,
            "grant_type": TOKEN_EXCHANGE_GRANT_TYPE,
            "requested_token_type": ID_JAG_TOKEN_TYPE,
            "audience": audience,
            "resource": resource,
            "subject_token": await subject_token(),
            "subject_token_type": subject_token_type,
        }
        if scope is not None:
            fields["scope"] = scope
        request = create_token_request(token_endpoint, *authenticated(client, None, fields, {}))
        return _id_jag(await _answer(request, http_client), secrets_in(request))

    return exchange


async def _answer(request: httpx2.Request, http_client: httpx2.AsyncClient | None) -> httpx2.Response:
    """Sends a request within bounds. It is not redirected."""
    request.extensions = {**request.extensions, "trace": HandshakeTrace()}
    async with _client(http_client) as client:
        try:
            with anyio.fail_after(STEP_SECONDS):
                response = await client.send(request, stream=True, follow_redirects=False, auth=None)
        except TimeoutError:
            raise OAuthFlowError(f"{request.url} did not answer within {STEP_SECONDS:g} s") from None
        try:
            await read_answer(request, response)
        finally:
            await response.aclose()
        return response


@asynccontextmanager
async def _client(given: httpx2.AsyncClient | None) -> AsyncGenerator[httpx2.AsyncClient]:
    """The given client, which stays open, or one for this request."""
    if given is not None:
        yield given
        return
    own = httpx2.AsyncClient()
    async with own:
        yield own


def _id_jag(response: httpx2.Response, secrets: tuple[str, ...]) -> str:
    """The assertion in an answer of the identity provider. RFC 8693, section 2.2."""
    where = f"The identity provider at {response.request.url}"
    if response.status_code != 200:
        code, text = error_text(response, secrets)
        raise OAuthTokenError(f"{where} refuses the exchange: {text}", error=code, status=response.status_code)
    found = json_object(response.content) or {}
    token, issued = found.get("access_token"), found.get("issued_token_type")
    if not isinstance(token, str) or not token or issued != ID_JAG_TOKEN_TYPE:
        raise OAuthTokenError(
            f"{where} answers without an ID-JAG: expected access_token, and issued_token_type {ID_JAG_TOKEN_TYPE}",
            status=200,
        )
    return token
