"""Clients that act for themselves: the client credentials grant, with a secret or with a signed assertion.

Specification: RFC 6749, section 4.4; RFC 7523, section 2.2; the extension "OAuth Client Credentials".
"""

import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import httpx2

from mcp.client.auth.extensions._without_user import UserlessOAuthProvider
from mcp.client.auth.extensions.assertions import SignedJWTParameters, static_assertion_provider
from mcp.shared.auth import OAuthClientInformationFull
from mcp.shared.exceptions import MCPDeprecationWarning

if TYPE_CHECKING:
    from mcp.client.auth.dpop import DPoPKey
    from mcp.client.auth.oauth2 import TokenStorage

__all__ = [
    "ClientCredentialsOAuthProvider",
    "PrivateKeyJWTOAuthProvider",
    "SignedJWTParameters",
    "static_assertion_provider",
]

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class ClientCredentialsOAuthProvider(UserlessOAuthProvider):
    """Gets tokens with the client's own identifier and secret. Goes on an `httpx2.AsyncClient` as its `auth=`.

    Args:
        server_url: The server, as the program connects to it.
        storage: Where tokens are kept.
        client_id: Who the client is to the authorization server.
        client_secret: Its secret there.
        token_endpoint_auth_method: Where the secret travels: in a header, or in the form.
        scope: What to ask for, separated by spaces, where the server does not say what it takes.
        issuer: The authorization server that the secret is for. It is sent to no other. To leave it out is deprecated:
            then the server says who gets the secret.
        dpop: Whether tokens are bound to a key, and to which one. See `mcp.client.auth.dpop`.
    """

    def __init__(
        self,
        server_url: str,
        storage: "TokenStorage",
        client_id: str,
        client_secret: str,
        token_endpoint_auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic",
        scope: str | None = None,
        issuer: str | None = None,
        *,
        dpop: "DPoPKey | bool" = False,
    ) -> None:
        _warn_without(issuer)
        client = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=client_secret,
            token_endpoint_auth_method=token_endpoint_auth_method,
            grant_types=["client_credentials"],
            scope=scope,
            issuer=issuer,
        )
        super().__init__(server_url, storage, client, dpop=dpop)

    async def _perform_authorization(self) -> httpx2.Request:
        return await self._create_grant_request({"grant_type": "client_credentials"})


class PrivateKeyJWTOAuthProvider(UserlessOAuthProvider):
    """Gets tokens with an assertion that only this client can make. Goes on an `httpx2.AsyncClient` as its `auth=`.

    Args:
        server_url: The server, as the program connects to it.
        storage: Where tokens are kept.
        client_id: Who the client is to the authorization server.
        assertion_provider: Returns an assertion for an audience, which is the issuer. It is asked for every token
            request. See `SignedJWTParameters` and `static_assertion_provider`.
        scope: What to ask for, separated by spaces, where the server does not say what it takes.
        issuer: The authorization server that assertions are for. To leave it out is deprecated: then the server says
            whom they are shown to.
        dpop: Whether tokens are bound to a key, and to which one. See `mcp.client.auth.dpop`.
    """

    def __init__(
        self,
        server_url: str,
        storage: "TokenStorage",
        client_id: str,
        assertion_provider: Callable[[str], Awaitable[str]],
        scope: str | None = None,
        issuer: str | None = None,
        *,
        dpop: "DPoPKey | bool" = False,
    ) -> None:
        _warn_without(issuer)
        client = OAuthClientInformationFull(
            client_id=client_id,
            token_endpoint_auth_method="private_key_jwt",
            grant_types=["client_credentials"],
            scope=scope,
            issuer=issuer,
        )
        super().__init__(server_url, storage, client, dpop=dpop)
        self._assertion_provider = assertion_provider

    async def _perform_authorization(self) -> httpx2.Request:
        return await self._create_grant_request({"grant_type": "client_credentials"})

    async def _authenticate_client(
        self, data: dict[str, str], headers: dict[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        assertion = await self._assertion_provider(self._audience())
        return {**data, "client_assertion_type": _ASSERTION_TYPE, "client_assertion": assertion}, headers


def _warn_without(issuer: str | None) -> None:
    if issuer is None:
        warnings.warn(
            "A provider without `issuer` is deprecated: the MCP server would say which authorization server gets this "
            "client's credentials. Pass issuer=, with the URL of the authorization server that they are for.",
            MCPDeprecationWarning,
            stacklevel=3,
        )
