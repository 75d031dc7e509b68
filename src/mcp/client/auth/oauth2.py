"""OAuth at the client: an `httpx2.Auth` that gets tokens, keeps them fresh, and puts them on requests.

A request goes out with the token there is. If it is refused, the provider finds the authorization server, registers if
it must, asks the user, exchanges the code, and sends the request again. All of this goes through the user's own HTTP
client, and only one request at a time does it: the others wait, and use what it got.

Specification: basic/authorization.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2

from mcp.client.auth import utils
from mcp.client.auth._challenges import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.client.auth._context import OAuthContext, TokenStorage
from mcp.client.auth._login import Login
from mcp.client.auth._pkce import PKCEParameters
from mcp.client.auth._places import origin_of, same_origin
from mcp.client.auth._registration import check_registration_usable, is_valid_client_metadata_url
from mcp.client.auth._scopes import get_client_metadata_scopes, still_offered, union_scopes
from mcp.client.auth._sending import Steps, shorten_body
from mcp.client.auth.dpop import DPoPKey, DPoPProver
from mcp.client.auth.exceptions import LoginRequired, OAuthFlowError
from mcp.lazy import lazy_exports
from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.auth import OAuthClientMetadata, OAuthToken

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["OAuthClientProvider", "OAuthContext", "PKCEParameters", "TokenStorage", "check_registration_usable"]

# Names that programs import from here although they are at home elsewhere.
__getattr__, _ = lazy_exports(
    __name__,
    {
        "AuthorizationCodeResult": "mcp.shared.auth",
        "OAuthClientInformationFull": "mcp.shared.auth",
        "OAuthMetadata": "mcp.shared.auth",
        "ProtectedResourceMetadata": "mcp.shared.auth",
        "TokenEndpointAuthMethod": "mcp.shared.auth",
        "OAuthRegistrationError": "mcp.client.auth.exceptions",
        "OAuthTokenError": "mcp.client.auth.exceptions",
        "RedirectAwareAuth": "mcp.client.auth._sending",
        "calculate_token_expiry": "mcp.shared.auth_utils",
        "check_resource_allowed": "mcp.shared.auth_utils",
        "resource_url_from_server_url": "mcp.shared.auth_utils",
        "is_version_at_least": "mcp.types.version",
        **dict.fromkeys(utils.__all__, utils.__name__),
    },
)

logger = logging.getLogger(__name__)

_MAX_ANSWERS: Final = 4
"""How often one request is sent at most."""

_MAX_STEP_UPS: Final = 2


@dataclass
class _Tries:
    """What was done already to get one request through."""

    refreshed: bool = False
    logged_in: bool = False
    step_ups: int = 0


class OAuthClientProvider(Login):
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
        context = OAuthContext(
            server_url, client_metadata, storage, redirect_handler, callback_handler, client_metadata_url
        )
        super().__init__(context, DPoPProver.asked_for(dpop, storage), validate_resource_url)
        self._initialized = False
        self._flows = 0
        self._last_failure: Exception | None = None

    async def _initialize(self) -> None:
        """Loads what is stored. Called before the first request is sent."""
        await self._load_client()
        await self._load_tokens()
        self._initialized = True

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
        tries, token = _Tries(), None
        for _ in range(_MAX_ANSWERS):
            if token is not None:
                del request.headers["Authorization"]
            token = self._usable()
            if token is not None:
                await self._sign(request, token)
            flows = self._flows
            response = yield request
            if token is not None and await self._should_resend(request, response):
                await shorten_body(response)
                await self._sign(request, token)
                response = yield request
            if token is not None and response.status_code != 401:
                self._bounds.accepted()
            if not self._is_refusal(request, response):
                return
            await shorten_body(response)
            yield self._answer(response, token, flows, tries)
            if self._usable() is token:
                return

    def _is_refusal(self, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Whether a response asks for a token, or for a better one."""
        if response.status_code not in (401, 403) or not same_origin(_source(response, request), request.url):
            return False
        return response.status_code == 401 or extract_field_from_www_auth(response, "error") == "insufficient_scope"

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None, None]:
        """Within it, no other request gets tokens."""
        with self._queue.waiting():
            await self.context.lock.acquire()
        try:
            yield
        finally:
            self.context.lock.release()

    @contextmanager
    def _shared(self, flows: int) -> Generator[None, None, None]:
        """Within it a flow goes on, for all that wait for the lock. What it raises, they raise as well.

        Args:
            flows: How many flows had ended when the request was sent that needs this one.
        """
        if self._flows != flows and self._last_failure is not None:
            # It waited for a flow that failed, and would only do the same once more.
            raise _twin(self._last_failure)
        try:
            yield
        except Exception as failure:
            self._flows += 1
            self._last_failure = failure
            raise
        self._flows += 1
        self._last_failure = None

    async def _prepare(self) -> Steps:
        """Refreshes the token before it is refused, if it has ended and can be refreshed where it came from."""
        flows = self._flows
        async with self._alone():
            if not self._initialized:
                await self._initialize()
            elif self._usable() is None:
                # Another process may have refreshed it meanwhile, or somebody has logged in there.
                await self._load_tokens()
            if self._usable() is None and self._refresh_endpoint() is not None:
                with self._shared(flows):
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
            await self._load_tokens()
            stored = self._usable()
            if stored is not None and stored is not refused:
                return
            with self._shared(flows):
                if response.status_code == 403:
                    yield self._step_up(response, tries)
                elif not tries.logged_in:
                    yield self._get_in(response, tries)

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
        if self._asks_a_user():
            self._bounds.check_login()
        tries.logged_in = True
        known = still_offered(self._requested_scope, context.protected_resource_metadata, context.oauth_metadata)
        yield self._log_in(union_scopes(known, scope))

    async def _step_up(self, response: httpx2.Response, tries: _Tries) -> Steps:
        """Gets a token for more scopes, unless all that is missing was asked for before and not granted."""
        needed = extract_scope_from_www_auth(response)
        asked = set((self._requested_scope or "").split())
        if needed is None or set(needed.split()) <= asked or tries.step_ups >= _MAX_STEP_UPS:
            return
        scopes = frozenset(needed.split())
        if self._asks_a_user():
            self._bounds.check_step_up(scopes)
        tries.step_ups += 1
        if self.context.oauth_metadata is None:
            yield self._discover(response)
        tries.logged_in = True
        try:
            yield self._log_in(union_scopes(self._requested_scope, needed))
        except LoginRequired:
            raise
        except OAuthFlowError as failure:
            self._bounds.failed(scopes, str(failure))
            raise

    def _asks_a_user(self) -> bool:
        return self.context.redirect_handler is not None


def _twin(failure: Exception) -> Exception:
    """An exception that says the same in another request."""
    try:
        return copy(failure)
    except Exception:
        return OAuthFlowError(f"Another request had to get a token, and failed: {type(failure).__name__}: {failure}")


def _source(response: httpx2.Response, request: httpx2.Request) -> httpx2.URL:
    """Where a response comes from."""
    try:
        return response.url
    except RuntimeError:
        return request.url
