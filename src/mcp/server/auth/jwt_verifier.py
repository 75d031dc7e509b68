"""Verifies access tokens that are JWTs: signed by an authorization server, and for this server.

Specification: RFC 9068, RFC 7519, RFC 8725 (best current practices).
"""

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import jwt

from mcp.server.auth.fetching import Fetcher, check_url
from mcp.server.auth.jwt_keys import (
    ALGORITHMS,
    FetchedKeys,
    Key,
    Keys,
    StaticKeys,
    discovered,
    read_key_set,
    read_pem,
)
from mcp.server.auth.provider import AccessToken, TokenVerifier, VerifierUnavailable
from mcp.server.auth.token_kinds import is_other_token

if TYPE_CHECKING:
    import httpx2

__all__ = ["JWTVerifier", "scopes_of"]

logger = logging.getLogger(__name__)

_TYPES: Final = ("at+jwt", "JWT")
_CLIENT_CLAIMS: Final = ("client_id", "azp", "cid", "appid", "sub")
_MAX_KEY_SET_BYTES: Final = 1024 * 1024


class JWTVerifier(TokenVerifier):
    """Takes the JWT access tokens of one authorization server.

        JWTVerifier(issuer="https://auth.example.com", audience="https://mcp.example.com/mcp")

    The keys come from the issuer's metadata, unless `jwks_url` or `keys` says where they are. A token is good if it is
    signed with one of them, and `iss`, `aud`, `exp`, `nbf`, `iat` and `typ` are as they must be.

    Args:
        issuer: The authorization server, exactly as `iss` has it; a URL, where its metadata leads to the keys.
        audience: What tokens must be for: one of these must be in `aud`. For MCP that is the public URL of the
            endpoint, where the authorization server knows resource indicators (RFC 8707).
        jwks_url: Where the keys are.
        keys: The keys themselves: a JWK Set as a dict, or one or more public keys in PEM.
        algorithms: What tokens may be signed with.
        token_types: What `typ` of their header must be, in any case; None takes `at+jwt`, `JWT`, and tokens without.
        leeway: By how many seconds the issuer's clock may be ahead of this one's.
        timeout: How many seconds a fetch of the keys may take, with the metadata that leads to them.
        cache_seconds: After how many seconds keys are fetched anew.
        refetch_seconds: How many seconds lie between two fetches at least: whoever sends tokens that name unknown keys
            can cause no more.
        http_client: Fetches the keys, with its own proxies and certificates, and stays open; when left out, a new one
            does each time.

    Raises:
        ValueError: A URL is no HTTPS URL, an algorithm is none that can be verified without a shared secret, `keys`
            holds no key, both `jwks_url` and `keys` are given, or a number of seconds makes no sense.
        TypeError: An argument is of a wrong type.
    """

    checks_audience = True

    def __init__(
        self,
        *,
        issuer: str,
        audience: str | Collection[str],
        jwks_url: str | None = None,
        keys: Mapping[str, Any] | str | bytes | Iterable[str | bytes] | None = None,
        algorithms: Collection[str] = ALGORITHMS,
        token_types: Collection[str] | None = None,
        leeway: float = 30,
        timeout: float = 10,
        cache_seconds: float = 600,
        refetch_seconds: float = 30,
        http_client: "httpx2.AsyncClient | None" = None,
    ) -> None:
        if jwks_url is not None and keys is not None:
            raise ValueError("JWTVerifier takes jwks_url= or keys=, not both")
        self._issuer = issuer if keys is not None or jwks_url is not None else check_url("issuer", issuer)
        self._audiences = _audiences(audience)
        self._algorithms = _algorithms(algorithms)
        self._types = None if token_types is None else frozenset(map(_plain_type, token_types))
        self._leeway = _leeway(leeway)
        self._jwks_url = None if jwks_url is None else check_url("jwks_url", jwks_url)
        self._timeout = timeout
        self._fetcher = Fetcher(http_client, timeout=timeout, max_bytes=_MAX_KEY_SET_BYTES)
        self._keys: Keys = (
            FetchedKeys(self._fetched, max_age=cache_seconds, refetch_after=refetch_seconds)
            if keys is None
            else StaticKeys(_given(keys))
        )

    async def _fetched(self) -> list[Key]:
        try:
            # One time limit for all that is asked on the way to the keys.
            with anyio.fail_after(self._timeout):
                return await self._read()
        except TimeoutError:
            where = self._jwks_url or self._issuer
            raise VerifierUnavailable(f"{where} does not give its keys within {self._timeout} seconds") from None

    async def _read(self) -> list[Key]:
        url = self._jwks_url or await discovered(self._fetcher, self._issuer)
        try:
            keys = read_key_set(await self._fetcher.get(url))
        except ValueError as wrong:
            raise VerifierUnavailable(f"{url}: {wrong}") from None
        if not keys:
            raise VerifierUnavailable(f"{url} holds no public key that tokens can be verified with")
        return keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`. The log says at level debug why a token is not good."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, id = self._checked(header)
            claims = await self._verified(token, id, algorithm)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as wrong:
            logger.debug("a token is refused: %s", _reason(wrong))
            return None
        return self._said(token, claims)

    def _checked(self, header: Mapping[str, Any]) -> tuple[str, str | None]:
        """The algorithm and the key id in a header that nobody has signed for yet."""
        algorithm, id = header.get("alg"), header.get("kid")
        if algorithm not in self._algorithms:
            raise jwt.InvalidAlgorithmError("its algorithm is not among those that are allowed")
        # Not every version of PyJWT looks at it.
        if "crit" in header:
            raise jwt.InvalidTokenError("it has critical extensions, of which none is known")
        kind = header.get("typ")
        if kind is None and self._types is not None:
            raise jwt.InvalidTokenError("it does not say its type")
        if kind is not None and _plain_type(kind) not in (self._types or set(map(_plain_type, _TYPES))):
            raise jwt.InvalidTokenError("it is of another type")
        return cast("str", algorithm), id if isinstance(id, str) else None

    async def _verified(self, token: str, id: str | None, algorithm: str) -> dict[str, Any]:
        keys = await self._keys.find(id, algorithm)
        claims = self._claims(token, keys, algorithm)
        if claims is None:
            # The issuer may sign with another key by now, whether or not its keys have ids.
            newer = [key for key in await self._keys.renewed(id, algorithm) if key not in keys]
            claims = self._claims(token, newer, algorithm)
            keys += newer
        if claims is not None:
            return claims
        if keys:
            raise jwt.InvalidSignatureError("none of the keys that it may be signed with has signed it")
        raise jwt.InvalidKeyError("no key with its kid, for its algorithm, is known")

    def _claims(self, token: str, keys: list[Key], algorithm: str) -> dict[str, Any] | None:
        """What a token says; None where none of the keys has signed it."""
        for key in keys:
            try:
                claims: dict[str, Any] = jwt.decode(
                    token,
                    key.material,
                    algorithms=[algorithm],
                    audience=self._audiences,
                    issuer=self._issuer,
                    leeway=self._leeway,
                    options={"require": ["exp", "iss", "aud"]},
                )
            except jwt.InvalidSignatureError:
                continue
            # The leeway is for what begins: a token that has ended is one to be refreshed.
            if not int(claims["exp"]) > time.time():
                raise jwt.ExpiredSignatureError("Signature has expired")
            if is_other_token(claims):
                raise jwt.InvalidTokenError("it is no access token")
            return claims
        return None

    def _said(self, token: str, claims: dict[str, Any]) -> AccessToken:
        client = next((claims[name] for name in _CLIENT_CLAIMS if isinstance(claims.get(name), str)), "")
        aud: Any = claims["aud"]
        named = [aud] if isinstance(aud, str) else cast("list[Any]", aud)
        subject = claims.get("sub")
        return AccessToken(
            token=token,
            client_id=client,
            scopes=scopes_of(claims),
            expires_at=int(claims["exp"]),
            resource=next(audience for audience in self._audiences if audience in named),
            subject=subject if isinstance(subject, str) else None,
            claims=claims,
        )


def scopes_of(claims: Mapping[str, Any]) -> list[str]:
    """The scopes that a token's `scope` or `scp` says, as text or as a list.

    Args:
        claims: What the token says.
    """
    for name in ("scope", "scp"):
        value: Any = claims.get(name)
        if isinstance(value, str):
            return value.split()
        if isinstance(value, list):
            return [scope for scope in cast("list[Any]", value) if isinstance(scope, str)]
    return []


def _leeway(seconds: float) -> float:
    if not 0 <= seconds < inf:
        raise ValueError(f"leeway= takes a number of seconds that is not negative, got {seconds}")
    return seconds


def _audiences(audience: object) -> list[str]:
    if not isinstance(audience, Iterable):
        raise TypeError(f"audience= takes a URL as str, or several, got an object of type {type(audience).__name__}")
    audiences = [audience] if isinstance(audience, str) else list(cast("Iterable[object]", audience))
    named = [one for one in audiences if isinstance(one, str) and one]
    if not named or len(named) < len(audiences):
        raise ValueError("audience= must say what tokens are for: without it, those for any other server would do")
    return named


def _algorithms(algorithms: Collection[str]) -> frozenset[str]:
    if isinstance(algorithms, str):
        raise TypeError(f"algorithms= takes a list, such as [{algorithms!r}], got a str")
    unknown = [name for name in algorithms if name not in ALGORITHMS]
    if unknown or not algorithms:
        raise ValueError(f"algorithms= takes some of {', '.join(ALGORITHMS)}, got {', '.join(map(repr, unknown))}")
    return frozenset(algorithms)


def _given(keys: Mapping[str, Any] | str | bytes | Iterable[str | bytes]) -> list[Key]:
    if isinstance(keys, Mapping):
        read = read_key_set(cast("Mapping[str, Any]", keys))
    elif isinstance(keys, (str, bytes)):
        read = [read_pem(keys)]
    else:
        read = [read_pem(pem) for pem in keys]
    if not read:
        raise ValueError("keys= holds no public key that tokens can be verified with")
    return read


def _plain_type(kind: object) -> str:
    return str(kind).lower().removeprefix("application/")


def _reason(wrong: Exception) -> str:
    """Why a token is refused, without anything that stands in it."""
    return f"{type(wrong).__name__}: {wrong}" if isinstance(wrong, jwt.PyJWTError) else type(wrong).__name__
