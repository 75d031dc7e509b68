"""The keys that an authorization server signs with: read from documents, fetched, and fetched again.

Specification: RFC 7517, RFC 8414 section 3, OpenID Connect Discovery 1.0 section 4.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from mcp.server.auth.aside import Aside
from mcp.server.auth.fetching import Fetcher, check_url
from mcp.server.auth.provider import VerifierUnavailable

__all__ = ["ALGORITHMS", "FetchedKeys", "Key", "Keys", "StaticKeys", "discovered", "read_key_set", "read_pem"]

logger = logging.getLogger(__name__)

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_CURVES: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}

ALGORITHMS: Final = (*sorted(_RSA), *_CURVES.values(), "EdDSA")
"""What tokens may be signed with: nothing that the verifier could sign with itself."""

_LEAST_RSA_BITS: Final = 2048
_MOST_KEYS: Final = 100
_RETRY_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 1.0
"""For how long a request waits for new keys that could do with the old ones."""


class Key(NamedTuple):
    """A public key.

    Attributes:
        id: The `kid` of tokens that are signed with it; None where it has none.
        algorithms: What it may be used with.
        material: The key itself.
    """

    id: str | None
    algorithms: frozenset[str]
    material: Any


def _algorithms_of(material: object) -> frozenset[str]:
    """What a key can be used with; nothing for one that is too weak, or no public key."""
    if isinstance(material, RSAPublicKey):
        return _RSA if material.key_size >= _LEAST_RSA_BITS else frozenset()
    if isinstance(material, EllipticCurvePublicKey):
        algorithm = _CURVES.get(material.curve.name)
        return frozenset() if algorithm is None else frozenset({algorithm})
    return frozenset({"EdDSA"}) if isinstance(material, (Ed25519PublicKey, Ed448PublicKey)) else frozenset()


def read_pem(pem: str | bytes) -> Key:
    """The public key in a PEM document.

    Raises:
        ValueError: There is none, or one that nothing can be verified with.
    """
    try:
        material = load_pem_public_key(pem.encode() if isinstance(pem, str) else pem)
    except ValueError:
        # Not chained: the text may be a private key.
        raise ValueError("expected a public key in PEM, which begins with -----BEGIN PUBLIC KEY-----") from None
    algorithms = _algorithms_of(material)
    if not algorithms:
        raise ValueError(
            f"the key is none of RSA ({_LEAST_RSA_BITS} bits at least), P-256, P-384, P-521, Ed25519, Ed448"
        )
    return Key(None, algorithms, material)


def read_key_set(document: Mapping[str, Any]) -> list[Key]:
    """The keys of a JWK Set that signatures can be verified with; others in it are left out.

    Raises:
        ValueError: It is no JWK Set, or has more than 100 keys.
    """
    entries: Any = document.get("keys")
    if not isinstance(entries, list):
        raise ValueError('expected a JWK Set, {"keys": [...]}')
    listed = cast("list[Any]", entries)
    if len(listed) > _MOST_KEYS:
        raise ValueError(f"the JWK Set has {len(listed)} keys, and {_MOST_KEYS} are the most that are read")
    return [key for entry in listed if (key := _read_jwk(entry)) is not None]


def _read_jwk(entry: Any) -> Key | None:
    if not isinstance(entry, dict):
        return None
    jwk = cast("dict[str, Any]", entry)
    operations: Any = jwk.get("key_ops")
    if jwk.get("use", "sig") != "sig" or (isinstance(operations, list) and "verify" not in operations):
        return None
    try:
        material: object = jwt.PyJWK(jwk).key
    except (jwt.PyJWTError, UnsupportedAlgorithm, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # What PyJWT and cryptography meet in an entry that is no key. It must not cost the others.
        return None
    algorithms = _algorithms_of(material)
    if isinstance(jwk.get("alg"), str):
        algorithms &= {jwk["alg"]}
    id = jwk.get("kid")
    return Key(id if isinstance(id, str) else None, algorithms, material) if algorithms else None


class Keys(Protocol):
    """Where a verifier has its keys from."""

    async def find(self, id: str | None, algorithm: str) -> list[Key]:
        """The keys that a token may be signed with; none where nobody knows it.

        Args:
            id: The token's `kid`; None where it has none, and any key will do.
            algorithm: What it is signed with.

        Raises:
            VerifierUnavailable: There are no keys yet, and none can be had now.
        """
        ...

    async def renewed(self, id: str | None, algorithm: str) -> list[Key]:
        """The same, once the issuer was asked for new keys: those that there are have not signed the token.

        Args:
            id: See `find`.
            algorithm: See `find`.
        """
        ...


def _matching(keys: Iterable[Key], id: str | None, algorithm: str) -> list[Key]:
    """The keys that have an id; where none has, those without any, which are good for every one."""
    able = [key for key in keys if algorithm in key.algorithms]
    if id is None:
        return able
    return [key for key in able if key.id == id] or [key for key in able if key.id is None]


class StaticKeys:
    """Keys that are there from the beginning.

    Args:
        keys: The keys. One that has no id is good for every `kid`.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = list(keys)

    async def find(self, id: str | None, algorithm: str) -> list[Key]:
        """See `Keys.find`."""
        return _matching(self._keys, id, algorithm)

    async def renewed(self, id: str | None, algorithm: str) -> list[Key]:
        """See `Keys.renewed`; there are no others."""
        return []


class FetchedKeys:
    """Keys that are fetched when they are needed, one fetch at a time.

    They are fetched again when they are old, and when none of them has signed a token. Where that fails, the old ones
    stay good; where it takes long, requests go on with them meanwhile.

    Args:
        load: Fetches them.
        max_age: After how many seconds they are old.
        refetch_after: How many seconds lie between two fetches at least, whatever tokens ask for.
    """

    def __init__(self, load: Callable[[], Awaitable[list[Key]]], *, max_age: float, refetch_after: float) -> None:
        self._load = load
        self._max_age = max_age
        self._refetch_after = refetch_after
        self._keys: list[Key] | None = None
        self._old_at = 0.0
        self._next_fetch = 0.0
        self._failure = ""
        self._slow = False
        self._fetching = Aside(self._fetch)

    async def find(self, id: str | None, algorithm: str) -> list[Key]:
        """See `Keys.find`."""
        if self._keys is None:
            await self._refresh()
        elif time.monotonic() >= self._old_at and not self._fetching.running:
            # Keys that are withdrawn are not good for one more request, where the issuer answers as it should.
            await self._refresh(0 if self._slow else _PATIENCE_SECONDS)
        return self._found(id, algorithm)

    async def renewed(self, id: str | None, algorithm: str) -> list[Key]:
        """See `Keys.renewed`."""
        await self._refresh()
        return self._found(id, algorithm)

    def _found(self, id: str | None, algorithm: str) -> list[Key]:
        if self._keys is None:
            raise VerifierUnavailable(self._failure)
        return _matching(self._keys, id, algorithm)

    async def _refresh(self, patience: float | None = None) -> None:
        """Waits for a fetch, if one is on its way or may begin.

        Args:
            patience: The longest to wait, in seconds; None waits for its end.
        """
        may_begin = time.monotonic() >= self._next_fetch
        if (self._fetching.running or may_begin) and not await self._fetching.wait(patience):
            self._slow = True

    async def _fetch(self) -> None:
        try:
            keys = await self._load()
        except VerifierUnavailable as failure:
            self._failed(str(failure))
        except Exception as failure:
            logger.exception("the keys that tokens are verified with could not be fetched")
            self._failed(type(failure).__name__)
        else:
            self._keys = keys
            self._slow = False
            self._old_at = time.monotonic() + self._max_age
            self._next_fetch = time.monotonic() + self._refetch_after

    def _failed(self, failure: str) -> None:
        self._failure = f"there are no keys to verify tokens with: {failure}"
        pause = self._refetch_after
        if self._keys is None:
            pause = min(pause, _RETRY_SECONDS)
        else:
            logger.warning("the keys that tokens are verified with stay as they are: %s", failure)
        self._next_fetch = time.monotonic() + pause


async def discovered(fetcher: Fetcher, issuer: str) -> str:
    """Where an authorization server has its keys, as its metadata says.

    Args:
        fetcher: Fetches the metadata.
        issuer: The authorization server.

    Raises:
        VerifierUnavailable: It has no metadata that says so.
    """
    failures: list[str] = []
    for url in _metadata_urls(issuer):
        try:
            metadata = await fetcher.get(url)
        except VerifierUnavailable as failure:
            failures.append(str(failure))
            continue
        if metadata.get("issuer") != issuer:
            failures.append(f"{url} is the metadata of {metadata.get('issuer')!r:.200}, expected {issuer!r}")
            continue
        try:
            return check_url("jwks_uri", metadata.get("jwks_uri"))
        except (TypeError, ValueError) as wrong:
            failures.append(f"{url}: {wrong}")
    raise VerifierUnavailable("; ".join(failures))


def _metadata_urls(issuer: str) -> list[str]:
    """Where the metadata of an issuer may be, in the order to try."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    names = "oauth-authorization-server", "openid-configuration"
    urls = [f"{origin}/.well-known/{name}{path}" for name in names]
    return [*urls, f"{origin}{path}/.well-known/openid-configuration"] if path else urls
