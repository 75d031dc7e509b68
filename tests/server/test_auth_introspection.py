"""Asking the authorization server about tokens."""

import base64
import logging
import time
from typing import Any

import anyio
import httpx2
import pytest
from protecting import RESOURCE, handshake, http_to, modern, opened, request, settings
from starlette.responses import RedirectResponse, Response
from token_issuing import AUDIENCE, ISSUER, KeyServer

from mcp.server import MCPServer
from mcp.server.auth import IntrospectionVerifier, VerifierUnavailable
from mcp.server.auth.provider import AccessToken

pytestmark = pytest.mark.anyio

PATH = "/introspect"
SECRET = "s3cret&more"
NOW = int(time.time())


def active(**changed: Any) -> dict[str, Any]:
    """The answer about a good token."""
    answer = {
        "active": True,
        "client_id": "app",
        "sub": "alice",
        "scope": "read write",
        "exp": NOW + 36_000,
        "aud": AUDIENCE,
        "iss": ISSUER,
        **changed,
    }
    return {name: value for name, value in answer.items() if value is not None}


def verifier(origin: str, **changed: Any) -> IntrospectionVerifier:
    given: dict[str, Any] = {"client_id": "notes one", "client_secret": SECRET, "audience": AUDIENCE, **changed}
    return IntrospectionVerifier(f"{origin}{PATH}", **given)


async def test_an_active_token_says_who_it_is_from_and_what_for() -> None:
    server = KeyServer({PATH: active()})
    with server.serving() as origin:
        found = await verifier(origin).verify_token("opaque-token")
        assert found == AccessToken(
            token="opaque-token",
            client_id="app",
            scopes=["read", "write"],
            expires_at=NOW + 36_000,
            resource=AUDIENCE,
            subject="alice",
            claims=active(),
        )
        [(form, authorization)] = server.forms
        assert form == {"token": "opaque-token", "token_type_hint": "access_token"}
        assert authorization == "Basic " + base64.b64encode(b"notes+one:s3cret%26more").decode()


async def test_the_secret_may_go_in_the_form() -> None:
    server = KeyServer({PATH: active()})
    with server.serving() as origin:
        assert await verifier(origin, auth_method="client_secret_post").verify_token("t") is not None
        [(form, authorization)] = server.forms
        assert (form["client_id"], form["client_secret"], authorization) == ("notes one", SECRET, None)


@pytest.mark.parametrize(
    "answer",
    [
        {"active": False},
        {},
        active(active="true"),
        active(active=1),
        active(exp=NOW - 1),
        active(exp="never"),
        active(exp=True),
        active(nbf=NOW + 36_000),
        active(nbf="soon"),
        active(aud="https://other.example.com"),
        active(aud=["https://other.example.com"]),
        active(aud=None),
        active(aud=5),
        active(token_type="refresh_token"),
        active(typ="Refresh"),
        active(token_use="id"),
        active(at_hash="of-a-token"),
    ],
)
async def test_whatever_is_not_plainly_good_is_refused(answer: dict[str, Any]) -> None:
    with KeyServer({PATH: answer}).serving() as origin:
        assert await verifier(origin).verify_token("t") is None


async def test_the_issuer_must_be_the_one_where_one_is_named() -> None:
    with KeyServer({PATH: active()}).serving() as origin:
        assert await verifier(origin, issuer=ISSUER).verify_token("t") is not None
        assert await verifier(origin, issuer="https://other.example.com").verify_token("t") is None
    with KeyServer({PATH: active(iss=None)}).serving() as origin:
        assert await verifier(origin, issuer=ISSUER).verify_token("t") is not None


PARTIAL: list[tuple[dict[str, Any], str, str]] = [
    (active(client_id=None, azp="party"), "party", "read write"),
    (active(client_id=None, scope=None, aud=[AUDIENCE, "x"]), "alice", ""),
    (active(client_id=None, sub=None, scope=7, aud=["x", AUDIENCE]), "", ""),
    (active(exp=None, nbf=NOW - 5), "app", "read write"),
]


@pytest.mark.parametrize(("answer", "client", "scopes"), PARTIAL)
async def test_what_the_answer_leaves_out_is_not_made_up(answer: dict[str, Any], client: str, scopes: str) -> None:
    with KeyServer({PATH: answer}).serving() as origin:
        token = await verifier(origin).verify_token("t")
        assert token is not None
        assert (token.client_id, " ".join(token.scopes), token.resource) == (client, scopes, AUDIENCE)


# On trio, httpx2 leaves an iterator of its own to the garbage collector where an answer is too large.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("document", "text"),
    [
        (Response(status_code=401), "answers HTTP 401, expected 200"),
        (Response(status_code=503), "answers HTTP 503, expected 200"),
        (RedirectResponse("https://other.example.com"), "redirects"),
        (Response(b"active"), "answers something that is no JSON object"),
        (Response(b" " * 300_000), "answers more than 262144 bytes"),
    ],
)
async def test_an_authorization_server_that_does_not_answer_makes_it_undecided(
    document: Response, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with KeyServer({PATH: document}).serving() as origin:
        with pytest.raises(VerifierUnavailable, match=text):
            await verifier(origin).verify_token("opaque-token")
        mcp = MCPServer("asking", token_verifier=verifier(origin), auth=settings())
        async with http_to(mcp.streamable_http_app()) as http:
            answer = await modern(http, "tools/list", "opaque-token")
            assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
    assert "opaque-token" not in caplog.text
    assert SECRET not in caplog.text


async def test_a_transport_of_ones_own_may_have_the_whole_answer_at_once() -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=active()))
    http: Any = httpx2.AsyncClient(transport=transport)
    assert await verifier("https://auth.example.com", http_client=http).verify_token("t") is not None


async def test_an_authorization_server_that_hangs_makes_it_undecided_in_time() -> None:
    async def never(request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError("woken")

    http: Any = httpx2.AsyncClient(transport=httpx2.MockTransport(never))
    with pytest.raises(VerifierUnavailable, match=r"/introspect does not answer within 0\.1 seconds"):
        await verifier("https://auth.example.com", http_client=http, timeout=0.1).verify_token("t")


async def test_users_whom_the_answer_names_in_no_way_do_not_share_a_session() -> None:
    """RFC 7662, section 2.2: `client_id`, `sub` and `username` may all be left out."""
    with KeyServer({PATH: active(client_id=None, sub=None)}).serving() as origin:
        mcp = MCPServer("asking", token_verifier=verifier(origin), auth=settings())
        async with http_to(mcp.streamable_http_app()) as http:
            session = await opened(http, "of-ada")
            for who, status in (("of-eve", 404), ("of-ada", 200)):
                assert (await handshake(http, request("ping"), who, session)).status_code == status


async def test_answers_are_remembered_only_where_that_is_asked_for_and_only_good_ones() -> None:
    server = KeyServer({PATH: active()})
    with server.serving() as origin:
        asking = verifier(origin)
        remembering = verifier(origin, cache_seconds=60)
        for each, times in ((asking, 3), (remembering, 1)):
            server.asked.clear()
            for _ in range(3):
                assert await each.verify_token("t") is not None
            assert len(server.asked) == times
        server.documents[PATH] = {"active": False}
        assert await remembering.verify_token("t") is not None
        assert await remembering.verify_token("u") is None
        server.documents[PATH] = active()
        assert await remembering.verify_token("u") is not None


async def test_a_bounded_number_of_answers_is_remembered_the_oldest_is_forgotten() -> None:
    server = KeyServer({PATH: active()})
    with server.serving() as origin:
        remembering = verifier(origin, cache_seconds=600)
        await remembering.verify_token("first")
        known = remembering._remembered
        until, found = next(iter(known.values()))
        for i in range(1023):
            known[i.to_bytes(32, "big")] = until, found
        await remembering.verify_token("last")
        assert len(known) == 1024
        server.asked.clear()
        await remembering.verify_token("last")
        await remembering.verify_token("first")
        assert len(server.asked) == 1


async def test_a_remembered_token_ends_when_it_ends() -> None:
    server = KeyServer({PATH: active(exp=NOW + 36_000)})
    with server.serving() as origin:
        remembering = verifier(origin, cache_seconds=600)
        found = await remembering.verify_token("t")
        assert found is not None
        found.expires_at = NOW - 1
        mcp = MCPServer("asking", token_verifier=remembering, auth=settings())
        async with http_to(mcp.streamable_http_app()) as http:
            assert (await modern(http, "tools/list", "t")).status_code == 401
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("audience", "status"),
    [(RESOURCE, 200), (["other", RESOURCE], 401), ("https://other.example.com", 401), (None, 200)],
)
async def test_without_an_audience_of_its_own_the_settings_of_the_server_decide(audience: Any, status: int) -> None:
    with KeyServer({PATH: active(aud=audience)}).serving() as origin:
        mcp = MCPServer("asking", token_verifier=verifier(origin, audience=None), auth=settings())
        async with http_to(mcp.streamable_http_app()) as http:
            assert (await modern(http, "tools/list", "t")).status_code == status


@pytest.mark.parametrize(
    ("endpoint", "changed", "text"),
    [
        ("http://auth.example.com/introspect", {}, "endpoint= takes an https URL"),
        ("https://auth.example.com", {"audience": []}, "audience= must say"),
        ("https://auth.example.com", {"audience": ""}, "audience= must say"),
        ("https://auth.example.com", {"client_id": ""}, "client_id= and client_secret= must say who asks"),
        ("https://auth.example.com", {"client_secret": ""}, "client_id= and client_secret= must say who asks"),
        ("https://auth.example.com", {"cache_seconds": -1}, "cache_seconds= must not be negative"),
        ("https://auth.example.com", {"timeout": -1}, "timeout= must be a positive"),
        ("https://auth.example.com", {"auth_method": "none"}, "auth_method= takes 'client_secret_basic' or"),
    ],
)
def test_a_verifier_that_makes_no_sense_is_not_made(endpoint: str, changed: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"client_id": "a", "client_secret": "b", **changed}
    with pytest.raises(ValueError, match=text):
        IntrospectionVerifier(endpoint, **given)
