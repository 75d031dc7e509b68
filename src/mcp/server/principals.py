"""Who a request comes from, as far as authentication in front of the endpoint has told."""

from typing import Any

__all__ = ["principal", "token_principal"]


def principal(user: Any) -> object:
    """What tells the user that middleware put into the ASGI scope from others; None for nobody in particular.

    Two requests are of the same user where this is equal. An object that says nothing of itself is only equal to
    itself, so that a session is rather lost than shared.
    """
    if user is None or not getattr(user, "is_authenticated", True):
        return None
    token = token_principal(user)
    if token is not None:
        return token
    for name in ("identity", "username", "display_name"):
        try:
            value = getattr(user, name, None)
        except NotImplementedError:
            continue
        if value:
            return value
    return user


def token_principal(user: Any) -> tuple[Any, Any, Any] | None:
    """Client, issuer and subject of the access token that a user came with; None where there is none."""
    token = getattr(user, "access_token", None)
    if token is None:
        return None
    claims: dict[str, Any] = getattr(token, "claims", None) or {}
    return getattr(token, "client_id", None), claims.get("iss"), getattr(token, "subject", None)
