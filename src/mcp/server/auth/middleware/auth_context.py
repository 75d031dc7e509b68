"""Who is calling, for code that is not handed the request."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["AuthContextMiddleware", "auth_context_var", "get_access_token"]

auth_context_var: ContextVar[AuthenticatedUser | None] = ContextVar("auth_context", default=None)


def get_access_token() -> AccessToken | None:
    """The access token of the request at hand, as the verifier returned it.

    None outside of a request, and for one that did not come with a token: in memory and over stdio it never does.
    """
    user = auth_context_var.get()
    return None if user is None else user.access_token


class AuthContextMiddleware:
    """Makes the user of a request known to `get_access_token`.

    Args:
        app: The rest of the application, behind what authenticates.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handles one connection."""
        user = scope.get("user")
        if not isinstance(user, AuthenticatedUser):
            await self.app(scope, receive, send)
            return
        before = auth_context_var.set(user)
        try:
            await self.app(scope, receive, send)
        finally:
            auth_context_var.reset(before)
