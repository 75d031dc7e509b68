"""An authorization server: people sign in on a page, read what a program wants, and say yes or no.

    python examples/sign_in.py --port 9000     its issuer is http://127.0.0.1:9000/

Everything is in memory, and the only user is alice, whose password is wonderland. What a real one keeps in a database
is in `SignIn`: who the clients are, and what they were given. Every token knows the grant that it is from, so that a
code or a refresh token that comes a second time, which a thief or its victim must have sent, ends the grant as a whole.
"""

import argparse
import hmac
import html
import secrets
import socket
import time
from dataclasses import dataclass, field

from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp.server.auth.client_documents import ClientDocuments
from mcp.server.auth.parameters import read_parameters
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

SECONDS_TO_SIGN_IN = 600
SECONDS_TO_EXCHANGE = 60
BROWSER_COOKIE = "browser"


class Code(AuthorizationCode):
    grant: str


class Refresh(RefreshToken):
    grant: str


class Access(AccessToken):
    grant: str


@dataclass
class Question:
    """What a user has not said yes or no to yet."""

    client: OAuthClientInformationFull
    params: AuthorizationParams
    expires_at: float = field(default_factory=lambda: time.time() + SECONDS_TO_SIGN_IN)
    browser: str | None = None
    """The browser that has been shown the question. No other may answer it."""


class SignIn(OAuthAuthorizationServerProvider[Code, Refresh, Access]):
    """Knows clients, codes and tokens.

    Args:
        issuer: The URL that names it.
        access_seconds: How long an access token lives.
        refresh_seconds: How long a refresh token lives; None gives out none.
        asks: Whether users are asked. If not, alice agrees to everything.
    """

    answers_carry_issuer = True
    client_documents: ClientDocuments | None = None

    def __init__(
        self, issuer: str, *, access_seconds: int = 3600, refresh_seconds: int | None = 86400, asks: bool = True
    ) -> None:
        self.issuer = issuer
        self.access_seconds = access_seconds
        self.refresh_seconds = refresh_seconds
        self.asks = asks
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.questions: dict[str, Question] = {}
        self.codes: dict[str, Code] = {}
        self.access: dict[str, Access] = {}
        self.refresh: dict[str, Refresh] = {}
        self.spent: dict[str, str] = {}
        """The grants of codes and refresh tokens that have been exchanged."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if not self.asks:
            return self.grant(Question(client, params), "alice")
        now = time.time()
        self.questions = {id: question for id, question in self.questions.items() if question.expires_at > now}
        id = secrets.token_urlsafe()
        self.questions[id] = Question(client, params)
        return construct_redirect_uri(f"{self.issuer.rstrip('/')}/sign-in", question=id)

    def grant(self, question: Question, user: str) -> str:
        """The address to send a user to who said yes."""
        params = question.params
        code = Code(
            code=secrets.token_urlsafe(),
            client_id=question.client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + SECONDS_TO_EXCHANGE,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=user,
            grant=secrets.token_urlsafe(),
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=params.issuer or self.issuer
        )

    def deny(self, question: Question) -> str:
        """The address to send a user to who said no."""
        params = question.params
        return construct_redirect_uri(
            str(params.redirect_uri), error="access_denied", state=params.state, iss=params.issuer or self.issuer
        )

    async def load_authorization_code(self, client: OAuthClientInformationFull, authorization_code: str) -> Code | None:
        self.end_if_spent(authorization_code)
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        # Of two requests that bring a code at the same time, both have loaded it, and one finds it gone.
        if self.codes.pop(authorization_code.code, None) is None:
            raise TokenError("invalid_grant", "authorization code does not exist")
        self.spent[authorization_code.code] = authorization_code.grant
        return self.issue(client, authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> Refresh | None:
        self.end_if_spent(refresh_token)
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: Refresh, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "refresh token does not exist")
        self.spent[refresh_token.token] = refresh_token.grant
        return self.issue(client, refresh_token, scopes)

    def issue(self, client: OAuthClientInformationFull, of: Code | Refresh, scopes: list[str]) -> OAuthToken:
        """New tokens. `scopes` is what the access token is good for; the refresh token keeps all of the grant's."""
        now = int(time.time())
        access = Access(
            token=secrets.token_urlsafe(),
            client_id=of.client_id,
            scopes=scopes,
            expires_at=now + self.access_seconds,
            resource=of.resource,
            subject=of.subject,
            claims={"iss": self.issuer},
            grant=of.grant,
        )
        self.access[access.token] = access
        tokens = OAuthToken(access_token=access.token, expires_in=self.access_seconds, scope=" ".join(scopes))
        if self.refresh_seconds is not None and "refresh_token" in client.grant_types:
            tokens.refresh_token = secrets.token_urlsafe()
            self.refresh[tokens.refresh_token] = Refresh(
                token=tokens.refresh_token,
                client_id=of.client_id,
                scopes=of.scopes,
                expires_at=now + self.refresh_seconds,
                resource=of.resource,
                subject=of.subject,
                grant=of.grant,
            )
        return tokens

    async def load_access_token(self, token: str) -> Access | None:
        access = self.access.get(token)
        if access is None or (access.expires_at or 0) < time.time():
            return None
        return access

    async def revoke_token(self, token: Access | Refresh) -> None:
        self.end(token.grant)

    def end_if_spent(self, token: str) -> None:
        if token in self.spent:
            self.end(self.spent[token])

    def end(self, grant: str) -> None:
        """Makes every token of a grant worthless."""
        self.access = {token: access for token, access in self.access.items() if access.grant != grant}
        self.refresh = {token: refresh for token, refresh in self.refresh.items() if refresh.grant != grant}


PAGE = """<!doctype html>
<title>Sign in</title>
<h1>{client} wants to act for you</h1>
<p>It asks for: {scopes}. You go back to <b>{host}</b> from here.</p>
<form method="post">
  <input type="hidden" name="question" value="{question}">
  <p><label>Name <input name="user" autocomplete="username"></label>
  <p><label>Password <input name="password" type="password" autocomplete="current-password"></label>
  <p><button name="answer" value="yes">Allow</button> <button name="answer" value="no">Deny</button>
</form>
"""
PAGE_HEADERS = {
    "Cache-Control": "no-store",
    # No page of somebody else's may put a frame around this one and have the user click what is inside.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class SignInPage:
    """Asks the user. Only the browser that the question was shown in can answer it.

    Args:
        provider: Whose questions they are.
        users: Passwords by name.
    """

    def __init__(self, provider: SignIn, users: dict[str, str]) -> None:
        self.provider = provider
        self.users = users

    async def show(self, request: Request) -> Response:
        """Shows a question."""
        id = request.query_params.get("question", "")
        question = self.provider.questions.get(id)
        browser = request.cookies.get(BROWSER_COOKIE) or secrets.token_urlsafe()
        if question is None or question.browser not in (None, browser):
            return HTMLResponse("There is nothing to sign in for.", 404, headers=PAGE_HEADERS)
        question.browser = browser
        page = PAGE.format(
            client=html.escape(question.client.client_name or question.client.client_id),
            scopes=html.escape(", ".join(question.params.scopes or ["nothing in particular"])),
            host=html.escape(question.params.redirect_uri.host or str(question.params.redirect_uri)),
            question=html.escape(id),
        )
        response = HTMLResponse(page, headers=PAGE_HEADERS)
        response.set_cookie(BROWSER_COOKIE, browser, httponly=True, samesite="lax")
        return response

    async def answer(self, request: Request) -> Response:
        """Takes the user's answer."""
        form = (await read_parameters(request)).values
        question = self.provider.questions.get(form.get("question", ""))
        browser = request.cookies.get(BROWSER_COOKIE)
        if question is None or browser is None or question.browser != browser:
            return HTMLResponse("This was not asked in this browser.", 403, headers=PAGE_HEADERS)
        user = form.get("user", "")
        agrees = form.get("answer") == "yes"
        if agrees and not self.is_password(user, form.get("password", "")):
            return HTMLResponse("No such name, or another password.", 403, headers=PAGE_HEADERS)
        del self.provider.questions[form["question"]]
        location = self.provider.grant(question, user) if agrees else self.provider.deny(question)
        return RedirectResponse(location, 303, headers=PAGE_HEADERS)

    def is_password(self, user: str, password: str) -> bool:
        return hmac.compare_digest(self.users.get(user, "").encode(), password.encode()) and user in self.users


def authorization_server(provider: SignIn, scopes: list[str]) -> Starlette:
    """The application: the endpoints of an authorization server, and the page."""
    provider.client_documents = ClientDocuments(scopes)
    routes = create_auth_routes(
        provider,
        issuer_url=AnyHttpUrl(provider.issuer),
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=scopes, default_scopes=scopes),
        revocation_options=RevocationOptions(enabled=True),
    )
    page = SignInPage(provider, {"alice": "wonderland"})
    return Starlette(routes=[*routes, Route("/sign-in", page.show), Route("/sign-in", page.answer, methods=["POST"])])


def main() -> None:
    import uvicorn  # here, since programs that import this one may serve it with something else

    parser = argparse.ArgumentParser(description="An authorization server for one user.")
    parser.add_argument("--port", type=int, default=9000, help="0 takes a free one (default: 9000)")
    listener = socket.create_server(("127.0.0.1", parser.parse_args().port))
    provider = SignIn(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    print(provider.issuer, flush=True)
    config = uvicorn.Config(authorization_server(provider, ["books:read", "books:write"]), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
