"""OAuth 2 at the client. The names are there for the programs that offer it as one choice among others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

import httpx2

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

__all__ = ["OAuthClientProvider", "TokenStorage"]


class TokenStorage(Protocol):
    """Where a program keeps what must outlive it."""

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if there are any."""
        ...

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps tokens."""
        ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client's registration, if there is one."""
        ...

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps a registration."""
        ...


class OAuthClientProvider(httpx2.Auth):
    """Not built yet: raises, rather than send requests without authorization.

    Args:
        server_url: The server.
        client_metadata: What the client says of itself.
        storage: Where tokens are kept.
        redirect_handler: Shows the user a page.
        callback_handler: Waits until the user comes back.
        client_metadata_url: Where the client's metadata is published.
        validate_resource_url: Decides whether a resource is the one that was meant.

    Raises:
        NotImplementedError: Always.
    """

    def __init__(
        self,
        server_url: str,
        client_metadata: OAuthClientMetadata,
        storage: TokenStorage,
        redirect_handler: Callable[[str], Awaitable[None]] | None = None,
        callback_handler: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
        client_metadata_url: str | None = None,
        validate_resource_url: Callable[[str, str | None], Awaitable[None]] | None = None,
    ) -> None:
        raise NotImplementedError("OAuthClientProvider is not built yet: give auth= another httpx2.Auth, or headers")
