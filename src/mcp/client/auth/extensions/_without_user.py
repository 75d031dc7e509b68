"""What providers have in common that ask no user: they know their credentials, and whom these are for."""

from typing import TYPE_CHECKING

import httpx2

from mcp.client.auth._discovery import issuers_match
from mcp.client.auth._places import origin_of
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

if TYPE_CHECKING:
    from mcp.client.auth.dpop import DPoPKey
    from mcp.client.auth.oauth2 import TokenStorage

__all__ = ["UserlessOAuthProvider"]


class UserlessOAuthProvider(OAuthClientProvider):
    """An `OAuthClientProvider` whose credentials its program knows. Nothing is registered, and none of them is stored.

    Args:
        server_url: The server.
        storage: Where tokens are kept.
        client: The credentials. If they name an issuer, they go to that one and no other.
        dpop: Whether tokens are bound to a key, and to which one.
    """

    def __init__(
        self,
        server_url: str,
        storage: "TokenStorage",
        client: OAuthClientInformationFull,
        *,
        dpop: "DPoPKey | bool" = False,
    ) -> None:
        metadata = OAuthClientMetadata.model_validate(
            {
                "redirect_uris": None,
                "token_endpoint_auth_method": client.token_endpoint_auth_method,
                "grant_types": client.grant_types,
                "scope": client.scope,
            }
        )
        super().__init__(server_url, metadata, storage, dpop=dpop)
        self._client = client

    async def _load_client(self) -> None:
        self.context.client_info = self._client

    def _warn_of_secret(self, issuer: str) -> None:
        """Whoever leaves the issuer out was warned when the provider was made."""

    def _select_authorization_server(self, offered: list[str]) -> str | None:
        """The one that the credentials are for.

        Raises:
            OAuthFlowError: The server does not name it.
        """
        issuer = self._client.issuer
        if issuer is None:
            return super()._select_authorization_server(offered)
        named = offered or [origin_of(self.context.server_url)]
        for one in named:
            if issuers_match(one, issuer):
                return one if offered else None
        raise OAuthFlowError(
            f"{self.context.server_url} names the authorization server {', '.join(named)}, and the credentials of the "
            f"client are for {issuer}: nothing was sent"
        )

    async def _create_grant_request(self, grant: dict[str, str]) -> httpx2.Request:
        """The request for a token, with the scopes that are needed."""
        if self._requested_scope is not None:
            grant = {**grant, "scope": self._requested_scope}
        return await self._create_token_request(grant)

    def _audience(self) -> str:
        """The issuer that assertions are made for."""
        known = self.context.auth_server_url or self._expected_issuer()
        assert known is not None
        return known
