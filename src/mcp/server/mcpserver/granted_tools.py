"""The listings of tools that need scopes: each caller is told of those that it may call."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Final

from mcp.protocol.results import KeptResult
from mcp.server.mcpserver.listings import Listing
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.server.tool_scopes import missing_scopes
from mcp.types import ListToolsResult
from mcp.types import Tool as MCPTool

__all__ = ["GrantedTools", "granted_result"]

_MOST_LISTINGS: Final = 64
"""Sets of scopes whose listings are kept. Tokens say which there are, so there may be many."""


def granted_result(tools: list[MCPTool]) -> ListToolsResult:
    """The result of a listing that is not for everybody: whatever is said of others, no shared cache may keep it.

    Args:
        tools: What is listed.
    """
    return ListToolsResult(tools=tools, cache_scope="private")


class GrantedTools:
    """Listings of tools, one for each set of scopes that makes a difference.

    Args:
        tools: The tools.
        entries: What clients are told of them.
    """

    def __init__(self, tools: ToolManager, entries: Callable[[dict[str, Tool]], list[MCPTool]]) -> None:
        self._tools = tools
        self._entries = entries
        self._listings: dict[frozenset[str], Listing[Tool]] = {}

    def current(self, granted: frozenset[str]) -> KeptResult:
        """The listing for a caller.

        Args:
            granted: What the caller may do.
        """
        matters = granted.intersection(chain.from_iterable(list(self._tools.scopes.values())))
        listing = self._listings.get(matters)
        if listing is None:
            listing = Listing(
                partial(self._visible, matters), Tool.edits, lambda items: granted_result(self._entries(items))
            )
            kept = self._listings
            self._listings = {**(kept if len(kept) < _MOST_LISTINGS else {}), matters: listing}
        return listing.current()

    def _visible(self, granted: frozenset[str]) -> dict[str, Tool]:
        scopes = self._tools.scopes
        tools = self._tools.registered()
        return {name: tool for name, tool in tools.items() if not missing_scopes(scopes, name, granted)}
