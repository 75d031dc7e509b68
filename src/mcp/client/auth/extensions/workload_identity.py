"""Workloads that their platform vouches for: workload identity federation.

The platform gives a workload a short-lived JWT, such as the projected token of a Kubernetes service account or a JWT
of SPIFFE. The authorization server trusts the platform, and trades it for a token: there is no secret to keep, and
nothing is registered.

Specification: RFC 7523, section 2.1; the extension "Workload Identity Federation".
"""

from typing import TYPE_CHECKING

import httpx2

from mcp.client.auth.extensions._without_user import UserlessOAuthProvider
from mcp.client.auth.extensions.assertions import AssertionProvider, file_assertion_provider
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientInformationFull, OAuthToken

if TYPE_CHECKING:
    from mcp.client.auth.dpop import DPoPKey
    from mcp.client.auth.oauth2 import TokenStorage

__all__ = ["WorkloadIdentityOAuthProvider", "file_assertion_provider"]


class WorkloadIdentityOAuthProvider(UserlessOAuthProvider):
    """Gets tokens with the JWT of a platform. Goes on an `httpx2.AsyncClient` as its `auth=`.

    A refusal is final: nothing else is tried, and the request that needed the token raises `OAuthTokenError`.

    Args:
        server_url: The server, as the program connects to it.
        storage: Where tokens are kept.
        assertion_provider: Returns the JWT for an audience, which is the issuer. It is asked for every token request.
            See `file_assertion_provider`.
        client_id: Who the workload is to the authorization server.
        issuer: The authorization server that the JWT is for. It is shown to no other.
        scope: What to ask for, separated by spaces, where the server does not say what it takes.
        dpop: Whether tokens are bound to a key, and to which one. See `mcp.client.auth.dpop`.
    """

    def __init__(
        self,
        server_url: str,
        storage: "TokenStorage",
        assertion_provider: AssertionProvider,
        *,
        client_id: str,
        issuer: str,
        scope: str | None = None,
        dpop: "DPoPKey | bool" = False,
    ) -> None:
        client = OAuthClientInformationFull(
            client_id=client_id,
            token_endpoint_auth_method="none",
            grant_types=[JWT_BEARER_GRANT_TYPE],
            scope=scope,
            issuer=issuer,
        )
        super().__init__(server_url, storage, client, dpop=dpop)
        self._assertion_provider = assertion_provider

    async def _perform_authorization(self) -> httpx2.Request:
        assertion = await self._assertion_provider(self._audience())
        return await self._create_grant_request({"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion})

    async def _read_token(self, response: httpx2.Response, secrets_sent: tuple[str, ...]) -> OAuthToken:
        """Leaves a refresh token out: how long the workload gets in, the platform decides. RFC 7521, section 4.1."""
        token = await super()._read_token(response, secrets_sent)
        return token.model_copy(update={"refresh_token": None})
