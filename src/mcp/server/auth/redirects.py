"""Where an authorization server may send a user's browser, and where it must not.

Specification: basic/authorization/security-considerations under "Communication Security" and "Open Redirection".
RFC 6749, section 3.1.2; RFC 8252, sections 7 and 8.4; OpenID Connect Dynamic Client Registration, section 2.
"""

import re
from collections.abc import Collection
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import AnyUrl

__all__ = ["PROGRAM_SCHEMES", "is_answer_at", "is_website", "redirect_uri_problem", "registration_problem", "same_uri"]

ApplicationType = Literal["web", "native"]

_LOOPBACK_HOSTS: Final = ("127.0.0.1", "::1", "localhost")

PROGRAM_SCHEMES: Final = (
    "antigravity",
    "claude",
    "cursor",
    "goose",
    "kiro",
    "raycast",
    "trae",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "warp",
    "windsurf",
    "zed",
)
"""Schemes of programs that use MCP, and that have no dot in their scheme as RFC 8252 wants it."""

# Browsers and systems act on these by themselves, so no program of the user's own can be behind them.
_UNSAFE_SCHEME: Final = re.compile(
    "about|blob|chrome|content|data|feed|file|filesystem|ftp|intent|jar|javascript|mailto|ms-.*|resource|search|"
    "search-ms|shell|sms|tel|urn|vbscript|view-source|ws|wss"
)
_UNSAFE_CHARACTER: Final = re.compile(r"[^\x21-\x7e]|[\\<>\"`{}|^]")


def redirect_uri_problem(uri: str) -> str | None:
    """Why a browser must not be sent to a URI, whoever has registered it; None where it may be.

    Args:
        uri: The URI, as it was written.
    """
    if _UNSAFE_CHARACTER.search(uri):
        return "it must be of the characters of a URI alone"
    try:
        parts = urlsplit(uri)
        host = parts.hostname
    except ValueError:
        return "it is not a URI"
    if not parts.scheme:
        return "it must be absolute"
    if _UNSAFE_SCHEME.fullmatch(parts.scheme):
        return f"its scheme must not be {parts.scheme}"
    if "#" in uri:
        return "it must not have a fragment"
    if "@" in parts.netloc:
        return "it must not have a user name"
    if parts.scheme in ("http", "https") and not host:
        return "it must have a host"
    return None


def registration_problem(
    uri: str, application_type: ApplicationType, program_schemes: Collection[str] = PROGRAM_SCHEMES
) -> str | None:
    """Why a client may not register a redirect URI; None where it may.

    Args:
        uri: The URI, as it was written.
        application_type: What the client says that it is. What runs on the user's machine (`native`) may be reached
            there, or by a scheme of its own; what runs elsewhere (`web`) by https alone.
        program_schemes: Schemes that are a program's own though they have no dot. A scheme with one, made from a domain
            name, is such by its form (RFC 8252, section 7.1); of the others nobody can list which the system acts on.
    """
    problem = redirect_uri_problem(uri)
    if problem is not None:
        return problem
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return None
    if application_type == "web":
        return "a web application's must be https; one on the user's machine registers as application_type 'native'"
    if parts.scheme == "http":
        is_loopback = parts.hostname in _LOOPBACK_HOSTS
        return None if is_loopback else "it must be https, unless its host is 127.0.0.1, [::1] or localhost"
    if "." in parts.scheme or parts.scheme in program_schemes:
        return None
    return (
        f"a program's own scheme must have a dot, as in com.example.app, and {parts.scheme} is not among those that "
        "this server takes without"
    )


def same_uri(one: AnyUrl | str, other: AnyUrl | str) -> bool:
    """Whether two redirect URIs are the same. An empty path and "/" are, since URL types write one for the other.

    Args:
        one: A URI.
        other: Another one.
    """
    return _with_path(str(one)) == _with_path(str(other))


def _with_path(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(path=parts.path or "/").geturl()


def is_website(uri: AnyUrl) -> bool:
    """Whether a redirect URI leads to a page of somebody's, rather than to a program on the user's machine.

    Args:
        uri: The redirect URI.
    """
    return uri.scheme in ("http", "https") and (uri.host or "").strip("[]") not in _LOOPBACK_HOSTS


def is_answer_at(location: str, redirect_uri: AnyUrl) -> bool:
    """Whether a URL is the answer to an authorization request, rather than a page that asks the user.

    Args:
        location: Where the user's browser is sent.
        redirect_uri: Where the client waits for the answer.
    """
    sent, awaited = urlsplit(location), urlsplit(str(redirect_uri))
    if (sent.scheme, sent.netloc, sent.path or "/") != (awaited.scheme, awaited.netloc, awaited.path or "/"):
        return False
    return re.search(r"(^|&)(code|error)=", sent.query) is not None
