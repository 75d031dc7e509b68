"""Where the keys of an issuer come from: how often they are fetched, and what happens where they cannot be."""

import gzip
import json
import logging
from typing import Any

import anyio
import httpx2
import pytest
import served_app
from starlette.responses import RedirectResponse, Response
from token_issuing import AUDIENCE, EC_KEY, ED_KEY, ISSUER, OTHER_RSA_KEY, RSA_KEY, WEAK_RSA_KEY, KeyServer, jwk, signed

from mcp.server.auth import JWTVerifier, VerifierUnavailable

pytestmark = pytest.mark.anyio

ONE: dict[str, Any] = {"keys": [jwk(RSA_KEY, "one")]}
BOTH: dict[str, Any] = {"keys": [jwk(RSA_KEY, "one"), jwk(EC_KEY, "two")]}
JWKS = "/jwks"


def verifier(origin: str, **changed: Any) -> JWTVerifier:
    given: dict[str, Any] = {"issuer": "https://auth.example.com", "jwks_url": f"{origin}{JWKS}", **changed}
    return JWTVerifier(audience=AUDIENCE, **given)


async def test_keys_are_fetched_once_for_many_tokens_at_a_time() -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        keys = verifier(origin)
        found: list[object] = []

        async def verify() -> None:
            found.append(await keys.verify_token(signed()))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(verify)
        assert len(found) == 50
        assert None not in found
        assert server.asked == [JWKS]


async def test_a_key_that_is_not_known_yet_is_fetched_and_one_that_is_not_there_asks_no_more_than_once() -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        eager = verifier(origin, refetch_seconds=0)
        assert await eager.verify_token(signed()) is not None
        server.documents[JWKS] = BOTH
        assert await eager.verify_token(signed(EC_KEY, "ES256", "two")) is not None
        assert server.asked == [JWKS, JWKS]

        server.asked.clear()
        patient = verifier(origin)
        for i in range(20):
            assert await patient.verify_token(signed(OTHER_RSA_KEY, id=f"unknown-{i}")) is None
        assert await patient.verify_token(signed(EC_KEY, "ES256", "one")) is None
        assert server.asked == [JWKS]


async def test_a_key_that_the_issuer_has_withdrawn_is_no_good_once_the_keys_are_old() -> None:
    server = KeyServer({JWKS: BOTH})
    with server.serving() as origin:
        keys = verifier(origin, cache_seconds=0, refetch_seconds=0)
        assert await keys.verify_token(signed()) is not None
        server.documents[JWKS] = {"keys": [jwk(EC_KEY, "two")]}
        assert await keys.verify_token(signed()) is None
        assert await keys.verify_token(signed(EC_KEY, "ES256", "two")) is not None


async def test_while_the_key_server_is_down_the_old_keys_stay_good_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        keys = verifier(origin, cache_seconds=0, refetch_seconds=0)
        assert await keys.verify_token(signed()) is not None
        server.documents[JWKS] = Response(status_code=500)
        assert await keys.verify_token(signed()) is not None
        assert "the keys that tokens are verified with stay as they are" in caplog.text
        assert f"{origin}{JWKS} answers HTTP 500, expected 200" in caplog.text
    assert await keys.verify_token(signed()) is not None
    assert "cannot be reached: ConnectError" in caplog.text


async def test_without_any_keys_nothing_can_be_decided_until_the_key_server_is_back() -> None:
    server = KeyServer({})
    with server.serving() as origin:
        keys = verifier(origin, refetch_seconds=0)
        for _ in range(2):
            with pytest.raises(VerifierUnavailable, match=r"there are no keys to verify tokens with: .* HTTP 404"):
                await keys.verify_token(signed())
        server.documents[JWKS] = ONE
        assert await keys.verify_token(signed()) is not None

        server.documents.clear()
        server.asked.clear()
        patient = verifier(origin)
        for _ in range(5):
            with pytest.raises(VerifierUnavailable):
                await patient.verify_token(signed())
        assert server.asked == [JWKS]


async def test_a_token_that_no_key_could_make_good_asks_nobody() -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        keys = verifier(origin)
        assert await keys.verify_token("opaque") is None
        assert await keys.verify_token(signed(typ="dpop+jwt")) is None
        assert server.asked == []


# On trio, httpx2 leaves an iterator of its own to the garbage collector where an answer is too large.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("document", "text"),
    [
        (RedirectResponse("http://127.0.0.1:1/keys"), "redirects \\(HTTP 307\\), which is not followed"),
        (Response(b"{" + b" " * 2_000_000), "answers more than 1048576 bytes"),
        (Response(b"<html>"), "answers something that is no JSON object"),
        (Response(b"[]"), "answers something that is no JSON object"),
        (Response(b'{"keys": NaN}'), "answers something that is no JSON object"),
        (Response(b'{"keys": 5}'), "expected a JWK Set"),
        (Response(json.dumps({"keys": [{}] * 101})), "the JWK Set has 101 keys"),
        (Response(gzip.compress(b"{}"), headers={"content-encoding": "gzip"}), "no JSON object"),
    ],
)
async def test_what_is_no_key_set_makes_nothing_good(document: Response, text: str) -> None:
    with KeyServer({JWKS: document}).serving() as origin, pytest.raises(VerifierUnavailable, match=text):
        await verifier(origin).verify_token(signed())


async def test_a_key_server_that_never_answers_is_given_up() -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            while (await receive())["type"] != "http.disconnect":
                pass

    text = r"/jwks does not give its keys within 0\.2 seconds"
    with served_app.served(silent) as origin, pytest.raises(VerifierUnavailable, match=text):
        await verifier(origin, timeout=0.2).verify_token(signed())


async def test_a_client_of_ones_own_fetches_and_stays_open() -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        http: Any = httpx2.AsyncClient(headers={"x-from": "tests"})
        async with http:
            keys = verifier(origin, http_client=http, cache_seconds=0, refetch_seconds=0)
            assert await keys.verify_token(signed()) is not None
            assert await keys.verify_token(signed()) is not None
            assert not http.is_closed
            assert server.asked == [JWKS, JWKS]


# Keys that the issuer's metadata leads to.

OAUTH = "/.well-known/oauth-authorization-server"
OIDC = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("path", "where", "asked"),
    [
        ("", OAUTH, [OAUTH]),
        ("/", OAUTH, [OAUTH]),
        ("", OIDC, [OAUTH, OIDC]),
        ("/tenant", f"{OAUTH}/tenant", [f"{OAUTH}/tenant"]),
        ("/tenant", f"{OIDC}/tenant", [f"{OAUTH}/tenant", f"{OIDC}/tenant"]),
        ("/tenant", f"/tenant{OIDC}", [f"{OAUTH}/tenant", f"{OIDC}/tenant", f"/tenant{OIDC}"]),
    ],
)
async def test_an_issuer_says_in_its_metadata_where_its_keys_are(path: str, where: str, asked: list[str]) -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        issuer = f"{origin}{path}"
        server.documents[where] = {"issuer": issuer, "jwks_uri": f"{origin}{JWKS}"}
        keys = verifier(origin, issuer=issuer, jwks_url=None)
        assert await keys.verify_token(signed(iss=issuer)) is not None
        assert server.asked == [*asked, JWKS]


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"issuer": "https://evil.example.com", "jwks_uri": "{origin}/jwks"}, "is the metadata of 'https://evil"),
        ({"jwks_uri": "{origin}/jwks"}, "is the metadata of None"),
        ({"issuer": "{origin}", "jwks_uri": "http://169.254.169.254/keys"}, "jwks_uri= takes an https URL"),
        ({"issuer": "{origin}", "jwks_uri": "file:///etc/passwd"}, "jwks_uri= takes an https URL"),
        ({"issuer": "{origin}"}, "jwks_uri= takes a URL as str"),
    ],
)
async def test_metadata_of_somebody_else_or_that_leads_elsewhere_is_not_followed(
    metadata: dict[str, str], text: str
) -> None:
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        server.documents[OAUTH] = {name: value.replace("{origin}", origin) for name, value in metadata.items()}
        with pytest.raises(VerifierUnavailable, match=text):
            await verifier(origin, issuer=origin, jwks_url=None).verify_token(signed(iss=origin))
        assert JWKS not in server.asked


async def test_old_keys_do_for_others_while_one_request_fetches_new_ones(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    reached, go_on = anyio.Event(), anyio.Event()
    loaded = 0

    async def load() -> list[Any]:
        nonlocal loaded
        loaded += 1
        if loaded > 1:
            reached.set()
            await go_on.wait()
        return read_key_set(ONE)

    from mcp.server.auth.jwt_keys import FetchedKeys, read_key_set

    keys = FetchedKeys(load, max_age=0, refetch_after=0)
    assert await keys.find("one", "RS256")
    async with anyio.create_task_group() as group:
        group.start_soon(keys.find, "one", "RS256")
        await reached.wait()
        assert await keys.find("one", "RS256")
        go_on.set()
    assert loaded == 2


# Keys that change.


@pytest.mark.parametrize(
    ("before", "after", "token"),
    [
        pytest.param(jwk(RSA_KEY), jwk(OTHER_RSA_KEY), signed(OTHER_RSA_KEY, id=None), id="no ids"),
        pytest.param(jwk(RSA_KEY, "one"), jwk(OTHER_RSA_KEY, "two"), signed(OTHER_RSA_KEY, id=None), id="ids of keys"),
        pytest.param(jwk(RSA_KEY), jwk(OTHER_RSA_KEY), signed(OTHER_RSA_KEY, id="two"), id="ids of tokens"),
        pytest.param(jwk(RSA_KEY, "one"), jwk(OTHER_RSA_KEY, "one"), signed(OTHER_RSA_KEY), id="the same id"),
        pytest.param(jwk(RSA_KEY, "one"), jwk(EC_KEY, "one"), signed(EC_KEY, "ES256"), id="another kind of key"),
    ],
)
async def test_a_key_that_has_taken_the_place_of_another_is_fetched_with_the_first_token_that_needs_it(
    before: Any, after: Any, token: str
) -> None:
    server = KeyServer({JWKS: {"keys": [before]}})
    with server.serving() as origin:
        keys = verifier(origin, refetch_seconds=0)
        assert await keys.verify_token(token) is None
        server.documents[JWKS] = {"keys": [after]}
        assert await keys.verify_token(token) is not None

        server.asked.clear()
        patient = verifier(origin)
        assert await patient.verify_token(token) is not None
        for _ in range(5):
            assert await patient.verify_token(signed(ED_KEY, "EdDSA", id=None)) is None
        assert server.asked == [JWKS]


async def test_keys_without_an_id_are_good_for_every_id_that_no_other_has() -> None:
    server = KeyServer({JWKS: {"keys": [jwk(RSA_KEY), jwk(OTHER_RSA_KEY, "two")]}})
    with server.serving() as origin:
        keys = verifier(origin)
        assert await keys.verify_token(signed(id="any")) is not None
        assert await keys.verify_token(signed(id="two")) is None
        assert await keys.verify_token(signed(OTHER_RSA_KEY, id="any")) is None
        assert await keys.verify_token(signed(OTHER_RSA_KEY, id="two")) is not None


@pytest.mark.parametrize("useless", [[], [jwk(WEAK_RSA_KEY, "one")], [{"kty": "oct", "k": "AAAA", "kid": "one"}]])
async def test_a_key_set_of_which_nothing_can_be_used_takes_the_place_of_no_other(
    useless: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    text = f"{JWKS} holds no public key that tokens can be verified with"
    server = KeyServer({JWKS: ONE})
    with server.serving() as origin:
        keys = verifier(origin, cache_seconds=0, refetch_seconds=0)
        assert await keys.verify_token(signed()) is not None
        server.documents[JWKS] = {"keys": useless}
        assert await keys.verify_token(signed()) is not None
        assert f"stay as they are: {origin}{text}" in caplog.text
        with pytest.raises(VerifierUnavailable, match=text):
            await verifier(origin).verify_token(signed())


# An issuer that takes its time.


class Hanging:
    """A key server behind a client of a test's own, which answers once it may."""

    def __init__(self) -> None:
        self.may_answer = anyio.Event()
        self.may_answer.set()
        self.reached = anyio.Event()
        self.asked: list[str] = []
        self.http: Any = httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer))

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        self.reached.set()
        await self.may_answer.wait()
        return httpx2.Response(200, json=ONE)

    def hang(self) -> None:
        self.may_answer, self.reached = anyio.Event(), anyio.Event()


async def test_while_the_issuer_hangs_requests_go_on_with_the_keys_that_are_there() -> None:
    server = Hanging()
    keys = verifier(ISSUER, http_client=server.http, cache_seconds=0, refetch_seconds=0, timeout=50)
    assert await keys.verify_token(signed()) is not None
    server.hang()
    with anyio.fail_after(10):
        # The first waits for a moment, and none after it: each moment is a second.
        for _ in range(20):
            assert await keys.verify_token(signed()) is not None
        assert len(server.asked) == 2
    server.may_answer.set()


async def test_a_fetch_goes_on_where_the_request_that_has_begun_it_is_given_up() -> None:
    server = Hanging()
    server.hang()
    keys = verifier(ISSUER, http_client=server.http)
    async with anyio.create_task_group() as group:
        group.start_soon(keys.verify_token, signed())
        await server.reached.wait()
        group.cancel_scope.cancel()
    server.may_answer.set()
    for _ in range(3):
        assert await keys.verify_token(signed()) is not None
    assert server.asked == [JWKS]


async def test_all_that_is_asked_on_the_way_to_the_keys_has_one_time_limit() -> None:
    server = Hanging()
    server.hang()
    keys = verifier(ISSUER, issuer=f"{ISSUER}/tenant", jwks_url=None, http_client=server.http, timeout=0.2)
    text = f"{ISSUER}/tenant does not give its keys within 0.2 seconds"
    with pytest.raises(VerifierUnavailable, match=text):
        await keys.verify_token(signed())
    assert server.asked == [f"{OAUTH}/tenant"]


async def test_a_client_that_fails_in_its_own_way_makes_it_undecided_and_the_log_says_how(
    caplog: pytest.LogCaptureFixture,
) -> None:
    http: Any = httpx2.AsyncClient()
    await http.aclose()
    with pytest.raises(VerifierUnavailable, match=r"there are no keys to verify tokens with: RuntimeError"):
        await verifier(ISSUER, http_client=http).verify_token(signed())
    assert "the client has been closed" in caplog.text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (httpx2.Response(200, json=ONE), None),
        (httpx2.Response(200, content=gzip.compress(json.dumps(ONE).encode())), "no JSON object"),
        (httpx2.Response(200, content=b" " * 2_000_000), "answers more than 1048576 bytes"),
        (httpx2.Response(200, text="<html>"), "no JSON object"),
        (httpx2.Response(500, json=ONE), "answers HTTP 500"),
    ],
)
async def test_a_transport_may_have_the_whole_answer_at_once(answer: httpx2.Response, text: str | None) -> None:
    http: Any = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer))
    keys = verifier(ISSUER, http_client=http)
    if text is None:
        assert await keys.verify_token(signed()) is not None
        return
    with pytest.raises(VerifierUnavailable, match=text):
        await keys.verify_token(signed())
