"""Scopes that a call of a tool needs, beyond what every request of a protected server does.

They are looked at over HTTP alone: in memory and over stdio there is no authorization, and every tool may be called.

Specification: basic/authorization under "Runtime Insufficient Scope Errors".
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from mcp.protocol.codec import Batch, DecodeError, Message, Request
from mcp.types.jsonrpc import INVALID_REQUEST

if TYPE_CHECKING:
    from starlette.types import Scope

    from mcp.server.http_gate import Refusal

__all__ = [
    "NO_SCOPES",
    "PROTECTION",
    "ToolScopes",
    "check_calls",
    "check_protected",
    "check_scopes",
    "granted_scopes",
    "missing_scopes",
]

ToolScopes = Mapping[str, tuple[str, ...]]
"""The scopes that tools need, by their names. A tool that is not in it needs none."""

NO_SCOPES: Final[ToolScopes] = MappingProxyType({})

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")

PROTECTION: Final = "mcp.protection"
"""Where the ASGI scope says what has let the request in, and challenges those that need more."""


def check_scopes(scopes: Iterable[object], what: str) -> tuple[str, ...]:
    """Scopes, each once, in their order.

    Args:
        scopes: The scopes.
        what: Where they stand, for the text of an error.

    Raises:
        TypeError: They are a single text, or one of them is none.
        ValueError: One of them cannot be a scope (RFC 6749, section 3.3).
    """
    if isinstance(scopes, str):
        raise TypeError(f"{what} takes a list of scopes, such as {scopes.split()!r}, got the text {scopes!r}")
    each: list[str] = []
    for scope in dict.fromkeys(scopes):
        if not isinstance(scope, str):
            raise TypeError(f"{what} takes a list of scopes as str, got {scope!r} in it")
        if not _SCOPE.fullmatch(scope):
            raise ValueError(f"{what}: {scope!r} cannot be a scope, which has no space, quote, or backslash in it")
        each.append(scope)
    return tuple(each)


def granted_scopes(request: Any) -> frozenset[str] | None:
    """What an authenticated request may do; None for one that does not come over HTTP.

    Args:
        request: The transport's own object for the request.
    """
    scope = getattr(request, "scope", None)
    return None if scope is None else _granted(scope)


def _granted(scope: "Scope") -> frozenset[str]:
    return frozenset(getattr(scope.get("auth"), "scopes", ()))


def missing_scopes(scopes: ToolScopes, tool: str, granted: frozenset[str]) -> list[str]:
    """The scopes that a call of a tool lacks.

    Args:
        scopes: What tools need.
        tool: The name that the call gives.
        granted: What its request may do.
    """
    return [scope for scope in scopes.get(tool, ()) if scope not in granted]


def check_calls(scopes: ToolScopes, message: Message | Batch | DecodeError, scope: "Scope") -> None:
    """Refuses a body that calls a tool which its request may not call. Nothing of it has run then.

    Args:
        scopes: What tools need.
        message: The body.
        scope: The ASGI scope of the request.

    Raises:
        Refusal: 403, with a challenge that names all that the body needs.
    """
    tools = _called(message)
    if not tools:
        return
    granted = _granted(scope)
    refused = [tool for tool in tools if missing_scopes(scopes, tool, granted)]
    if refused:
        needed = tuple(dict.fromkeys(name for tool in refused for name in scopes[tool]))
        text = f"The tool {refused[0]!r} needs the scope {' '.join(scopes[refused[0]])}, which the access token lacks"
        id = message.id if isinstance(message, Request) else None
        raise _refusal(text, needed, scope, id)


def _called(message: Message | Batch | DecodeError) -> list[str]:
    """The names of the tools that a body calls."""
    items = message.items if isinstance(message, Batch) else (message,)
    calls = [item for item in items if isinstance(item, Request) and item.method == "tools/call"]
    names = [(call.params or {}).get("name") for call in calls]
    return [name for name in names if isinstance(name, str)]


def _refusal(text: str, needed: tuple[str, ...], scope: "Scope", id: Any) -> "Refusal":
    # Not above: every server knows of scopes, and they are refused over HTTP only.
    from mcp.server.http_gate import Refusal

    protection = scope.get(PROTECTION)
    headers = () if protection is None else protection.step_up(scope, needed)
    return Refusal.of_request(403, text, INVALID_REQUEST, id=id, headers=headers)


def check_protected(scopes: ToolScopes) -> None:
    """Refuses to serve tools that need scopes over HTTP where nothing could grant any.

    Raises:
        ValueError: There are such tools.
    """
    if scopes:
        names = ", ".join(map(repr, scopes))
        raise ValueError(
            f"the tools {names} need scopes, and nothing here grants any: give the server auth= and token_verifier=, "
            "or register them without scopes="
        )
