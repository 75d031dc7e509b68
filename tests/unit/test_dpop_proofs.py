"""Proofs of possession without any I/O: what a client signs, and what a server makes of it. RFC 9449."""

import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from mcp.protocol.dpop import DPoPKey, InvalidDPoPProof, Proof, checked_proof, same_thumbprint, thumbprint, token_hash

URL = "https://server.example.com/mcp"
NOW = 1_800_000_000.0
KEY = DPoPKey.generate()
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLAIMS = {"jti": "one", "htm": "POST", "htu": URL, "iat": int(NOW)}


def check(text: str, **changes: Any) -> Proof:
    arguments: dict[str, Any] = {"method": "POST", "urls": [URL], "now": NOW, "max_age": 60, **changes}
    return checked_proof(text, **arguments)


def proof(**changes: Any) -> str:
    arguments: dict[str, Any] = {"method": "POST", "url": URL, "issued_at": NOW, "proof_id": "one", **changes}
    return KEY.proof(**arguments)


def signed(
    claims: dict[str, Any] | None = None, key: Any = None, alg: str = "ES256", jwk: Any = None, typ: str = "dpop+jwt"
) -> str:
    """A proof with anything in it."""
    header = {"typ": typ, "jwk": KEY.public_jwk if jwk is None else jwk}
    return jwt.encode({**CLAIMS, **(claims or {})}, KEY._key if key is None else key, algorithm=alg, headers=header)


def public_jwk(algorithm: Any, key: Any) -> dict[str, Any]:
    return algorithm.to_jwk(key.public_key(), as_dict=True)


def test_a_proof_names_method_url_time_token_and_nonce() -> None:
    text = proof(url=f"{URL}?page=2#top", access_token="secret", nonce="n-1")
    header, claims = jwt.get_unverified_header(text), jwt.decode(text, options={"verify_signature": False})
    assert header == {"typ": "dpop+jwt", "alg": "ES256", "jwk": KEY.public_jwk}
    assert claims == {**CLAIMS, "ath": token_hash("secret"), "nonce": "n-1"}
    assert "d" not in KEY.public_jwk
    assert check(text, access_token="secret") == Proof("one", KEY.thumbprint, int(NOW), "n-1")


def test_hashes_are_those_of_the_standards() -> None:
    # RFC 7638, section 3.1, and RFC 9449, section 7.1.
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj"
        "hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQ"
        "vRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK"
        "nqDKgw"
    )
    jwk = {"kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}
    assert thumbprint(jwk) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    assert token_hash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU") == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


@pytest.mark.parametrize(
    ("same", "other"),
    [
        ("https://SERVER.example.com:443/mcp?x=1#y", URL),
        ("HTTPS://server.example.com/mcp", URL),
        ("https://server.example.com", "https://server.example.com/"),
    ],
)
def test_the_spelling_of_a_url_does_not_matter(same: str, other: str) -> None:
    check(signed({"htu": same}), urls=["https://inside.example.com/mcp", other])
    with pytest.raises(InvalidDPoPProof, match="htu is not the URL"):
        check(signed({"htu": same}), urls=["https://inside.example.com/mcp"])


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"htm": "GET"}, "htm is not the method"),
        ({"htm": "post"}, "htm is not the method"),
        ({"htm": None}, "htm is not the method"),
        ({"htu": "https://server.example.com/other"}, "htu is not the URL"),
        ({"htu": "https://other.example.com/mcp"}, "htu is not the URL"),
        ({"htu": "http://server.example.com/mcp"}, "htu is not the URL"),
        ({"htu": "https://server.example.com:8443/mcp"}, "htu is not the URL"),
        ({"htu": "https://server.example.com:99999999/mcp"}, "htu is not the URL"),
        ({"htu": ["https://server.example.com/mcp"]}, "htu is not the URL"),
        ({"iat": NOW - 61}, "iat must be within 60 seconds"),
        ({"iat": NOW + 61}, "iat must be within 60 seconds"),
        ({"iat": float("nan")}, "iat must be within 60 seconds"),
        ({"iat": str(int(NOW))}, "iat must be within 60 seconds"),
        ({"iat": True}, "iat must be within 60 seconds"),
        ({"iat": None}, "iat must be within 60 seconds"),
        ({"jti": ""}, "jti must be a text of 1 to 256"),
        ({"jti": "x" * 257}, "jti must be a text of 1 to 256"),
        ({"jti": None}, "it is no JWT"),
        ({"jti": 7}, "it is no JWT"),
        ({"nonce": 7}, "nonce must be a text"),
    ],
)
def test_a_proof_for_another_request_is_refused(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidDPoPProof, match=reason):
        check(signed(claims))


@pytest.mark.parametrize("ath", [None, token_hash("another"), 7, "ü"], ids=["none", "another", "number", "umlaut"])
def test_a_proof_for_another_token_is_refused(ath: object) -> None:
    with pytest.raises(InvalidDPoPProof, match="ath is not the hash of the token"):
        check(signed({"ath": ath}), access_token="secret")


def test_a_proof_signed_with_another_key_than_it_carries_is_refused() -> None:
    with pytest.raises(InvalidDPoPProof, match="no JWT with a good signature"):
        check(signed(jwk=DPoPKey.generate().public_jwk))


@pytest.mark.parametrize("alg", ["none", "HS256"])
def test_an_algorithm_without_a_key_pair_is_refused(alg: str) -> None:
    key = "" if alg == "none" else KEY.public_jwk["x"]
    with pytest.raises(InvalidDPoPProof, match="alg must be one of ES256"):
        check(signed(key=key, alg=alg))


def test_a_symmetric_key_is_no_key_of_a_proof() -> None:
    with pytest.raises(InvalidDPoPProof, match="jwk"):
        check(signed(jwk={"kty": "oct", "k": "c2VjcmV0"}))
    with pytest.raises(InvalidDPoPProof, match="jwk is no key for alg"):
        check(signed(jwk={"kty": "oct"}))


def test_keys_and_algorithms_must_go_together() -> None:
    p384 = ec.generate_private_key(ec.SECP384R1())
    with pytest.raises(InvalidDPoPProof, match="jwk is no key for alg"):
        check(signed(jwk=public_jwk(ECAlgorithm, p384)))
    with pytest.raises(InvalidDPoPProof, match="jwk is no key for alg"):
        check(signed(key=RSA_KEY, alg="RS256"))


def test_a_private_key_in_a_proof_is_refused() -> None:
    with pytest.raises(InvalidDPoPProof, match="nothing but a public key"):
        check(signed(jwk=KEY.to_jwk()))


@pytest.mark.parametrize("jwk", ["text", {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}, {"kty": "EC"}])
def test_a_broken_key_in_a_proof_is_refused(jwk: Any) -> None:
    with pytest.raises(InvalidDPoPProof):
        check(signed(jwk=jwk))


def test_a_short_rsa_key_is_refused() -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    with pytest.warns(UserWarning, match="below the minimum"):
        text = signed(key=short, alg="PS256", jwk=public_jwk(RSAAlgorithm, short))
    with pytest.raises(InvalidDPoPProof, match="at least 2048 bits"):
        check(text)


@pytest.mark.parametrize("typ", ["JWT", "at+jwt", "DPOP+JWT"])
def test_another_kind_of_jwt_is_no_proof(typ: str) -> None:
    with pytest.raises(InvalidDPoPProof, match=r"typ must be dpop\+jwt"):
        check(signed(typ=typ))


@pytest.mark.parametrize(
    "text",
    ["", "a.b.c", "a", "....", "ü.ü.ü", "x" * 9000, proof() + "xxxx", proof()[:-4]],
    ids=["nothing", "letters", "letter", "dots", "umlauts", "huge", "longer", "shorter"],
)
def test_what_is_no_jwt_is_refused(text: str) -> None:
    with pytest.raises(InvalidDPoPProof):
        check(text)


def test_other_algorithms_are_good_too_where_they_are_allowed() -> None:
    edwards = ed25519.Ed25519PrivateKey.generate()
    check(signed(key=edwards, alg="EdDSA", jwk=public_jwk(OKPAlgorithm, edwards)))
    text = signed(key=RSA_KEY, alg="RS256", jwk=public_jwk(RSAAlgorithm, RSA_KEY))
    check(text)
    with pytest.raises(InvalidDPoPProof, match=r"alg must be one of ES256$"):
        check(text, algorithms=["ES256"])


def test_a_token_is_good_only_with_the_key_that_it_is_bound_to() -> None:
    checked = check(proof())
    assert same_thumbprint(checked, KEY.thumbprint)
    assert not any(same_thumbprint(checked, other) for other in (DPoPKey.generate().thumbprint, None, 7, ""))


def test_a_key_survives_being_kept() -> None:
    assert DPoPKey.from_jwk(json.loads(json.dumps(KEY.to_jwk()))).thumbprint == KEY.thumbprint
    pem = KEY._key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert DPoPKey.from_pem(pem).thumbprint == DPoPKey.from_pem(pem.decode()).thumbprint == KEY.thumbprint


def test_only_a_private_p256_key_signs_proofs() -> None:
    with pytest.raises(ValueError, match="P-256"):
        DPoPKey(ec.generate_private_key(ec.SECP384R1()))
    with pytest.raises(ValueError, match="private key"):
        DPoPKey.from_jwk(KEY.public_jwk)
    for jwk in ({}, {"kty": "RSA"}, {**KEY.to_jwk(), "d": "AA", "x": "!"}):
        with pytest.raises(ValueError, match="private JWK of the type EC") as caught:
            DPoPKey.from_jwk(jwk)
        assert caught.value.__cause__ is None
    with pytest.raises(ValueError, match="elliptic curve"):
        DPoPKey.from_pem(
            RSA_KEY.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


def test_a_key_shows_nothing_secret() -> None:
    assert KEY.to_jwk()["d"] not in repr(KEY) + str(vars(KEY)["public_jwk"])
    assert KEY.thumbprint in repr(KEY)


def test_an_unknown_or_incomplete_key_has_no_thumbprint() -> None:
    for jwk in ({}, {"kty": "oct", "k": "AA"}, {"kty": "EC", "x": "AA"}):
        with pytest.raises(ValueError, match="Only complete keys"):
            thumbprint(jwk)
