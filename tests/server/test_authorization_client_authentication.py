"""How clients authenticate themselves: each in its own way, in one way at a time, and in no other."""

import base64
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import jwt
import pytest
from authorization_desk import ISSUER, Desk, basic, refusal
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from sign_in import SignIn
from starlette.requests import Request

from mcp.server.auth import client_assertions
from mcp.server.auth.client_assertions import ClientAssertions
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.shared.auth import OAuthClientInformationFull

pytestmark = pytest.mark.anyio

SECRET = "a secret: with %, + and ü"
KNOWN = (400, "invalid_grant", "refresh token does not exist")
"""What a client is told that is who it says it is."""


async def told(desk: Desk, authorization: str | None = None, **form: Any) -> tuple[int, str, str]:
    """What a client is told that brings a made-up refresh token."""
    headers = {} if authorization is None else {"authorization": authorization}
    answer = await desk.post("/token", {"grant_type": "refresh_token", "refresh_token": "made-up", **form}, **headers)
    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
    return refusal(answer)


def confidential(method: str | None, **values: Any) -> Desk:
    desk = Desk()
    desk.client(**{"client_secret": SECRET, "token_endpoint_auth_method": method, **values})
    return desk


async def test_a_public_client_names_itself() -> None:
    for method in ("none", None):
        desk = confidential(method, client_secret=None)
        assert await told(desk, client_id="shelf") == KNOWN
        assert await told(desk, client_id="other") == (401, "invalid_client", "Invalid client_id")
        assert await told(desk) == (401, "invalid_client", "Missing client_id")


async def test_a_secret_in_the_body() -> None:
    for method in ("client_secret_post", None):
        desk = confidential(method)
        assert await told(desk, client_id="shelf", client_secret=SECRET) == KNOWN
        for guess in (SECRET[:-1], SECRET + " ", SECRET.upper()):
            refused = await told(desk, client_id="shelf", client_secret=guess)
            assert refused == (401, "invalid_client", "Invalid client_secret")
        assert await told(desk, client_id="shelf") == (401, "invalid_client", "Client secret is required")


@pytest.mark.parametrize("client_id", [{}, {"client_id": "shelf"}])
async def test_a_secret_in_the_header(client_id: dict[str, str]) -> None:
    for method in ("client_secret_basic", None):
        desk = confidential(method)
        assert await told(desk, basic("shelf", quote_plus(SECRET)), **client_id) == KNOWN
        assert await told(desk, basic("shelf", SECRET), **client_id) == KNOWN, "as many clients send it"
        refused = await told(desk, basic("shelf", "guessed"), **client_id)
        assert refused == (401, "invalid_client", "Invalid client_secret")
        assert (await told(desk, basic("shelf", ""), **client_id))[1] == "invalid_client"


async def test_an_id_in_the_header_is_encoded() -> None:
    desk = confidential("client_secret_basic", client_id="https://shelf.example/a b")
    assert await told(desk, basic("https%3A%2F%2Fshelf.example%2Fa+b", "s3cret")) == (
        401,
        "invalid_client",
        "Invalid client_secret",
    )


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic c2hlbGY=",
        "Basic /////w==",
        basic("", "secret"),
        basic("%ff", "secret"),
        basic("shelf", "%ff"),
    ],
)
async def test_a_broken_header(header: str) -> None:
    refused = await told(confidential("client_secret_basic"), header)
    assert refused == (401, "invalid_client", "Invalid Basic authentication header")


async def test_another_scheme_in_the_header() -> None:
    status, error, description = await told(confidential("client_secret_basic"), "Bearer x", client_id="shelf")
    assert (status, error) == (401, "invalid_client")
    assert description == "Missing or invalid Basic authentication in Authorization header"


async def test_a_client_uses_the_way_that_it_is_registered_for() -> None:
    desk = confidential("client_secret_post")
    assert await told(desk, basic("shelf", SECRET)) == (
        401,
        "invalid_client",
        "Client is registered for client_secret_post, not for client_secret_basic",
    )
    desk = confidential("client_secret_basic")
    assert await told(desk, client_id="shelf", client_secret=SECRET) == (
        401,
        "invalid_client",
        "Client is registered for client_secret_basic, not for client_secret_post",
    )
    assert await told(desk, client_id="shelf") == (
        401,
        "invalid_client",
        "Client secret is required in an Authorization: Basic header",
    )


async def test_a_client_uses_one_way_at_a_time() -> None:
    desk = confidential(None)
    several = (400, "invalid_request", "Clients must authenticate themselves in one way, not in several")
    assert await told(desk, basic("shelf", SECRET), client_id="shelf", client_secret=SECRET) == several
    assert await told(desk, basic("shelf", SECRET), client_assertion="x") == several
    assert await told(desk, client_id="shelf", client_secret=SECRET, client_assertion="x") == several


async def test_the_client_in_the_body_is_the_one_in_the_header() -> None:
    refused = await told(confidential("client_secret_basic"), basic("shelf", SECRET), client_id="other")
    assert refused == (400, "invalid_request", "client_id is not the client that is authenticated")


async def test_a_secret_ends() -> None:
    desk = confidential("client_secret_post", client_secret_expires_at=1)
    refused = await told(desk, client_id="shelf", client_secret=SECRET)
    assert refused == (401, "invalid_client", "Client secret has expired")
    desk = confidential("client_secret_post", client_secret_expires_at=0)
    assert await told(desk, client_id="shelf", client_secret=SECRET) == KNOWN


@pytest.mark.parametrize(
    ("values", "description"),
    [
        ({"token_endpoint_auth_method": "tls_client_auth"}, "Unsupported auth method: tls_client_auth"),
        (
            {"token_endpoint_auth_method": "client_secret_post", "client_secret": None},
            "Client is registered for secret-based authentication but has no stored secret",
        ),
    ],
)
async def test_a_client_that_cannot_be_authenticated_is_refused(values: dict[str, Any], description: str) -> None:
    desk = confidential(**{"method": None, **values})
    assert await told(desk, client_id="shelf", client_secret=SECRET) == (401, "invalid_client", description)


async def test_a_public_client_with_a_secret_on_record_is_not_let_in_without_it() -> None:
    status, error, _ = await told(confidential("none"), client_id="shelf")
    assert (status, error) == (401, "invalid_client")


async def test_the_authenticator_reads_a_request_by_itself() -> None:
    provider = SignIn(ISSUER)
    provider.clients["shelf"] = OAuthClientInformationFull(client_id="shelf")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    body = b"client_id=shelf"
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    assert await ClientAuthenticator(provider).authenticate_request(request) is provider.clients["shelf"]
    body = b"client_id=shelf&client_id=shelf"
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    with pytest.raises(AuthenticationError, match="more than once: client_id") as refused:
        await ClientAuthenticator(provider).authenticate_request(request)
    assert refused.value.error == "invalid_request"


EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(65537, 2048)
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def public(key: Any, algorithm: str, **more: Any) -> dict[str, Any]:
    """The public half of a key, as a client registers it."""
    return {**jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True), **more}


KEYS = {"keys": [public(EC_KEY, "ES256", kid="one"), public(RSA_KEY, "RS256", kid="two"), {"kty": "oct", "k": "c2Vj"}]}


def signed(key: Any = EC_KEY, algorithm: str = "ES256", kid: str | None = "one", **changed: Any) -> str:
    """An assertion of the client, but for what is changed, or left out with None."""
    claims = {"iss": "shelf", "sub": "shelf", "aud": ISSUER, "exp": time.time() + 60, "jti": "1", **changed}
    given = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(given, key, algorithm=algorithm, headers=None if kid is None else {"kid": kid})


def signing(**values: Any) -> Desk:
    return confidential("private_key_jwt", **{"client_secret": None, "jwks": KEYS, **values})


async def by_assertion(desk: Desk, assertion: str, **form: str) -> tuple[int, str, str]:
    return await told(desk, client_assertion=assertion, client_assertion_type=ASSERTION_TYPE, **form)


async def test_a_signed_assertion_is_good_for_one_time() -> None:
    desk = signing()
    assertion = signed()
    assert await by_assertion(desk, assertion) == KNOWN
    assert await by_assertion(desk, assertion) == (
        401,
        "invalid_client",
        "Invalid client_assertion: it has been used before",
    )
    assert await by_assertion(desk, signed(jti="2"), client_id="shelf") == KNOWN


@pytest.mark.parametrize("path", ["/token", "/revoke"])
async def test_an_assertion_authenticates_at_every_endpoint(path: str) -> None:
    form = {"client_assertion": signed(aud=[f"{ISSUER}token", "x"]), "client_assertion_type": ASSERTION_TYPE}
    answer = await signing().post(path, {"token": "x", "grant_type": "refresh_token", "refresh_token": "x", **form})
    assert answer.status_code == (400 if path == "/token" else 200)


async def test_keys_are_told_apart_by_their_id_or_by_their_kind() -> None:
    assert await by_assertion(signing(), signed(RSA_KEY, "RS256", "two")) == KNOWN
    assert await by_assertion(signing(), signed(RSA_KEY, "PS256", None)) == KNOWN
    assert await by_assertion(signing(), signed(kid=None)) == KNOWN


UNKNOWN_KEY = "Invalid client_assertion: it is signed by no key of the client"


@pytest.mark.parametrize(
    ("assertion", "description"),
    [
        (
            lambda: signed(ec.generate_private_key(ec.SECP256R1())),
            "Invalid client_assertion: Signature verification failed",
        ),
        (lambda: signed(kid="other"), UNKNOWN_KEY),
        (lambda: signed(kid="two"), UNKNOWN_KEY),
        (lambda: signed("c2Vj" * 8, "HS256", None), UNKNOWN_KEY),
        (lambda: signed("", "none", None), UNKNOWN_KEY),
        (lambda: signed(aud="https://other.example.com/"), "Invalid client_assertion: Audience doesn't match"),
        (lambda: signed(aud=None), "Invalid client_assertion: Token is missing the 'aud' claim"),
        (lambda: signed(sub="other"), "Invalid client_assertion: its subject is not the client"),
        (lambda: signed(sub=None), "Invalid client_assertion: Token is missing the 'sub' claim"),
        (lambda: signed(exp=time.time() - 60), "Invalid client_assertion: Signature has expired"),
        (lambda: signed(exp=None), "Invalid client_assertion: Token is missing the 'exp' claim"),
        (lambda: signed(exp=time.time() + 9999), "Invalid client_assertion: it must end within 3600 seconds"),
        (lambda: signed(nbf=time.time() + 60), "Invalid client_assertion: The token is not yet valid (nbf)"),
        (lambda: signed(exp="soon"), "Invalid client_assertion: Expiration Time claim (exp) must be an integer."),
        (lambda: signed(exp=float("inf")), "Invalid client_assertion: Expiration Time claim (exp) must be an integer."),
        (lambda: signed(jti=None), "Invalid client_assertion: Token is missing the 'jti' claim"),
        (lambda: signed(jti=["1"]), "Invalid client_assertion: JWT ID must be a string"),
        (lambda: signed(iss="other"), "Invalid client_id"),
        (lambda: signed(iss=None), "client_assertion is not a JWT with an issuer"),
        (lambda: "x.y.z", "client_assertion is not a JWT with an issuer"),
        (lambda: "x", "client_assertion is not a JWT with an issuer"),
    ],
)
async def test_an_assertion_is_refused_that(assertion: Callable[[], str], description: str) -> None:
    assert await by_assertion(signing(), assertion()) == (401, "invalid_client", description)


@pytest.mark.parametrize("part", [0, 1])
async def test_an_assertion_that_is_nested_too_deep_is_refused(part: int) -> None:
    nested = base64.urlsafe_b64encode(b'{"alg":"ES256","kid":' + b"[" * 20_000).rstrip(b"=").decode()
    parts = signed().split(".")
    parts[part] = nested
    status, error, description = await by_assertion(signing(), ".".join(parts))
    assert (status, error) == (401, "invalid_client")
    assert description == "client_assertion is not a JWT with an issuer"


async def test_an_assertion_says_what_it_is() -> None:
    refused = await told(signing(), client_assertion=signed(), client_assertion_type="saml")
    assert refused == (401, "invalid_client", f"client_assertion_type must be {ASSERTION_TYPE}")


async def test_a_client_that_signs_is_not_let_in_by_its_name_or_a_secret() -> None:
    needed = (401, "invalid_client", "Client is registered for private_key_jwt; client_assertion is required")
    desk = signing(client_secret=SECRET)
    assert await told(desk, client_id="shelf") == needed
    assert await told(desk, client_id="shelf", client_secret=SECRET) == needed
    assert await told(desk, basic("shelf", SECRET)) == needed


async def test_a_client_with_a_secret_is_not_let_in_by_an_assertion() -> None:
    desk = confidential("client_secret_post", jwks=KEYS)
    assert (await by_assertion(desk, signed()))[2] == (
        "Client is registered for client_secret_post, not for private_key_jwt"
    )


@pytest.mark.parametrize(
    "jwks",
    [
        None,
        [],
        {"keys": "x"},
        {"keys": ["x", {"kty": "EC", "kid": "one"}]},
        {"keys": [{**KEYS["keys"][0], "alg": "ES384"}]},
        {"keys": [{"kty": "EC", "kid": "one", "crv": "P-256", "x": 1, "y": 2}]},
        {"keys": [KEYS["keys"][0], KEYS["keys"][0]]},
    ],
)
async def test_a_client_without_the_key_is_refused(jwks: Any) -> None:
    desk = signing(jwks=jwks, redirect_uris=["https://shelf.example.com/"])
    assert await by_assertion(desk, signed()) == (401, "invalid_client", UNKNOWN_KEY)


async def test_a_server_that_is_named_in_no_way_takes_no_assertion() -> None:
    provider = SignIn(ISSUER)
    client = signing().client(token_endpoint_auth_method="private_key_jwt", jwks=KEYS)
    provider.clients["shelf"] = client
    assert ClientAssertions(()).problem(signed(), client) == "Audience doesn't match"


def test_what_was_used_is_remembered_until_it_ends_and_no_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_assertions, "_MOST_REMEMBERED", 2)
    assertions = ClientAssertions([ISSUER])
    assert assertions._use(("shelf", "1"), until=60, now=0) is None
    assert assertions._use(("shelf", "2"), until=90, now=0) is None
    full = "too many assertions are in use; try again later"
    assert assertions._use(("shelf", "3"), until=120, now=59) == full
    assert assertions._use(("shelf", "1"), until=120, now=59) == "it has been used before"
    assert assertions._use(("shelf", "3"), until=120, now=61) is None
    assert assertions._use(("shelf", "1"), until=120, now=61) == full
