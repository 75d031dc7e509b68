"""An authorization server on a loopback socket, and a browser with a user in front of it.

The server is that of examples/sign_in.py. A test may look into its `provider`, or give one of its own.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from pydantic import AnyHttpUrl
from served_app import loopback_listener, served
from sign_in import SignIn, SignInPage
from starlette.applications import Starlette
from starlette.routing import Route

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull

__all__ = ["AuthorizationServer", "Browser", "Program", "application", "library", "served_authorization_server"]

SCOPES = ["read", "write"]
REGISTRATION = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
USERS = {"alice": "wonderland", "bob": "builder"}


@dataclass
class AuthorizationServer:
    """A server that is being served.

    Attributes:
        issuer: The URL that names it, with the final slash that it has in its metadata.
        provider: What it knows: `clients`, `codes`, `access`, `refresh`.
    """

    issuer: str
    provider: SignIn

    def url(self, path: str) -> str:
        """The URL of an endpoint, such as `/token`."""
        return self.issuer.rstrip("/") + path

    def register(self, **client: Any) -> OAuthClientInformationFull:
        """Registers a client by hand, as its operator would."""
        values = {"redirect_uris": ["http://127.0.0.1:3000/callback"], "scope": " ".join(SCOPES), **client}
        known = OAuthClientInformationFull.model_validate({"client_id": "by-hand", **values})
        self.provider.clients[known.client_id] = known
        return known


def application(provider: SignIn, **options: Any) -> Starlette:
    """The server as an application.

    Args:
        provider: What it knows.
        **options: Of `create_auth_routes`.
    """
    settings: dict[str, Any] = {
        "client_registration_options": REGISTRATION,
        "revocation_options": RevocationOptions(enabled=True),
        **options,
    }
    return Starlette(routes=[*create_auth_routes(provider, AnyHttpUrl(provider.issuer), **settings), *_page(provider)])


def _page(provider: SignIn) -> list[Route]:
    page = SignInPage(provider, USERS)
    return [Route("/sign-in", page.show), Route("/sign-in", page.answer, methods=["POST"])]


def library(provider: SignIn, **settings: Any) -> Starlette:
    """An MCP server that is its own authorization server. Its tool `whoami` says who calls it.

    Args:
        provider: The authorization server.
        **settings: Of `AuthSettings`, instead of some of those that it has.
    """
    auth: dict[str, Any] = {
        "issuer_url": provider.issuer,
        "resource_server_url": f"{provider.issuer}mcp",
        "required_scopes": ["read"],
        "client_registration_options": REGISTRATION,
        "revocation_options": RevocationOptions(enabled=True),
        **settings,
    }
    mcp = MCPServer("library", auth_server_provider=provider, auth=AuthSettings.model_validate(auth))

    @mcp.tool()
    def whoami() -> str:
        token = get_access_token()
        assert token is not None
        return f"{token.subject} with {' and '.join(token.scopes)}"

    app = mcp.streamable_http_app()
    app.router.routes += _page(provider)
    return app


@contextmanager
def served_authorization_server(
    provider: Callable[..., SignIn] = SignIn,
    *,
    app: Callable[..., Starlette] = application,
    routes: dict[str, Any] | None = None,
    **options: Any,
) -> Generator[AuthorizationServer, None, None]:
    """A server, served in a thread of this process.

    Args:
        provider: Makes what it knows, from the issuer and `options`.
        app: Makes the application, from the provider and `routes`: `application`, or `library` for an MCP server at
            `/mcp` that is part of it.
        routes: Options of the application.
        **options: Of the provider: `asks=False` agrees to everything without a page, `access_seconds`,
            `refresh_seconds`.
    """
    listener, origin = loopback_listener()
    server = AuthorizationServer(f"{origin}/", provider(f"{origin}/", **options))
    with served(app(server.provider, **(routes or {})), listener):
        yield server


class Browser:
    """A browser with a user, who signs in and answers what is asked. Its two handlers are those of a client.

    Args:
        user: Who sits there.
        agrees: What the user answers.

    Attributes:
        visited: The URLs that clients sent the user to.
        landed: Where the user was sent back to in the end.
    """

    def __init__(self, user: str = "alice", *, agrees: bool = True) -> None:
        self.user = user
        self.agrees = agrees
        self.visited: list[str] = []
        self.landed: str | None = None

    async def visit(self, url: str) -> str:
        """Goes to a URL, and returns that at which the client waits. Nothing is requested there."""
        self.visited.append(url)
        origin = urlsplit(url).netloc
        http = httpx2.AsyncClient(timeout=10)
        async with http:
            answer = await http.get(url)
            while not answer.has_redirect_location or urlsplit(answer.headers["location"]).netloc == origin:
                if answer.has_redirect_location:
                    answer = await http.get(answer.headers["location"])
                else:
                    answer.raise_for_status()
                    answer = await http.post(answer.url, data=self._fill_in(answer.text))
        self.landed = answer.headers["location"]
        return self.landed

    def _fill_in(self, page: str) -> dict[str, str]:
        question = re.search(r'name="question" value="([^"]+)"', page)
        assert question is not None, page
        answer = "yes" if self.agrees else "no"
        return {"question": question[1], "user": self.user, "password": USERS[self.user], "answer": answer}

    async def redirect_handler(self, url: str) -> None:
        """The `redirect_handler` of a client."""
        await self.visit(url)

    async def callback_handler(self) -> AuthorizationCodeResult:
        """The `callback_handler` of a client."""
        assert self.landed is not None, "the browser has been nowhere"
        return AuthorizationCodeResult.model_validate(answer_at(self.landed))


def answer_at(url: str) -> dict[str, str]:
    """What the URL says that a user was sent back to, each parameter once."""
    query = parse_qs(urlsplit(url).query, strict_parsing=True)
    assert all(len(values) == 1 for values in query.values()), url
    return {name: values[0] for name, values in query.items()}


class Program:
    """A client written out, request by request.

    Args:
        server: Where it asks for tokens.
        browser: Its user's.
    """

    VERIFIER = "a-verifier-of-forty-three-characters-or-more"
    CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    CALLBACK = "http://127.0.0.1:3000/callback"

    def __init__(self, server: AuthorizationServer, browser: Browser | None = None) -> None:
        self.server = server
        self.browser = browser or Browser()
        self.client_id = ""
        self.secret: dict[str, str] = {}

    async def post(self, path: str, **form: str) -> httpx2.Response:
        """Posts a form, with the client's credentials unless `form` has others."""
        http = httpx2.AsyncClient(timeout=10)
        async with http:
            values = {"client_id": self.client_id, **self.secret, **form}
            return await http.post(self.server.url(path), data=values)

    async def register(self, **metadata: Any) -> dict[str, Any]:
        """Registers itself, and keeps its id and secret."""
        http = httpx2.AsyncClient(timeout=10)
        async with http:
            body = {"redirect_uris": [self.CALLBACK], **metadata}
            answer = await http.post(self.server.url("/register"), json=body)
        assert answer.status_code == 201, answer.text
        known = answer.json()
        self.client_id = known["client_id"]
        self.secret = {"client_secret": known["client_secret"]} if "client_secret" in known else {}
        return known

    def authorization_url(self, **changed: str | None) -> str:
        """Where the user is sent."""
        parameters: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.CALLBACK,
            "code_challenge": self.CHALLENGE,
            "code_challenge_method": "S256",
            "state": "the-state",
            **changed,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        return f"{self.server.url('/authorize')}?{urlencode(given)}"

    async def ask(self, **changed: str | None) -> dict[str, str]:
        """Asks the user, and returns what comes back."""
        return answer_at(await self.browser.visit(self.authorization_url(**changed)))

    async def exchange(self, code: str, **changed: str) -> httpx2.Response:
        """Exchanges a code."""
        form = {"redirect_uri": self.CALLBACK, "code_verifier": self.VERIFIER, **changed}
        return await self.post("/token", grant_type="authorization_code", code=code, **form)

    async def refresh(self, refresh_token: str, **changed: str) -> httpx2.Response:
        """Exchanges a refresh token."""
        return await self.post("/token", grant_type="refresh_token", refresh_token=refresh_token, **changed)

    async def get_in(self, **changed: str | None) -> dict[str, Any]:
        """Registers unless it has, asks the user, and returns the tokens."""
        if not self.client_id:
            await self.register()
        answer = await self.exchange((await self.ask(**changed))["code"])
        assert answer.status_code == 200, answer.text
        return answer.json()
