"""Proofs that whoever uses a token holds the key that it is bound to. RFC 9449.

A proof is a small JWT beside a request. It names the request's method and URL and, where one is sent, the token, and
it is signed with a key whose public half it carries. What is random and what time it is, callers say.
"""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from jwt.types import Options

__all__ = [
    "PROOF_ALGORITHMS",
    "DPoPKey",
    "InvalidDPoPProof",
    "Proof",
    "checked_proof",
    "same_thumbprint",
    "thumbprint",
    "token_hash",
]

PROOF_ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
"""What proofs may be signed with: every algorithm with a key pair."""

_TYPE: Final = "dpop+jwt"
_MAX_PROOF_CHARACTERS: Final = 8192
_MAX_ID_CHARACTERS: Final = 256
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PUBLIC_MEMBERS: Final = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_FAMILIES: Final = {"ES": "EC", "Ed": "OKP", "PS": "RSA", "RS": "RSA"}
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_MIN_RSA_BITS: Final = 2048

Jwk = dict[str, Any]


class InvalidDPoPProof(Exception):
    """A proof does not prove what it should. The text says why, and repeats nothing secret."""


class DPoPKey:
    """The key that a client's tokens are bound to: a P-256 key, which signs with ES256.

    Make one with `generate`, or restore it with `from_jwk` or `from_pem`.

    Args:
        key: The private key.
    """

    def __init__(self, key: "EllipticCurvePrivateKey") -> None:
        from jwt.algorithms import ECAlgorithm

        if key.curve.name != "secp256r1":
            raise ValueError(f"A DPoP key must be on the curve P-256, for ES256; this one is on {key.curve.name}")
        self._key = key
        self._private_jwk = ECAlgorithm.to_jwk(key, as_dict=True)
        self.public_jwk: Jwk = {name: self._private_jwk[name] for name in _PUBLIC_MEMBERS["EC"]}
        """The public half, as a JWK: what proofs carry."""
        self.thumbprint = thumbprint(self.public_jwk)
        """The thumbprint that tokens are bound to (`cnf.jkt`). RFC 7638."""

    def __repr__(self) -> str:
        return f"DPoPKey(thumbprint={self.thumbprint!r})"

    @classmethod
    def generate(cls) -> "DPoPKey":
        """A new key."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_jwk(cls, jwk: Jwk) -> "DPoPKey":
        """The key that `to_jwk` wrote.

        Raises:
            ValueError: It is no private key on the curve P-256.
        """
        from jwt.algorithms import ECAlgorithm
        from jwt.exceptions import InvalidKeyError

        try:
            key = ECAlgorithm.from_jwk(jwk)
        except (InvalidKeyError, KeyError, TypeError, ValueError):
            # The cause would carry the key's parts into logs.
            raise ValueError("A DPoP key must be a private JWK of the type EC") from None
        return cls._private(key)

    @classmethod
    def from_pem(cls, pem: str | bytes, password: bytes | None = None) -> "DPoPKey":
        """A key in PEM form.

        Raises:
            ValueError: It is no private key on the curve P-256, or the password is wrong.
        """
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return cls._private(load_pem_private_key(pem.encode() if isinstance(pem, str) else pem, password))

    @classmethod
    def _private(cls, key: object) -> "DPoPKey":
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

        if not isinstance(key, EllipticCurvePrivateKey):
            raise ValueError("A DPoP key must be a private key of an elliptic curve")
        return cls(key)

    def to_jwk(self) -> Jwk:
        """The private key as a JWK. Keep it as secret as a refresh token."""
        return dict(self._private_jwk)

    def proof(
        self,
        method: str,
        url: str,
        *,
        issued_at: float,
        proof_id: str,
        access_token: str | None = None,
        nonce: str | None = None,
    ) -> str:
        """The proof beside one request: the value of its `DPoP` header.

        Args:
            method: The request's method.
            url: Its URL. Query and fragment are left out.
            issued_at: The time, in seconds since the epoch.
            proof_id: The proof's identifier (`jti`): random, and never used twice.
            access_token: The token that the request carries, if any.
            nonce: What the server has asked for, if it has.
        """
        import jwt

        claims = {"jti": proof_id, "htm": method, "htu": _without_query(url), "iat": int(issued_at)}
        if access_token is not None:
            claims["ath"] = token_hash(access_token)
        if nonce is not None:
            claims["nonce"] = nonce
        return jwt.encode(claims, self._key, algorithm="ES256", headers={"typ": _TYPE, "jwk": self.public_jwk})


@dataclass(frozen=True, slots=True)
class Proof:
    """What a valid proof says.

    Attributes:
        proof_id: Its identifier (`jti`).
        thumbprint: The thumbprint of the key that it was signed with.
        issued_at: When, in seconds since the epoch, by the client's clock.
        nonce: The server's nonce that it repeats, if any.
    """

    proof_id: str
    thumbprint: str
    issued_at: float
    nonce: str | None


def checked_proof(
    text: str,
    *,
    method: str,
    urls: Collection[str],
    now: float,
    max_age: float,
    access_token: str | None = None,
    algorithms: Collection[str] = PROOF_ALGORITHMS,
) -> Proof:
    """Checks a proof, but for what needs a memory: whether it was seen before, and whose nonce it repeats.

    Args:
        text: The value of the `DPoP` header.
        method: The request's method.
        urls: Its URL, in every form in which the client may know it.
        now: The time, in seconds since the epoch.
        max_age: How old, or how far ahead, it may be, in seconds.
        access_token: The token that the request carries, if any: the proof must name it.
        algorithms: What it may be signed with.

    Raises:
        InvalidDPoPProof: It is none, or not one for this request. RFC 9449, section 4.3.
    """
    claims, jwk = _opened(text, algorithms)
    if claims.get("htm") != method:
        raise InvalidDPoPProof("htm is not the method of this request")
    if not any(_same_url(claims.get("htu"), url) for url in urls):
        raise InvalidDPoPProof("htu is not the URL of this request")
    issued_at = claims.get("iat")
    if isinstance(issued_at, bool) or not isinstance(issued_at, int | float) or not abs(now - issued_at) <= max_age:
        raise InvalidDPoPProof(f"iat must be within {max_age:g} seconds of the time at this server")
    proof_id = claims.get("jti")
    if not isinstance(proof_id, str) or not 0 < len(proof_id) <= _MAX_ID_CHARACTERS:
        raise InvalidDPoPProof(f"jti must be a text of 1 to {_MAX_ID_CHARACTERS} characters")
    if access_token is not None and not _same_text(claims.get("ath"), token_hash(access_token)):
        raise InvalidDPoPProof("ath is not the hash of the token in this request")
    nonce = claims.get("nonce")
    if nonce is not None and not isinstance(nonce, str):
        raise InvalidDPoPProof("nonce must be a text")
    return Proof(proof_id, thumbprint(jwk), issued_at, nonce)


def thumbprint(jwk: Jwk) -> str:
    """The thumbprint of a key. RFC 7638.

    Args:
        jwk: The key. Only the members that define its public half count.

    Raises:
        ValueError: It is of another type than EC, OKP and RSA, or incomplete.
    """
    members = _PUBLIC_MEMBERS.get(str(jwk.get("kty")), ())
    if not members or not all(isinstance(jwk.get(name), str) for name in members):
        raise ValueError("Only complete keys of the types EC, OKP and RSA have a thumbprint")
    canonical = json.dumps({name: jwk[name] for name in sorted(members)}, separators=(",", ":"))
    return _encoded(sha256(canonical.encode()).digest())


def token_hash(access_token: str) -> str:
    """What a proof calls a token (`ath`)."""
    return _encoded(sha256(access_token.encode()).digest())


def same_thumbprint(proof: Proof, bound_to: object) -> bool:
    """Whether a proof was signed with the key that a token is bound to.

    Args:
        proof: The proof.
        bound_to: The token's `cnf.jkt`.
    """
    return _same_text(bound_to, proof.thumbprint)


def _opened(text: str, algorithms: Collection[str]) -> tuple[dict[str, Any], Jwk]:
    """The claims, and the key that signed them, once the signature holds."""
    import jwt

    if len(text) > _MAX_PROOF_CHARACTERS:
        raise InvalidDPoPProof(f"it is longer than {_MAX_PROOF_CHARACTERS} characters")
    try:
        header = jwt.get_unverified_header(text)
        algorithm, jwk = _announced(header, algorithms)
        key = jwt.PyJWK(jwk, algorithm=algorithm)
        _check_strength(jwk, key.key)
        # The claims of other kinds of JWT decide nothing here.
        options: Options = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
        claims = jwt.decode(text, key, algorithms=[algorithm], options=options)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        # PyJWT's texts may repeat parts of the proof, which is no secret, but is the peer's to choose.
        raise InvalidDPoPProof(f"it is no JWT with a good signature ({type(error).__name__})") from None
    return claims, jwk


def _announced(header: dict[str, Any], algorithms: Collection[str]) -> tuple[str, Jwk]:
    """The algorithm and the public key that a header names, if they go together."""
    if header.get("typ") != _TYPE:
        raise InvalidDPoPProof(f"typ must be {_TYPE}")
    algorithm, jwk = header.get("alg"), header.get("jwk")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise InvalidDPoPProof(f"alg must be one of {', '.join(algorithms)}")
    if not isinstance(jwk, dict):
        raise InvalidDPoPProof("jwk must be the public key")
    jwk = cast("Jwk", jwk)
    if not _PRIVATE_MEMBERS.isdisjoint(jwk):
        raise InvalidDPoPProof("jwk must hold nothing but a public key")
    if jwk.get("kty") != _FAMILIES.get(algorithm[:2]) or _CURVES.get(algorithm) not in (None, jwk.get("crv")):
        raise InvalidDPoPProof("jwk is no key for alg")
    return algorithm, jwk


def _check_strength(jwk: Jwk, key: Any) -> None:
    """RSA keys come in any size; those of the other types do not."""
    if jwk.get("kty") == "RSA" and key.key_size < _MIN_RSA_BITS:
        raise InvalidDPoPProof(f"RSA keys must have at least {_MIN_RSA_BITS} bits")


def _same_url(claimed: object, url: str) -> bool:
    """Whether two URLs are the same but for query and fragment, and for what RFC 3986, section 6.2, calls spelling."""
    if not isinstance(claimed, str):
        return False
    try:
        return _normal(urlsplit(claimed)) == _normal(urlsplit(url))
    except ValueError:
        return False


def _normal(url: SplitResult) -> tuple[str, str | None, int | None, str]:
    return url.scheme, url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme), url.path or "/"


def _without_query(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()


def _same_text(given: object, expected: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _encoded(digest: bytes) -> str:
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
