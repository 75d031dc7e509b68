"""Who a request comes from, for what is limited per caller."""

import logging
from collections.abc import Callable, Collection, Hashable
from functools import lru_cache
from inspect import isawaitable, iscoroutine
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.principals import principal

__all__ = ["LISTEN", "CallerKey", "caller", "chosen", "key_of"]

logger = logging.getLogger(__name__)

CallerKey = Callable[[ServerRequestContext[Any, Any]], Hashable]
"""Names whom a request comes from: two requests with equal keys share a limit."""

LISTEN = "subscriptions/listen"
"""The method whose requests are meant to run for ever."""


def caller(ctx: ServerRequestContext[Any, Any]) -> Hashable:
    """The authenticated user; without one, the address that an HTTP request comes from; without HTTP, None.

    What a client says of itself does not count: anybody can say anything. Behind a proxy, see to it that the address
    is that of the client (`uvicorn --proxy-headers`). A user that nothing tells from others (no access token, no
    identity, username or display name, and an object that is equal to itself alone) counts by its address, and the
    log says so once.

    Args:
        ctx: The request.
    """
    scope: dict[str, Any] | None = getattr(ctx.request, "scope", None)
    if scope is None:
        return None
    user = principal(scope.get("user"))
    key = None if user is None else _hashable(user)
    if key is not None:
        return "user", key
    client = scope.get("client")
    return None if client is None else ("address", client[0])


def key_of(key: CallerKey, ctx: ServerRequestContext[Any, Any]) -> Hashable:
    """What a key function says of a request.

    Raises:
        TypeError: It is nothing that can be looked up.
    """
    found: Any = key(ctx)
    if isawaitable(found):
        if iscoroutine(found):
            found.close()
        raise _unusable(key, found)
    try:
        hash(found)
    except TypeError:
        raise _unusable(key, found) from None
    return found


def _unusable(key: CallerKey, found: object) -> TypeError:
    name = getattr(key, "__qualname__", type(key).__qualname__)
    return TypeError(f"the key function {name} returned {type(found).__name__}, expected something hashable")


def _hashable(user: object) -> Hashable:
    """Something that is equal for equal users, also for those that have no hash; None where no two are equal."""
    if type(user).__eq__ is object.__eq__:
        _warn_of(type(user))
        return None
    try:
        hash(user)
        return user
    except TypeError:
        text = repr(user)
    # Another text with each object.
    if " at 0x" in text:
        _warn_of(type(user))
        return None
    return type(user).__qualname__, text


@lru_cache(maxsize=32)
def _warn_of(kind: type) -> None:
    logger.warning(
        "users of type %s cannot be told apart, and are limited by address: give them an identity, or the limit a key=",
        kind.__qualname__,
    )


def chosen(methods: Collection[str] | None) -> frozenset[str] | None:
    """The methods that a limit is for; None for all.

    Raises:
        TypeError: `methods` is a single string.
    """
    if isinstance(methods, str):
        raise TypeError(f"methods is a collection of method names, such as {{{methods!r}}}, got a string")
    return None if methods is None else frozenset(methods)
