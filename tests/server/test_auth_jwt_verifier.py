"""Which JWTs are good, and which only look like it."""

import logging
import time
from typing import Any

import jwt
import pytest
from protecting import RESOURCE, http_to, modern, settings
from token_issuing import (
    AUDIENCE,
    EC_KEY,
    ED_KEY,
    ISSUER,
    OTHER_RSA_KEY,
    RSA_KEY,
    WEAK_RSA_KEY,
    claims,
    encoded,
    forged,
    jwk,
    pem,
    signed,
)

from mcp.server import MCPServer
from mcp.server.auth import JWTVerifier
from mcp.server.auth.provider import AccessToken

pytestmark = pytest.mark.anyio

KEY_SET: dict[str, Any] = {"keys": [jwk(RSA_KEY, "one"), jwk(EC_KEY, "two"), jwk(ED_KEY, "three")]}


def verifier(**changed: Any) -> JWTVerifier:
    given: dict[str, Any] = {"issuer": ISSUER, "audience": AUDIENCE, "keys": KEY_SET, **changed}
    return JWTVerifier(**given)


def with_typ_claim(kind: str) -> str:
    """A token whose type is among its claims, and not in its header."""
    return jwt.encode({**claims(), "typ": kind}, RSA_KEY, "RS256", headers={"kid": "one"})


async def test_a_good_token_says_who_it_is_from_and_what_for() -> None:
    token = signed()
    found = await verifier().verify_token(token)
    assert found is not None
    expected = claims()
    assert found == AccessToken(
        token=token,
        client_id="app",
        scopes=["read", "write"],
        expires_at=found.expires_at,
        resource=AUDIENCE,
        subject="alice",
        claims={**expected, "exp": found.expires_at, "iat": (found.expires_at or 0) - 36_000},
    )
    assert token not in repr(found)


HONEST = {
    "RSA": signed(),
    "P-256": signed(EC_KEY, "ES256", "two"),
    "Ed25519": signed(ED_KEY, "EdDSA", "three"),
    "PSS": signed(algorithm="PS512"),
    "no key id": signed(id=None),
    "no key id, and another kind": signed(EC_KEY, "ES256", None),
    "several audiences": signed(aud=["https://other.example.com", AUDIENCE]),
    "at+jwt": signed(typ="at+jwt"),
    "AT+JWT": signed(typ="AT+JWT"),
    "application/at+jwt": signed(typ="application/at+jwt"),
    "no type": signed(typ=None),
    "a bearer token": with_typ_claim("Bearer"),
    "begins in a moment": signed(nbf=int(time.time()) + 10),
    "issued in a moment": signed(iat=int(time.time()) + 10),
}


@pytest.mark.parametrize("token", HONEST.values(), ids=HONEST)
async def test_tokens_of_every_honest_kind_are_let_in(token: str) -> None:
    assert await verifier().verify_token(token) is not None


NOW = int(time.time())


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param(signed(aud="https://other.example.com/mcp"), "InvalidAudienceError", id="another audience"),
        pytest.param(signed(aud=f"{AUDIENCE}/deeper"), "InvalidAudienceError", id="a deeper audience"),
        pytest.param(signed(aud=["https://other.example.com"]), "InvalidAudienceError", id="other audiences"),
        pytest.param(signed(aud=None), "MissingRequiredClaimError", id="no audience"),
        pytest.param(signed(exp=NOW - 1), "ExpiredSignatureError", id="expired"),
        pytest.param(signed(exp=NOW - 3600), "ExpiredSignatureError", id="expired long ago"),
        pytest.param(signed(exp=None), "MissingRequiredClaimError", id="no end"),
        pytest.param(signed(nbf=NOW + 36_000), "ImmatureSignatureError", id="not good yet"),
        pytest.param(signed(iat=NOW + 36_000), "ImmatureSignatureError", id="issued later"),
        pytest.param(signed(iss="https://evil.example.com"), "InvalidIssuerError", id="another issuer"),
        pytest.param(signed(iss=f"{ISSUER}/"), "InvalidIssuerError", id="almost the issuer"),
        pytest.param(signed(iss=None), "MissingRequiredClaimError", id="no issuer"),
        pytest.param(signed(OTHER_RSA_KEY), "InvalidSignatureError", id="another key"),
        pytest.param(signed(OTHER_RSA_KEY, id=None), "InvalidSignatureError", id="another key without an id"),
        pytest.param(signed(id="four"), "InvalidKeyError", id="unknown key id"),
        pytest.param(signed(id="two"), "InvalidKeyError", id="the id of a key of another kind"),
        pytest.param(signed(typ="dpop+jwt"), "InvalidTokenError", id="a proof"),
        pytest.param(signed(typ="logout+jwt"), "InvalidTokenError", id="a logout token"),
        pytest.param(signed(token_use="id"), "InvalidTokenError: it is no access token", id="an ID token of Cognito"),
        pytest.param(with_typ_claim("ID"), "InvalidTokenError: it is no access token", id="an ID token of Keycloak"),
        pytest.param(with_typ_claim("Refresh"), "InvalidTokenError: it is no access token", id="a refresh token"),
        pytest.param(with_typ_claim("Offline"), "InvalidTokenError: it is no access token", id="an offline token"),
        pytest.param(signed(at_hash="a", nonce="n"), "InvalidTokenError: it is no access token", id="an ID token"),
        pytest.param(signed(crit=["exp"]), "InvalidTokenError", id="critical extensions"),
        pytest.param(forged({"alg": "none", "typ": "JWT"}, None), "InvalidAlgorithmError", id="alg none"),
        pytest.param(forged({"alg": "None", "kid": "one"}, None), "InvalidAlgorithmError", id="alg None"),
        pytest.param(forged({"alg": "RS256", "kid": "one"}, None), "InvalidSignatureError", id="no signature"),
        pytest.param(forged({"kid": "one"}, None), "InvalidAlgorithmError", id="no algorithm"),
        pytest.param(
            forged({"alg": "HS256", "kid": "one"}, pem(RSA_KEY)), "InvalidAlgorithmError", id="HMAC with the public key"
        ),
        pytest.param(
            forged({"alg": "HS256", "jwk": {"kty": "oct", "k": "c2VjcmV0"}}, b"secret"),
            "InvalidAlgorithmError",
            id="its own secret",
        ),
        pytest.param(
            jwt.encode(claims(), OTHER_RSA_KEY, "RS256", headers={"kid": "one", "jwk": jwk(OTHER_RSA_KEY)}),
            "InvalidSignatureError",
            id="its own key",
        ),
        pytest.param("not.a.jwt", "DecodeError", id="no JWT"),
        pytest.param("opaque", "DecodeError", id="no dots"),
        pytest.param("a.b.c.d.e", "DecodeError", id="encrypted"),
        pytest.param("", "DecodeError", id="empty"),
        pytest.param(f"{encoded(b'[' * 9000 + b']' * 9000)}.e30.e30", "", id="a deep header"),
        pytest.param(f"{encoded(b'{' * 9000)}.e30.e30", "", id="a broken deep header"),
        pytest.param("....", "DecodeError", id="dots"),
        pytest.param("é.ü.ö", "", id="not ASCII"),
        pytest.param(f"{signed()[:-8]}AAAAAAAA", "InvalidSignatureError", id="a changed signature"),
    ],
)
async def test_what_is_no_good_token_is_refused_and_the_log_says_why_without_it(
    token: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp.server.auth")
    assert await verifier().verify_token(token) is None
    [record] = caplog.records
    assert f"a token is refused: {reason}" in record.getMessage()
    for part in token.split("."):
        assert len(part) < 4 or part not in caplog.text


@pytest.mark.parametrize("end", ["soon", [], {}, True])
async def test_an_end_that_is_no_time_refuses_the_token(end: Any) -> None:
    assert await verifier().verify_token(signed(exp=end)) is None


async def test_an_end_that_is_no_number_of_json_refuses_the_token() -> None:
    payload = f'{{"iss": "{ISSUER}", "aud": "{AUDIENCE}", "exp": 1e400}}'.encode()
    token = jwt.PyJWS().encode(payload, RSA_KEY, "RS256", headers={"kid": "one"})
    assert await verifier().verify_token(token) is None


# What can be chosen.


async def test_a_leeway_is_for_what_begins_and_not_for_what_has_ended() -> None:
    assert await verifier(leeway=0).verify_token(signed(nbf=NOW + 36_000)) is None
    assert await verifier(leeway=72_000).verify_token(signed(nbf=NOW + 36_000)) is not None
    assert await verifier(leeway=72_000).verify_token(signed(exp=NOW - 600)) is None


async def test_algorithms_can_be_narrowed() -> None:
    narrow = verifier(algorithms=["ES256"])
    assert await narrow.verify_token(signed(EC_KEY, "ES256", "two")) is not None
    assert await narrow.verify_token(signed()) is None


async def test_the_types_of_tokens_can_be_narrowed() -> None:
    narrow = verifier(token_types=["at+jwt"])
    assert await narrow.verify_token(signed(typ="application/at+jwt")) is not None
    for typ in ("JWT", None):
        assert await narrow.verify_token(signed(typ=typ)) is None


async def test_one_of_several_audiences_is_enough_and_is_the_resource() -> None:
    several = verifier(audience=["api://notes", AUDIENCE])
    found = await several.verify_token(signed(aud="api://notes"))
    assert found is not None
    assert found.resource == "api://notes"


async def test_public_keys_in_pem_do_for_every_key_id() -> None:
    for keys in (pem(RSA_KEY), pem(RSA_KEY).decode(), [pem(EC_KEY), pem(RSA_KEY)]):
        assert await verifier(keys=keys).verify_token(signed(id="whatever")) is not None
        assert await verifier(keys=keys).verify_token(signed(OTHER_RSA_KEY)) is None


@pytest.mark.parametrize(
    ("said", "scopes"),
    [
        ({"scope": "a b"}, ["a", "b"]),
        ({"scope": ["a", "b", 1]}, ["a", "b"]),
        ({"scope": None, "scp": "a b"}, ["a", "b"]),
        ({"scope": None, "scp": ["a"]}, ["a"]),
        ({"scope": None}, []),
        ({"scope": 5}, []),
    ],
)
async def test_scopes_are_read_in_every_form_that_is_in_use(said: dict[str, Any], scopes: list[str]) -> None:
    found = await verifier().verify_token(signed(**said))
    assert found is not None
    assert found.scopes == scopes


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ({}, "app"),
        ({"client_id": None, "azp": "party"}, "party"),
        ({"client_id": None, "cid": "okta"}, "okta"),
        ({"client_id": None}, "alice"),
        ({"client_id": None, "sub": None}, ""),
    ],
)
async def test_the_client_is_found_where_issuers_say_it(said: dict[str, Any], client: str) -> None:
    found = await verifier().verify_token(signed(**said))
    assert found is not None
    assert (found.client_id, found.subject) == (client, said.get("sub", "alice"))


# Mistakes of whoever sets it up.


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"jwks_url": "https://auth.example.com/jwks"}, ValueError, "takes jwks_url= or keys=, not both"),
        ({"audience": []}, ValueError, "audience= must say what tokens are for"),
        ({"audience": ""}, ValueError, "audience= must say what tokens are for"),
        ({"audience": [AUDIENCE, ""]}, ValueError, "audience= must say what tokens are for"),
        ({"audience": None}, TypeError, "audience= takes a URL as str, or several, got an object of type NoneType"),
        ({"leeway": -1}, ValueError, "leeway= takes a number of seconds that is not negative, got -1"),
        ({"leeway": float("nan")}, ValueError, "leeway= takes a number of seconds"),
        ({"algorithms": ["HS256"]}, ValueError, "algorithms= takes some of .*RS256.*, got 'HS256'"),
        ({"algorithms": ["none"]}, ValueError, "got 'none'"),
        ({"algorithms": []}, ValueError, "algorithms= takes some of"),
        ({"algorithms": "RS256"}, TypeError, r"algorithms= takes a list, such as \['RS256'\]"),
        ({"timeout": 0}, ValueError, "timeout= must be a positive number"),
        ({"keys": {}}, ValueError, "expected a JWK Set"),
        ({"keys": {"keys": []}}, ValueError, "keys= holds no public key"),
        ({"keys": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}}, ValueError, "keys= holds no public key"),
        ({"keys": "not PEM"}, ValueError, "expected a public key in PEM"),
        ({"keys": pem(WEAK_RSA_KEY)}, ValueError, r"the key is none of RSA \(2048 bits at least\)"),
        ({"keys": None, "issuer": "http://auth.example.com"}, ValueError, "issuer= takes an https URL"),
        ({"keys": None, "issuer": "auth.example.com"}, ValueError, "issuer= takes an https URL"),
        ({"keys": None, "issuer": None}, TypeError, "issuer= takes a URL as str"),
        ({"keys": None, "jwks_url": "http://auth.example.com/jwks"}, ValueError, "jwks_url= takes an https URL"),
        ({"keys": None, "jwks_url": "https://a:b@auth.example.com"}, ValueError, "must not hold a user name"),
    ],
)
def test_a_verifier_that_could_not_protect_is_not_made(
    changed: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        verifier(**changed)


@pytest.mark.parametrize(
    "useless",
    [
        "text",
        {"kty": "RSA"},
        {"kty": "oct"},
        {"kty": "EC", "crv": 5, "x": [], "y": {}},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": "other"},
        {},
        {**jwk(RSA_KEY, "one"), "use": "enc"},
        {**jwk(RSA_KEY, "one"), "key_ops": ["encrypt"]},
        {**jwk(RSA_KEY, "one"), "alg": "RSA-OAEP"},
        {**jwk(RSA_KEY, "one"), "alg": "RS384"},
        jwk(WEAK_RSA_KEY, "one"),
        jwt.get_algorithm_by_name("RS256").to_jwk(RSA_KEY, as_dict=True),
    ],
)
async def test_keys_of_a_set_that_are_for_something_else_are_left_out(useless: Any) -> None:
    both = verifier(keys={"keys": [useless, jwk(EC_KEY, "two")]})
    assert await both.verify_token(signed()) is None
    assert await both.verify_token(signed(EC_KEY, "ES256", "two")) is not None


async def test_a_server_protected_by_it_takes_the_audience_that_it_was_told() -> None:
    async def status(token: str, audience: str, **changed: Any) -> int:
        mcp = MCPServer("jwt", token_verifier=verifier(audience=audience), auth=settings(**changed))
        async with http_to(mcp.streamable_http_app()) as http:
            return (await modern(http, "tools/list", token)).status_code

    assert await status(signed(aud=RESOURCE), RESOURCE, validate_token_resource=True) == 200
    assert await status(signed(aud="api://notes"), "api://notes") == 200
    assert await status(signed(aud="api://notes"), "api://notes", validate_token_resource=True) == 401
    assert await status(signed(aud="https://other.example.com"), "api://notes") == 401
    assert await status(signed(aud="api://notes", scope="other"), "api://notes") == 403
