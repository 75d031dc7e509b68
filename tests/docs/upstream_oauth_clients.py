"""What docs/client/oauth-clients.md says."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib_server import AuthlibServer, Client, served_authlib
from authorization_server import AuthorizationServer, served_authorization_server
from served_app import served
from upstream_statements import states

from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions

# authlib has no types of its own.
grants: Any = import_module("authlib.oauth2.rfc6749.grants")

SIGN_IN = "oauth_clients/tutorial001"
URL = "http://localhost:8001/mcp"


class Verifier(TokenVerifier):
    """Asks the authorization server, which is in this process."""

    def __init__(self, auth: AuthorizationServer) -> None:
        self.auth = auth
        self.seen: list[str] = []

    async def verify_token(self, token: str) -> AccessToken | None:
        self.seen.append(token)
        return await self.auth.provider.load_access_token(token)


@contextmanager
def protected(issuer: str, verifier: TokenVerifier) -> Generator[None, None, None]:
    """The server that the programs of the page connect to, by its name there."""
    settings = AuthSettings.model_validate(
        {"issuer_url": issuer, "resource_server_url": URL, "required_scopes": ["user"]}
    )
    server: MCPServer[Any] = MCPServer("Bookshop", token_verifier=verifier, auth=settings)
    server.add_tool(lambda: "Dune", name="search_books")
    with served(server.streamable_http_app()) as origin:
        # Whatever port the server has: a proxy is told the whole URL, and the server takes it.
        os.environ |= {"HTTP_PROXY": origin, "NO_PROXY": "127.0.0.1"}
        yield


@contextmanager
def bookshop() -> Generator[tuple[AuthorizationServer, Verifier], None, None]:
    """The server, and an authorization server of ours."""
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=["user"], default_scopes=["user"])
    with served_authorization_server(asks=False, routes={"client_registration_options": registration}) as auth:
        verifier = Verifier(auth)
        with protected(auth.issuer, verifier):
            yield auth, verifier


class Terminal:
    """Where the program prints and the user types: they open what is printed, and paste where they land."""

    def __init__(self, program: ModuleType) -> None:
        self.printed: list[str] = []
        vars(program).update(print=self.print, input=self.type)

    def print(self, *words: object) -> None:
        self.printed.append(" ".join(map(str, words)))

    def type(self, prompt: str) -> str:
        self.printed.append(prompt)
        url = next(line for line in reversed(self.printed) if line.startswith("Visit: ")).removeprefix("Visit: ")
        return httpx2.get(url).headers["location"]


@states(SIGN_IN, "the user signs in once, and the tools are listed", ["['search_books']", 1])
async def _(program: ModuleType) -> object:
    terminal = Terminal(program)
    with bookshop():
        await program.main()
        await program.main()
    return [terminal.printed[-1], sum(line.startswith("Visit: ") for line in terminal.printed)]


@states(SIGN_IN, "the storage holds the registration and the tokens", ["Bookshop Agent", True, "user", 3600, True])
async def _(program: ModuleType) -> object:
    Terminal(program)
    with bookshop() as (auth, verifier):
        await program.main()
        storage = program.oauth.context.storage
        known, tokens = storage.client_info, storage.tokens
        registered = auth.provider.clients[known.client_id]
        shown = tokens.access_token == verifier.seen[-1]
        return [registered.client_name, shown, tokens.scope, tokens.expires_in, tokens.refresh_token is not None]


@states(SIGN_IN, "the browser's URL carries client, redirect URI, state and challenge", True)
async def _(program: ModuleType) -> object:
    terminal = Terminal(program)
    with bookshop():
        await program.main()
    query = urlsplit(next(line for line in terminal.printed if line.startswith("Visit: "))).query
    return all(f"{name}=" in query for name in ("client_id", "redirect_uri", "state", "code_challenge"))


@states(SIGN_IN, "a state that is not ours is refused", "OAuthFlowError")
async def _(program: ModuleType) -> object:
    terminal = Terminal(program)

    def type_something_else(prompt: str) -> str:
        return terminal.type(prompt).replace("state=", "state=x")

    vars(program)["input"] = type_something_else
    with bookshop():
        try:
            await program.main()
        except Exception as error:
            return type(error).__name__
    return None


MACHINE = "oauth_clients/tutorial002"


class MachineVerifier(TokenVerifier):
    """Knows the tokens of an authorization server that others wrote."""

    def __init__(self, auth: AuthlibServer) -> None:
        self.auth = auth

    async def verify_token(self, token: str) -> AccessToken | None:
        scope = self.auth.live.get(token)
        if scope is None:
            return None
        return AccessToken(token=token, client_id="reporting-agent", scopes=scope.split(), resource=URL)


@contextmanager
def machines(secret: str) -> Generator[AuthlibServer, None, None]:
    """The server, and an authorization server that has machines for clients; ours has users."""
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    with served_authlib() as auth:
        auth.register_grant(grants.ClientCredentialsGrant)
        known = Client("reporting-agent", secret, scope="user", grant_types=["client_credentials"])
        auth.clients[known.client_id] = known
        with protected(auth.issuer, MachineVerifier(auth)):
            yield auth


@states(MACHINE, "no browser: a secret is enough", [["['search_books']"], ["client_credentials"], [URL]])
async def _(program: ModuleType) -> object:
    terminal = Terminal(program)
    with machines("...") as auth:
        await program.main()
        return [terminal.printed, auth.granted, auth.resources]


@states(MACHINE, "a wrong secret is an OAuthTokenError", "OAuthTokenError")
async def _(program: ModuleType) -> object:
    Terminal(program)
    with machines("another"):
        try:
            await program.main()
        except Exception as error:
            return type(error).__name__
    return None
