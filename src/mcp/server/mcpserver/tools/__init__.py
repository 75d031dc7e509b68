"""Tools: typed functions that a model can call."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.mcpserver.tools.base import Tool as Tool
    from mcp.server.mcpserver.tools.tool_manager import ToolManager as ToolManager

__all__ = ["Tool", "ToolManager"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Tool": "mcp.server.mcpserver.tools.base",
        "ToolManager": "mcp.server.mcpserver.tools.tool_manager",
    },
)
