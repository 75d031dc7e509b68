"""Which names `mcp.types` and `mcp_types` export, at run time and for type checkers."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import mcp.types
import mcp_types

PACKAGE = """
Annotations AudioContent BaseMetadata BlobResourceContents CLIENT_CAPABILITIES_META_KEY CLIENT_INFO_META_KEY
CONNECTION_CLOSED CORE_RESULT_TYPES CacheableResult CallToolRequest CallToolRequestParams CallToolResult
CancelTaskRequest CancelTaskRequestParams CancelTaskResult CancelledNotification CancelledNotificationParams
ClientCapabilities ClientNotification ClientRequest ClientResult ClientTasksCapability
ClientTasksRequestsCapability CompleteRequest CompleteRequestParams CompleteResult Completion CompletionArgument
CompletionContext CompletionsCapability ContentBlock CreateMessageRequest CreateMessageRequestParams
CreateMessageResult CreateMessageResultWithTools CreateTaskResult DEFAULT_NEGOTIATED_VERSION DiscoverRequest
DiscoverResult ElicitCompleteNotification ElicitCompleteNotificationParams ElicitRequest ElicitRequestFormParams
ElicitRequestParams ElicitRequestURLParams ElicitRequestedSchema ElicitResult ElicitationCapability
ElicitationRequiredErrorData EmbeddedResource EmptyResult ErrorData FormElicitationCapability GetPromptRequest
GetPromptRequestParams GetPromptResult GetTaskPayloadRequest GetTaskPayloadRequestParams GetTaskPayloadResult
GetTaskRequest GetTaskRequestParams GetTaskResult HEADER_MISMATCH INTERNAL_ERROR INVALID_PARAMS INVALID_REQUEST
Icon IconTheme ImageContent Implementation IncludeContext InitializeRequest InitializeRequestParams
InitializeResult InitializedNotification InputRequest InputRequests InputRequiredResult InputResponse
InputResponseRequestParams InputResponses JSONRPCError JSONRPCMessage JSONRPCNotification JSONRPCRequest
JSONRPCResponse JSONRPC_VERSION LATEST_PROTOCOL_VERSION LOG_LEVEL_META_KEY ListPromptsRequest ListPromptsResult
ListResourceTemplatesRequest ListResourceTemplatesResult ListResourcesRequest ListResourcesResult
ListRootsRequest ListRootsResult ListTasksRequest ListTasksResult ListToolsRequest ListToolsResult
LoggingCapability LoggingLevel LoggingMessageNotification LoggingMessageNotificationParams METHOD_NOT_FOUND
MISSING_REQUIRED_CLIENT_CAPABILITY MissingRequiredClientCapabilityErrorData ModelHint ModelPreferences
Notification NotificationParams PARSE_ERROR PROTOCOL_VERSION_META_KEY PaginatedRequest PaginatedRequestParams
PaginatedResult PingRequest ProgressNotification ProgressNotificationParams ProgressToken Prompt PromptArgument
PromptListChangedNotification PromptMessage PromptReference PromptsCapability REQUEST_TIMEOUT
ReadResourceRequest ReadResourceRequestParams ReadResourceResult RelatedTaskMetadata Request RequestId
RequestParams RequestParamsMeta Resource ResourceContents ResourceLink ResourceListChangedNotification
ResourceTemplate ResourceTemplateReference ResourceUpdatedNotification ResourceUpdatedNotificationParams
ResourcesCapability Result ResultType Role Root RootsCapability RootsListChangedNotification
SERVER_INFO_META_KEY SamplingCapability SamplingContent SamplingContextCapability SamplingMessage
SamplingMessageContentBlock SamplingToolsCapability ServerCapabilities ServerNotification ServerRequest
ServerResult ServerTasksCapability ServerTasksRequestsCapability SetLevelRequest SetLevelRequestParams
StopReason SubscribeRequest SubscribeRequestParams SubscriptionFilter SubscriptionsAcknowledgedNotification
SubscriptionsAcknowledgedNotificationParams SubscriptionsListenRequest SubscriptionsListenRequestParams
SubscriptionsListenResult Task TaskMetadata TaskStatus TaskStatusNotification TaskStatusNotificationParams
TasksCallCapability TasksCancelCapability TasksCreateElicitationCapability TasksCreateMessageCapability
TasksElicitationCapability TasksListCapability TasksSamplingCapability TasksToolsCapability TextContent
TextResourceContents Tool ToolAnnotations ToolChoice ToolExecution ToolListChangedNotification ToolResultContent
ToolUseContent ToolsCapability UNSUPPORTED_PROTOCOL_VERSION URL_ELICITATION_REQUIRED UnsubscribeRequest
UnsubscribeRequestParams UnsupportedProtocolVersionErrorData UrlElicitationCapability
client_notification_adapter client_request_adapter client_result_adapter jsonrpc_message_adapter
server_notification_adapter server_request_adapter server_result_adapter
"""
JSONRPC = """
CONNECTION_CLOSED ErrorData HEADER_MISMATCH INTERNAL_ERROR INVALID_PARAMS INVALID_REQUEST JSONRPCError
JSONRPCMessage JSONRPCNotification JSONRPCRequest JSONRPCResponse JSONRPC_VERSION METHOD_NOT_FOUND
MISSING_REQUIRED_CLIENT_CAPABILITY PARSE_ERROR REQUEST_TIMEOUT RequestId UNSUPPORTED_PROTOCOL_VERSION
URL_ELICITATION_REQUIRED jsonrpc_message_adapter
"""
VERSION = """
HANDSHAKE_PROTOCOL_VERSIONS KNOWN_PROTOCOL_VERSIONS LATEST_HANDSHAKE_VERSION LATEST_MODERN_VERSION
LATEST_PROTOCOL_VERSION MODERN_PROTOCOL_VERSIONS OLDEST_SUPPORTED_VERSION SUPPORTED_PROTOCOL_VERSIONS
is_version_at_least
"""
METHODS = """
CACHEABLE_METHODS CacheableMethod INPUT_REQUIRED_METHODS SPEC_CLIENT_METHODS SPEC_CLIENT_NOTIFICATION_METHODS
is_input_required
"""
NAMES = PACKAGE.split()
IN_SUBMODULES = [
    (submodule, name)
    for submodule, names in (("jsonrpc", JSONRPC), ("version", VERSION), ("methods", METHODS))
    for name in names.split()
]


def test_exports_exactly_the_documented_names() -> None:
    for package in ("mcp.types", "mcp_types"):
        assert sorted(import_module(package).__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_spellings_are_the_same_object(name: str) -> None:
    assert getattr(mcp_types, name) is getattr(mcp.types, name)


@pytest.mark.parametrize(("submodule", "name"), IN_SUBMODULES)
def test_submodules_export_the_same_objects_too(submodule: str, name: str) -> None:
    ours, alias = import_module(f"mcp.types.{submodule}"), import_module(f"mcp_types.{submodule}")
    assert name in ours.__all__
    assert name in alias.__all__
    assert getattr(alias, name) is getattr(ours, name)


def test_star_import_brings_every_name() -> None:
    namespace: dict[str, object] = {}
    exec("from mcp_types import *", namespace)
    assert namespace.keys() >= set(NAMES)


@pytest.mark.parametrize("package", [mcp.types, mcp_types])
def test_dir_lists_names_that_are_not_loaded_yet(package: object) -> None:
    assert {*NAMES, "jsonrpc", "methods", "version"} <= set(dir(package))


@pytest.mark.parametrize("package", ["mcp.types", "mcp_types"])
def test_misspelt_name_is_an_ordinary_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Tol'"):
        _ = import_module(package).Tol
    with pytest.raises(ImportError, match="cannot import name 'Tol'"):
        exec(f"from {package} import Tol")


def test_type_checkers_see_the_same_names_in_the_same_places() -> None:
    tree = ast.parse(Path(mcp.types.__file__).read_text(encoding="utf-8"))
    (for_checkers,) = (
        node.body
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    seen = {
        alias.asname: node.module for node in for_checkers if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(filter(None, seen)) == NAMES
    for name, module in seen.items():
        assert getattr(import_module(str(module)), str(name)) is getattr(mcp.types, str(name))
