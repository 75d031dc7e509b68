"""Servers: `MCPServer`, the raw `Server`, their transports, and what handlers are given."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.caching import CacheHint as CacheHint
    from mcp.server.context import ServerRequestContext as ServerRequestContext
    from mcp.server.lowlevel.server import NotificationOptions as NotificationOptions
    from mcp.server.lowlevel.server import Server as Server
    from mcp.server.mcpserver.server import MCPServer as MCPServer
    from mcp.server.models import InitializationOptions as InitializationOptions

__all__ = ["CacheHint", "InitializationOptions", "MCPServer", "NotificationOptions", "Server", "ServerRequestContext"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "CacheHint": "mcp.server.caching",
        "InitializationOptions": "mcp.server.models",
        "MCPServer": "mcp.server.mcpserver.server",
        "NotificationOptions": "mcp.server.lowlevel.server",
        "Server": "mcp.server.lowlevel.server",
        "ServerRequestContext": "mcp.server.context",
    },
)
