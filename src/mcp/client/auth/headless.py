"""Logins where nobody can be shown a page: the program is told which one, and may go on later."""

from urllib.parse import parse_qs, urlsplit

from mcp.client.auth._redirects import outcome_of
from mcp.client.auth.exceptions import LoginRequired, OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["HeadlessLogin", "LoginRequired"]


class HeadlessLogin:
    """The two handlers of an `OAuthClientProvider`, for a program that must not wait for a user.

    A request that needs a login raises `LoginRequired`, whose `url` is the page to log in at. Tokens that are there are
    used and refreshed as ever. If somebody logs in, give `finish` the URL that the browser ends up at, and repeat the
    request: it goes on with the code. A program that never does that needs only the first part.

        login = HeadlessLogin()
        auth = OAuthClientProvider(url, metadata, storage, login.redirect_handler, login.callback_handler)
    """

    def __init__(self) -> None:
        self._asked: str | None = None
        self._result: AuthorizationCodeResult | None = None

    async def redirect_handler(self, authorization_url: str) -> None:
        """Lets a login go on that is finished, and refuses any other.

        Args:
            authorization_url: Where the user logs in.

        Raises:
            LoginRequired: Nobody has.
        """
        state = _state_of(authorization_url)
        if self._result is None or self._result.state != state:
            self._asked, self._result = state, None
            raise LoginRequired(authorization_url)

    async def callback_handler(self) -> AuthorizationCodeResult:
        """What `finish` was given."""
        if self._result is None:
            raise RuntimeError("redirect_handler must be called before callback_handler")
        result, self._asked, self._result = self._result, None, None
        return result

    def finish(self, redirect_url: str) -> None:
        """Takes what the user brings back; the next request uses it.

        Args:
            redirect_url: The URL that the browser was sent back to, whole.

        Raises:
            AuthorizationResponseError: The authorization server, or the user, said no.
            OAuthFlowError: It is not from the login that was asked for last.
        """
        result = outcome_of(urlsplit(redirect_url).query, self._asked)
        if result is None:
            raise OAuthFlowError(
                "This is not the redirect of the login that was asked for last: expected its `state`, and a `code`"
            )
        if isinstance(result, Exception):
            raise result
        self._result = result


def _state_of(authorization_url: str) -> str:
    return parse_qs(urlsplit(authorization_url).query).get("state", [""])[0]
