"""`MCPServer`: a server written as ordinary typed functions."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.mcpserver.utilities.types import Audio as Audio
    from mcp.server.mcpserver.utilities.types import Image as Image

__all__ = ["Audio", "Image"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Audio": "mcp.server.mcpserver.utilities.types",
        "Image": "mcp.server.mcpserver.utilities.types",
    },
)
