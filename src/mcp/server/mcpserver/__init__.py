"""`MCPServer`: a server written as ordinary typed functions."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.elicitation import AcceptedElicitation as AcceptedElicitation
    from mcp.server.elicitation import CancelledElicitation as CancelledElicitation
    from mcp.server.elicitation import DeclinedElicitation as DeclinedElicitation
    from mcp.server.elicitation import ElicitationResult as ElicitationResult
    from mcp.server.extension import Extension as Extension
    from mcp.server.extension import MethodBinding as MethodBinding
    from mcp.server.extension import ResourceBinding as ResourceBinding
    from mcp.server.extension import ToolBinding as ToolBinding
    from mcp.server.extension import require_client_extension as require_client_extension
    from mcp.server.mcpserver.context import Context as Context
    from mcp.server.mcpserver.prompts.messages import AssistantMessage as AssistantMessage
    from mcp.server.mcpserver.prompts.messages import Message as Message
    from mcp.server.mcpserver.prompts.messages import UserMessage as UserMessage
    from mcp.server.mcpserver.resolve import Elicit as Elicit
    from mcp.server.mcpserver.resolve import ListRoots as ListRoots
    from mcp.server.mcpserver.resolve import Resolve as Resolve
    from mcp.server.mcpserver.resolve import Sample as Sample
    from mcp.server.mcpserver.resources.security import DEFAULT_RESOURCE_SECURITY as DEFAULT_RESOURCE_SECURITY
    from mcp.server.mcpserver.resources.security import ResourceSecurity as ResourceSecurity
    from mcp.server.mcpserver.server import MCPServer as MCPServer
    from mcp.server.mcpserver.utilities.types import Audio as Audio
    from mcp.server.mcpserver.utilities.types import Image as Image
    from mcp.server.request_state import AESGCMRequestStateCodec as AESGCMRequestStateCodec
    from mcp.server.request_state import InvalidRequestState as InvalidRequestState
    from mcp.server.request_state import RequestStateBoundary as RequestStateBoundary
    from mcp.server.request_state import RequestStateCodec as RequestStateCodec
    from mcp.server.request_state import RequestStateSecurity as RequestStateSecurity
    from mcp.server.request_state import authenticated_principal as authenticated_principal
    from mcp.types.base import Icon as Icon

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "AESGCMRequestStateCodec",
    "AcceptedElicitation",
    "AssistantMessage",
    "Audio",
    "CancelledElicitation",
    "Context",
    "DeclinedElicitation",
    "Elicit",
    "ElicitationResult",
    "Extension",
    "Icon",
    "Image",
    "InvalidRequestState",
    "ListRoots",
    "MCPServer",
    "Message",
    "MethodBinding",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "Resolve",
    "ResourceBinding",
    "ResourceSecurity",
    "Sample",
    "ToolBinding",
    "UserMessage",
    "authenticated_principal",
    "require_client_extension",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AESGCMRequestStateCodec": "mcp.server.request_state",
        "AcceptedElicitation": "mcp.server.elicitation",
        "AssistantMessage": "mcp.server.mcpserver.prompts.messages",
        "Audio": "mcp.server.mcpserver.utilities.types",
        "CancelledElicitation": "mcp.server.elicitation",
        "Context": "mcp.server.mcpserver.context",
        "DEFAULT_RESOURCE_SECURITY": "mcp.server.mcpserver.resources.security",
        "DeclinedElicitation": "mcp.server.elicitation",
        "Elicit": "mcp.server.mcpserver.resolve",
        "ElicitationResult": "mcp.server.elicitation",
        "Extension": "mcp.server.extension",
        "Icon": "mcp.types.base",
        "Image": "mcp.server.mcpserver.utilities.types",
        "InvalidRequestState": "mcp.server.request_state",
        "ListRoots": "mcp.server.mcpserver.resolve",
        "MCPServer": "mcp.server.mcpserver.server",
        "Message": "mcp.server.mcpserver.prompts.messages",
        "MethodBinding": "mcp.server.extension",
        "RequestStateBoundary": "mcp.server.request_state",
        "RequestStateCodec": "mcp.server.request_state",
        "RequestStateSecurity": "mcp.server.request_state",
        "Resolve": "mcp.server.mcpserver.resolve",
        "ResourceBinding": "mcp.server.extension",
        "ResourceSecurity": "mcp.server.mcpserver.resources.security",
        "Sample": "mcp.server.mcpserver.resolve",
        "ToolBinding": "mcp.server.extension",
        "UserMessage": "mcp.server.mcpserver.prompts.messages",
        "authenticated_principal": "mcp.server.request_state",
        "require_client_extension": "mcp.server.extension",
    },
)
