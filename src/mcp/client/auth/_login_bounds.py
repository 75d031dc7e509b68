"""How often a user is asked: a server that refuses whatever it gets must not send them to page after page."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from mcp.client.auth.exceptions import OAuthFlowError

__all__ = ["LOGIN_SECONDS", "MAX_LOGINS", "LoginBounds"]

LOGIN_SECONDS: Final = 60.0
"""Seconds for which a user is not asked again for what has just been of no use."""

MAX_LOGINS: Final = 5
"""How many pages a user is shown in that time at most, for whatever reason."""


class LoginBounds:
    """What became of the logins of one provider.

    Args:
        server_url: The server, for errors.
        clock: Tells the time, in seconds.
    """

    def __init__(self, server_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._server_url = server_url
        self._clock = clock
        self._shown: deque[float] = deque(maxlen=MAX_LOGINS)
        self._in_vain: dict[frozenset[str], tuple[float, str]] = {}
        self._untried: float | None = None

    def page_shown(self) -> None:
        """Takes note that the user was asked."""
        self._shown.append(self._clock())

    def logged_in(self) -> None:
        """Takes note that a login brought a token."""
        self._untried = self._clock()

    def accepted(self) -> None:
        """Takes note that the server accepts the token."""
        self._untried = None

    def failed(self, scopes: frozenset[str], why: str) -> None:
        """Takes note that the user was asked for more scopes, and they were not granted.

        Args:
            scopes: What the request needed.
            why: What went wrong.
        """
        now = self._clock()
        recent = {known: said for known, said in self._in_vain.items() if now - said[0] < LOGIN_SECONDS}
        self._in_vain = {**recent, scopes: (now, why)}

    def check_login(self) -> None:
        """Whether the user may be asked to log in.

        Raises:
            OAuthFlowError: The server has not accepted what the last login brought, or there were too many.
        """
        if self._untried is not None and (left := self._left(self._untried)) > 0:
            raise OAuthFlowError(
                f"{self._server_url} refuses the token that the user has just logged in for: expected it to be"
                f" accepted. The user is not asked again for {left:.0f} seconds"
            )
        self._check_number()

    def check_step_up(self, scopes: frozenset[str]) -> None:
        """Whether the user may be asked for more scopes.

        Args:
            scopes: What the request needs.

        Raises:
            OAuthFlowError: They were just asked for in vain, or there were too many logins.
        """
        if scopes in self._in_vain:
            when, why = self._in_vain[scopes]
            if (left := self._left(when)) > 0:
                raise OAuthFlowError(
                    f"{self._server_url} needs the scopes {' '.join(sorted(scopes))}, which were just asked for in"
                    f" vain: {why}. The user is not asked again for {left:.0f} seconds"
                )
        self._check_number()

    def _check_number(self) -> None:
        if len(self._shown) == MAX_LOGINS and (left := self._left(self._shown[0])) > 0:
            raise OAuthFlowError(
                f"{self._server_url} has had the user log in {MAX_LOGINS} times within {LOGIN_SECONDS:g} seconds: "
                f"they are not asked again for {left:.0f} seconds"
            )

    def _left(self, since: float) -> float:
        return since + LOGIN_SECONDS - self._clock()
