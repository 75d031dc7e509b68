"""Enterprise-managed authorization: the identity provider of an enterprise says who may reach what.

The provider here makes the second of two requests: it takes the identity provider's assertion (an ID-JAG) to the MCP
server's authorization server. `mcp.client.auth.extensions.token_exchange` can make the first.

Specification: RFC 7523, section 2.1; the extension "Enterprise-Managed Authorization".
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import httpx2

from mcp.client.auth._discovery import Discovered, discover_authorization_server
from mcp.client.auth._places import origin_of, same_origin
from mcp.client.auth._sending import Steps
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.extensions._without_user import UserlessOAuthProvider
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken

if TYPE_CHECKING:
    from mcp.client.auth.dpop import DPoPKey
    from mcp.client.auth.oauth2 import TokenStorage

__all__ = ["IdentityAssertionOAuthProvider"]


class IdentityAssertionOAuthProvider(UserlessOAuthProvider):
    """Gets tokens with the assertions of an identity provider. Goes on an `httpx2.AsyncClient` as its `auth=`.

    The authorization server is the one that is named here; the MCP server is not asked, so that it cannot have the
    secret or an assertion sent elsewhere.

    Args:
        server_url: The server, as the program connects to it.
        storage: Where tokens are kept.
        client_id: Who the client is to the authorization server. The assertion must name it.
        client_secret: Its secret there.
        issuer: The authorization server, exactly as its metadata writes it.
        assertion_provider: Returns a fresh assertion for an audience, which is the issuer, and a resource, which is the
            MCP server. It is asked for every token request, once the authorization server is known to be the right one.
        scope: What to ask for, separated by spaces.
        token_endpoint_auth_method: Where the secret travels: in the form, or in a header.
        dpop: Whether tokens are bound to a key, and to which one. See `mcp.client.auth.dpop`.

    Raises:
        ValueError: The secret or the issuer is empty.
    """

    def __init__(
        self,
        server_url: str,
        storage: "TokenStorage",
        client_id: str,
        client_secret: str,
        issuer: str,
        assertion_provider: Callable[[str, str], Awaitable[str]],
        scope: str | None = None,
        token_endpoint_auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_post",
        *,
        dpop: "DPoPKey | bool" = False,
    ) -> None:
        if not client_secret:
            raise ValueError("client_secret is required: the grant is for confidential clients")
        if not issuer:
            raise ValueError("issuer is required: the authorization server is not taken from the MCP server")
        client = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=client_secret,
            token_endpoint_auth_method=token_endpoint_auth_method,
            grant_types=[JWT_BEARER_GRANT_TYPE],
            scope=scope,
            issuer=issuer,
        )
        super().__init__(server_url, storage, client, dpop=dpop)
        self._issuer = issuer
        self._requested_scope = scope
        self._assertion_provider = assertion_provider

    async def _discover(self, response: httpx2.Response) -> Steps:
        """Asks the configured authorization server for its metadata, and nobody else."""
        self._check_server()
        found = Discovered()
        found.issuer = self._issuer
        yield discover_authorization_server(found, self._issuer, requires_https=self.requires_https)
        assert found.server is not None
        endpoint = str(found.server.token_endpoint)
        if not same_origin(endpoint, self._issuer):
            raise OAuthFlowError(
                f"The token endpoint of {self._issuer} is at {origin_of(endpoint)}, another origin: nothing was sent"
            )
        self.context.auth_server_url = self._issuer
        self.context.oauth_metadata = found.server

    def _resource(self) -> str:
        return self.context.get_resource_url()

    async def _perform_authorization(self) -> httpx2.Request:
        assertion = await self._assertion_provider(self._issuer, self._resource())
        return await self._create_grant_request({"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion})

    async def _read_token(self, response: httpx2.Response, secrets_sent: tuple[str, ...]) -> OAuthToken:
        """Leaves a refresh token out: how long the user gets in, the identity provider decides."""
        token = await super()._read_token(response, secrets_sent)
        return token.model_copy(update={"refresh_token": None})
