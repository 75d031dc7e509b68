"""An authorization server without a socket, and requests to it that a test writes out."""

import base64
from typing import Any

import httpx2
import pytest
from authorization_server import SCOPES, Program, application
from sign_in import SignIn

from mcp.shared.auth import OAuthClientInformationFull

ISSUER = "https://as.example.com/"
CALLBACK = Program.CALLBACK
FORM = "application/x-www-form-urlencoded"


class Desk:
    """Answers requests.

    Args:
        provider: What it knows. Its user agrees to everything unless a test brings another one.
        **options: Of `create_auth_routes`.
    """

    def __init__(self, provider: SignIn | None = None, **options: Any) -> None:
        self.provider = provider or SignIn(ISSUER, asks=False)
        self.app = application(self.provider, **options)

    def client(self, **values: Any) -> OAuthClientInformationFull:
        """Registers a client by hand: a public one, unless `values` say otherwise."""
        values = {
            "client_id": "shelf",
            "redirect_uris": [CALLBACK],
            "scope": " ".join(SCOPES),
            "token_endpoint_auth_method": "none",
            **values,
        }
        client = OAuthClientInformationFull.model_validate(values)
        self.provider.clients[client.client_id] = client
        return client

    async def request(self, verb: str, path: str, **request: Any) -> httpx2.Response:
        """Sends a request as it is."""
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app), base_url="https://as.example.com")
        async with http:
            return await http.request(verb, path, **request)

    async def post(self, path: str, form: dict[str, Any] | str | bytes, **headers: str) -> httpx2.Response:
        """Posts a form, or a body that is said to be one."""
        sent = {"content-type": FORM, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if isinstance(form, dict):
            return await self.request("POST", path, data=form, headers=sent)
        return await self.request("POST", path, content=form, headers=sent)

    async def register(self, **metadata: Any) -> httpx2.Response:
        """Registers a client as a client does."""
        return await self.request("POST", "/register", json={"redirect_uris": [CALLBACK], **metadata})

    async def authorize(self, accept: str = "*/*", **changed: Any) -> httpx2.Response:
        """Asks what a client asks, but for what is changed, or left out with None."""
        parameters = {
            "response_type": "code",
            "client_id": "shelf",
            "redirect_uri": CALLBACK,
            "code_challenge": Program.CHALLENGE,
            "code_challenge_method": "S256",
            "state": "the-state",
            **changed,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        return await self.request("GET", "/authorize", params=given, headers={"accept": accept})

    async def code(self, **changed: Any) -> str:
        """A code for the client."""
        answer = await self.authorize(**changed)
        return httpx2.URL(answer.headers["location"]).params["code"]

    async def exchange(self, code: str, **changed: Any) -> httpx2.Response:
        """Exchanges a code, but for what is changed, or left out with None."""
        form = {
            "grant_type": "authorization_code",
            "client_id": "shelf",
            "code": code,
            "redirect_uri": CALLBACK,
            "code_verifier": Program.VERIFIER,
            **changed,
        }
        return await self.post("/token", {name: value for name, value in form.items() if value is not None})


def refusal(answer: httpx2.Response) -> tuple[int, str, str]:
    """Status, error and description of an answer that no cache may keep."""
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    return answer.status_code, body["error"], body["error_description"]


def sent_back(answer: httpx2.Response) -> dict[str, str]:
    """What a user is sent back with, to the place where the client waits."""
    assert answer.status_code == 302, answer.text
    assert answer.headers["cache-control"] == "no-store"
    url = httpx2.URL(answer.headers["location"])
    assert str(url.copy_with(query=None)) == CALLBACK
    return dict(url.params)


def basic(client_id: str, secret: str) -> str:
    """An `Authorization` header of what is given, as it is."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """What the server has logged; the HTTP client of the test logs URLs."""
    return "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("mcp"))
