"""What a provider knows: whom it gets in, as whom, and with which tokens."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import anyio

from mcp.client.auth._places import origin_of
from mcp.client.auth._tokens import authenticated
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import calculate_token_expiry, check_resource_allowed, resource_url_from_server_url
from mcp.types.version import is_version_at_least

__all__ = ["OAuthContext", "SharedTokenStorage", "TokenStorage"]


class TokenStorage(Protocol):
    """Where a program keeps what must outlive it. Any class with these methods is one.

    What is kept holds secrets. Keep all fields of the models: some of them, such as `expires_at`, say how a token can
    be used in a later process.
    """

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


@runtime_checkable
class SharedTokenStorage(TokenStorage, Protocol):
    """A storage that several processes use at once."""

    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """Keeps other processes out for as long as tokens are refreshed. It is held only for that long."""
        ...


@dataclass
class OAuthContext:
    """What a provider knows, and finds out.

    Attributes:
        server_url: The server that the user connects to.
        client_metadata: What the program says of itself.
        storage: Where tokens and registrations are kept.
        redirect_handler: Shows the user a page.
        callback_handler: Waits until the user comes back.
        client_metadata_url: Where the client's metadata document is published.
        protected_resource_metadata: What the server says of itself.
        oauth_metadata: What its authorization server says of itself.
        auth_server_url: Who that is.
        protocol_version: The revision that the last request was of.
        client_info: Who the client is to the authorization server.
        current_tokens: The tokens.
        token_expiry_time: When the access token ends, in seconds since the epoch; None where that is not known.
        lock: Held by whoever gets tokens.
    """

    server_url: str
    client_metadata: OAuthClientMetadata
    storage: TokenStorage
    redirect_handler: Callable[[str], Awaitable[None]] | None
    callback_handler: Callable[[], Awaitable[AuthorizationCodeResult]] | None
    client_metadata_url: str | None = None
    protected_resource_metadata: ProtectedResourceMetadata | None = None
    oauth_metadata: OAuthMetadata | None = None
    auth_server_url: str | None = None
    protocol_version: str | None = None
    client_info: OAuthClientInformationFull | None = None
    current_tokens: OAuthToken | None = None
    token_expiry_time: float | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    def get_authorization_base_url(self, server_url: str) -> str:
        """The root of a server, which is its own authorization server if it is of revision 2025-03-26."""
        return origin_of(server_url)

    def update_token_expiry(self, token: OAuthToken) -> None:
        """Takes note of when a token ends that was issued now, or says by itself when."""
        known = token.expires_at
        self.token_expiry_time = calculate_token_expiry(token.expires_in) if known is None else known

    def is_token_valid(self) -> bool:
        """Whether there is an access token that has not ended, as far as is known."""
        if self.current_tokens is None or not self.current_tokens.access_token:
            return False
        return self.token_expiry_time is None or time.time() <= self.token_expiry_time

    def can_refresh_token(self) -> bool:
        """Whether there is what it takes to refresh a token, wherever that is done."""
        return self.current_tokens is not None and bool(self.current_tokens.refresh_token and self.client_info)

    def clear_tokens(self) -> None:
        """Forgets the tokens."""
        self.current_tokens = None
        self.token_expiry_time = None

    def get_resource_url(self) -> str:
        """What tokens are asked for: the resource that the server says it is, if it may, or else its URL. RFC 8707."""
        own = resource_url_from_server_url(self.server_url)
        metadata = self.protected_resource_metadata
        if metadata is not None and check_resource_allowed(own, str(metadata.resource)):
            return str(metadata.resource)
        return own

    def should_include_resource_param(self, protocol_version: str | None = None) -> bool:
        """Whether requests name the resource: to every server that has metadata, and from revision 2025-06-18 on.

        Args:
            protocol_version: The revision that is spoken; None where it is not known.
        """
        if self.protected_resource_metadata is not None:
            return True
        return protocol_version is not None and is_version_at_least(protocol_version, "2025-06-18")

    def prepare_token_auth(
        self, data: dict[str, str], headers: dict[str, str] | None = None
    ) -> tuple[dict[str, str], dict[str, str]]:
        """A token request with the client's secret in it, where it has one.

        Args:
            data: The form.
            headers: The headers.

        Raises:
            OAuthTokenError: The client is registered for a method that is not known here.
        """
        headers = {} if headers is None else headers
        if self.client_info is None:
            return data, headers
        return authenticated(self.client_info, self.oauth_metadata, data, headers)
