"""Who a request comes from, for what is limited per caller."""

from collections.abc import Callable, Collection, Hashable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.principals import principal

__all__ = ["LISTEN", "CallerKey", "caller", "chosen"]

CallerKey = Callable[[ServerRequestContext[Any, Any]], Hashable]
"""Names whom a request comes from: two requests with equal keys share a limit."""

LISTEN = "subscriptions/listen"
"""The method whose requests are meant to run for ever."""


def caller(ctx: ServerRequestContext[Any, Any]) -> Hashable:
    """The authenticated user; without one, the address that an HTTP request comes from; without HTTP, None.

    What a client says of itself does not count: anybody can say anything. Behind a proxy, see to it that the address
    is that of the client (`uvicorn --proxy-headers`).

    Args:
        ctx: The request.
    """
    scope: dict[str, Any] | None = getattr(ctx.request, "scope", None)
    if scope is None:
        return None
    user = principal(scope.get("user"))
    if user is not None:
        return "user", user
    client = scope.get("client")
    return None if client is None else ("address", client[0])


def chosen(methods: Collection[str] | None) -> frozenset[str] | None:
    """The methods that a limit is for; None for all.

    Raises:
        TypeError: `methods` is a single string.
    """
    if isinstance(methods, str):
        raise TypeError(f"methods is a collection of method names, such as {{{methods!r}}}, got a string")
    return None if methods is None else frozenset(methods)
