"""A browser on this machine comes back with the code; nobody else is listened to."""

import socket
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx2
import pytest

from mcp.client.auth.exceptions import AuthorizationResponseError, OAuthFlowError
from mcp.client.auth.loopback import LoopbackLogin, show_in_browser
from mcp.shared.auth import AuthorizationCodeResult

pytestmark = pytest.mark.anyio

Browser = Callable[[str], Awaitable[None]]


def authorization_url(redirect_uri: str, state: str = "st-1") -> str:
    query = urlencode({"response_type": "code", "client_id": "c", "redirect_uri": redirect_uri, "state": state})
    return f"https://auth.example.com/authorize?{query}"


def nobody() -> "LoopbackLogin":
    async def look_away(url: str) -> None:
        await anyio.sleep_forever()

    return LoopbackLogin(open_browser=look_away)


async def log_in(visit: Callable[[httpx2.AsyncClient, str], Awaitable[None]], host: str = "127.0.0.1") -> object:
    """What the handlers make of a browser that does what `visit` says, with the redirect URI."""

    async def browser(url: str) -> None:
        assert url == authorization_url(login.redirect_uri)
        client = httpx2.AsyncClient(trust_env=False)
        async with client:
            await visit(client, login.redirect_uri)
        await anyio.sleep_forever()

    login = LoopbackLogin(host=host, open_browser=browser, timeout=20)
    await login.redirect_handler(authorization_url(login.redirect_uri))
    return await login.callback_handler()


def test_a_client_says_where_it_listens() -> None:
    login = LoopbackLogin()
    metadata = login.client_metadata(client_name="Shop", scope="user")
    assert [str(uri) for uri in metadata.redirect_uris or ()] == [login.redirect_uri]
    assert (metadata.client_name, metadata.scope, metadata.application_type) == ("Shop", "user", "native")
    assert urlsplit(login.redirect_uri).hostname == "127.0.0.1"
    assert LoopbackLogin(port=3030, host="localhost", path="/back").redirect_uri == "http://localhost:3030/back"
    assert LoopbackLogin(port=3030, host="::1").redirect_uri == "http://[::1]:3030/callback"


def test_a_login_is_for_this_machine_alone() -> None:
    for host in ("0.0.0.0", "example.com", ""):
        with pytest.raises(ValueError, match="host must be"):
            LoopbackLogin(host=host)
    with pytest.raises(ValueError, match="path must start with a slash"):
        LoopbackLogin(path="callback")


async def test_the_code_comes_back_and_the_user_sees_a_page() -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        answer = await client.get(f"{redirect_uri}?code=a%2Bb&state=st-1&iss=https%3A%2F%2Fauth.example.com")
        pages.append(answer)

    pages: list[httpx2.Response] = []
    result = await log_in(visit)
    assert result == AuthorizationCodeResult(code="a+b", state="st-1", iss="https://auth.example.com")
    assert pages[0].status_code == 200
    assert "You are logged in" in pages[0].text
    assert "script" not in pages[0].text
    assert pages[0].headers["content-security-policy"].startswith("default-src 'none'")
    assert pages[0].headers["cache-control"] == "no-store"
    assert pages[0].headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["127.0.0.1", "[::1]"])
async def test_the_name_localhost_is_both_addresses(name: str) -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        authority = urlsplit(redirect_uri).netloc
        address = redirect_uri.replace("localhost", name)
        await client.get(f"{address}?code=c&state=st-1", headers={"Host": authority})

    assert await log_in(visit, host="localhost") == AuthorizationCodeResult(code="c", state="st-1")


async def test_the_ipv6_loopback_alone_will_do() -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        await client.get(f"{redirect_uri}?code=c&state=st-1")

    assert await log_in(visit, host="::1") == AuthorizationCodeResult(code="c", state="st-1")


async def test_strangers_do_not_end_the_login_and_learn_nothing() -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        origin = redirect_uri.removesuffix("/callback")
        for method, url, status in [
            ("GET", f"{origin}/favicon.ico", 404),
            ("GET", f"{origin}/", 404),
            ("GET", f"{origin}/callback/?code=c&state=st-1", 404),
            ("POST", f"{redirect_uri}?code=evil&state=st-1", 404),
            ("HEAD", f"{redirect_uri}?code=evil&state=st-1", 404),
            ("GET", redirect_uri, 400),
            ("GET", f"{redirect_uri}?code=evil", 400),
            ("GET", f"{redirect_uri}?code=evil&state=wrong", 400),
            ("GET", f"{redirect_uri}?error=access_denied&state=wrong", 400),
            ("GET", f"{redirect_uri}?state=st-1", 400),
            ("GET", f"{redirect_uri}?code=&state=st-1", 400),
            ("GET", f"{redirect_uri}?code=evil&code=c&state=st-1", 400),
            ("GET", f"{redirect_uri}?code=evil&state=st-1&state=st-1", 400),
            ("GET", f"{redirect_uri}?code=%ff&state=st-1", 400),
            ("GET", f"{redirect_uri}?{'&'.join(['x=1'] * 60)}&code=evil&state=st-1", 400),
        ]:
            answer = await client.request(method, url)
            statuses.append((method, url, status, answer.status_code))
            assert "evil" not in answer.text
        rebound = await client.get(f"{redirect_uri}?code=evil&state=st-1", headers={"Host": "evil.example.com"})
        statuses.append(("rebound", "", 404, rebound.status_code))
        await client.get(f"{redirect_uri}?code=good&state=st-1")

    statuses: list[tuple[str, str, int, int]] = []
    assert await log_in(visit) == AuthorizationCodeResult(code="good", state="st-1")
    assert [one for one in statuses if one[2] != one[3]] == []
    assert len(statuses) == 16


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /callback?code=evil&state=st-1 HTTP/1.1\r\nX: " + b"x" * 20_000,
        b"GET /callback?code=evil&state=st-1\r\n\r\n",
        b"GET /callback?code=evil&state=st-1 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"",
    ],
    ids=["endless", "old", "no-host", "blank", "tls", "nothing"],
)
async def test_what_is_no_request_is_left_alone(sent: bytes) -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        port = urlsplit(redirect_uri).port
        assert port is not None
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(sent)
        # One that never says anything, as browsers open ahead of time.
        async with await anyio.connect_tcp("127.0.0.1", port):
            await client.get(f"{redirect_uri}?code=good&state=st-1")

    assert await log_in(visit) == AuthorizationCodeResult(code="good", state="st-1")


async def test_a_refusal_is_told_to_the_program_and_not_on_the_page() -> None:
    async def visit(client: httpx2.AsyncClient, redirect_uri: str) -> None:
        description = quote("The user said <b>no</b>\x1b[2J" + "!" * 400)
        query = f"error=access_denied&error_description={description}&state=st-1&iss=https%3A%2F%2Fauth.example.com"
        pages.append((await client.get(f"{redirect_uri}?{query}")).text)

    pages: list[str] = []
    with pytest.raises(AuthorizationResponseError, match=r"access_denied: The user said <b>no</b>\?\[2J!+$") as caught:
        await log_in(visit)
    assert caught.value.error == "access_denied"
    assert caught.value.iss == "https://auth.example.com"
    assert len(str(caught.value)) < 400
    assert "You are not logged in" in pages[0]
    assert "access_denied" not in pages[0]
    assert "<b>" not in pages[0]


async def test_a_user_who_does_not_come_back_has_a_time_limit() -> None:
    async def look_away(url: str) -> None:
        await anyio.sleep_forever()

    login = LoopbackLogin(open_browser=look_away, timeout=0.01)
    await login.redirect_handler(authorization_url(login.redirect_uri))
    with pytest.raises(OAuthFlowError, match=r"did not come back from the login within 0\.01 s"):
        await login.callback_handler()
    assert nobody_listens(login.redirect_uri)


async def test_a_login_that_is_cancelled_or_begun_anew_leaves_the_port() -> None:
    login = nobody()
    with anyio.move_on_after(0.01):
        await login.redirect_handler(authorization_url(login.redirect_uri))
        await login.callback_handler()
    assert nobody_listens(login.redirect_uri)
    await login.redirect_handler(authorization_url(login.redirect_uri))
    await login.redirect_handler(authorization_url(login.redirect_uri))
    with anyio.move_on_after(0.01):
        await login.callback_handler()
    assert nobody_listens(login.redirect_uri)


async def test_a_browser_that_cannot_be_opened_ends_the_login_with_its_own_error() -> None:
    async def broken(url: str) -> None:
        raise OSError("no display")

    login = LoopbackLogin(open_browser=broken)
    await login.redirect_handler(authorization_url(login.redirect_uri))
    with pytest.raises(OSError, match="no display"):
        await login.callback_handler()
    assert nobody_listens(login.redirect_uri)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_that_is_taken_is_said_plainly(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        login = LoopbackLogin(port=taken.getsockname()[1], host=host)
        with pytest.raises(OAuthFlowError, match="Cannot wait for the user at http"):
            await login.redirect_handler(authorization_url(login.redirect_uri))


async def test_both_families_are_needed_for_localhost() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        login = LoopbackLogin(port=taken.getsockname()[1], host="localhost")
        with pytest.raises(OAuthFlowError, match="Cannot wait for the user at http"):
            await login.redirect_handler(authorization_url(login.redirect_uri))
    assert nobody_listens(login.redirect_uri)


@pytest.mark.parametrize(
    "redirect_uri",
    [
        "https://app.example.com/callback",
        "http://127.0.0.1/callback",
        "http://0.0.0.0:80/callback",
        "app:/callback",
        "",
    ],
)
async def test_a_redirect_elsewhere_is_refused(redirect_uri: str) -> None:
    with pytest.raises(OAuthFlowError, match="where this program cannot listen"):
        await nobody().redirect_handler(authorization_url(redirect_uri))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "calculator:", ""])
async def test_only_web_pages_are_opened(url: str) -> None:
    with pytest.raises(OAuthFlowError, match="must be at an https page"):
        await nobody().redirect_handler(url)


async def test_the_callback_needs_a_redirect() -> None:
    with pytest.raises(RuntimeError, match="redirect_handler must be called before"):
        await nobody().callback_handler()


@pytest.mark.parametrize("opened", [True, False])
async def test_a_page_that_no_browser_opens_is_printed(
    opened: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(url: str) -> bool:
        return opened

    monkeypatch.setattr("webbrowser.open", answer)
    await show_in_browser("https://auth.example.com/authorize?x=1")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == ("" if opened else "Open this page to log in:\nhttps://auth.example.com/authorize?x=1\n")


def nobody_listens(redirect_uri: str) -> bool:
    parts = urlsplit(redirect_uri)
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", parts.port)) != 0
