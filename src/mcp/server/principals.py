"""Who a request comes from, as far as authentication in front of the endpoint has told."""

from hashlib import sha256
from typing import Any

__all__ = ["principal", "stated_name", "token_principal"]


def principal(user: Any) -> object:
    """What tells the user that middleware put into the ASGI scope from others; None for nobody in particular.

    Two requests are of the same user where this is equal. An object that says nothing of itself is only equal to
    itself, so that a session is rather lost than shared.
    """
    if not _is_authenticated(user):
        return None
    known = token_principal(user) or stated_name(user)
    return user if known is None else known


def token_principal(user: Any) -> tuple[Any, ...] | None:
    """Whose the access token is that a user came with; None where there is none, or the user has another name.

    That is client, issuer and subject; without a subject, the `username` among the claims as well (RFC 7662 has either,
    or none). A token that names nobody is only equal to itself, so that a session is rather lost than shared.
    """
    token = getattr(user, "access_token", None)
    claims: dict[str, Any] = getattr(token, "claims", None) or {}
    client, issuer, subject = getattr(token, "client_id", None), claims.get("iss"), getattr(token, "subject", None)
    username = claims.get("username")
    if not subject and isinstance(username, str) and username:
        # One more part than a subject has, which it must not be taken for.
        return client, issuer, None, username
    if client or subject:
        return client, issuer, subject
    text = getattr(token, "token", None)
    if not isinstance(text, str) or stated_name(user) is not None:
        return None
    return "token", sha256(text.encode("utf-8", "replace")).hexdigest()


def stated_name(user: Any) -> Any:
    """The identity, username or display name of an authenticated user, whichever it has first; None without any."""
    if _is_authenticated(user):
        for name in ("identity", "username", "display_name"):
            value = _stated(user, name)
            if value:
                return value
    return None


def _is_authenticated(user: Any) -> bool:
    return user is not None and bool(_stated(user, "is_authenticated", True))


def _stated(user: Any, name: str, default: Any = None) -> Any:
    # What a base class leaves to others to say.
    try:
        return getattr(user, name, default)
    except NotImplementedError:
        return default
