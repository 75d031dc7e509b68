"""The one table of methods: who may send each, in which revisions, and what it carries.

Dispatch, parsing, capabilities, era gating, HTTP headers and the documentation all read `METHODS`; there is
no second list. Importing the table loads no model: it names types, and loads them when they are asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, UnionType
from typing import Any, Final, Literal, TypeGuard, cast

from mcp import types
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

__all__ = [
    "CACHEABLE_METHODS",
    "CORE_METHODS",
    "INPUT_REQUIRED_METHODS",
    "METHODS",
    "SPEC_CLIENT_METHODS",
    "SPEC_CLIENT_NOTIFICATION_METHODS",
    "CacheableMethod",
    "Kind",
    "Method",
    "Side",
    "find_method",
    "is_input_required",
    "methods_sent_by",
]

Side = Literal["client", "server"]
Kind = Literal["request", "notification"]

_NEVER: Final[frozenset[str]] = frozenset()
_ALWAYS = frozenset(KNOWN_PROTOCOL_VERSIONS)
_HANDSHAKE = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
_MODERN = frozenset(MODERN_PROTOCOL_VERSIONS)


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the protocol.

    Attributes:
        name: The wire name, such as `tools/call`.
        message_name: The name in `mcp.types` of the whole message's type.
        params_name: The name of its params' type.
        result_names: The names of its results' types, the usual one first; none for a notification.
        from_client: The revisions in which a client may send it.
        from_server: The revisions in which a server may send it.
        params_required: Whether it needs params of its own. Modern revisions want params on every request
            besides, to hold `_meta`.
        cacheable: Whether its result carries `ttlMs` and `cacheScope` (2026-07-28).
        input_required: Whether an `InputRequiredResult` may answer it (2026-07-28).
        input_request: Whether it is asked inside an `InputRequiredResult` (2026-07-28).
        name_field: The wire name of the param that the `Mcp-Name` header repeats.
        capability: The attribute of its capabilities, dotted where nested, that whoever answers the request
            or sends the notification must have declared.
    """

    name: str
    message_name: str
    params_name: str
    result_names: tuple[str, ...] = ()
    from_client: frozenset[str] = _NEVER
    from_server: frozenset[str] = _NEVER
    params_required: bool = True
    cacheable: bool = False
    input_required: bool = False
    input_request: bool = False
    name_field: str | None = None
    capability: str | None = None

    @property
    def kind(self) -> Kind:
        """Whether it is answered."""
        return "request" if self.result_names else "notification"

    @property
    def direction(self) -> Literal["client_to_server", "server_to_client", "both"]:
        """Which way it travels, all revisions taken together."""
        if self.from_client and self.from_server:
            return "both"
        return "client_to_server" if self.from_client else "server_to_client"

    @property
    def versions(self) -> frozenset[str]:
        """The revisions in which it is a message of its own, either way."""
        return self.from_client | self.from_server

    @property
    def message_type(self) -> "type[types.Request[Any, Any]] | type[types.Notification[Any, Any]]":
        """The model of the whole message."""
        return getattr(types, self.message_name)

    @property
    def params_type(self) -> "type[types.RequestParams] | type[types.NotificationParams] | UnionType":
        """The model of its params; for `elicitation/create` the union of its two modes."""
        return getattr(types, self.params_name)

    @property
    def result_types(self) -> "tuple[type[types.Result], ...]":
        """The models of its results, the usual one first."""
        return tuple(getattr(types, name) for name in self.result_names)

    def sent_by(self, side: Side) -> frozenset[str]:
        """The revisions in which this side may send it."""
        return self.from_client if side == "client" else self.from_server


# fmt: off
_CLIENT_REQUESTS = (
    Method("initialize", "InitializeRequest", "InitializeRequestParams", ("InitializeResult",),
           from_client=_HANDSHAKE),
    Method("server/discover", "DiscoverRequest", "RequestParams", ("DiscoverResult",),
           from_client=_MODERN, params_required=False, cacheable=True),
    Method("tools/list", "ListToolsRequest", "PaginatedRequestParams", ("ListToolsResult",),
           from_client=_ALWAYS, params_required=False, cacheable=True, capability="tools"),
    Method("tools/call", "CallToolRequest", "CallToolRequestParams", ("CallToolResult",),
           from_client=_ALWAYS, input_required=True, name_field="name", capability="tools"),
    Method("resources/list", "ListResourcesRequest", "PaginatedRequestParams", ("ListResourcesResult",),
           from_client=_ALWAYS, params_required=False, cacheable=True, capability="resources"),
    Method("resources/templates/list", "ListResourceTemplatesRequest", "PaginatedRequestParams",
           ("ListResourceTemplatesResult",),
           from_client=_ALWAYS, params_required=False, cacheable=True, capability="resources"),
    Method("resources/read", "ReadResourceRequest", "ReadResourceRequestParams", ("ReadResourceResult",),
           from_client=_ALWAYS, cacheable=True, input_required=True, name_field="uri", capability="resources"),
    Method("resources/subscribe", "SubscribeRequest", "SubscribeRequestParams", ("EmptyResult",),
           from_client=_HANDSHAKE, capability="resources.subscribe"),
    Method("resources/unsubscribe", "UnsubscribeRequest", "UnsubscribeRequestParams", ("EmptyResult",),
           from_client=_HANDSHAKE, capability="resources.subscribe"),
    Method("prompts/list", "ListPromptsRequest", "PaginatedRequestParams", ("ListPromptsResult",),
           from_client=_ALWAYS, params_required=False, cacheable=True, capability="prompts"),
    Method("prompts/get", "GetPromptRequest", "GetPromptRequestParams", ("GetPromptResult",),
           from_client=_ALWAYS, input_required=True, name_field="name", capability="prompts"),
    Method("completion/complete", "CompleteRequest", "CompleteRequestParams", ("CompleteResult",),
           from_client=_ALWAYS, capability="completions"),
    Method("logging/setLevel", "SetLevelRequest", "SetLevelRequestParams", ("EmptyResult",),
           from_client=_HANDSHAKE, capability="logging"),
    Method("subscriptions/listen", "SubscriptionsListenRequest", "SubscriptionsListenRequestParams",
           ("SubscriptionsListenResult",), from_client=_MODERN),
)

_SERVER_REQUESTS = (
    Method("sampling/createMessage", "CreateMessageRequest", "CreateMessageRequestParams",
           ("CreateMessageResult", "CreateMessageResultWithTools"),
           from_server=_HANDSHAKE, input_request=True, capability="sampling"),
    Method("roots/list", "ListRootsRequest", "RequestParams", ("ListRootsResult",),
           from_server=_HANDSHAKE, params_required=False, input_request=True, capability="roots"),
    Method("elicitation/create", "ElicitRequest", "ElicitRequestParams", ("ElicitResult",),
           from_server=frozenset({"2025-06-18", "2025-11-25"}), input_request=True, capability="elicitation"),
)

_EITHER_WAY = (
    Method("ping", "PingRequest", "RequestParams", ("EmptyResult",),
           from_client=_HANDSHAKE, from_server=_HANDSHAKE, params_required=False),
    Method("notifications/cancelled", "CancelledNotification", "CancelledNotificationParams",
           from_client=_ALWAYS, from_server=_ALWAYS),
    Method("notifications/progress", "ProgressNotification", "ProgressNotificationParams",
           from_client=_HANDSHAKE, from_server=_ALWAYS),
)

_NOTIFICATIONS = (
    Method("notifications/initialized", "InitializedNotification", "NotificationParams",
           from_client=_HANDSHAKE, params_required=False),
    Method("notifications/roots/list_changed", "RootsListChangedNotification", "NotificationParams",
           from_client=_HANDSHAKE, params_required=False, capability="roots.list_changed"),
    Method("notifications/message", "LoggingMessageNotification", "LoggingMessageNotificationParams",
           from_server=_ALWAYS, capability="logging"),
    Method("notifications/tools/list_changed", "ToolListChangedNotification", "NotificationParams",
           from_server=_ALWAYS, params_required=False, capability="tools.list_changed"),
    Method("notifications/resources/list_changed", "ResourceListChangedNotification", "NotificationParams",
           from_server=_ALWAYS, params_required=False, capability="resources.list_changed"),
    Method("notifications/resources/updated", "ResourceUpdatedNotification", "ResourceUpdatedNotificationParams",
           from_server=_ALWAYS, capability="resources.subscribe"),
    Method("notifications/prompts/list_changed", "PromptListChangedNotification", "NotificationParams",
           from_server=_ALWAYS, params_required=False, capability="prompts.list_changed"),
    Method("notifications/elicitation/complete", "ElicitCompleteNotification", "ElicitCompleteNotificationParams",
           from_server=frozenset({"2025-11-25"})),
    Method("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification",
           "SubscriptionsAcknowledgedNotificationParams", from_server=_MODERN),
)

# Only 2025-11-25 had them, either way. They became an extension, which uses the same names.
_IN_TASKS = frozenset({"2025-11-25"})
_TASKS = (
    Method("tasks/get", "GetTaskRequest", "GetTaskRequestParams", ("GetTaskResult",),
           from_client=_IN_TASKS, from_server=_IN_TASKS, capability="tasks"),
    Method("tasks/result", "GetTaskPayloadRequest", "GetTaskPayloadRequestParams", ("GetTaskPayloadResult",),
           from_client=_IN_TASKS, from_server=_IN_TASKS, capability="tasks"),
    Method("tasks/list", "ListTasksRequest", "PaginatedRequestParams", ("ListTasksResult",),
           from_client=_IN_TASKS, from_server=_IN_TASKS, params_required=False, capability="tasks.list"),
    Method("tasks/cancel", "CancelTaskRequest", "CancelTaskRequestParams", ("CancelTaskResult",),
           from_client=_IN_TASKS, from_server=_IN_TASKS, capability="tasks.cancel"),
    Method("notifications/tasks/status", "TaskStatusNotification", "TaskStatusNotificationParams",
           from_client=_IN_TASKS, from_server=_IN_TASKS, capability="tasks"),
)
# fmt: on

_CORE = _CLIENT_REQUESTS + _SERVER_REQUESTS + _EITHER_WAY + _NOTIFICATIONS

METHODS: Final[Mapping[str, Method]] = MappingProxyType({method.name: method for method in _CORE + _TASKS})


def find_method(name: str, *, sender: Side, version: str) -> Method | None:
    """The method called `name` if `sender` may send it in revision `version`, else None."""
    method = METHODS.get(name)
    return method if method is not None and version in method.sent_by(sender) else None


def methods_sent_by(side: Side, kind: Kind) -> tuple[Method, ...]:
    """The methods of this kind that this side may send in some revision."""
    return tuple(method for method in METHODS.values() if method.kind == kind and method.sent_by(side))


def _names(methods: Iterable[Method]) -> frozenset[str]:
    return frozenset(method.name for method in methods)


CacheableMethod = Literal[
    "prompts/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "tools/list"
]

CORE_METHODS: Final[frozenset[str]] = _names(_CORE)
"""Every method, but for those of tasks: whose name no extension may use."""
CACHEABLE_METHODS: Final[frozenset[str]] = _names(method for method in _CORE if method.cacheable)
INPUT_REQUIRED_METHODS: Final[frozenset[str]] = _names(method for method in _CORE if method.input_required)
SPEC_CLIENT_METHODS: Final[frozenset[str]] = _names(methods_sent_by("client", "request")) - _names(_TASKS)
"""The requests that a client may send in some revision, but for those of tasks: an extension may claim these."""
SPEC_CLIENT_NOTIFICATION_METHODS: Final[frozenset[str]] = _names(methods_sent_by("client", "notification")) - _names(
    _TASKS
)
"""The notifications that a client may send in some revision, but for that of tasks."""


def is_input_required(result: object) -> "TypeGuard[types.InputRequiredResult | dict[str, Any]]":
    """Whether a result, be it a model or in its wire form, asks for input instead of answering."""
    if isinstance(result, dict):
        return cast("dict[str, Any]", result).get("resultType") == "input_required"
    # The cheap test first: the other loads the model's area.
    asks = getattr(result, "result_type", None) == "input_required"
    return asks and isinstance(result, types.InputRequiredResult)
