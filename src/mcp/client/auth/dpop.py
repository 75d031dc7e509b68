"""Tokens that only this client can use: every request proves that it holds the key. RFC 9449."""

import logging
import secrets
import time
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from mcp.client.auth._challenges import extract_field_from_www_auth
from mcp.client.auth._documents import json_object
from mcp.client.auth._places import origin_of
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.protocol.dpop import DPoPKey

if TYPE_CHECKING:
    import httpx2

    from mcp.shared.auth import OAuthMetadata

__all__ = ["DPoPKey", "DPoPKeyStorage", "DPoPProver", "check_algorithms"]

logger = logging.getLogger(__name__)

_SCHEME: Final = "DPoP "
_WANTED: Final = "use_dpop_nonce"
_MAX_NONCE_CHARACTERS: Final = 1024
_MAX_ORIGINS: Final = 16


@runtime_checkable
class DPoPKeyStorage(Protocol):
    """What a `TokenStorage` has besides, if it can keep the key that its tokens are bound to."""

    async def get_dpop_key(self) -> dict[str, Any] | None:
        """The private key as a JWK, if there is one."""
        ...

    async def set_dpop_key(self, key: dict[str, Any]) -> None:
        """Keeps a private key, as a JWK."""
        ...


def check_algorithms(server: "OAuthMetadata") -> None:
    """Whether an authorization server takes proofs of this client, or does not say.

    Args:
        server: What it says of itself.

    Raises:
        OAuthFlowError: It says what it takes, and ES256 is not among it.
    """
    taken = server.dpop_signing_alg_values_supported
    if taken is not None and "ES256" not in taken:
        named = ", ".join(taken) or "nothing"
        raise OAuthFlowError(f"The authorization server {server.issuer} takes DPoP proofs by {named}: expected ES256")


class DPoPProver:
    """Puts proofs on requests, and keeps the nonce that each server has asked for.

    Args:
        key: The key that tokens are bound to; None for the one that is kept with them, or else a new one.
        storage: Where tokens are kept. If it is no `DPoPKeyStorage` too, a new key lasts as long as this object, and so
            do the tokens that are bound to it.
    """

    def __init__(self, key: DPoPKey | None, storage: object) -> None:
        self._key = key
        self._storage = storage
        self._nonces: dict[str, str] = {}

    @classmethod
    def asked_for(cls, dpop: DPoPKey | bool, storage: object) -> "DPoPProver | None":
        """What a provider's argument `dpop` asks for.

        Args:
            dpop: A key; True for one of the prover's own; False for no proofs.
            storage: Where tokens are kept.
        """
        if dpop is False:
            return None
        return cls(None if dpop is True else dpop, storage)

    async def thumbprint(self) -> str:
        """The thumbprint of the key (`dpop_jkt`)."""
        return (await self._loaded_key()).thumbprint

    async def sign(self, request: "httpx2.Request", access_token: str | None) -> None:
        """Puts a proof on a request, in place of the one that may be there, since it is good for one attempt.

        Args:
            request: The request.
            access_token: The token that goes with it to a resource server; None at a token endpoint.
        """
        key = await self._loaded_key()
        if access_token is not None:
            request.headers["Authorization"] = f"{_SCHEME}{access_token}"
        request.headers["DPoP"] = key.proof(
            request.method,
            str(request.url),
            issued_at=time.time(),
            proof_id=secrets.token_urlsafe(16),
            access_token=access_token,
            nonce=self._nonces.get(origin_of(request.url)),
        )

    def learn(self, request: "httpx2.Request", response: "httpx2.Response") -> bool:
        """Keeps the nonce that a response brings, for the next request to the same server.

        Args:
            request: A request that `sign` has seen.
            response: Its answer. From a token endpoint its body has been read.

        Returns:
            Whether the request failed for want of a nonce, so that one more attempt is worth it.
        """
        nonce = response.headers.get("DPoP-Nonce")
        if not nonce or len(nonce) > _MAX_NONCE_CHARACTERS:
            return False
        origin = origin_of(request.url)
        self._nonces.pop(origin, None)
        self._nonces[origin] = nonce
        while len(self._nonces) > _MAX_ORIGINS:
            del self._nonces[next(iter(self._nonces))]
        if request.headers.get("Authorization", "").startswith(_SCHEME):
            return response.status_code == 401 and extract_field_from_www_auth(response, "error") == _WANTED
        return response.status_code in (400, 401) and (json_object(response.content) or {}).get("error") == _WANTED

    async def _loaded_key(self) -> DPoPKey:
        if self._key is None:
            self._key = await self._kept_key()
        return self._key

    async def _kept_key(self) -> DPoPKey:
        if not isinstance(self._storage, DPoPKeyStorage):
            return DPoPKey.generate()
        kept = await self._storage.get_dpop_key()
        if kept is not None:
            try:
                return DPoPKey.from_jwk(kept)
            except ValueError as error:
                logger.warning("The DPoP key in the storage cannot be used, and is replaced: %s", error)
        key = DPoPKey.generate()
        await self._storage.set_dpop_key(key.to_jwk())
        return key
