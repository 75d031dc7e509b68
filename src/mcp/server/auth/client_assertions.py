"""What clients sign to show who they are. RFC 7523, sections 2.2 and 3; OpenID Connect Core, section 9."""

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.shared.auth import OAuthClientInformationFull

if TYPE_CHECKING:
    from jwt import PyJWK

__all__ = ["ASSERTION_ALGORITHMS", "ClientAssertions", "assertion_issuer", "has_keys"]

ASSERTION_ALGORITHMS: Final = ["ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]
"""How an assertion may be signed: with a key that the client alone has."""

_KEY_TYPES: Final = ("EC", "OKP", "RSA")
"""Not `oct`: what a client signs with must not be a secret that both sides have."""

_LEEWAY: Final = 30
"""By how many seconds the clocks of a client and of this machine may differ."""

_LONGEST_LIFE: Final = 3600
"""For how many seconds an assertion may be good; so long it has to be remembered."""

_MOST_REMEMBERED: Final = 100_000


class ClientAssertions:
    """Checks assertions, each of which is good for one time.

    What was used is remembered in this process only. Where several processes serve one issuer, an assertion is good
    for one time at each.

    Args:
        audiences: Whom an assertion may be meant for.
    """

    def __init__(self, audiences: Sequence[str]) -> None:
        self._audiences = list(audiences)
        self._used: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def problem(self, assertion: str, client: OAuthClientInformationFull) -> str | None:
        """Why an assertion does not show that it is from a client; None where it does.

        Args:
            assertion: What was sent.
            client: Who is said to have signed it. Its keys are in its `jwks`.
        """
        import jwt

        try:
            header = jwt.get_unverified_header(assertion)
            key = _signing_key(client.jwks, header)
            if key is None:
                return "it is signed by no key of the client"
            claims = jwt.decode(
                assertion,
                key,
                algorithms=[header["alg"]],
                audience=self._audiences,
                issuer=client.client_id,
                leeway=_LEEWAY,
                options={"require": ["iss", "sub", "aud", "exp", "jti"]},
            )
        except (jwt.PyJWTError, ArithmeticError, RecursionError, TypeError, ValueError) as error:
            return str(error)
        return self._claims_problem(claims, client.client_id)

    def _claims_problem(self, claims: dict[str, Any], client_id: str) -> str | None:
        if claims["sub"] != client_id:
            return "its subject is not the client"
        now = time.time()
        end = float(claims["exp"])
        if end > now + _LONGEST_LIFE + _LEEWAY:
            return f"it must end within {_LONGEST_LIFE} seconds"
        return self._use((client_id, claims["jti"]), end + _LEEWAY, now)

    def _use(self, id: tuple[str, str], until: float, now: float) -> str | None:
        with self._lock:
            if self._used.get(id, 0) > now:
                return "it has been used before"
            if len(self._used) >= _MOST_REMEMBERED:
                self._used = {used: end for used, end in self._used.items() if end > now}
            if len(self._used) >= _MOST_REMEMBERED:
                return "too many assertions are in use; try again later"
            self._used[id] = until
            return None


def has_keys(jwks: Any) -> bool:
    """Whether a client's keys are there to check its assertions with.

    Args:
        jwks: What the client has registered as its keys (RFC 7517, section 5).
    """
    return any(entry.get("kty") in _KEY_TYPES for entry in _entries(jwks))


def assertion_issuer(assertion: str) -> str | None:
    """The client that an assertion says it is from. Nothing is proven by it.

    Args:
        assertion: What was sent.

    Returns:
        None where it is no JWT, or does not say.
    """
    import jwt

    try:
        issuer = jwt.decode(assertion, options={"verify_signature": False}).get("iss")
    except (jwt.PyJWTError, RecursionError, ValueError):
        return None
    return issuer if isinstance(issuer, str) and issuer else None


def _signing_key(jwks: Any, header: dict[str, Any]) -> "PyJWK | None":
    """The key that an assertion says it was signed with: that of its `kid`, or the only one that fits."""
    from jwt import PyJWK, PyJWTError

    algorithm = header.get("alg")
    if algorithm not in ASSERTION_ALGORITHMS:
        return None
    fitting: list[PyJWK] = []
    for entry in _entries(jwks):
        if "kid" in header and entry.get("kid") != header["kid"]:
            continue
        if entry.get("kty") not in _KEY_TYPES or entry.get("alg", algorithm) != algorithm:
            continue
        try:
            fitting.append(PyJWK(entry, algorithm))
        except (PyJWTError, TypeError, ValueError):
            continue
    return fitting[0] if len(fitting) == 1 else None


def _entries(jwks: Any) -> list[dict[str, Any]]:
    keys = cast("dict[str, Any]", jwks).get("keys") if isinstance(jwks, dict) else None
    entries = cast("list[Any]", keys) if isinstance(keys, list) else []
    return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
