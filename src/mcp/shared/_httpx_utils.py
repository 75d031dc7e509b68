"""An import path that programs use; the homes of the names are `mcp.client.streamable_http` and `mcp.client.sse`."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.client._http_client import READ_TIMEOUT as MCP_DEFAULT_SSE_READ_TIMEOUT
    from mcp.client._http_client import TIMEOUT as MCP_DEFAULT_TIMEOUT
    from mcp.client._http_client import create_mcp_http_client as create_mcp_http_client
    from mcp.client.sse import McpHttpClientFactory as McpHttpClientFactory

__all__ = [
    "MCP_DEFAULT_SSE_READ_TIMEOUT",
    "MCP_DEFAULT_TIMEOUT",
    "McpHttpClientFactory",
    "create_mcp_http_client",
]

# Lazily, since what is shared stands below the client.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "MCP_DEFAULT_SSE_READ_TIMEOUT": "mcp.client._http_client:READ_TIMEOUT",
        "MCP_DEFAULT_TIMEOUT": "mcp.client._http_client:TIMEOUT",
        "McpHttpClientFactory": "mcp.client.sse",
        "create_mcp_http_client": "mcp.client._http_client",
    },
)
