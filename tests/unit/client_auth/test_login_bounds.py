"""How often a user is asked, with a clock of its own."""

import pytest

from mcp.client.auth import OAuthFlowError
from mcp.client.auth._login_bounds import LOGIN_SECONDS, MAX_LOGINS, LoginBounds

URL = "https://mcp.example.com/mcp"
WRITE = frozenset(["write"])


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_token_that_was_never_accepted_bars_a_login_for_a_minute() -> None:
    bounds = LoginBounds(URL, clock := Clock())
    bounds.check_login()
    bounds.logged_in()
    clock.now += 20
    with pytest.raises(OAuthFlowError, match=f"{URL} refuses the token.*not asked again for 40 seconds"):
        bounds.check_login()
    clock.now += LOGIN_SECONDS
    bounds.check_login()


def test_a_token_that_was_accepted_and_is_refused_later_bars_none() -> None:
    bounds = LoginBounds(URL, Clock())
    bounds.logged_in()
    bounds.accepted()
    bounds.check_login()


def test_scopes_that_were_asked_for_in_vain_bar_no_others_and_none_after_a_minute() -> None:
    bounds = LoginBounds(URL, clock := Clock())
    bounds.failed(WRITE, "access_denied")
    with pytest.raises(OAuthFlowError, match="needs the scopes write, which were just asked for in vain: access_den"):
        bounds.check_step_up(WRITE)
    bounds.check_step_up(WRITE | {"admin"})
    bounds.check_login()
    clock.now += LOGIN_SECONDS
    bounds.check_step_up(WRITE)


@pytest.mark.parametrize("kind", ["login", "step-up"])
def test_a_user_is_shown_so_many_pages_a_minute(kind: str) -> None:
    bounds = LoginBounds(URL, clock := Clock())

    def check() -> None:
        if kind == "login":
            bounds.check_login()
        else:
            bounds.check_step_up(WRITE)

    for _ in range(MAX_LOGINS):
        check()
        bounds.page_shown()
        clock.now += 2
    with pytest.raises(OAuthFlowError, match="log in 5 times within 60 seconds: they are not asked again for 50"):
        check()
    clock.now += 50
    check()
