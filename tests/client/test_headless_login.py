"""A program without a user says which page to open, and goes on when somebody has."""

import pytest

from mcp.client.auth.exceptions import AuthorizationResponseError, LoginRequired, OAuthFlowError
from mcp.client.auth.headless import HeadlessLogin
from mcp.shared.auth import AuthorizationCodeResult

pytestmark = pytest.mark.anyio

PAGE = "https://auth.example.com/authorize?client_id=c&state=st-1"
BACK = "http://127.0.0.1:3030/callback"


async def test_the_program_is_told_where_the_login_begins() -> None:
    with pytest.raises(LoginRequired, match="A user has to log in") as caught:
        await HeadlessLogin().redirect_handler(PAGE)
    assert caught.value.url == PAGE
    assert isinstance(caught.value, OAuthFlowError)
    assert "state" not in str(caught.value)


async def test_a_login_that_somebody_finished_goes_on() -> None:
    login = HeadlessLogin()
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)
    login.finish(f"{BACK}?code=c-1&state=st-1&iss=https%3A%2F%2Fauth.example.com")
    await login.redirect_handler(PAGE)
    result = await login.callback_handler()
    assert result == AuthorizationCodeResult(code="c-1", state="st-1", iss="https://auth.example.com")
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)


@pytest.mark.parametrize("query", ["code=c-1&state=wrong", "code=c-1", "state=st-1", "", "code=a&code=b&state=st-1"])
async def test_what_belongs_to_another_login_is_refused(query: str) -> None:
    login = HeadlessLogin()
    with pytest.raises(OAuthFlowError, match="not the redirect of the login"):
        login.finish(f"{BACK}?{query}")
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)
    with pytest.raises(OAuthFlowError, match="not the redirect of the login"):
        login.finish(f"{BACK}?{query}")
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)


async def test_a_new_login_forgets_the_one_before() -> None:
    login = HeadlessLogin()
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)
    login.finish(f"{BACK}?code=c-1&state=st-1")
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE.replace("st-1", "st-2"))
    with pytest.raises(RuntimeError, match="redirect_handler must be called"):
        await login.callback_handler()


async def test_a_refusal_is_told_when_it_is_brought_back() -> None:
    login = HeadlessLogin()
    with pytest.raises(LoginRequired):
        await login.redirect_handler(PAGE)
    with pytest.raises(AuthorizationResponseError, match="access_denied"):
        login.finish(f"{BACK}?error=access_denied&state=st-1")
