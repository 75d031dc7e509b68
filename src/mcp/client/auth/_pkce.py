"""Proof that whoever exchanges a code is who asked for it. RFC 7636."""

import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PKCEParameters"]


class PKCEParameters(BaseModel):
    """A secret, and what can be shown of it.

    Attributes:
        code_verifier: The secret, shown to the token endpoint alone.
        code_challenge: Its SHA-256 hash, which the browser carries.
    """

    model_config = ConfigDict(defer_build=True)

    code_verifier: str = Field(min_length=43, max_length=128, repr=False)
    code_challenge: str = Field(min_length=43, max_length=128)

    @classmethod
    def generate(cls) -> "PKCEParameters":
        """A new pair, with the method S256."""
        verifier = secrets.token_urlsafe(64)
        digest = sha256(verifier.encode("ascii")).digest()
        return cls(code_verifier=verifier, code_challenge=urlsafe_b64encode(digest).decode("ascii").rstrip("="))
