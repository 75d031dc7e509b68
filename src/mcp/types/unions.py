"""Everything each side may send, as unions, and an adapter to parse each."""

from functools import cache
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidatorFunctionWrapHandler, WrapValidator
from pydantic.alias_generators import to_camel

from mcp.types.base import EmptyResult, Result
from mcp.types.completion import CompleteResult
from mcp.types.elicitation import ElicitResult
from mcp.types.input_required import CreateMessageRequest, ElicitRequest, InputRequiredResult, ListRootsRequest
from mcp.types.lifecycle import DiscoverResult, InitializeResult
from mcp.types.notifications import (
    CancelledNotification,
    ElicitCompleteNotification,
    InitializedNotification,
    LoggingMessageNotification,
    ProgressNotification,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    RootsListChangedNotification,
    SubscriptionsAcknowledgedNotification,
    ToolListChangedNotification,
)
from mcp.types.prompts import GetPromptResult, ListPromptsResult
from mcp.types.requests import (
    CallToolRequest,
    CompleteRequest,
    DiscoverRequest,
    GetPromptRequest,
    InitializeRequest,
    ListPromptsRequest,
    ListResourcesRequest,
    ListResourceTemplatesRequest,
    ListToolsRequest,
    PingRequest,
    ReadResourceRequest,
    SetLevelRequest,
    SubscribeRequest,
    SubscriptionsListenRequest,
    UnsubscribeRequest,
)
from mcp.types.resources import ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult
from mcp.types.roots import ListRootsResult
from mcp.types.sampling import CreateMessageResult, CreateMessageResultWithTools
from mcp.types.subscriptions import SubscriptionsListenResult
from mcp.types.tools import CallToolResult, ListToolsResult

ClientRequest = (
    PingRequest
    | InitializeRequest
    | CompleteRequest
    | SetLevelRequest
    | GetPromptRequest
    | ListPromptsRequest
    | ListResourcesRequest
    | ListResourceTemplatesRequest
    | ReadResourceRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | CallToolRequest
    | ListToolsRequest
    | DiscoverRequest
    | SubscriptionsListenRequest
)
ClientNotification = (
    CancelledNotification | ProgressNotification | InitializedNotification | RootsListChangedNotification
)
ClientResult = EmptyResult | CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult

ServerRequest = PingRequest | CreateMessageRequest | ListRootsRequest | ElicitRequest
ServerNotification = (
    CancelledNotification
    | ProgressNotification
    | LoggingMessageNotification
    | ResourceUpdatedNotification
    | ResourceListChangedNotification
    | ToolListChangedNotification
    | PromptListChangedNotification
    | ElicitCompleteNotification
    | SubscriptionsAcknowledgedNotification
)
ServerResult = (
    EmptyResult
    | InitializeResult
    | DiscoverResult
    | CompleteResult
    | GetPromptResult
    | ListPromptsResult
    | ListResourcesResult
    | ListResourceTemplatesResult
    | ReadResourceResult
    | CallToolResult
    | ListToolsResult
    | SubscriptionsListenResult
    | InputRequiredResult
)


def _told_apart(union: Any) -> WrapValidator:
    """Validates a result as one of those in `union` of which it has a required field, if there are any.

    Left to the whole union, a result with a mistake in it would pass as an `EmptyResult`, which takes anything.
    """
    keys: dict[type[Result], set[str]] = {model: _required_keys(model) for model in get_args(union)}

    def validate(value: dict[str, Any] | Result, whole_union: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, dict):
            candidates = tuple(model for model, required in keys.items() if not required.isdisjoint(value))
            if candidates:
                return _union_of(candidates).validate_python(value)
        return whole_union(value)

    return WrapValidator(validate)


def _required_keys(model: type[Result]) -> set[str]:
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    return required | {to_camel(name) for name in required}


@cache
def _union_of(models: tuple[type[Result], ...]) -> TypeAdapter[Any]:
    union: Any = models[0]
    for model in models[1:]:
        union |= model
    return TypeAdapter(union)


def _end_of_stream(value: Any, whole_union: ValidatorFunctionWrapHandler) -> Any:
    # Only the stream's id, deep in `_meta`, tells this result from an empty one.
    match value:
        case {"_meta": {"io.modelcontextprotocol/subscriptionId": _}}:
            return SubscriptionsListenResult.model_validate(value)
        case _:
            return whole_union(value)


_LAZY = ConfigDict(defer_build=True)

client_request_adapter: TypeAdapter[ClientRequest] = TypeAdapter(
    Annotated[ClientRequest, Field(discriminator="method")], config=_LAZY
)
client_notification_adapter: TypeAdapter[ClientNotification] = TypeAdapter(
    Annotated[ClientNotification, Field(discriminator="method")], config=_LAZY
)
client_result_adapter: TypeAdapter[ClientResult] = TypeAdapter(
    Annotated[ClientResult, _told_apart(ClientResult)], config=_LAZY
)
server_request_adapter: TypeAdapter[ServerRequest] = TypeAdapter(
    Annotated[ServerRequest, Field(discriminator="method")], config=_LAZY
)
server_notification_adapter: TypeAdapter[ServerNotification] = TypeAdapter(
    Annotated[ServerNotification, Field(discriminator="method")], config=_LAZY
)
server_result_adapter: TypeAdapter[ServerResult] = TypeAdapter(
    Annotated[ServerResult, WrapValidator(_end_of_stream), _told_apart(ServerResult)], config=_LAZY
)
