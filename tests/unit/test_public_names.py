"""What the packages promise to export, name by name. A change here is a change for users."""

from importlib import import_module

import pytest

MCP = """
    CallToolRequest Client ClientCapabilities ClientNotification ClientRequest ClientResult ClientSession
    ClientSessionGroup CompleteRequest CreateMessageRequest CreateMessageResult CreateMessageResultWithTools ErrorData
    GetPromptRequest GetPromptResult Implementation IncludeContext InitializeRequest InitializeResult
    InitializedNotification InputRequiredRoundsExceededError InvalidUriTemplate JSONRPCError JSONRPCRequest
    JSONRPCResponse ListPromptsRequest ListPromptsResult ListResourcesRequest ListResourcesResult ListToolsResult
    LoggingLevel LoggingMessageNotification MCPDeprecationWarning MCPError Notification PingRequest
    ProgressNotification PromptsCapability ReadResourceRequest ReadResourceResult Resource ResourceUpdatedNotification
    ResourcesCapability RootsCapability SamplingCapability SamplingContent SamplingContextCapability SamplingMessage
    SamplingMessageContentBlock SamplingRole SamplingToolsCapability ServerCapabilities ServerNotification
    ServerRequest ServerResult ServerSession SetLevelRequest StdioServerParameters StopReason SubscribeRequest Tool
    ToolChoice ToolResultContent ToolUseContent ToolsCapability UnsubscribeRequest UriTemplate
    UrlElicitationRequiredError stdio_client stdio_server
"""

NAMES = {
    "mcp": set(MCP.split()),
    "mcp.client": {"Client", "ClientRequestContext", "ClientSession", "IncomingMessage", "Transport"}
    | {"CacheConfig", "CacheEntry", "CacheKey", "CacheMode", "InMemoryResponseCacheStore", "ResponseCacheStore"}
    | {"InputRequiredRoundsExceededError"}
    | {"ClaimContext", "ClientExtension", "NotificationBinding", "ResultClaim", "UnexpectedClaimedResult", "advertise"},
    "mcp.server.middleware": {"ConcurrencyLimit", "ErrorReports", "OpenTelemetryMiddleware", "RateLimit", "RequestLog"}
    | {"TIME_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS", "CallerKey", "TimeLimit", "Timing", "caller"},
    "mcp.server": {"CacheHint", "InitializationOptions", "NotificationOptions", "Server", "ServerRequestContext"}
    | {"MCPServer"},
}


@pytest.mark.parametrize("package", NAMES)
def test_a_package_exports_just_these_names(package: str) -> None:
    exported: list[str] = import_module(package).__all__
    assert set(exported) == NAMES[package]
    assert len(exported) == len(set(exported))


@pytest.mark.parametrize(("package", "name"), [(package, name) for package in NAMES for name in sorted(NAMES[package])])
def test_every_name_can_be_imported(package: str, name: str) -> None:
    assert getattr(import_module(package), name) is not None
    assert name in dir(import_module(package))


def test_the_same_name_is_the_same_thing_everywhere() -> None:
    mcp, client, types = import_module("mcp"), import_module("mcp.client"), import_module("mcp.types")
    assert mcp.Client is client.Client is import_module("mcp.client.client").Client
    assert mcp.ClientSession is client.ClientSession
    assert mcp.Tool is types.Tool is import_module("mcp_types").Tool
    assert mcp.SamplingRole is types.Role
    assert mcp.stdio_server is import_module("mcp.server.stdio").stdio_server
