"""Tokens that are bound to a client's key: who sends one proves to hold the key. RFC 9449."""

import hmac
import logging
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Final, Literal

from mcp.protocol.dpop import PROOF_ALGORITHMS, InvalidDPoPProof, Proof, checked_proof, same_thumbprint

__all__ = ["DPoPError", "DPoPNonces", "DPoPVerifier"]

logger = logging.getLogger(__name__)

DPoPErrorCode = Literal["invalid_dpop_proof", "invalid_token", "use_dpop_nonce"]

_MIN_SECRET_BYTES: Final = 32
_NONCE_TIME_BYTES: Final = 8
_NONCE_TAG_BYTES: Final = 16


class DPoPError(Exception):
    """A request does not come with the proof that it needs. The text may be shown to the client.

    Attributes:
        error: The code of the challenge. RFC 9449, section 7.1 and 9.
        nonce: What the `DPoP-Nonce` header of the answer shall be, if anything.
    """

    def __init__(self, error: DPoPErrorCode, description: str, nonce: str | None = None) -> None:
        super().__init__(description)
        self.error: DPoPErrorCode = error
        self.nonce = nonce


class DPoPNonces:
    """Nonces that show a proof to be fresh, whatever the client's clock says. RFC 9449, sections 8 and 9.

    A nonce is a time and a code that only holders of the secret can make, so that nothing has to be kept.

    Args:
        secret: At least 32 bytes. Processes that serve the same clients need the same one; without it, a random one.
        lifetime: How long a nonce is good, in seconds.
    """

    def __init__(self, secret: bytes | None = None, lifetime: float = 300.0) -> None:
        if secret is not None and len(secret) < _MIN_SECRET_BYTES:
            raise ValueError(f"The secret of DPoP nonces must have at least {_MIN_SECRET_BYTES} bytes")
        self._secret = secret or secrets.token_bytes(_MIN_SECRET_BYTES)
        self._lifetime = lifetime

    def issue(self, now: float) -> str:
        """A nonce.

        Args:
            now: The time, in seconds since the epoch.
        """
        stamp = int(now).to_bytes(_NONCE_TIME_BYTES, "big")
        return urlsafe_b64encode(stamp + self._tag(stamp)).decode()

    def accepts(self, nonce: str, now: float) -> bool:
        """Whether a nonce was issued here, not too long ago.

        Args:
            nonce: What a proof repeats.
            now: The time, in seconds since the epoch.
        """
        try:
            raw = urlsafe_b64decode(nonce.encode("ascii"))
        except ValueError:
            return False
        stamp, tag = raw[:_NONCE_TIME_BYTES], raw[_NONCE_TIME_BYTES:]
        return hmac.compare_digest(tag, self._tag(stamp)) and abs(now - int.from_bytes(stamp, "big")) <= self._lifetime

    def _tag(self, stamp: bytes) -> bytes:
        return hmac.digest(self._secret, b"dpop nonce" + stamp, "sha256")[:_NONCE_TAG_BYTES]


class DPoPVerifier:
    """Checks the proofs that requests come with, each of which is good once.

    What was seen is remembered in this process. Where several serve the same URL, a proof is good once in each of them
    while it is fresh; require nonces with a short lifetime, or a load balancer that knows clients, if that is too much.

    Args:
        algorithms: What proofs may be signed with.
        max_age: How old, or how far ahead of this server's clock, a proof may be, in seconds.
        nonces: Makes the nonces that every proof must repeat; None asks for none.
        max_remembered: How many proofs are remembered. The oldest are forgotten first, with a warning where they were
            still fresh.
        required: Whether tokens that are bound to no key are refused.
    """

    def __init__(
        self,
        *,
        algorithms: Collection[str] = PROOF_ALGORITHMS,
        max_age: float = 60.0,
        nonces: DPoPNonces | None = None,
        max_remembered: int = 100_000,
        required: bool = False,
    ) -> None:
        unknown = [algorithm for algorithm in algorithms if algorithm not in PROOF_ALGORITHMS]
        if unknown or not algorithms:
            raise ValueError(f"algorithms must be some of {', '.join(PROOF_ALGORITHMS)}, and not {unknown}")
        self.algorithms = tuple(algorithms)
        self.required = required
        self._max_age = max_age
        self._nonces = nonces
        # The freshest may come from a clock that is ahead; a second more for the limits themselves.
        self._seen = _SeenProofs(max_remembered, keep=2 * max_age + 1)

    def check(
        self,
        proofs: Sequence[str],
        *,
        method: str,
        urls: Sequence[str],
        access_token: str | None = None,
        bound_to: object = None,
    ) -> str:
        """Checks the proof of one request, and remembers it.

        Args:
            proofs: The values of the request's `DPoP` headers. There must be one.
            method: The request's method.
            urls: Its URL as the client may know it; where a proxy changes paths there is more than one.
            access_token: The token that the request carries; None at a token endpoint.
            bound_to: The thumbprint of the key that the token is bound to (`cnf.jkt`).

        Returns:
            The thumbprint of the key.

        Raises:
            DPoPError: The request must not be served.
        """
        now = time.time()
        proof = self._proof(proofs, method, urls, now, access_token)
        if access_token is not None and not same_thumbprint(proof, bound_to):
            raise DPoPError("invalid_token", "The token is not bound to the key of the DPoP proof")
        self._check_nonce(proof, now)
        if not self._seen.add(f"{proof.thumbprint} {proof.proof_id}", time.monotonic()):
            raise DPoPError("invalid_dpop_proof", "The DPoP proof has been used before")
        return proof.thumbprint

    def _proof(
        self, proofs: Sequence[str], method: str, urls: Sequence[str], now: float, access_token: str | None
    ) -> Proof:
        if len(proofs) != 1:
            raise DPoPError("invalid_dpop_proof", f"There must be one DPoP header, and there are {len(proofs)}")
        try:
            return checked_proof(
                proofs[0],
                method=method,
                urls=urls,
                now=now,
                max_age=self._max_age,
                access_token=access_token,
                algorithms=self.algorithms,
            )
        except InvalidDPoPProof as error:
            raise DPoPError("invalid_dpop_proof", f"The DPoP proof is not good: {error}") from error

    def _check_nonce(self, proof: Proof, now: float) -> None:
        if self._nonces is None:
            return
        if proof.nonce is None or not self._nonces.accepts(proof.nonce, now):
            raise DPoPError(
                "use_dpop_nonce", "The DPoP proof must repeat the nonce in DPoP-Nonce", self._nonces.issue(now)
            )


class _SeenProofs:
    """Which proofs were seen, for as long as they are fresh."""

    def __init__(self, size: int, keep: float) -> None:
        self._size = size
        self._keep = keep
        self._warn_again_at = float("-inf")
        # By digest, and so in the order in which they are forgotten.
        self._forgotten_at: OrderedDict[bytes, float] = OrderedDict()

    def add(self, proof: str, now: float) -> bool:
        """Remembers a proof.

        Returns:
            Whether it is new.
        """
        digest = sha256(proof.encode()).digest()
        while self._forgotten_at and next(iter(self._forgotten_at.values())) <= now:
            self._forgotten_at.popitem(last=False)
        if digest in self._forgotten_at:
            return False
        if len(self._forgotten_at) >= self._size:
            self._forget_oldest(now)
        self._forgotten_at[digest] = now + self._keep
        return True

    def _forget_oldest(self, now: float) -> None:
        """Makes room. Says so, but not for every proof."""
        self._forgotten_at.popitem(last=False)
        if now >= self._warn_again_at:
            self._warn_again_at = now + self._keep
            logger.warning("More than %d fresh DPoP proofs: the oldest could be replayed", self._size)
