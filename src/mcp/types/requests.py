"""The requests a client sends, as whole messages. Tasks have theirs in `mcp.types.tasks`."""

from typing import Literal

from mcp.types.base import RequestParams
from mcp.types.completion import CompleteRequestParams
from mcp.types.envelopes import PaginatedRequest, Request
from mcp.types.lifecycle import InitializeRequestParams
from mcp.types.logging import SetLevelRequestParams
from mcp.types.prompts import GetPromptRequestParams
from mcp.types.resources import ReadResourceRequestParams, SubscribeRequestParams, UnsubscribeRequestParams
from mcp.types.subscriptions import SubscriptionsListenRequestParams
from mcp.types.tools import CallToolRequestParams


class PingRequest(Request[RequestParams | None, Literal["ping"]]):
    """Asks the peer, either side, whether it is there."""

    method: Literal["ping"] = "ping"
    params: RequestParams | None = None


class InitializeRequest(Request[InitializeRequestParams, Literal["initialize"]]):
    """Opens a handshake."""

    method: Literal["initialize"] = "initialize"
    params: InitializeRequestParams


class DiscoverRequest(Request[RequestParams | None, Literal["server/discover"]]):
    """Asks what a server is and can do, without a handshake."""

    method: Literal["server/discover"] = "server/discover"
    params: RequestParams | None = None


class ListToolsRequest(PaginatedRequest[Literal["tools/list"]]):
    """Asks for a page of tools."""

    method: Literal["tools/list"] = "tools/list"


class CallToolRequest(Request[CallToolRequestParams, Literal["tools/call"]]):
    """Calls a tool."""

    method: Literal["tools/call"] = "tools/call"
    params: CallToolRequestParams


class ListResourcesRequest(PaginatedRequest[Literal["resources/list"]]):
    """Asks for a page of resources."""

    method: Literal["resources/list"] = "resources/list"


class ListResourceTemplatesRequest(PaginatedRequest[Literal["resources/templates/list"]]):
    """Asks for a page of resource templates."""

    method: Literal["resources/templates/list"] = "resources/templates/list"


class ReadResourceRequest(Request[ReadResourceRequestParams, Literal["resources/read"]]):
    """Reads a resource."""

    method: Literal["resources/read"] = "resources/read"
    params: ReadResourceRequestParams


class SubscribeRequest(Request[SubscribeRequestParams, Literal["resources/subscribe"]]):
    """Asks to be told when a resource changes."""

    method: Literal["resources/subscribe"] = "resources/subscribe"
    params: SubscribeRequestParams


class UnsubscribeRequest(Request[UnsubscribeRequestParams, Literal["resources/unsubscribe"]]):
    """Asks not to be told any more."""

    method: Literal["resources/unsubscribe"] = "resources/unsubscribe"
    params: UnsubscribeRequestParams


class ListPromptsRequest(PaginatedRequest[Literal["prompts/list"]]):
    """Asks for a page of prompts."""

    method: Literal["prompts/list"] = "prompts/list"


class GetPromptRequest(Request[GetPromptRequestParams, Literal["prompts/get"]]):
    """Renders a prompt."""

    method: Literal["prompts/get"] = "prompts/get"
    params: GetPromptRequestParams


class CompleteRequest(Request[CompleteRequestParams, Literal["completion/complete"]]):
    """Asks for suggestions for an argument."""

    method: Literal["completion/complete"] = "completion/complete"
    params: CompleteRequestParams


class SetLevelRequest(Request[SetLevelRequestParams, Literal["logging/setLevel"]]):
    """Sets the least severe level of log messages to send."""

    method: Literal["logging/setLevel"] = "logging/setLevel"
    params: SetLevelRequestParams


class SubscriptionsListenRequest(Request[SubscriptionsListenRequestParams, Literal["subscriptions/listen"]]):
    """Opens a stream of changes."""

    method: Literal["subscriptions/listen"] = "subscriptions/listen"
    params: SubscriptionsListenRequestParams
