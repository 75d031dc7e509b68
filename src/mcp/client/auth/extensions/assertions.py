"""Where assertions come from: what a client shows an authorization server in place of a secret. RFC 7523."""

import time
import uuid
from collections.abc import Awaitable, Callable
from os import PathLike
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field

from mcp.client.auth.exceptions import OAuthFlowError

__all__ = ["AssertionProvider", "SignedJWTParameters", "file_assertion_provider", "static_assertion_provider"]

AssertionProvider = Callable[[str], Awaitable[str]]
"""Returns an assertion for an audience: the issuer of the authorization server."""

_MAX_BYTES: Final = 64 * 1024


def static_assertion_provider(token: str) -> AssertionProvider:
    """An assertion that was made elsewhere, for the right audience already.

    Args:
        token: The assertion.
    """

    async def provide(audience: str) -> str:
        return token

    return provide


def file_assertion_provider(path: str | PathLike[str]) -> AssertionProvider:
    """An assertion that a platform keeps fresh in a file, such as a projected token of a Kubernetes service account.

    The file is read for every token that is asked for, since the platform replaces it.

    Args:
        path: The file.

    Returns:
        A provider that raises `OAuthFlowError` where the file cannot be read or is empty.
    """

    async def provide(audience: str) -> str:
        return await anyio.to_thread.run_sync(_assertion_in, Path(path))

    return provide


def _assertion_in(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise OAuthFlowError(f"The assertion in {path} cannot be read: {error.strerror}") from error
    assertion = content.strip()
    if not assertion or len(content) > _MAX_BYTES or not assertion.isascii():
        raise OAuthFlowError(f"{path} holds no assertion: expected a JWT of at most {_MAX_BYTES} bytes")
    return assertion.decode("ascii")


class SignedJWTParameters(BaseModel):
    """An assertion that the client signs itself, anew for every token that it asks for. RFC 7523, section 3.

    Attributes:
        issuer: Who signs (`iss`): the client's identifier.
        subject: Who it is about (`sub`): the client's identifier.
        signing_key: The private key in PEM form, or the secret for HS256 and its kind. It is not shown.
        signing_algorithm: What it is signed with.
        lifetime_seconds: How long it is good.
        additional_claims: Claims besides those, or in their place.
    """

    model_config = ConfigDict(defer_build=True)

    issuer: str
    subject: str
    signing_key: str = Field(repr=False)
    signing_algorithm: str = "RS256"
    lifetime_seconds: int = 300
    additional_claims: dict[str, Any] | None = None

    def create_assertion_provider(self) -> AssertionProvider:
        """A provider that signs a new assertion whenever it is asked."""

        async def provide(audience: str) -> str:
            # Signing with RSA takes long enough to be felt in an event loop.
            return await anyio.to_thread.run_sync(self._signed, audience)

        return provide

    def _signed(self, audience: str) -> str:
        import jwt

        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": audience,
            "exp": now + self.lifetime_seconds,
            "iat": now,
            "jti": str(uuid.uuid4()),
        }
        return jwt.encode({**claims, **(self.additional_claims or {})}, self.signing_key, self.signing_algorithm)
