"""Errors of the authorization endpoint that no user has seen: to whom they are redirected, and to whom shown."""

import html
import re
from typing import Any

import httpx2
import pytest
from authorization_desk import CALLBACK, ISSUER, Desk, refusal, sent_back
from sign_in import SignIn

from mcp.server.auth.client_documents import ClientDocuments, registered_itself
from mcp.server.auth.provider import AuthorizationParams, AuthorizeError
from mcp.shared.auth import OAuthClientInformationFull

pytestmark = pytest.mark.anyio

WEBSITE = "https://shelf.example.com/callback?from=mcp"
WRONG = {"redirect_uri": WEBSITE, "scope": "admin"}


async def registered(desk: Desk, **metadata: Any) -> str:
    """The id of a client that has registered itself with a website."""
    return (await desk.register(redirect_uris=[WEBSITE], **metadata)).json()["client_id"]


async def shown_to_a_browser(desk: Desk, **asked: Any) -> httpx2.Response:
    """What a browser shows instead of being redirected."""
    answer = await desk.authorize(accept="text/html,application/xhtml+xml,*/*;q=0.8", **asked)
    assert "location" not in answer.headers
    return answer


async def test_a_website_that_registered_itself_is_not_redirected_to_by_an_error() -> None:
    desk = Desk()
    client_id = await registered(desk)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"scope": "admin"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"resource": "mcp"}, "invalid_target"),
        ({"state": ["one", "two"]}, "invalid_request"),
    ]
    for wrong, error in cases:
        answer = await desk.authorize(**{"client_id": client_id, "redirect_uri": WEBSITE, **wrong})
        assert refusal(answer)[:2] == (400, error)
        assert "location" not in answer.headers


async def test_the_user_is_told_what_is_wrong_and_may_go_back_to_the_website() -> None:
    desk = Desk()
    answer = await shown_to_a_browser(desk, client_id=await registered(desk), **WRONG)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "invalid_scope: Client was not registered with scope admin" in answer.text
    assert "<strong>shelf.example.com</strong>" in answer.text
    (link,) = re.findall(r'href="([^"]*)"', answer.text)
    url = httpx2.URL(html.unescape(link))
    assert str(url.copy_with(query=None)) == "https://shelf.example.com/callback"
    assert dict(url.params) == {
        "from": "mcp",
        "error": "invalid_scope",
        "error_description": "Client was not registered with scope admin",
        "state": "the-state",
        "iss": ISSUER,
    }


async def test_nothing_that_a_link_says_becomes_part_of_the_page() -> None:
    desk = Desk()
    client_id = await registered(desk)
    for asked in (
        {"client_id": "<script>alert(1)</script>"},
        {"client_id": client_id, "redirect_uri": WEBSITE, "scope": "<script>alert(1)</script>"},
        {"client_id": client_id, "redirect_uri": WEBSITE, "scope": "x", "state": '"><script>alert(1)</script>'},
        {"client_id": client_id, "redirect_uri": WEBSITE, "response_type": "\"'><script>alert(1)</script>"},
    ):
        page = await shown_to_a_browser(desk, **asked)
        assert page.status_code == 400
        assert "<script" not in page.text


@pytest.mark.parametrize(
    "uri", [CALLBACK, "http://localhost/callback", "http://[::1]:3000/callback", "com.example.shelf:/callback"]
)
async def test_a_program_on_the_users_machine_that_registered_itself_is_told(uri: str) -> None:
    desk = Desk()
    client_id = (await desk.register(redirect_uris=[uri])).json()["client_id"]
    answer = await desk.authorize(client_id=client_id, redirect_uri=uri, scope="admin")
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{uri}?error=invalid_scope&")


async def test_a_website_that_the_operator_registered_is_told() -> None:
    desk = Desk()
    desk.client(redirect_uris=[WEBSITE])
    answer = await desk.authorize(**WRONG)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{WEBSITE}&error=invalid_scope&")


async def test_a_website_that_registered_itself_still_gets_its_code() -> None:
    desk = Desk()
    answer = await desk.authorize(client_id=await registered(desk), redirect_uri=WEBSITE)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{WEBSITE}&code=")


@pytest.mark.parametrize(
    ("failure", "status", "error"),
    [
        (AuthorizeError("access_denied", "not today"), 400, "access_denied"),
        (AuthorizeError("temporarily_unavailable"), 503, "temporarily_unavailable"),
        (AuthorizeError("login_required"), 400, "login_required"),  # type: ignore[arg-type]
        (RuntimeError("lost"), 500, "server_error"),
    ],
)
async def test_what_the_provider_refuses_before_it_asks_the_user_is_shown_too(
    failure: Exception, status: int, error: str
) -> None:
    class Refusing(SignIn):
        async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
            raise failure

    desk = Desk(Refusing(ISSUER))
    answer = await shown_to_a_browser(desk, client_id=await registered(desk), redirect_uri=WEBSITE)
    assert answer.status_code == status
    assert f"<pre>{error}" in answer.text
    told = await desk.authorize(client_id=await registered(desk), redirect_uri=WEBSITE)
    assert (told.status_code, told.json()["error"]) == (status, error)
    desk.client()
    assert sent_back(await desk.authorize())["error"] == error


async def test_a_browser_is_shown_a_page_where_there_is_no_way_back() -> None:
    page = await shown_to_a_browser(Desk(), client_id="nobody")
    assert page.status_code == 400
    assert "Client ID &#x27;nobody&#x27; not found" in page.text
    assert "href" not in page.text


@pytest.mark.parametrize(
    ("documents", "itself"),
    [
        (None, False),
        (ClientDocuments(["read"]), True),
        (ClientDocuments(["read"], trusted_hosts=["shelf.example.com"]), False),
    ],
)
async def test_a_client_with_a_document_has_registered_itself_unless_its_host_is_trusted(
    documents: ClientDocuments | None, itself: bool
) -> None:
    provider = SignIn(ISSUER)
    provider.client_documents = documents
    client = OAuthClientInformationFull(client_id="https://shelf.example.com/shelf.json")
    assert registered_itself(provider, client) is itself
    assert not registered_itself(provider, OAuthClientInformationFull(client_id="shelf"))
