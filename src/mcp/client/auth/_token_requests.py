"""Getting tokens from a token endpoint, keeping them, and putting them on requests: what all grants have in common."""

import logging
from typing import Final

import anyio
import httpx2

from mcp.client.auth._context import OAuthContext, SharedTokenStorage
from mcp.client.auth._discovery import issuers_match
from mcp.client.auth._places import check_place
from mcp.client.auth._registration import credentials_match_issuer
from mcp.client.auth._scopes import union_scopes
from mcp.client.auth._sending import RedirectAwareAuth, Steps
from mcp.client.auth._tokens import can_be_sent, create_token_request, secrets_in, token_in
from mcp.client.auth.dpop import DPoPProver
from mcp.client.auth.exceptions import OAuthTokenError
from mcp.shared.auth import OAuthToken

__all__ = ["STORAGE_SECONDS", "TokenRequests"]

logger = logging.getLogger("mcp.client.auth.oauth2")

STORAGE_SECONDS: Final = 10.0
"""Seconds that a storage may take to keep something."""


class TokenRequests(RedirectAwareAuth):
    """The part of an `OAuthClientProvider` that has the tokens. It does not care how the first one is got.

    Args:
        context: What the provider knows.
        dpop: Binds tokens to a key; None for tokens that whoever has them can use.
    """

    requires_https: bool = True

    def __init__(self, context: OAuthContext, dpop: DPoPProver | None) -> None:
        self.context = context
        self._dpop = dpop
        self._requested_scope: str | None = None
        self._given_up: OAuthToken | None = None

    async def _load_client(self) -> None:
        """Looks who the client is, which another process may have registered."""
        stored = await self.context.storage.get_client_info()
        if stored is not None:
            self.context.client_info = stored

    def _forget_client(self) -> None:
        """Forgets a client that was registered on the spot and that its authorization server has forgotten."""
        info = self.context.client_info
        if info is not None and info.client_id_issued_at is not None:
            self.context.client_info = None

    async def _load_tokens(self) -> None:
        """Takes the tokens from the storage, if they are others than those that are known here."""
        tokens = await self.context.storage.get_tokens()
        old = [known.access_token for known in (self.context.current_tokens, self._given_up) if known is not None]
        if tokens is None or tokens.access_token in old or not can_be_sent(tokens.access_token):
            return
        self._check_server()
        # They are of no use to any other client, and were written after it.
        await self._load_client()
        self.context.current_tokens = tokens
        # How long a token lived when it was issued says nothing now.
        self.context.token_expiry_time = tokens.expires_at
        self._requested_scope = union_scopes(self._requested_scope, tokens.scope)

    def _check_server(self) -> None:
        check_place(self.context.server_url, "server URL", self.context.server_url, requires_https=self.requires_https)

    def _usable(self) -> OAuthToken | None:
        return self.context.current_tokens if self.context.is_token_valid() else None

    def _expected_issuer(self) -> str | None:
        """The authorization server that the client's credentials are of; None if they do not say."""
        tokens, client = self.context.current_tokens, self.context.client_info
        if tokens is not None and tokens.issuer is not None:
            return tokens.issuer
        return None if client is None else client.issuer

    def _is_registered(self, issuer: str) -> bool:
        info = self.context.client_info
        return info is not None and credentials_match_issuer(info, issuer, self.context.client_metadata_url)

    def _resource(self) -> str | None:
        """What tokens are asked for; None where the server is of a revision that does not know the parameter."""
        context = self.context
        if context.should_include_resource_param(context.protocol_version):
            return context.get_resource_url()
        return None

    async def _create_token_request(self, data: dict[str, str]) -> httpx2.Request:
        """The request for a token.

        Args:
            data: The grant and its parameters. The client, its proof and the resource are added.
        """
        context = self.context
        assert context.client_info is not None
        form = {**data, "client_id": context.client_info.client_id}
        if (resource := self._resource()) is not None:
            form["resource"] = resource
        return await self._token_request(self._get_token_endpoint(), form)

    async def _token_request(self, endpoint: str, form: dict[str, str]) -> httpx2.Request:
        form, headers = await self._authenticate_client(form, {})
        return create_token_request(endpoint, form, headers)

    def _get_token_endpoint(self) -> str:
        """Where tokens come from."""
        if self.context.oauth_metadata is None:
            raise OAuthTokenError("The authorization server is not known yet: there is no token endpoint to ask")
        return str(self.context.oauth_metadata.token_endpoint)

    async def _authenticate_client(
        self, data: dict[str, str], headers: dict[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """A token request with the client's proof of who it is."""
        return self.context.prepare_token_auth(data, headers)

    async def _sign(self, request: httpx2.Request, token: OAuthToken | None) -> None:
        """Puts on a request what shows that it may be answered.

        Args:
            request: Goes to the server, or to the token endpoint.
            token: The token to use; None for a request to the token endpoint, which needs none.
        """
        if self._dpop is not None:
            await self._dpop.sign(request, None if token is None else token.access_token)
        elif token is not None:
            request.headers["Authorization"] = f"Bearer {token.access_token}"

    async def _should_resend(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Whether to sign a request anew and send it again, once, because of how it was answered.

        Args:
            request: A request that was signed.
            response: Its answer. From a token endpoint its body has been read.
        """
        return self._dpop is not None and self._dpop.learn(request, response)

    async def _request_token(self, request: httpx2.Request, previous: OAuthToken | None = None) -> Steps:
        """Sends a token request, and keeps what it brings.

        Args:
            request: The request.
            previous: The tokens that it refreshes.

        Raises:
            OAuthTokenError: It brings no token.
        """
        secrets_sent = secrets_in(request)
        await self._sign(request, None)
        # It uses up a refresh token or a code: what it brings must not be lost because a call is cancelled.
        with anyio.CancelScope(shield=True):
            response = yield request
            if await self._should_resend(request, response):
                await self._sign(request, None)
                response = yield request
            try:
                token = await self._read_token(response, secrets_sent)
            except OAuthTokenError as failure:
                if failure.error == "invalid_client":
                    self._forget_client()
                text = f"No token from {request.url}: {failure}"
                raise OAuthTokenError(text, error=failure.error, status=failure.status) from None
            await self._keep(token, str(request.url), previous)

    async def _read_token(self, response: httpx2.Response, secrets_sent: tuple[str, ...]) -> OAuthToken:
        """The token in an answer of a token endpoint, whose body has been read.

        Args:
            response: The answer.
            secrets_sent: What no error text may repeat.

        Raises:
            OAuthTokenError: There is none.
        """
        token = token_in(response, secrets_sent)
        expected = "Bearer" if self._dpop is None else "DPoP"
        if token.token_type != expected:
            raise OAuthTokenError(f"The token is of the type {token.token_type}: expected {expected}", status=200)
        return token

    async def _keep(self, token: OAuthToken, endpoint: str, previous: OAuthToken | None) -> None:
        """Keeps a new token, with notes of what the next process must know of it."""
        context = self.context
        if previous is None:
            token.issuer, token.resource = context.auth_server_url, self._resource()
            token.scope = token.scope or self._requested_scope
        else:
            token.issuer = previous.issuer or context.auth_server_url
            token.resource = previous.resource or self._resource()
            token.scope = token.scope or previous.scope
            token.refresh_token = token.refresh_token or previous.refresh_token
        token.token_endpoint = endpoint
        context.current_tokens = token
        context.update_token_expiry(token)
        with anyio.fail_after(STORAGE_SECONDS):
            await context.storage.set_tokens(token)

    def _refresh_endpoint(self) -> str | None:
        """Where the tokens can be refreshed: at the authorization server that issued them, and nowhere else.

        Returns:
            None if they cannot be refreshed, or that server is not known.
        """
        context, tokens = self.context, self.context.current_tokens
        issuer = self._expected_issuer()
        if tokens is None or issuer is None or not context.can_refresh_token() or not self._is_registered(issuer):
            return None
        if context.oauth_metadata is None or context.auth_server_url is None:
            return tokens.token_endpoint
        return self._get_token_endpoint() if issuers_match(issuer, context.auth_server_url) else None

    async def _refresh(self) -> Steps:
        """Refreshes the tokens, unless another process has just done it. See `_refresh_alone`."""
        storage, known = self.context.storage, self.context.current_tokens
        if not isinstance(storage, SharedTokenStorage):
            yield self._refresh_alone()
            return
        async with storage.exclusive():
            stored = await storage.get_tokens()
            if stored is not None and known is not None and stored.access_token != known.access_token:
                await self._load_tokens()
                if self._usable() is not None:
                    return
            if self._refresh_endpoint() is not None:
                yield self._refresh_alone()

    async def _refresh_alone(self) -> Steps:
        """Refreshes the tokens. If the refresh token is refused there is no usable token after it.

        Raises:
            OAuthTokenError: The token endpoint is out of order. The refresh token may still be good.
        """
        tokens, endpoint = self.context.current_tokens, self._refresh_endpoint()
        assert tokens is not None
        assert tokens.refresh_token is not None
        assert endpoint is not None
        assert self.context.client_info is not None
        form = {
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh_token,
            "client_id": self.context.client_info.client_id,
        }
        if (resource := tokens.resource or self._resource()) is not None:
            form["resource"] = resource
        logger.debug("refreshing the token at %s", endpoint)
        try:
            yield self._request_token(await self._token_request(endpoint, form), tokens)
        except OAuthTokenError as failure:
            if not _is_refusal(failure):
                raise
            logger.info("the token was not refreshed: %s", failure)
            if failure.error == "invalid_grant":
                self._given_up = tokens
                self.context.clear_tokens()
            else:
                self.context.token_expiry_time = 0.0


def _is_refusal(failure: OAuthTokenError) -> bool:
    """Whether a token endpoint refuses, or is only out of order or out of reach, as behind the page of a hotel."""
    if failure.status is None or failure.status == 429 or failure.status >= 500:
        return False
    return failure.error is not None or failure.status in (400, 401)
