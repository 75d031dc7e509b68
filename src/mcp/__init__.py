"""The Model Context Protocol: servers, clients, and the protocol's types. Names are loaded when they are first used."""

import sys
from typing import TYPE_CHECKING

from mcp import mcp_types as mcp_types  # takes the name mcp_types
from mcp.lazy import CompleteDict, lazy_exports

if TYPE_CHECKING:
    from mcp.client.client import Client as Client
    from mcp.client.input_rounds import InputRequiredRoundsExceededError as InputRequiredRoundsExceededError
    from mcp.client.session import ClientSession as ClientSession
    from mcp.client.session_group import ClientSessionGroup as ClientSessionGroup
    from mcp.client.stdio import StdioServerParameters as StdioServerParameters
    from mcp.client.stdio import stdio_client as stdio_client
    from mcp.server.session import ServerSession as ServerSession
    from mcp.server.stdio import stdio_server as stdio_server
    from mcp.shared.exceptions import MCPDeprecationWarning as MCPDeprecationWarning
    from mcp.shared.exceptions import MCPError as MCPError
    from mcp.shared.exceptions import UrlElicitationRequiredError as UrlElicitationRequiredError
    from mcp.shared.uri_template import InvalidUriTemplate as InvalidUriTemplate
    from mcp.shared.uri_template import UriTemplate as UriTemplate
    from mcp.types import CallToolRequest as CallToolRequest
    from mcp.types import ClientCapabilities as ClientCapabilities
    from mcp.types import ClientNotification as ClientNotification
    from mcp.types import ClientRequest as ClientRequest
    from mcp.types import ClientResult as ClientResult
    from mcp.types import CompleteRequest as CompleteRequest
    from mcp.types import CreateMessageRequest as CreateMessageRequest
    from mcp.types import CreateMessageResult as CreateMessageResult
    from mcp.types import CreateMessageResultWithTools as CreateMessageResultWithTools
    from mcp.types import ErrorData as ErrorData
    from mcp.types import GetPromptRequest as GetPromptRequest
    from mcp.types import GetPromptResult as GetPromptResult
    from mcp.types import Implementation as Implementation
    from mcp.types import IncludeContext as IncludeContext
    from mcp.types import InitializedNotification as InitializedNotification
    from mcp.types import InitializeRequest as InitializeRequest
    from mcp.types import InitializeResult as InitializeResult
    from mcp.types import JSONRPCError as JSONRPCError
    from mcp.types import JSONRPCRequest as JSONRPCRequest
    from mcp.types import JSONRPCResponse as JSONRPCResponse
    from mcp.types import ListPromptsRequest as ListPromptsRequest
    from mcp.types import ListPromptsResult as ListPromptsResult
    from mcp.types import ListResourcesRequest as ListResourcesRequest
    from mcp.types import ListResourcesResult as ListResourcesResult
    from mcp.types import ListToolsResult as ListToolsResult
    from mcp.types import LoggingLevel as LoggingLevel
    from mcp.types import LoggingMessageNotification as LoggingMessageNotification
    from mcp.types import Notification as Notification
    from mcp.types import PingRequest as PingRequest
    from mcp.types import ProgressNotification as ProgressNotification
    from mcp.types import PromptsCapability as PromptsCapability
    from mcp.types import ReadResourceRequest as ReadResourceRequest
    from mcp.types import ReadResourceResult as ReadResourceResult
    from mcp.types import Resource as Resource
    from mcp.types import ResourcesCapability as ResourcesCapability
    from mcp.types import ResourceUpdatedNotification as ResourceUpdatedNotification
    from mcp.types import Role as SamplingRole
    from mcp.types import RootsCapability as RootsCapability
    from mcp.types import SamplingCapability as SamplingCapability
    from mcp.types import SamplingContent as SamplingContent
    from mcp.types import SamplingContextCapability as SamplingContextCapability
    from mcp.types import SamplingMessage as SamplingMessage
    from mcp.types import SamplingMessageContentBlock as SamplingMessageContentBlock
    from mcp.types import SamplingToolsCapability as SamplingToolsCapability
    from mcp.types import ServerCapabilities as ServerCapabilities
    from mcp.types import ServerNotification as ServerNotification
    from mcp.types import ServerRequest as ServerRequest
    from mcp.types import ServerResult as ServerResult
    from mcp.types import SetLevelRequest as SetLevelRequest
    from mcp.types import StopReason as StopReason
    from mcp.types import SubscribeRequest as SubscribeRequest
    from mcp.types import Tool as Tool
    from mcp.types import ToolChoice as ToolChoice
    from mcp.types import ToolResultContent as ToolResultContent
    from mcp.types import ToolsCapability as ToolsCapability
    from mcp.types import ToolUseContent as ToolUseContent
    from mcp.types import UnsubscribeRequest as UnsubscribeRequest

__all__ = [
    "CallToolRequest",
    "Client",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ClientSession",
    "ClientSessionGroup",
    "CompleteRequest",
    "CreateMessageRequest",
    "CreateMessageResult",
    "CreateMessageResultWithTools",
    "ErrorData",
    "GetPromptRequest",
    "GetPromptResult",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeResult",
    "InitializedNotification",
    "InputRequiredRoundsExceededError",
    "InvalidUriTemplate",
    "JSONRPCError",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListToolsResult",
    "LoggingLevel",
    "LoggingMessageNotification",
    "MCPDeprecationWarning",
    "MCPError",
    "Notification",
    "PingRequest",
    "ProgressNotification",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceResult",
    "Resource",
    "ResourceUpdatedNotification",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingContent",
    "SamplingContextCapability",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "SamplingRole",
    "SamplingToolsCapability",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "ServerSession",
    "SetLevelRequest",
    "StdioServerParameters",
    "StopReason",
    "SubscribeRequest",
    "Tool",
    "ToolChoice",
    "ToolResultContent",
    "ToolUseContent",
    "ToolsCapability",
    "UnsubscribeRequest",
    "UriTemplate",
    "UrlElicitationRequiredError",
    "stdio_client",
    "stdio_server",
]

_HOMES = {
    "InputRequiredRoundsExceededError": "mcp.client.input_rounds",
    "Client": "mcp.client.client",
    "ClientSession": "mcp.client.session",
    "ClientSessionGroup": "mcp.client.session_group",
    "StdioServerParameters": "mcp.client.stdio",
    "stdio_client": "mcp.client.stdio",
    "ServerSession": "mcp.server.session",
    "stdio_server": "mcp.server.stdio",
    "MCPDeprecationWarning": "mcp.shared.exceptions",
    "MCPError": "mcp.shared.exceptions",
    "UrlElicitationRequiredError": "mcp.shared.exceptions",
    "InvalidUriTemplate": "mcp.shared.uri_template",
    "UriTemplate": "mcp.shared.uri_template",
    "SamplingRole": "mcp.types:Role",
}

__getattr__, __dir__ = lazy_exports(__name__, {**dict.fromkeys(__all__, "mcp.types"), **_HOMES})

sys.modules[__name__].__class__ = CompleteDict
