"""Getting the first token: the authorization server is found, the client becomes known to it, and the user signs in."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import httpx2

from mcp.client._request_clock import Queue
from mcp.client.auth._browser import authorization_url, check_callback, check_iss, check_pkce
from mcp.client.auth._challenges import extract_resource_metadata_from_www_auth
from mcp.client.auth._context import OAuthContext
from mcp.client.auth._discovery import (
    Discovered,
    discover_authorization_server,
    discover_protected_resource,
    issuers_match,
)
from mcp.client.auth._login_bounds import LoginBounds
from mcp.client.auth._pkce import PKCEParameters
from mcp.client.auth._places import origin_of
from mcp.client.auth._registration import (
    check_registration_usable,
    create_client_info_from_metadata_url,
    create_client_registration_request,
    handle_registration_response,
    knows_redirect_uri,
    registration_metadata,
    should_use_client_metadata_url,
)
from mcp.client.auth._scopes import OFFLINE_ACCESS
from mcp.client.auth._sending import Steps
from mcp.client.auth._token_requests import STORAGE_SECONDS, TokenRequests
from mcp.client.auth.dpop import DPoPProver, check_algorithms
from mcp.client.auth.exceptions import (
    AuthorizationResponseError,
    LoginRequired,
    OAuthFlowError,
    OAuthRegistrationError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

__all__ = ["Login"]

logger = logging.getLogger("mcp.client.auth.oauth2")


@dataclass(frozen=True)
class _Attempt:
    """One login. The server ties its code to the challenge, and the program finds its answer by the state."""

    pkce: PKCEParameters
    state: str
    about: object


class Login(TokenRequests):
    """The part of an `OAuthClientProvider` that starts from nothing.

    Args:
        context: What the provider knows.
        dpop: Binds tokens to a key; None for none.
        validate_resource_url: Decides whether a resource is the one that was meant; None for the rule.
    """

    def __init__(
        self,
        context: OAuthContext,
        dpop: DPoPProver | None,
        validate_resource_url: Callable[[str, str | None], Awaitable[None]] | None,
    ) -> None:
        super().__init__(context, dpop)
        self._validate_resource_url = validate_resource_url
        self._unfinished: _Attempt | None = None
        self._bounds = LoginBounds(context.server_url)
        self._queue = Queue()
        self._warned_of: set[str] = set()

    async def _log_in(self, scope: str | None) -> Steps:
        """Gets a new token from the authorization server that was found.

        Scopes that are not granted are forgotten again, and so is a registration for them: what was there before is
        still good.
        """
        scope_before, client_before = self._requested_scope, self.context.client_info
        self._requested_scope = scope
        try:
            if self._dpop is not None and self.context.oauth_metadata is not None:
                check_algorithms(self.context.oauth_metadata)
            yield self._register()
            yield self._request_token(await self._perform_authorization())
        except BaseException as failure:
            self._requested_scope = scope_before
            # An unfinished login goes on with the client that began it.
            if not isinstance(failure, LoginRequired):
                await self._restore_client(client_before)
            raise
        self._bounds.logged_in()

    async def _restore_client(self, client: OAuthClientInformationFull | None) -> None:
        """Goes back to the client whose refresh token there is. A client without one may stay as it was registered."""
        if client is None or client is self.context.client_info or not self.context.can_refresh_token():
            return
        self.context.client_info = client
        with anyio.fail_after(STORAGE_SECONDS, shield=True):
            await self.context.storage.set_client_info(client)

    async def _discover(self, response: httpx2.Response) -> Steps:
        """Finds the authorization server of the server that refused a request."""
        self._check_server()
        context, found = self.context, Discovered()
        named = extract_resource_metadata_from_www_auth(response)
        closed = not self.requires_https
        yield discover_protected_resource(found, named, context.server_url, closed_network=closed)
        await self._check_resource(found)
        found.issuer = self._select_authorization_server(found.authorization_servers)
        logger.debug(
            "asking the authorization server %s for its metadata", found.issuer or origin_of(context.server_url)
        )
        yield discover_authorization_server(found, context.server_url, requires_https=self.requires_https)
        context.protected_resource_metadata = found.resource
        if context.auth_server_url != found.issuer:
            # Scopes of one authorization server mean nothing to another.
            if context.auth_server_url is not None:
                self._requested_scope = None
            context.auth_server_url = found.issuer
        context.oauth_metadata = found.server

    async def _check_resource(self, found: Discovered) -> None:
        """Whether metadata is of the server that was meant. RFC 9728, section 3.3."""
        server_url = self.context.server_url
        resource = None if found.resource is None else str(found.resource.resource)
        if self._validate_resource_url is not None:
            await self._validate_resource_url(server_url, resource)
        elif resource is not None and not check_resource_allowed(resource_url_from_server_url(server_url), resource):
            raise OAuthFlowError(
                f"The protected resource metadata is of {resource}: expected {server_url}, or a parent of it"
            )

    def _select_authorization_server(self, offered: list[str]) -> str | None:
        """The authorization server to use: the one the client is known to, or else the first. RFC 9728, section 7.6."""
        known = self._expected_issuer()
        if known is not None:
            for issuer in offered:
                if issuers_match(issuer, known):
                    return issuer
        return offered[0] if offered else None

    async def _register(self) -> Steps:
        """Sees to it that the client has credentials at the authorization server."""
        context, server = self.context, self.context.oauth_metadata
        issuer = context.auth_server_url
        assert server is not None
        assert issuer is not None
        if self._is_registered(issuer) and not self._is_too_narrow(server):
            self._warn_of_secret(issuer)
            return
        if should_use_client_metadata_url(server, context.client_metadata_url) and context.client_metadata_url:
            info = create_client_info_from_metadata_url(
                context.client_metadata_url, context.client_metadata.redirect_uris
            )
        else:
            if server.registration_endpoint is None:
                raise OAuthRegistrationError(self._unregistered_text(issuer))
            metadata = registration_metadata(context.client_metadata, server, self._requested_scope)
            logger.debug("registering at %s", server.registration_endpoint)
            response = yield create_client_registration_request(server, metadata, issuer)
            info = await handle_registration_response(response)
            check_registration_usable(info)
        info.issuer = issuer
        context.client_info = info
        await context.storage.set_client_info(info)

    def _warn_of_secret(self, issuer: str) -> None:
        """Says that the MCP server decides who gets a secret, where a registration leaves that open."""
        info = self.context.client_info
        if info is None or info.issuer is not None or info.client_secret is None or issuer in self._warned_of:
            return
        self._warned_of.add(issuer)
        logger.warning(
            "the client's secret goes to %s because %s names it: set the issuer that it is for in what get_client_info"
            " returns, and it goes nowhere else",
            issuer,
            origin_of(self.context.server_url),
        )

    def _is_too_narrow(self, server: OAuthMetadata) -> bool:
        """Whether the client was registered on the spot for less than it now asks for, and can be anew.

        That is fewer scopes, or another place where the user comes back to.
        """
        info, wanted = self.context.client_info, set((self._requested_scope or "").split())
        if info is None or info.issuer is None or info.client_id == self.context.client_metadata_url:
            return False
        if server.registration_endpoint is None:
            return False
        if info.scope is not None and not wanted <= {*info.scope.split(), OFFLINE_ACCESS}:
            return True
        return not knows_redirect_uri(info, self.context.client_metadata)

    def _unregistered_text(self, issuer: str) -> str:
        known = self.context.client_info
        problem = "has no registration endpoint, and the client has no credentials there"
        if known is not None:
            problem = f"has no registration endpoint, and the client's credentials are of {known.issuer}"
        return (
            f"The authorization server {issuer} {problem}: register the client there by hand and give its client_id"
            " through the storage (get_client_info), or publish a client metadata document (client_metadata_url)"
        )

    async def _perform_authorization(self) -> httpx2.Request:
        """Makes the request for a new token: asks the user, and exchanges the code that they bring back."""
        code, pkce = await self._perform_authorization_code_grant()
        data = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri(),
            "code_verifier": pkce.code_verifier,
        }
        return await self._create_token_request(data)

    async def _perform_authorization_code_grant(self) -> tuple[str, PKCEParameters]:
        """Sends the user to the authorization server and returns the code that they come back with."""
        context, server = self.context, self.context.oauth_metadata
        if context.redirect_handler is None or context.callback_handler is None:
            raise OAuthFlowError(
                f"{context.server_url} wants a user to sign in at {context.auth_server_url}: give the provider a"
                " redirect_handler and a callback_handler"
            )
        assert server is not None
        assert context.client_info is not None
        check_pkce(server, must_say=context.protected_resource_metadata is not None)
        attempt, issuer = self._attempt(), context.auth_server_url
        promised = server.authorization_response_iss_parameter_supported is True
        url = await self._login_url(server, context.client_info.client_id, attempt)
        logger.debug("sending the user to %s", server.authorization_endpoint)
        try:
            with self._queue.asking():
                await context.redirect_handler(url)
                self._bounds.page_shown()
                result = await context.callback_handler()
        except LoginRequired:
            self._unfinished = attempt
            raise
        except AuthorizationResponseError as refusal:
            result = refusal
        if isinstance(result, AuthorizationResponseError):
            check_iss(result.iss, issuer, promised=promised)
            raise result
        check_callback(result, attempt.state)
        check_iss(result.iss, issuer, promised=promised)
        return result.code, attempt.pkce

    async def _login_url(self, server: OAuthMetadata, client_id: str, attempt: _Attempt) -> str:
        """The page at which the user logs in."""
        return authorization_url(
            str(server.authorization_endpoint),
            {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": self._redirect_uri(),
                "state": attempt.state,
                "code_challenge": attempt.pkce.code_challenge,
                "code_challenge_method": "S256",
                "resource": self._resource(),
                "scope": self._requested_scope,
                "dpop_jkt": None if self._dpop is None else await self._dpop.thumbprint(),
            },
        )

    def _attempt(self) -> _Attempt:
        """A new login, or the one that was left unfinished, if it would ask for the same."""
        about = (self.context.auth_server_url, self.context.client_info, self._requested_scope)
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None and unfinished.about == about:
            return unfinished
        return _Attempt(PKCEParameters.generate(), secrets.token_urlsafe(32), about)

    def _redirect_uri(self) -> str:
        uris = self.context.client_metadata.redirect_uris
        if not uris:
            raise OAuthFlowError("client_metadata has no redirect_uris: expected where the user is to come back to")
        return str(uris[0])
