"""The small rules of authorization that servers and clients share.

Specification: basic/authorization under "Canonical Server URI"; RFC 8707, RFC 6749 section 5.1.
"""

import time
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    from pydantic import AnyUrl, HttpUrl

__all__ = ["calculate_token_expiry", "check_resource_allowed", "resource_url_from_server_url"]

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def resource_url_from_server_url(url: "str | HttpUrl | AnyUrl") -> str:
    """The URI that names a server as a protected resource: its URL without a fragment, scheme and host in lower case.

    Args:
        url: Where the server is.
    """
    parts = urlsplit(str(url))
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment="").geturl()


def check_resource_allowed(requested_resource: str, configured_resource: str) -> bool:
    """Whether a token for one resource is good for another: the same origin, and a path at or below the other's.

    Args:
        requested_resource: The URL of what is asked for.
        configured_resource: The URL of what the token, or the metadata, is for.

    Returns:
        False as well if either URL cannot be read, or its path leads out of itself.
    """
    try:
        requested, configured = urlsplit(requested_resource), urlsplit(configured_resource)
        if _origin(requested) != _origin(configured):
            return False
    except ValueError:
        return False
    if _wanders(requested.path) or _wanders(configured.path):
        return False
    return (requested.path.rstrip("/") + "/").startswith(configured.path.rstrip("/") + "/")


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme)


def _wanders(path: str) -> bool:
    """Whether a path holds `.` or `..`, plain or percent-encoded: what it names depends on who reads it."""
    return not {".", ".."}.isdisjoint(unquote(path).replace("\\", "/").split("/"))


def calculate_token_expiry(expires_in: int | str | None) -> float | None:
    """When a token ends that was issued now.

    Args:
        expires_in: For how many seconds it is good; some authorization servers write the number as text.

    Returns:
        Seconds since the epoch; None where it is not known.

    Raises:
        ValueError: The text is no number.
    """
    return None if expires_in is None else time.time() + int(expires_in)
