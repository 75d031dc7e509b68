"""Logging a user in with the browser of this machine. RFC 8252, section 7.3.

A small HTTP server on the loopback interface waits for the browser to come back with the code, for as long as one login
takes. It answers nobody else, and knows nothing that it could tell.
"""

import sys
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from socket import AF_INET, AF_INET6, SOCK_STREAM, has_ipv6, socket
from typing import Any, Final
from urllib.parse import SplitResult, parse_qs, urlsplit

import anyio
import anyio.abc
import anyio.to_thread
from pydantic import AnyUrl

from mcp.client.auth._loopback_http import Page, receive_target, send_page
from mcp.client.auth._redirects import outcome_of
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

__all__ = ["LoopbackLogin", "show_in_browser"]

_LOCALHOST: Final = ("127.0.0.1", "::1")
_MAX_CONNECTIONS: Final = 32
_SECONDS_PER_CONNECTION: Final = 5.0

_NOT_FOUND: Final = Page(404, "Nothing is here", "This page only waits for a login.")
_NOT_OURS: Final = Page(400, "Not this login", "This is not the login that the program waits for. It goes on waiting.")
_DONE: Final = Page(200, "You are logged in", "You may close this page and go back to the program.")
_REFUSED: Final = Page(200, "You are not logged in", "The login ended without access. The program knows why.")

_Outcome = AuthorizationCodeResult | Exception


async def show_in_browser(url: str) -> None:
    """Opens a page in the user's browser, or else tells the user, on standard error, to open it.

    Args:
        url: The page.
    """
    # A browser in the terminal ends only when the user leaves it.
    if not await anyio.to_thread.run_sync(webbrowser.open, url, abandon_on_cancel=True):
        print(f"Open this page to log in:\n{url}", file=sys.stderr, flush=True)


class LoopbackLogin:
    """The two handlers of an `OAuthClientProvider`, for a program whose user sits at the same machine.

        login = LoopbackLogin()
        metadata = login.client_metadata(client_name="Bookshop Agent", scope="user")
        auth = OAuthClientProvider(url, metadata, storage, login.redirect_handler, login.callback_handler)

    The server listens only while a login is going on, and where the authorization URL sends the user back to. One
    object serves one login at a time.

    Args:
        host: `127.0.0.1`, `::1`, or `localhost` for both of them. RFC 8252 advises against the name; some authorization
            servers insist on it.
        port: Where to listen; 0 for any free port. An authorization server that does not ignore the port of loopback
            redirects, as it should, needs the same port in every run.
        path: The path that the user comes back to.
        timeout: How long the user has, in seconds.
        open_browser: Shows the user a page, while the login is waited for.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/callback",
        timeout: float = 300.0,
        open_browser: Callable[[str], Awaitable[None]] = show_in_browser,
    ) -> None:
        if host not in ("localhost", *_LOCALHOST):
            raise ValueError(
                f"host must be 127.0.0.1, ::1 or localhost, and not {host!r}: it is for this machine alone"
            )
        if not path.startswith("/"):
            raise ValueError(f"path must start with a slash, and not be {path!r}")
        authority = f"[{host}]" if ":" in host else host
        self.redirect_uri = f"http://{authority}:{port or _free_port(host)}{path}"
        """Where the user is sent back to."""
        self._timeout = timeout
        self._open_browser = open_browser
        self._waiting: _WaitingLogin | None = None

    def client_metadata(self, **fields: Any) -> OAuthClientMetadata:
        """What a client says of itself, with the redirect URI filled in.

        Args:
            fields: The other fields of `OAuthClientMetadata`.
        """
        return OAuthClientMetadata(redirect_uris=[AnyUrl(self.redirect_uri)], **fields)

    async def redirect_handler(self, authorization_url: str) -> None:
        """Begins to listen.

        Args:
            authorization_url: Where the user logs in. It says where the user is sent back to, and the state.

        Raises:
            OAuthFlowError: The URL is none for a browser, the user is sent back elsewhere than to this machine, or
                somebody else listens there.
        """
        if self._waiting is not None:
            await self._waiting.aclose()
        self._waiting = await _WaitingLogin.begin(authorization_url)

    async def callback_handler(self) -> AuthorizationCodeResult:
        """Shows the page, and waits until the user comes back.

        Raises:
            AuthorizationResponseError: The authorization server, or the user, said no.
            OAuthFlowError: The time is over.
        """
        if self._waiting is None:
            raise RuntimeError("redirect_handler must be called before callback_handler")
        waiting, self._waiting = self._waiting, None
        try:
            with anyio.fail_after(self._timeout):
                outcome = await waiting.outcome(self._open_browser)
        except TimeoutError:
            raise OAuthFlowError(f"The user did not come back from the login within {self._timeout:g} s") from None
        finally:
            with anyio.CancelScope(shield=True):
                await waiting.aclose()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class _WaitingLogin:
    """One login, from when its page may be shown."""

    def __init__(self, url: str, back: SplitResult, state: str, listeners: Sequence[anyio.abc.Listener[Any]]) -> None:
        self._url = url
        self._back = back
        self._state = state
        self._listeners = listeners
        self._outcome: _Outcome | None = None
        self._ended = anyio.Event()
        self._connections = anyio.CapacityLimiter(_MAX_CONNECTIONS)

    @classmethod
    async def begin(cls, url: str) -> "_WaitingLogin":
        """Listens where an authorization URL sends the user back to."""
        parts = urlsplit(url)
        # Other schemes start programs, or read files.
        if parts.scheme not in ("http", "https"):
            raise OAuthFlowError(f"The login must be at an https page, and this one is {parts.scheme}:")
        query = parse_qs(parts.query)
        redirect_uri, state = query.get("redirect_uri", [""])[0], query.get("state", [""])[0]
        back = urlsplit(redirect_uri)
        if back.scheme != "http" or back.hostname not in ("localhost", *_LOCALHOST) or not back.port:
            raise OAuthFlowError(
                f"The user is sent back to {redirect_uri!r}, where this program cannot listen: the first of "
                "redirect_uris must be the redirect_uri of LoopbackLogin"
            )
        try:
            listeners = await _listeners(back.hostname, back.port)
        except OSError as error:
            raise OAuthFlowError(f"Cannot wait for the user at {redirect_uri}: {error.strerror}") from error
        return cls(url, back, state, listeners)

    async def outcome(self, open_browser: Callable[[str], Awaitable[None]]) -> _Outcome:
        """What the user brings back."""
        async with anyio.create_task_group() as tasks:
            for listener in self._listeners:
                tasks.start_soon(listener.serve, self._answer)
            tasks.start_soon(self._show, open_browser)
            await self._ended.wait()
            tasks.cancel_scope.cancel()
        assert self._outcome is not None
        return self._outcome

    async def aclose(self) -> None:
        """Stops listening."""
        for listener in self._listeners:
            await listener.aclose()

    async def _show(self, open_browser: Callable[[str], Awaitable[None]]) -> None:
        try:
            await open_browser(self._url)
        except Exception as error:
            self._end(error)

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        """Answers one connection. Browsers open some that they never use."""
        outcome = None
        async with self._connections, stream:
            with anyio.move_on_after(_SECONDS_PER_CONNECTION):
                target = await receive_target(stream, self._back.netloc)
                outcome, page = self._judged(target)
                await send_page(stream, page)
        if outcome is not None:
            self._end(outcome)

    def _judged(self, target: str | None) -> tuple[_Outcome | None, Page]:
        """What a request brings, and the answer to it."""
        path, _, query = (target or "").partition("?")
        if path != self._back.path:
            return None, _NOT_FOUND
        outcome = outcome_of(query, self._state)
        if outcome is None:
            return None, _NOT_OURS
        return outcome, _REFUSED if isinstance(outcome, Exception) else _DONE

    def _end(self, outcome: _Outcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._ended.set()


async def _listeners(host: str, port: int) -> list[anyio.abc.Listener[anyio.abc.SocketStream]]:
    """Listens on the loopback interface, for the name `localhost` in both families where the machine has both."""
    if host != "localhost":
        return [await anyio.create_tcp_listener(local_host=host, local_port=port)]
    listeners: list[anyio.abc.Listener[anyio.abc.SocketStream]] = [
        await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    ]
    if _speaks_ipv6():
        try:
            listeners.append(await anyio.create_tcp_listener(local_host="::1", local_port=port))
        except OSError:
            await listeners[0].aclose()
            raise
    return listeners


def _speaks_ipv6() -> bool:
    """Whether this machine has an IPv6 loopback."""
    if not has_ipv6:
        return False
    with socket(AF_INET6, SOCK_STREAM) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


def _free_port(host: str) -> int:
    """A port that nobody listens at now. Nothing keeps it so, but systems give a number out again last."""
    family, address = (AF_INET6, host) if host == "::1" else (AF_INET, "127.0.0.1")
    with socket(family, SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
