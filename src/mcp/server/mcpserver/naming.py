"""Naming what is made of functions."""

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.functions.signature import callable_name

__all__ = ["name_for"]


def name_for(fn: Callable[..., Any], name: str | None) -> str:
    """The name that is given to something made of a function, or else the name of the function.

    Raises:
        ValueError: Nothing is given, and a lambda has none.
    """
    name = name or callable_name(fn)
    if name == "<lambda>":
        raise ValueError("You must provide a name for lambda functions")
    return name
