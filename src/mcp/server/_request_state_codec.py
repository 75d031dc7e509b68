"""From bytes to a token that only a holder of the keys can make or read, and back."""

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from os import urandom
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KEY_BYTES", "AESGCMRequestStateCodec", "InvalidRequestState", "RequestStateCodec", "encoded"]

KEY_BYTES: Final = 32
"""How long a secret must be, at least."""

_PREFIX: Final = "v1."
_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_ADVICE: Final = 'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"'


class InvalidRequestState(Exception):
    """A codec did not make this token. The text is the reason, for the log; the client never sees it."""


class RequestStateCodec(Protocol):
    """Seals and opens. What a state is bound to, and how long it is good for, is not its business."""

    def seal(self, payload: bytes) -> str:
        """Makes a token.

        Args:
            payload: What `unseal` shall return.
        """
        ...

    def unseal(self, token: str) -> bytes:
        """Opens a token.

        Args:
            token: What a client sent.

        Raises:
            InvalidRequestState: `seal` did not make it, here or at a server with the same secret.
        """
        ...


class AESGCMRequestStateCodec:
    """AES-256-GCM under a ring of keys.

    A token holds the identifier of its key, a random nonce, and the encrypted payload. The identifiers and the keys of
    the cipher are derived from the secrets with HMAC-SHA-256. A secret is good for some 2**32 tokens, after which two
    random nonces may meet; rotate it before.

    Args:
        keys: Secrets of at least 32 bytes. The first seals, and all of them open. A text stands for its UTF-8 bytes.

    Raises:
        ValueError: There is no key, or one is too short or there twice.
        TypeError: A key is neither bytes nor text.
    """

    def __init__(self, keys: Sequence[bytes | bytearray | str]) -> None:
        self._ring = _ring_of(keys)
        self._sealing = next(iter(self._ring))
        self._ciphers: dict[bytes, AESGCM] = {}

    def seal(self, payload: bytes) -> str:
        """Makes a token.

        Args:
            payload: What `unseal` shall return.
        """
        id, nonce = self._sealing, urandom(_NONCE_BYTES)
        sealed = self._cipher(id).encrypt(nonce, payload, _PREFIX.encode() + id)
        return _PREFIX + encoded(id + nonce + sealed)

    def unseal(self, token: str) -> bytes:
        """Opens a token.

        Args:
            token: What a client sent.

        Raises:
            InvalidRequestState: No key of the ring made it.
        """
        from cryptography.exceptions import InvalidTag

        raw = _decoded(token.removeprefix(_PREFIX)) if token.startswith(_PREFIX) else b""
        if len(raw) < _ID_BYTES + _NONCE_BYTES + _TAG_BYTES:
            raise InvalidRequestState("malformed")
        id, nonce, sealed = raw[:_ID_BYTES], raw[_ID_BYTES:][:_NONCE_BYTES], raw[_ID_BYTES + _NONCE_BYTES :]
        if id not in self._ring:
            raise InvalidRequestState("unknown key")
        try:
            return self._cipher(id).decrypt(nonce, sealed, _PREFIX.encode() + id)
        except InvalidTag:
            raise InvalidRequestState("broken seal") from None

    def _cipher(self, id: bytes) -> "AESGCM":
        # Made at first use: many servers never seal anything, and loading the library takes its time.
        if id not in self._ciphers:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._ciphers[id] = AESGCM(self._ring[id])
        return self._ciphers[id]


def _ring_of(keys: Any) -> dict[bytes, bytes]:
    """The ciphers' keys by their identifiers, in order."""
    if isinstance(keys, str | bytes | bytearray):
        raise TypeError(f"request-state keys must be a list of keys, got {type(keys).__name__}")
    ring: dict[bytes, bytes] = {}
    for index, key in enumerate(keys):
        if not isinstance(key, str | bytes | bytearray):
            kind = type(key).__name__
            raise TypeError(f"request-state keys must be bytes, bytearray, or str; keys[{index}] is {kind}")
        secret = key.encode() if isinstance(key, str) else bytes(key)
        if len(secret) < KEY_BYTES:
            raise ValueError(
                f"request-state keys must be at least {KEY_BYTES} bytes of secret randomness; "
                f"keys[{index}] is {len(secret)} bytes. {_ADVICE}"
            )
        id = hmac.digest(secret, b"mcp requestState v1 key id", "sha256")[:_ID_BYTES]
        if id in ring:
            raise ValueError(f"keys[{index}] duplicates an earlier ring key")
        ring[id] = hmac.digest(secret, b"mcp requestState v1 AES-256-GCM", "sha256")
    if not ring:
        raise ValueError("AESGCMRequestStateCodec requires at least one key")
    return ring


def encoded(data: bytes) -> str:
    """Bytes as text that is safe in JSON, URLs and headers."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """What `encoded` made this text from; no bytes where it made no such text."""
    try:
        data = b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        return b""
    return data if encoded(data) == text else b""
