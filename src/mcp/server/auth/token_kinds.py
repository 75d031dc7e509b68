"""What is signed, or called active, by an authorization server and still is no access token."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["is_other_token"]

_KINDS: Final = frozenset({"refresh", "refresh_token", "offline", "id", "id_token", "logout"})
_NAMES: Final = ("token_type", "typ", "token_use")

_OF_ID_TOKENS: Final = ("at_hash", "c_hash")
"""The hash of what an ID token came with. OpenID Connect Core 1.0, sections 3.1.3.6 and 3.3.2.11."""


def is_other_token(claims: Mapping[str, Any]) -> bool:
    """Whether a token says of itself that it is an ID token, a refresh token or a logout token.

    Args:
        claims: What it says, or what its issuer says of it.
    """
    if any(name in claims for name in _OF_ID_TOKENS):
        return True
    return any(str(claims.get(name)).lower() in _KINDS for name in _NAMES)
