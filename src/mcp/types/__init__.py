"""The protocol's vocabulary: one pydantic model per type, a superset over every revision.

Each name lives in an area module (`mcp.types.tools`, `mcp.types.content`, ...), which is loaded when the
first of its names is used.
"""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.types.base import CLIENT_CAPABILITIES_META_KEY as CLIENT_CAPABILITIES_META_KEY
    from mcp.types.base import CLIENT_INFO_META_KEY as CLIENT_INFO_META_KEY
    from mcp.types.base import CORE_RESULT_TYPES as CORE_RESULT_TYPES
    from mcp.types.base import LOG_LEVEL_META_KEY as LOG_LEVEL_META_KEY
    from mcp.types.base import PROTOCOL_VERSION_META_KEY as PROTOCOL_VERSION_META_KEY
    from mcp.types.base import SERVER_INFO_META_KEY as SERVER_INFO_META_KEY
    from mcp.types.base import BaseMetadata as BaseMetadata
    from mcp.types.base import CacheableResult as CacheableResult
    from mcp.types.base import EmptyResult as EmptyResult
    from mcp.types.base import Icon as Icon
    from mcp.types.base import IconTheme as IconTheme
    from mcp.types.base import InputResponseRequestParams as InputResponseRequestParams
    from mcp.types.base import NotificationParams as NotificationParams
    from mcp.types.base import PaginatedRequestParams as PaginatedRequestParams
    from mcp.types.base import PaginatedResult as PaginatedResult
    from mcp.types.base import ProgressToken as ProgressToken
    from mcp.types.base import RequestParams as RequestParams
    from mcp.types.base import RequestParamsMeta as RequestParamsMeta
    from mcp.types.base import Result as Result
    from mcp.types.base import ResultType as ResultType
    from mcp.types.base import TaskMetadata as TaskMetadata
    from mcp.types.capabilities import ClientCapabilities as ClientCapabilities
    from mcp.types.capabilities import ClientTasksCapability as ClientTasksCapability
    from mcp.types.capabilities import ClientTasksRequestsCapability as ClientTasksRequestsCapability
    from mcp.types.capabilities import CompletionsCapability as CompletionsCapability
    from mcp.types.capabilities import ElicitationCapability as ElicitationCapability
    from mcp.types.capabilities import FormElicitationCapability as FormElicitationCapability
    from mcp.types.capabilities import LoggingCapability as LoggingCapability
    from mcp.types.capabilities import PromptsCapability as PromptsCapability
    from mcp.types.capabilities import ResourcesCapability as ResourcesCapability
    from mcp.types.capabilities import RootsCapability as RootsCapability
    from mcp.types.capabilities import SamplingCapability as SamplingCapability
    from mcp.types.capabilities import SamplingContextCapability as SamplingContextCapability
    from mcp.types.capabilities import SamplingToolsCapability as SamplingToolsCapability
    from mcp.types.capabilities import ServerCapabilities as ServerCapabilities
    from mcp.types.capabilities import ServerTasksCapability as ServerTasksCapability
    from mcp.types.capabilities import ServerTasksRequestsCapability as ServerTasksRequestsCapability
    from mcp.types.capabilities import TasksCallCapability as TasksCallCapability
    from mcp.types.capabilities import TasksCancelCapability as TasksCancelCapability
    from mcp.types.capabilities import TasksCreateElicitationCapability as TasksCreateElicitationCapability
    from mcp.types.capabilities import TasksCreateMessageCapability as TasksCreateMessageCapability
    from mcp.types.capabilities import TasksElicitationCapability as TasksElicitationCapability
    from mcp.types.capabilities import TasksListCapability as TasksListCapability
    from mcp.types.capabilities import TasksSamplingCapability as TasksSamplingCapability
    from mcp.types.capabilities import TasksToolsCapability as TasksToolsCapability
    from mcp.types.capabilities import ToolsCapability as ToolsCapability
    from mcp.types.capabilities import UrlElicitationCapability as UrlElicitationCapability
    from mcp.types.completion import CompleteRequestParams as CompleteRequestParams
    from mcp.types.completion import CompleteResult as CompleteResult
    from mcp.types.completion import Completion as Completion
    from mcp.types.completion import CompletionArgument as CompletionArgument
    from mcp.types.completion import CompletionContext as CompletionContext
    from mcp.types.completion import PromptReference as PromptReference
    from mcp.types.completion import ResourceTemplateReference as ResourceTemplateReference
    from mcp.types.content import Annotations as Annotations
    from mcp.types.content import AudioContent as AudioContent
    from mcp.types.content import BlobResourceContents as BlobResourceContents
    from mcp.types.content import ContentBlock as ContentBlock
    from mcp.types.content import EmbeddedResource as EmbeddedResource
    from mcp.types.content import ImageContent as ImageContent
    from mcp.types.content import Resource as Resource
    from mcp.types.content import ResourceContents as ResourceContents
    from mcp.types.content import ResourceLink as ResourceLink
    from mcp.types.content import Role as Role
    from mcp.types.content import SamplingContent as SamplingContent
    from mcp.types.content import SamplingMessageContentBlock as SamplingMessageContentBlock
    from mcp.types.content import TextContent as TextContent
    from mcp.types.content import TextResourceContents as TextResourceContents
    from mcp.types.content import ToolResultContent as ToolResultContent
    from mcp.types.content import ToolUseContent as ToolUseContent
    from mcp.types.elicitation import ElicitationRequiredErrorData as ElicitationRequiredErrorData
    from mcp.types.elicitation import ElicitCompleteNotificationParams as ElicitCompleteNotificationParams
    from mcp.types.elicitation import ElicitRequestedSchema as ElicitRequestedSchema
    from mcp.types.elicitation import ElicitRequestFormParams as ElicitRequestFormParams
    from mcp.types.elicitation import ElicitRequestParams as ElicitRequestParams
    from mcp.types.elicitation import ElicitRequestURLParams as ElicitRequestURLParams
    from mcp.types.elicitation import ElicitResult as ElicitResult
    from mcp.types.envelopes import Notification as Notification
    from mcp.types.envelopes import PaginatedRequest as PaginatedRequest
    from mcp.types.envelopes import Request as Request
    from mcp.types.input_required import CreateMessageRequest as CreateMessageRequest
    from mcp.types.input_required import ElicitRequest as ElicitRequest
    from mcp.types.input_required import InputRequest as InputRequest
    from mcp.types.input_required import InputRequests as InputRequests
    from mcp.types.input_required import InputRequiredResult as InputRequiredResult
    from mcp.types.input_required import InputResponse as InputResponse
    from mcp.types.input_required import InputResponses as InputResponses
    from mcp.types.input_required import ListRootsRequest as ListRootsRequest
    from mcp.types.jsonrpc import CONNECTION_CLOSED as CONNECTION_CLOSED
    from mcp.types.jsonrpc import HEADER_MISMATCH as HEADER_MISMATCH
    from mcp.types.jsonrpc import INTERNAL_ERROR as INTERNAL_ERROR
    from mcp.types.jsonrpc import INVALID_PARAMS as INVALID_PARAMS
    from mcp.types.jsonrpc import INVALID_REQUEST as INVALID_REQUEST
    from mcp.types.jsonrpc import JSONRPC_VERSION as JSONRPC_VERSION
    from mcp.types.jsonrpc import METHOD_NOT_FOUND as METHOD_NOT_FOUND
    from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY as MISSING_REQUIRED_CLIENT_CAPABILITY
    from mcp.types.jsonrpc import PARSE_ERROR as PARSE_ERROR
    from mcp.types.jsonrpc import REQUEST_TIMEOUT as REQUEST_TIMEOUT
    from mcp.types.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION as UNSUPPORTED_PROTOCOL_VERSION
    from mcp.types.jsonrpc import URL_ELICITATION_REQUIRED as URL_ELICITATION_REQUIRED
    from mcp.types.jsonrpc import ErrorData as ErrorData
    from mcp.types.jsonrpc import JSONRPCError as JSONRPCError
    from mcp.types.jsonrpc import JSONRPCMessage as JSONRPCMessage
    from mcp.types.jsonrpc import JSONRPCNotification as JSONRPCNotification
    from mcp.types.jsonrpc import JSONRPCRequest as JSONRPCRequest
    from mcp.types.jsonrpc import JSONRPCResponse as JSONRPCResponse
    from mcp.types.jsonrpc import RequestId as RequestId
    from mcp.types.jsonrpc import jsonrpc_message_adapter as jsonrpc_message_adapter
    from mcp.types.lifecycle import DiscoverResult as DiscoverResult
    from mcp.types.lifecycle import Implementation as Implementation
    from mcp.types.lifecycle import InitializeRequestParams as InitializeRequestParams
    from mcp.types.lifecycle import InitializeResult as InitializeResult
    from mcp.types.lifecycle import MissingRequiredClientCapabilityErrorData as MissingRequiredClientCapabilityErrorData
    from mcp.types.lifecycle import UnsupportedProtocolVersionErrorData as UnsupportedProtocolVersionErrorData
    from mcp.types.logging import LoggingLevel as LoggingLevel
    from mcp.types.logging import LoggingMessageNotificationParams as LoggingMessageNotificationParams
    from mcp.types.logging import SetLevelRequestParams as SetLevelRequestParams
    from mcp.types.notifications import CancelledNotification as CancelledNotification
    from mcp.types.notifications import ElicitCompleteNotification as ElicitCompleteNotification
    from mcp.types.notifications import InitializedNotification as InitializedNotification
    from mcp.types.notifications import LoggingMessageNotification as LoggingMessageNotification
    from mcp.types.notifications import ProgressNotification as ProgressNotification
    from mcp.types.notifications import PromptListChangedNotification as PromptListChangedNotification
    from mcp.types.notifications import ResourceListChangedNotification as ResourceListChangedNotification
    from mcp.types.notifications import ResourceUpdatedNotification as ResourceUpdatedNotification
    from mcp.types.notifications import RootsListChangedNotification as RootsListChangedNotification
    from mcp.types.notifications import SubscriptionsAcknowledgedNotification as SubscriptionsAcknowledgedNotification
    from mcp.types.notifications import ToolListChangedNotification as ToolListChangedNotification
    from mcp.types.progress import CancelledNotificationParams as CancelledNotificationParams
    from mcp.types.progress import ProgressNotificationParams as ProgressNotificationParams
    from mcp.types.prompts import GetPromptRequestParams as GetPromptRequestParams
    from mcp.types.prompts import GetPromptResult as GetPromptResult
    from mcp.types.prompts import ListPromptsResult as ListPromptsResult
    from mcp.types.prompts import Prompt as Prompt
    from mcp.types.prompts import PromptArgument as PromptArgument
    from mcp.types.prompts import PromptMessage as PromptMessage
    from mcp.types.requests import CallToolRequest as CallToolRequest
    from mcp.types.requests import CompleteRequest as CompleteRequest
    from mcp.types.requests import DiscoverRequest as DiscoverRequest
    from mcp.types.requests import GetPromptRequest as GetPromptRequest
    from mcp.types.requests import InitializeRequest as InitializeRequest
    from mcp.types.requests import ListPromptsRequest as ListPromptsRequest
    from mcp.types.requests import ListResourcesRequest as ListResourcesRequest
    from mcp.types.requests import ListResourceTemplatesRequest as ListResourceTemplatesRequest
    from mcp.types.requests import ListToolsRequest as ListToolsRequest
    from mcp.types.requests import PingRequest as PingRequest
    from mcp.types.requests import ReadResourceRequest as ReadResourceRequest
    from mcp.types.requests import SetLevelRequest as SetLevelRequest
    from mcp.types.requests import SubscribeRequest as SubscribeRequest
    from mcp.types.requests import SubscriptionsListenRequest as SubscriptionsListenRequest
    from mcp.types.requests import UnsubscribeRequest as UnsubscribeRequest
    from mcp.types.resources import ListResourcesResult as ListResourcesResult
    from mcp.types.resources import ListResourceTemplatesResult as ListResourceTemplatesResult
    from mcp.types.resources import ReadResourceRequestParams as ReadResourceRequestParams
    from mcp.types.resources import ReadResourceResult as ReadResourceResult
    from mcp.types.resources import ResourceTemplate as ResourceTemplate
    from mcp.types.resources import ResourceUpdatedNotificationParams as ResourceUpdatedNotificationParams
    from mcp.types.resources import SubscribeRequestParams as SubscribeRequestParams
    from mcp.types.resources import UnsubscribeRequestParams as UnsubscribeRequestParams
    from mcp.types.roots import ListRootsResult as ListRootsResult
    from mcp.types.roots import Root as Root
    from mcp.types.sampling import CreateMessageRequestParams as CreateMessageRequestParams
    from mcp.types.sampling import CreateMessageResult as CreateMessageResult
    from mcp.types.sampling import CreateMessageResultWithTools as CreateMessageResultWithTools
    from mcp.types.sampling import IncludeContext as IncludeContext
    from mcp.types.sampling import ModelHint as ModelHint
    from mcp.types.sampling import ModelPreferences as ModelPreferences
    from mcp.types.sampling import SamplingMessage as SamplingMessage
    from mcp.types.sampling import StopReason as StopReason
    from mcp.types.sampling import ToolChoice as ToolChoice
    from mcp.types.subscriptions import SubscriptionFilter as SubscriptionFilter
    from mcp.types.subscriptions import (
        SubscriptionsAcknowledgedNotificationParams as SubscriptionsAcknowledgedNotificationParams,
    )
    from mcp.types.subscriptions import SubscriptionsListenRequestParams as SubscriptionsListenRequestParams
    from mcp.types.subscriptions import SubscriptionsListenResult as SubscriptionsListenResult
    from mcp.types.tasks import CancelTaskRequest as CancelTaskRequest
    from mcp.types.tasks import CancelTaskRequestParams as CancelTaskRequestParams
    from mcp.types.tasks import CancelTaskResult as CancelTaskResult
    from mcp.types.tasks import CreateTaskResult as CreateTaskResult
    from mcp.types.tasks import GetTaskPayloadRequest as GetTaskPayloadRequest
    from mcp.types.tasks import GetTaskPayloadRequestParams as GetTaskPayloadRequestParams
    from mcp.types.tasks import GetTaskPayloadResult as GetTaskPayloadResult
    from mcp.types.tasks import GetTaskRequest as GetTaskRequest
    from mcp.types.tasks import GetTaskRequestParams as GetTaskRequestParams
    from mcp.types.tasks import GetTaskResult as GetTaskResult
    from mcp.types.tasks import ListTasksRequest as ListTasksRequest
    from mcp.types.tasks import ListTasksResult as ListTasksResult
    from mcp.types.tasks import RelatedTaskMetadata as RelatedTaskMetadata
    from mcp.types.tasks import Task as Task
    from mcp.types.tasks import TaskStatus as TaskStatus
    from mcp.types.tasks import TaskStatusNotification as TaskStatusNotification
    from mcp.types.tasks import TaskStatusNotificationParams as TaskStatusNotificationParams
    from mcp.types.tools import CallToolRequestParams as CallToolRequestParams
    from mcp.types.tools import CallToolResult as CallToolResult
    from mcp.types.tools import ListToolsResult as ListToolsResult
    from mcp.types.tools import Tool as Tool
    from mcp.types.tools import ToolAnnotations as ToolAnnotations
    from mcp.types.tools import ToolExecution as ToolExecution
    from mcp.types.unions import ClientNotification as ClientNotification
    from mcp.types.unions import ClientRequest as ClientRequest
    from mcp.types.unions import ClientResult as ClientResult
    from mcp.types.unions import ServerNotification as ServerNotification
    from mcp.types.unions import ServerRequest as ServerRequest
    from mcp.types.unions import ServerResult as ServerResult
    from mcp.types.unions import client_notification_adapter as client_notification_adapter
    from mcp.types.unions import client_request_adapter as client_request_adapter
    from mcp.types.unions import client_result_adapter as client_result_adapter
    from mcp.types.unions import server_notification_adapter as server_notification_adapter
    from mcp.types.unions import server_request_adapter as server_request_adapter
    from mcp.types.unions import server_result_adapter as server_result_adapter
    from mcp.types.version import DEFAULT_NEGOTIATED_VERSION as DEFAULT_NEGOTIATED_VERSION
    from mcp.types.version import LATEST_PROTOCOL_VERSION as LATEST_PROTOCOL_VERSION

_AREAS = {
    "base": """
        BaseMetadata CLIENT_CAPABILITIES_META_KEY CLIENT_INFO_META_KEY CORE_RESULT_TYPES
        CacheableResult EmptyResult Icon IconTheme InputResponseRequestParams LOG_LEVEL_META_KEY
        NotificationParams PROTOCOL_VERSION_META_KEY PaginatedRequestParams PaginatedResult
        ProgressToken RequestParams RequestParamsMeta Result ResultType SERVER_INFO_META_KEY
        TaskMetadata
    """,
    "capabilities": """
        ClientCapabilities ClientTasksCapability ClientTasksRequestsCapability CompletionsCapability
        ElicitationCapability FormElicitationCapability LoggingCapability PromptsCapability
        ResourcesCapability RootsCapability SamplingCapability SamplingContextCapability
        SamplingToolsCapability ServerCapabilities ServerTasksCapability
        ServerTasksRequestsCapability TasksCallCapability TasksCancelCapability
        TasksCreateElicitationCapability TasksCreateMessageCapability TasksElicitationCapability
        TasksListCapability TasksSamplingCapability TasksToolsCapability ToolsCapability
        UrlElicitationCapability
    """,
    "completion": """
        CompleteRequestParams CompleteResult Completion CompletionArgument CompletionContext
        PromptReference ResourceTemplateReference
    """,
    "content": """
        Annotations AudioContent BlobResourceContents ContentBlock EmbeddedResource ImageContent
        Resource ResourceContents ResourceLink Role SamplingContent SamplingMessageContentBlock
        TextContent TextResourceContents ToolResultContent ToolUseContent
    """,
    "elicitation": """
        ElicitCompleteNotificationParams ElicitRequestFormParams ElicitRequestParams
        ElicitRequestURLParams ElicitRequestedSchema ElicitResult ElicitationRequiredErrorData
    """,
    "envelopes": """
        Notification PaginatedRequest Request
    """,
    "input_required": """
        CreateMessageRequest ElicitRequest InputRequest InputRequests InputRequiredResult
        InputResponse InputResponses ListRootsRequest
    """,
    "jsonrpc": """
        CONNECTION_CLOSED ErrorData HEADER_MISMATCH INTERNAL_ERROR INVALID_PARAMS INVALID_REQUEST
        JSONRPCError JSONRPCMessage JSONRPCNotification JSONRPCRequest JSONRPCResponse
        JSONRPC_VERSION METHOD_NOT_FOUND MISSING_REQUIRED_CLIENT_CAPABILITY PARSE_ERROR
        REQUEST_TIMEOUT RequestId UNSUPPORTED_PROTOCOL_VERSION URL_ELICITATION_REQUIRED
        jsonrpc_message_adapter
    """,
    "lifecycle": """
        DiscoverResult Implementation InitializeRequestParams InitializeResult
        MissingRequiredClientCapabilityErrorData UnsupportedProtocolVersionErrorData
    """,
    "logging": """
        LoggingLevel LoggingMessageNotificationParams SetLevelRequestParams
    """,
    "notifications": """
        CancelledNotification ElicitCompleteNotification InitializedNotification
        LoggingMessageNotification ProgressNotification PromptListChangedNotification
        ResourceListChangedNotification ResourceUpdatedNotification RootsListChangedNotification
        SubscriptionsAcknowledgedNotification ToolListChangedNotification
    """,
    "progress": """
        CancelledNotificationParams ProgressNotificationParams
    """,
    "prompts": """
        GetPromptRequestParams GetPromptResult ListPromptsResult Prompt PromptArgument PromptMessage
    """,
    "requests": """
        CallToolRequest CompleteRequest DiscoverRequest GetPromptRequest InitializeRequest
        ListPromptsRequest ListResourceTemplatesRequest ListResourcesRequest ListToolsRequest
        PingRequest ReadResourceRequest SetLevelRequest SubscribeRequest SubscriptionsListenRequest
        UnsubscribeRequest
    """,
    "resources": """
        ListResourceTemplatesResult ListResourcesResult ReadResourceRequestParams ReadResourceResult
        ResourceTemplate ResourceUpdatedNotificationParams SubscribeRequestParams
        UnsubscribeRequestParams
    """,
    "roots": """
        ListRootsResult Root
    """,
    "sampling": """
        CreateMessageRequestParams CreateMessageResult CreateMessageResultWithTools IncludeContext
        ModelHint ModelPreferences SamplingMessage StopReason ToolChoice
    """,
    "subscriptions": """
        SubscriptionFilter SubscriptionsAcknowledgedNotificationParams
        SubscriptionsListenRequestParams SubscriptionsListenResult
    """,
    "tasks": """
        CancelTaskRequest CancelTaskRequestParams CancelTaskResult CreateTaskResult
        GetTaskPayloadRequest GetTaskPayloadRequestParams GetTaskPayloadResult GetTaskRequest
        GetTaskRequestParams GetTaskResult ListTasksRequest ListTasksResult RelatedTaskMetadata Task
        TaskStatus TaskStatusNotification TaskStatusNotificationParams
    """,
    "tools": """
        CallToolRequestParams CallToolResult ListToolsResult Tool ToolAnnotations ToolExecution
    """,
    "unions": """
        ClientNotification ClientRequest ClientResult ServerNotification ServerRequest ServerResult
        client_notification_adapter client_request_adapter client_result_adapter
        server_notification_adapter server_request_adapter server_result_adapter
    """,
    "version": """
        DEFAULT_NEGOTIATED_VERSION LATEST_PROTOCOL_VERSION
    """,
}
_HOMES = {name: f"mcp.types.{area}" for area, names in _AREAS.items() for name in names.split()}

_load, __dir__ = lazy_exports(__name__, _HOMES, ("jsonrpc", "methods", "version"))

if not TYPE_CHECKING:  # for a type checker, the names above are all there is: it flags a misspelt one
    __all__ = list(_HOMES)
    __getattr__ = _load
