"""OAuth at the client: an `httpx2.Auth` that gets tokens, keeps them fresh, and puts them on requests.

A request goes out with the token there is. If it is refused, the provider finds the authorization server, registers if
it must, asks the user, exchanges the code, and sends the request again. All of this goes through the user's own HTTP
client, and only one request at a time does it: the others wait, and use what it got.

Specification: basic/authorization.
"""

import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from mcp.client._request_clock import waiting_on_a_person
from mcp.client.auth._browser import authorization_url, check_callback, check_iss, check_pkce
from mcp.client.auth._challenges import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.client.auth._context import OAuthContext, SharedTokenStorage, TokenStorage
from mcp.client.auth._discovery import (
    Discovered,
    discover_authorization_server,
    discover_protected_resource,
    issuers_match,
)
from mcp.client.auth._pkce import PKCEParameters
from mcp.client.auth._places import check_place, origin_of, same_origin
from mcp.client.auth._registration import (
    check_registration_usable,
    create_client_info_from_metadata_url,
    create_client_registration_request,
    credentials_match_issuer,
    handle_registration_response,
    is_valid_client_metadata_url,
    knows_redirect_uri,
    registration_metadata,
    should_use_client_metadata_url,
)
from mcp.client.auth._scopes import OFFLINE_ACCESS, get_client_metadata_scopes, union_scopes
from mcp.client.auth._sending import RedirectAwareAuth, Steps, shorten_body
from mcp.client.auth._tokens import create_token_request, secrets_in, token_in
from mcp.client.auth.dpop import DPoPKey, DPoPProver, check_algorithms
from mcp.client.auth.exceptions import (
    AuthorizationResponseError,
    LoginRequired,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, OAuthToken
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["OAuthClientProvider", "OAuthContext", "PKCEParameters", "TokenStorage", "check_registration_usable"]

logger = logging.getLogger(__name__)

_MAX_ANSWERS: Final = 4
"""How often one request is sent at most."""

_MAX_STEP_UPS: Final = 2
_STORAGE_SECONDS: Final = 10.0


@dataclass
class _Tries:
    """What was done already to get one request through."""

    refreshed: bool = False
    logged_in: bool = False
    step_ups: int = 0


@dataclass(frozen=True)
class _Attempt:
    """One login. The server ties its code to the challenge, and the program finds its answer by the state."""

    pkce: PKCEParameters
    state: str
    about: object


class OAuthClientProvider(RedirectAwareAuth):
    """Gets a program into a protected server, on behalf of a user. Goes on an `httpx2.AsyncClient` as its `auth=`.

    Credentials go to the origin of `server_url` and to its authorization server, and nowhere else.

    For other grants there are subclasses. What they override:

    * `_perform_authorization` makes the request for a new token, when there is none that can be refreshed. It runs
      when the authorization server is known and the client has credentials there, and may ask whom it likes.
    * `_register` gets those credentials; a grant whose client is known beforehand does nothing there.
    * `_authenticate_client` puts the client's proof of who it is into a token request.
    * `_sign` puts the token on a request, and whatever else must be on it; token requests pass through it too.
    * `_read_token` takes the token out of an answer.
    * `_should_resend` looks at the answer to a signed request and says whether to sign and send it once more.

    Args:
        server_url: The server, as the program connects to it.
        client_metadata: What the program says of itself.
        storage: Where tokens and registrations are kept.
        redirect_handler: Shows the user the page at a URL.
        callback_handler: Waits until the user comes back to the redirect URI, and returns the parameters they bring.
        client_metadata_url: Where the program's client ID metadata document is published. It is used in place of a
            registration where the authorization server takes one.
        validate_resource_url: Decides whether the resource that the server says it is, is the one that was meant:
            called with `server_url` and that; raises if not. When left out, it must be the URL or a parent of it.
        dpop: Whether tokens are bound to a key, so that nobody else can use them: a key, or True for one that is kept
            with the tokens if the storage can (RFC 9449). Then an authorization server that does not bind them is an
            error.

    Attributes:
        context: What the provider knows.
        requires_https: Whether tokens travel by HTTPS alone, but for this machine. On a closed network a program can
            set it to False.

    Raises:
        ValueError: `client_metadata_url` is no HTTPS URL with a path.
    """

    requires_https: bool = True

    def __init__(
        self,
        server_url: str,
        client_metadata: OAuthClientMetadata,
        storage: TokenStorage,
        redirect_handler: Callable[[str], Awaitable[None]] | None = None,
        callback_handler: "Callable[[], Awaitable[AuthorizationCodeResult]] | None" = None,
        client_metadata_url: str | None = None,
        validate_resource_url: Callable[[str, str | None], Awaitable[None]] | None = None,
        *,
        dpop: DPoPKey | bool = False,
    ) -> None:
        if client_metadata_url is not None and not is_valid_client_metadata_url(client_metadata_url):
            raise ValueError(
                f"client_metadata_url must be an HTTPS URL with a path other than '/', got {client_metadata_url!r}"
            )
        self.context = OAuthContext(
            server_url, client_metadata, storage, redirect_handler, callback_handler, client_metadata_url
        )
        self._validate_resource_url = validate_resource_url
        self._dpop = DPoPProver.asked_for(dpop, storage)
        self._initialized = False
        self._requested_scope: str | None = None
        self._unfinished: _Attempt | None = None
        self._flows = 0
        self._last_failure: OAuthFlowError | None = None

    async def _initialize(self) -> None:
        """Loads what is stored. Called before the first request is sent."""
        self.context.client_info = await self.context.storage.get_client_info()
        await self._load_tokens()
        self._initialized = True

    async def _load_tokens(self) -> None:
        tokens, known = await self.context.storage.get_tokens(), self.context.current_tokens
        if tokens is None or (known is not None and known.access_token == tokens.access_token):
            return
        self._check_server()
        self.context.current_tokens = tokens
        # How long a token lived when it was issued says nothing now.
        self.context.token_expiry_time = tokens.expires_at
        self._requested_scope = union_scopes(self._requested_scope, tokens.scope)

    def _check_server(self) -> None:
        check_place(self.context.server_url, "server URL", self.context.server_url, requires_https=self.requires_https)

    def _auth_flow(self, request: httpx2.Request) -> Steps:
        if same_origin(request.url, self.context.server_url):
            return self._authorized(request)
        return self._elsewhere(request)

    async def _elsewhere(self, request: httpx2.Request) -> Steps:
        """Sends a request to a server that this provider is not for."""
        response = yield request
        if response.status_code == 401:
            raise OAuthFlowError(
                f"{origin_of(request.url)} wants authorization, but server_url of this {type(self).__name__} is at"
                f" {origin_of(self.context.server_url)}: credentials go nowhere else. Make the two URLs the same"
            )

    async def _authorized(self, request: httpx2.Request) -> Steps:
        """Sends a request with a token, and again with a better one for as long as that may help."""
        self.context.protocol_version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if not (self._initialized and self.context.is_token_valid()):
            yield self._prepare()
        tries = _Tries()
        for _ in range(_MAX_ANSWERS):
            token = self._usable()
            if token is not None:
                await self._sign(request, token)
            flows = self._flows
            response = yield request
            if token is not None and await self._should_resend(request, response):
                await shorten_body(response)
                await self._sign(request, token)
                response = yield request
            if not self._is_refusal(request, response):
                return
            await shorten_body(response)
            yield self._answer(response, token, flows, tries)
            if self._usable() is token:
                return

    def _usable(self) -> OAuthToken | None:
        return self.context.current_tokens if self.context.is_token_valid() else None

    def _is_refusal(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Whether a response asks for a token, or for a better one."""
        if response.status_code not in (401, 403) or not same_origin(_source(response, request), request.url):
            return False
        return response.status_code == 401 or extract_field_from_www_auth(response, "error") == "insufficient_scope"

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None, None]:
        """Within it, no other request gets tokens."""
        # Whoever holds the lock may be waiting for the user.
        with waiting_on_a_person():
            await self.context.lock.acquire()
        try:
            yield
        finally:
            self.context.lock.release()

    async def _prepare(self) -> Steps:
        """Refreshes the token before it is refused, if it has ended and can be refreshed where it came from."""
        async with self._alone():
            if not self._initialized:
                await self._initialize()
            elif self._usable() is None and self.context.can_refresh_token():
                # Another process may have refreshed it meanwhile.
                await self._load_tokens()
            if self._usable() is None and self._refresh_endpoint() is not None:
                yield self._refresh()

    async def _answer(self, response: httpx2.Response, refused: OAuthToken | None, flows: int, tries: _Tries) -> Steps:
        """Gets another token than the one that was refused, if there is a way.

        Args:
            response: The refusal.
            refused: The token that the request carried; None for none.
            flows: How many flows had ended when it was sent.
            tries: What was done for the request already.
        """
        async with self._alone():
            if self._usable() is not refused:
                return
            if self._flows != flows and self._last_failure is not None:
                # It waited for a flow that failed, and would only ask the user once more.
                raise copy(self._last_failure)
            try:
                if response.status_code == 403:
                    yield self._step_up(response, tries)
                elif not tries.logged_in:
                    yield self._get_in(response, tries)
            except OAuthFlowError as failure:
                self._flows += 1
                self._last_failure = failure
                raise
            self._flows += 1
            self._last_failure = None

    async def _get_in(self, response: httpx2.Response, tries: _Tries) -> Steps:
        """Gets a token: with a refresh token if there is one, or else with the user."""
        yield self._discover(response)
        if not tries.refreshed and self._refresh_endpoint() is not None:
            tries.refreshed = True
            refused = self.context.current_tokens
            yield self._refresh()
            if (token := self._usable()) is not None and token is not refused:
                return
        context = self.context
        scope = get_client_metadata_scopes(
            extract_scope_from_www_auth(response),
            context.protected_resource_metadata,
            context.oauth_metadata,
            list(context.client_metadata.grant_types),
            context.client_metadata.scope,
        )
        tries.logged_in = True
        yield self._log_in(union_scopes(self._requested_scope, scope))

    async def _step_up(self, response: httpx2.Response, tries: _Tries) -> Steps:
        """Gets a token for more scopes, unless all that is missing was asked for before and not granted."""
        needed = extract_scope_from_www_auth(response)
        asked = set((self._requested_scope or "").split())
        if needed is None or set(needed.split()) <= asked or tries.step_ups >= _MAX_STEP_UPS:
            return
        tries.step_ups += 1
        if self.context.oauth_metadata is None:
            yield self._discover(response)
        tries.logged_in = True
        yield self._log_in(union_scopes(self._requested_scope, needed))

    async def _log_in(self, scope: str | None) -> Steps:
        """Gets a new token from the authorization server that was found."""
        self._requested_scope = scope
        if self._dpop is not None and self.context.oauth_metadata is not None:
            check_algorithms(self.context.oauth_metadata)
        yield self._register()
        yield self._request_token(await self._perform_authorization())

    async def _discover(self, response: httpx2.Response) -> Steps:
        """Finds the authorization server of the server that refused a request."""
        self._check_server()
        context, found = self.context, Discovered()
        named = extract_resource_metadata_from_www_auth(response)
        yield discover_protected_resource(found, named, context.server_url)
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

    def _expected_issuer(self) -> str | None:
        """The authorization server that the client's credentials are of; None if they do not say."""
        tokens, client = self.context.current_tokens, self.context.client_info
        if tokens is not None and tokens.issuer is not None:
            return tokens.issuer
        return None if client is None else client.issuer

    async def _register(self) -> Steps:
        """Sees to it that the client has credentials at the authorization server."""
        context, server = self.context, self.context.oauth_metadata
        issuer = context.auth_server_url
        assert server is not None
        assert issuer is not None
        if self._is_registered(issuer) and not self._is_too_narrow(server):
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

    def _is_registered(self, issuer: str) -> bool:
        info = self.context.client_info
        return info is not None and credentials_match_issuer(info, issuer, self.context.client_metadata_url)

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
        check_pkce(server)
        attempt, issuer = self._attempt(), context.auth_server_url
        promised = server.authorization_response_iss_parameter_supported is True
        url = await self._login_url(server, context.client_info.client_id, attempt)
        logger.debug("sending the user to %s", server.authorization_endpoint)
        try:
            with waiting_on_a_person():
                await context.redirect_handler(url)
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
        response = yield request
        if await self._should_resend(request, response):
            await self._sign(request, None)
            response = yield request
        try:
            token = await self._read_token(response, secrets_sent)
        except OAuthTokenError as failure:
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
            token.issuer, token.resource = previous.issuer or context.auth_server_url, previous.resource
            token.scope = token.scope or previous.scope
            token.refresh_token = token.refresh_token or previous.refresh_token
        token.token_endpoint = endpoint
        context.current_tokens = token
        context.update_token_expiry(token)
        # A refresh token may have been used up for this one: it must not be lost because a call is cancelled.
        with anyio.fail_after(_STORAGE_SECONDS, shield=True):
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
            status = failure.status
            if status is None or status == 429 or status >= 500:
                raise
            logger.info("the token was not refreshed: %s", failure)
            if failure.error == "invalid_grant":
                self.context.clear_tokens()
            else:
                self.context.token_expiry_time = 0.0


def _source(response: httpx2.Response, request: httpx2.Request) -> httpx2.URL:
    """Where a response comes from."""
    try:
        return response.url
    except RuntimeError:
        return request.url
