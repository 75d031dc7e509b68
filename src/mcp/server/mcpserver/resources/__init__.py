"""Resources: data that an application reads by its URI."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.mcpserver.resources.base import Resource as Resource
    from mcp.server.mcpserver.resources.resource_manager import ResourceManager as ResourceManager
    from mcp.server.mcpserver.resources.security import DEFAULT_RESOURCE_SECURITY as DEFAULT_RESOURCE_SECURITY
    from mcp.server.mcpserver.resources.security import ResourceSecurity as ResourceSecurity
    from mcp.server.mcpserver.resources.security import ResourceSecurityError as ResourceSecurityError
    from mcp.server.mcpserver.resources.templates import ResourceTemplate as ResourceTemplate
    from mcp.server.mcpserver.resources.types import BinaryResource as BinaryResource
    from mcp.server.mcpserver.resources.types import DirectoryResource as DirectoryResource
    from mcp.server.mcpserver.resources.types import FileResource as FileResource
    from mcp.server.mcpserver.resources.types import FunctionResource as FunctionResource
    from mcp.server.mcpserver.resources.types import HttpResource as HttpResource
    from mcp.server.mcpserver.resources.types import TextResource as TextResource

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "BinaryResource",
    "DirectoryResource",
    "FileResource",
    "FunctionResource",
    "HttpResource",
    "Resource",
    "ResourceManager",
    "ResourceSecurity",
    "ResourceSecurityError",
    "ResourceTemplate",
    "TextResource",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DEFAULT_RESOURCE_SECURITY": "mcp.server.mcpserver.resources.security",
        "BinaryResource": "mcp.server.mcpserver.resources.types",
        "DirectoryResource": "mcp.server.mcpserver.resources.types",
        "FileResource": "mcp.server.mcpserver.resources.types",
        "FunctionResource": "mcp.server.mcpserver.resources.types",
        "HttpResource": "mcp.server.mcpserver.resources.types",
        "Resource": "mcp.server.mcpserver.resources.base",
        "ResourceManager": "mcp.server.mcpserver.resources.resource_manager",
        "ResourceSecurity": "mcp.server.mcpserver.resources.security",
        "ResourceSecurityError": "mcp.server.mcpserver.resources.security",
        "ResourceTemplate": "mcp.server.mcpserver.resources.templates",
        "TextResource": "mcp.server.mcpserver.resources.types",
    },
)
