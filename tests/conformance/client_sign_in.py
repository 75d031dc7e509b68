"""How the client under test gets in where a user is asked: the user's browser goes where it is sent, and comes back."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from pydantic import AnyUrl

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

__all__ = ["Storage", "known_client", "signed_in"]

CALLBACK = "http://localhost:3000/callback"
CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"

Context = dict[str, Any]


class Storage(TokenStorage):
    """Keeps tokens and credentials for as long as the program runs."""

    def __init__(self, client_info: OAuthClientInformationFull | None = None) -> None:
        self._tokens: OAuthToken | None = None
        self._client_info = client_info

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client_info = client_info


class Browser:
    """Nothing is ever requested at the redirect URI: what the user would bring there is in the redirect."""

    def __init__(self) -> None:
        self._landed = ""

    async def visit(self, url: str) -> None:
        http = httpx2.AsyncClient()
        try:
            answer = await http.get(url)
        finally:
            await http.aclose()
        self._landed = answer.headers["location"]

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(dict(parse_qsl(urlsplit(self._landed).query)))


def signed_in(url: str, storage: TokenStorage, *, dpop: bool = False) -> httpx2.Auth:
    """The authorization of a program with a user."""
    browser = Browser()
    return OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="conformance client", redirect_uris=[AnyUrl(CALLBACK)]),
        storage,
        redirect_handler=browser.visit,
        callback_handler=browser.come_back,
        client_metadata_url=CLIENT_METADATA_URL,
        dpop=dpop,
    )


def known_client(context: Context) -> OAuthClientInformationFull | None:
    """The credentials that the suite gives the client, if it does."""
    if "client_id" not in context:
        return None
    fields = {name: context.get(name) for name in ("client_id", "client_secret", "issuer")}
    return OAuthClientInformationFull.model_validate({**fields, "redirect_uris": [CALLBACK]})
