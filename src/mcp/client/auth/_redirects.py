"""What a browser brings back from a login. RFC 6749, section 4.1.2, and RFC 9207."""

import hmac
from urllib.parse import parse_qs

from mcp.client.auth.exceptions import AuthorizationResponseError
from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["outcome_of"]


def outcome_of(query: str, state: str | None) -> AuthorizationCodeResult | AuthorizationResponseError | None:
    """Reads the query of a redirect.

    Args:
        query: The query.
        state: The state that the login began with; None if none has begun.

    Returns:
        The code, or the refusal; None if it is neither, or belongs to another login.
    """
    fields = _fields(query)
    if fields is None or state is None:
        return None
    if not hmac.compare_digest(fields.get("state", "").encode(), state.encode()):
        return None
    if error := fields.get("error"):
        return AuthorizationResponseError(error, fields.get("error_description"), fields.get("iss"))
    if code := fields.get("code"):
        return AuthorizationCodeResult(code=code, state=state, iss=fields.get("iss"))
    return None


def _fields(query: str) -> dict[str, str] | None:
    """The parameters; None where one occurs twice (RFC 6749, section 3.1), or nothing can be read."""
    try:
        fields = parse_qs(query, keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError:
        return None
    if any(len(values) > 1 for values in fields.values()):
        return None
    return {name: values[0] for name, values in fields.items()}
