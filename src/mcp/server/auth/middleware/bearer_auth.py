"""Lets in requests that bring a good token, and tells the others how to get one.

Specification: basic/authorization under "Access Token Usage"; RFC 6750.
"""

import logging
import time
import traceback
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final, cast

from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from typing_extensions import TypedDict

from mcp.server.auth.challenges import BEARER, NOT_GOOD, Credentials, Denial, challenges, read_credentials, refusal
from mcp.server.auth.possession import Possession
from mcp.server.auth.provider import AccessToken, TokenVerifier, VerifierUnavailable, principal_components
from mcp.server.tool_scopes import PROTECTION
from mcp.shared.auth_utils import check_resource_allowed

if TYPE_CHECKING:
    from pydantic import AnyHttpUrl
    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp, Receive, Scope, Send

    from mcp.server.http_response import RawHeader

__all__ = [
    "AuthenticatedUser",
    "AuthorizationContext",
    "BearerAuthBackend",
    "BearerAuthMiddleware",
    "RequireAuthMiddleware",
    "authorization_context",
]

logger = logging.getLogger(__name__)

_DENIAL: Final = "mcp.denial"
"""Where the ASGI scope says why a request has no user."""

_NOT_ASYNC: Final = "verify_token returns what cannot be awaited: it must be `async def verify_token(self, token)`"

_SCHEMES: Final = "mcp.schemes"
"""Where the ASGI scope says how its sender may send a token."""


class AuthenticatedUser(SimpleUser):
    """Who has sent a request, as its access token says: `ctx.user` in handlers.

    Args:
        auth_info: The token.

    Attributes:
        access_token: The token.
        scopes: What it is good for.
    """

    def __init__(self, auth_info: AccessToken) -> None:
        super().__init__(auth_info.client_id)
        self.access_token = auth_info
        self.scopes = auth_info.scopes

    @property
    def client_id(self) -> str:
        """The client that the token was issued to."""
        return self.access_token.client_id

    @property
    def subject(self) -> str | None:
        """The user on whose behalf it was issued; None where there is none."""
        return self.access_token.subject

    @property
    def claims(self) -> dict[str, Any]:
        """What else the token says; empty where the verifier tells nothing."""
        return self.access_token.claims or {}


class AuthorizationContext(TypedDict):
    """What tells the owner of a token from others."""

    client_id: str
    issuer: str | None
    subject: str | None


def authorization_context(user: AuthenticatedUser) -> AuthorizationContext:
    """What tells a user from others.

    Args:
        user: The user.
    """
    client_id, issuer, subject = principal_components(user.access_token)
    return AuthorizationContext(client_id=client_id, issuer=issuer, subject=subject)


class BearerAuthBackend(AuthenticationBackend):
    """Finds out who has sent a request, for Starlette's `AuthenticationMiddleware`.

    Args:
        token_verifier: Decides which tokens are good.
        resource_server_url: What tokens must be for (RFC 8707); None does not look at that.
        require_resource: Whether a token that does not say what it is for is refused as well.
        possession: Decides what tokens need that are bound to a key; None for the defaults.
    """

    def __init__(
        self,
        token_verifier: TokenVerifier,
        *,
        resource_server_url: "AnyHttpUrl | None" = None,
        require_resource: bool = True,
        possession: Possession | None = None,
    ) -> None:
        self.token_verifier = token_verifier
        self.resource_server_url = resource_server_url
        self.require_resource = require_resource
        self._possession = possession or Possession(resource_server_url=resource_server_url)

    async def authenticate(self, conn: "HTTPConnection") -> tuple[AuthCredentials, AuthenticatedUser] | None:
        """The user of a request, and what they may; None where it brings no good token.

        Args:
            conn: The request.
        """
        found = await self._user(conn.scope)
        if isinstance(found, Denial):
            conn.scope[_DENIAL] = found
            return None
        return AuthCredentials(found.scopes), found

    async def identify(self, scope: "Scope") -> None:
        """Does what `AuthenticationMiddleware` does with `authenticate`.

        Args:
            scope: The ASGI scope of the request.
        """
        found = await self._user(scope)
        if isinstance(found, Denial):
            scope[_DENIAL] = found
            # What somebody in front has said of the request must not stand for what its token did not.
            scope.pop("user", None)
            scope.pop("auth", None)
        else:
            scope["user"] = found
            scope["auth"] = AuthCredentials(found.scopes)

    async def _user(self, scope: "Scope") -> AuthenticatedUser | Denial:
        credentials = read_credentials(scope["headers"])
        scope[_SCHEMES] = self._possession.schemes(credentials)
        if isinstance(credentials, Denial):
            return credentials
        try:
            verified = cast("object", self.token_verifier.verify_token(credentials.token))
            if not isinstance(verified, Awaitable):
                raise TypeError(_NOT_ASYNC)
            token = cast("AccessToken | None", await verified)
            return Denial(401, "invalid_token", NOT_GOOD) if token is None else self._checked(scope, credentials, token)
        except VerifierUnavailable as failure:
            logger.error("a token could not be verified: %s", _without(credentials, str(failure)))
            return Denial(503, "temporarily_unavailable", "Tokens cannot be verified at the moment")
        except Exception as failure:
            # Whatever it raised may hold the token.
            text = _without(credentials, "".join(traceback.format_exception(failure)))
            logger.error("the token verifier failed, and the request is refused:\n%s", text)
            return Denial(500, "server_error", "The token could not be verified")

    def _checked(self, scope: "Scope", credentials: Credentials, token: AccessToken) -> AuthenticatedUser | Denial:
        if token.expires_at is not None and not token.expires_at > time.time():
            return Denial(401, "invalid_token", "The access token has expired")
        if self.resource_server_url is not None and not self._is_meant(token.resource, str(self.resource_server_url)):
            return Denial(401, "invalid_token", "The access token was issued for another resource")
        return self._possession.denial(scope, credentials, token) or AuthenticatedUser(token)

    def _is_meant(self, resource: str | None, own: str) -> bool:
        if resource is None:
            return not self.require_resource
        # Each within the other: the same, but for what makes no difference in a URL.
        return check_resource_allowed(resource, own) and check_resource_allowed(own, resource)


def _without(credentials: Credentials, text: str) -> str:
    """A text without a token, and without the parts of one that is a JWT."""
    for secret in (credentials.token, *credentials.token.split(".")):
        if secret:
            text = text.replace(secret, "[token]")
    return text


class BearerAuthMiddleware:
    """Finds out who has sent a request, and leaves it to others to ask for more.

    Args:
        app: What is behind it.
        backend: Finds it out.
    """

    def __init__(self, app: "ASGIApp", backend: BearerAuthBackend) -> None:
        self.app = app
        self.backend = backend

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handles one connection."""
        if scope["type"] == "http":
            await self.backend.identify(scope)
        await self.app(scope, receive, send)


class RequireAuthMiddleware:
    """Lets in requests of authenticated users that may do enough, and challenges the others.

    Args:
        app: What is protected.
        required_scopes: What every token must be good for.
        resource_metadata_url: Where the resource's metadata is; None where it has none.
    """

    def __init__(self, app: Any, required_scopes: list[str], resource_metadata_url: "AnyHttpUrl | None" = None) -> None:
        self.app = app
        self.required_scopes = required_scopes
        self.resource_metadata_url = resource_metadata_url

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handles one connection."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "This endpoint takes HTTP requests only"})
            return
        denial = self._denial(scope) if scope["type"] == "http" else None
        if denial is not None:
            schemes = scope.get(_SCHEMES, BEARER)
            await refusal(denial, self.required_scopes, self._metadata(), schemes).respond(send)
            return
        scope[PROTECTION] = self
        await self.app(scope, receive, send)

    def _denial(self, scope: "Scope") -> Denial | None:
        if not isinstance(scope.get("user"), AuthenticatedUser):
            sent = any(name == b"authorization" for name, _ in scope.get("headers", ()))
            return scope.get(_DENIAL) or (Denial(401, "invalid_token", NOT_GOOD) if sent else Denial(401, None))
        granted = scope["auth"].scopes if "auth" in scope else ()
        missing = [needed for needed in self.required_scopes if needed not in granted]
        return Denial(403, "insufficient_scope", f"Required scope: {' '.join(missing)}") if missing else None

    def step_up(self, scope: "Scope", scopes: tuple[str, ...]) -> "tuple[RawHeader, ...]":
        """The headers of the response to a request that was let in, and asks for what needs more scopes.

        Args:
            scope: The ASGI scope of the request.
            scopes: All that it needs, besides what every request does.
        """
        denial = Denial(403, "insufficient_scope", f"Required scope: {' '.join(scopes)}", scopes)
        return challenges(denial, self.required_scopes, self._metadata(), scope.get(_SCHEMES, BEARER))

    def _metadata(self) -> str | None:
        url = self.resource_metadata_url
        return None if url is None else str(url)
