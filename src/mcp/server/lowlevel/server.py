"""The raw protocol server.

A `Server` is a table of handlers, one per method, and the facts it announces about itself. Everything it does with a
message happens in the engine; everything it does with bytes, in a transport. How it is put behind one is in `serving`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, cast

from pydantic import BaseModel
from typing_extensions import TypeVar

from mcp import types
from mcp.protocol.eras import SERVED_VERSIONS
from mcp.protocol.results import Stamp
from mcp.server.caching import CacheableMethod, CacheHint, validate_cache_hints
from mcp.server.capabilities import NotificationOptions, derived_capabilities
from mcp.server.context import HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.list_changes import ListChanges
from mcp.server.lowlevel.serving import LifespanResultT, Serving
from mcp.server.middleware.tracing import OpenTelemetryMiddleware
from mcp.server.models import InitializationOptions
from mcp.server.tool_scopes import NO_SCOPES, ToolScopes
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types.methods import METHODS

if TYPE_CHECKING:
    from mcp.server.auth.protection import Protection
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

__all__ = [
    "HandlerEntry",
    "LifespanResultT",
    "NotificationHandler",
    "NotificationOptions",
    "RequestHandler",
    "Server",
    "lifespan",
]

logger = logging.getLogger(__name__)

_ParamsT = TypeVar("_ParamsT", bound=BaseModel, default=BaseModel)
_AnyParamsT = TypeVar("_AnyParamsT", default=Any)
_ResultT = TypeVar("_ResultT", default=Any)

RequestHandler = Callable[[ServerRequestContext[LifespanResultT], _ParamsT], Awaitable[HandlerResult]]
NotificationHandler = Callable[[ServerRequestContext[LifespanResultT], _ParamsT], Awaitable[None]]

_Handler = Callable[[ServerRequestContext[LifespanResultT], _AnyParamsT], Awaitable[_ResultT]]
_Pages = types.PaginatedRequestParams | None


@dataclass(frozen=True)
class HandlerEntry(Generic[LifespanResultT]):
    """A handler, the model its params are validated against, and the revisions it serves; None for all."""

    params_type: type[BaseModel]
    handler: RequestHandler[LifespanResultT, Any]
    protocol_versions: frozenset[str] | None = None


@asynccontextmanager
async def lifespan(_: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
    """The lifespan of a server that has none: yields an empty dict."""
    yield {}


async def _ping(ctx: ServerRequestContext[Any], params: types.RequestParams | None) -> types.EmptyResult:
    return types.EmptyResult()


def _check_look_up(look_up: Any) -> None:
    if look_up is None:
        return
    if not callable(look_up):
        raise TypeError(f"get_tool_input_schema must be a function of a tool's name, got {type(look_up).__name__}")
    if iscoroutinefunction(look_up) or iscoroutinefunction(type(look_up).__call__):
        raise TypeError("get_tool_input_schema must be a plain function, got a coroutine function")


_INITIALIZE_RESERVED = (
    "'initialize' is handled by the server runner and cannot be overridden; "
    "use Server.middleware to observe or wrap initialization"
)


class Server(Serving[LifespanResultT]):
    """A server that speaks raw MCP.

    Every handler is `async (ctx, params) -> result`, where the result is the method's own type. What a handler raises
    becomes a JSON-RPC error: an `MCPError` as it is, anything else as -32603 with the details in the log only.

    Args:
        name: The server's programmatic name.
        version: Its version.
        title: Its name for people.
        description: What it is for.
        instructions: How a model should use it.
        website_url: Where to read more.
        icons: Images to show beside it.
        cache_hints: How results may be cached, by method, where their handler does not say.
        lifespan: Entered when serving starts, left when it ends; what it yields is `ctx.lifespan_context`.
        get_tool_input_schema: Gives a tool's input schema by name, None for one that has none, to check the
            `Mcp-Param-*` headers of a call against (2026-07-28 over HTTP). Called with every call, so it should look
            the schema up, and return the same object each time. When left out, `on_list_tools` is asked instead.
        tracing: Whether `middleware` begins with an `OpenTelemetryMiddleware`.
        on_list_tools: Answers `tools/list`.
        on_call_tool: Answers `tools/call`, for every tool.
        on_list_resources: Answers `resources/list`.
        on_list_resource_templates: Answers `resources/templates/list`.
        on_read_resource: Answers `resources/read`.
        on_subscribe_resource: Answers `resources/subscribe` (handshake revisions).
        on_unsubscribe_resource: Answers `resources/unsubscribe` (handshake revisions).
        on_subscriptions_listen: Answers `subscriptions/listen` (2026-07-28).
        on_list_prompts: Answers `prompts/list`.
        on_get_prompt: Answers `prompts/get`.
        on_completion: Answers `completion/complete`.
        on_set_logging_level: Answers `logging/setLevel` (handshake revisions; deprecated).
        on_ping: Answers `ping` (handshake revisions).
        on_roots_list_changed: Takes `notifications/roots/list_changed` (handshake revisions; deprecated).
        on_progress: Takes `notifications/progress` from clients (handshake revisions; deprecated).

    Attributes:
        tool_scopes: The scopes that a call of a tool needs, by the tool's name. Over HTTP, a call whose token lacks one
            is refused before any handler runs. It is read when serving starts, and a dict may change afterwards. What
            is listed to whom is for the handlers to decide.

    Raises:
        ValueError: `cache_hints` names a method whose results are not cacheable.
        TypeError: `cache_hints` holds something that is not a `CacheHint`, or `get_tool_input_schema` is no plain
            function.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[types.Icon] | None = None,
        cache_hints: Mapping[CacheableMethod, CacheHint] | None = None,
        lifespan: Callable[[Server[Any]], AbstractAsyncContextManager[LifespanResultT]] = lifespan,
        get_tool_input_schema: Callable[[str], Mapping[str, Any] | None] | None = None,
        tracing: bool = True,
        on_list_tools: _Handler[LifespanResultT, _Pages, types.ListToolsResult] | None = None,
        on_call_tool: _Handler[
            LifespanResultT, types.CallToolRequestParams, types.CallToolResult | types.InputRequiredResult
        ]
        | None = None,
        on_list_resources: _Handler[LifespanResultT, _Pages, types.ListResourcesResult] | None = None,
        on_list_resource_templates: _Handler[LifespanResultT, _Pages, types.ListResourceTemplatesResult] | None = None,
        on_read_resource: _Handler[
            LifespanResultT, types.ReadResourceRequestParams, types.ReadResourceResult | types.InputRequiredResult
        ]
        | None = None,
        on_subscribe_resource: _Handler[LifespanResultT, types.SubscribeRequestParams, types.EmptyResult] | None = None,
        on_unsubscribe_resource: _Handler[LifespanResultT, types.UnsubscribeRequestParams, types.EmptyResult]
        | None = None,
        on_subscriptions_listen: _Handler[
            LifespanResultT, types.SubscriptionsListenRequestParams, types.SubscriptionsListenResult
        ]
        | None = None,
        on_list_prompts: _Handler[LifespanResultT, _Pages, types.ListPromptsResult] | None = None,
        on_get_prompt: _Handler[
            LifespanResultT, types.GetPromptRequestParams, types.GetPromptResult | types.InputRequiredResult
        ]
        | None = None,
        on_completion: _Handler[LifespanResultT, types.CompleteRequestParams, types.CompleteResult] | None = None,
        on_set_logging_level: _Handler[LifespanResultT, types.SetLevelRequestParams, types.EmptyResult] | None = None,
        on_ping: _Handler[LifespanResultT, types.RequestParams | None, types.EmptyResult] = _ping,
        on_roots_list_changed: _Handler[LifespanResultT, types.NotificationParams | None, None] | None = None,
        on_progress: _Handler[LifespanResultT, types.ProgressNotificationParams, None] | None = None,
    ) -> None:
        self._stamp: Stamp | None = None
        self.name = name
        self.version = version
        self.title = title
        self.description = description
        self.instructions = instructions
        self.website_url = website_url
        self.icons = icons
        self.cache_hints: dict[str, CacheHint] = validate_cache_hints(cache_hints)
        self.lifespan = lifespan
        self.get_tool_input_schema = get_tool_input_schema
        self.middleware: list[ServerMiddleware[LifespanResultT]] = [OpenTelemetryMiddleware()] if tracing else []
        self.extensions: dict[str, dict[str, Any]] = {}
        self.handlers_revision = 0
        self.notification_options = NotificationOptions()
        self.list_changes: ListChanges | None = None
        self.prepare: Callable[[], None] | None = None
        self.tool_scopes: ToolScopes = NO_SCOPES
        self.protection: Callable[[], Protection | None] = _unprotected
        self._session_manager: StreamableHTTPSessionManager | None = None
        self._requests: dict[str, HandlerEntry[LifespanResultT]] = {}
        self._notifications: dict[str, HandlerEntry[LifespanResultT]] = {}
        self._register(
            self._requests,
            {
                "server/discover": self._discover,
                "ping": on_ping,
                "tools/list": on_list_tools,
                "tools/call": on_call_tool,
                "resources/list": on_list_resources,
                "resources/templates/list": on_list_resource_templates,
                "resources/read": on_read_resource,
                "resources/subscribe": on_subscribe_resource,
                "resources/unsubscribe": on_unsubscribe_resource,
                "subscriptions/listen": on_subscriptions_listen,
                "prompts/list": on_list_prompts,
                "prompts/get": on_get_prompt,
                "completion/complete": on_completion,
                "logging/setLevel": on_set_logging_level,
            },
        )
        self._register(
            self._notifications,
            {"notifications/roots/list_changed": on_roots_list_changed, "notifications/progress": on_progress},
        )
        _warn_of_deprecated(on_set_logging_level, on_roots_list_changed, on_progress)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "get_tool_input_schema":
            _check_look_up(value)
        # The identity is encoded once and stamped on every result, so a change of any attribute drops that copy.
        object.__setattr__(self, name, value)
        if name != "_stamp":
            object.__setattr__(self, "_stamp", None)

    def _register(
        self,
        table: dict[str, HandlerEntry[LifespanResultT]],
        handlers: Mapping[str, Callable[..., Awaitable[Any]] | None],
    ) -> None:
        for method, handler in handlers.items():
            if handler is not None:
                # The methods that a server handles have one params model each; only a client's have a union.
                table[method] = HandlerEntry(cast("type[BaseModel]", METHODS[method].params_type), handler)

    def add_request_handler(
        self,
        method: str,
        params_type: type[_ParamsT],
        handler: RequestHandler[LifespanResultT, _ParamsT],
        *,
        protocol_versions: frozenset[str] | None = None,
    ) -> None:
        """Answers a request method: one of your own, or one of the protocol's in place of what answered it before.

        Args:
            method: The method.
            params_type: What params are validated against before `handler` runs. Derive it from `RequestParams`.
            handler: `async (ctx, params) -> model, dict or None`.
            protocol_versions: The revisions that have the method; in any other it does not exist. None for all in
                which the protocol has it.

        Raises:
            ValueError: The method is `initialize`, which opens connections and cannot be replaced.
        """
        if method == "initialize":
            raise ValueError(_INITIALIZE_RESERVED)
        self._requests[method] = HandlerEntry(params_type, handler, protocol_versions)
        self.handlers_revision += 1

    def add_notification_handler(
        self,
        method: str,
        params_type: type[_ParamsT],
        handler: NotificationHandler[LifespanResultT, _ParamsT],
    ) -> None:
        """Takes a notification method.

        Args:
            method: The method.
            params_type: What params are validated against before `handler` runs. Derive it from `NotificationParams`.
            handler: `async (ctx, params) -> None`.
        """
        self._notifications[method] = HandlerEntry(params_type, handler)
        self.handlers_revision += 1

    def get_request_handler(self, method: str) -> HandlerEntry[LifespanResultT] | None:
        """What answers a request method; None where nothing does."""
        return self._requests.get(method)

    def get_notification_handler(self, method: str) -> HandlerEntry[LifespanResultT] | None:
        """What takes a notification method; None where nothing does."""
        return self._notifications.get(method)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """What the server can do, derived from its handlers. A subclass may override it.

        Args:
            notification_options: The list changes that are announced; `self.notification_options` when left out.
            experimental_capabilities: Capabilities outside the protocol.
            extensions: Settings by extension identifier, on top of `self.extensions`.
            protocol_version: The revision to describe; None for the handshake ones.
        """
        return derived_capabilities(
            self._requests,
            notification_options or self.notification_options,
            experimental_capabilities,
            {**self.extensions, **(extensions or {})},
            protocol_version,
        )

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """What `run` announces on one connection. A subclass may override it.

        Args:
            notification_options: The list changes that are announced.
            experimental_capabilities: Capabilities outside the protocol.
            extensions: Settings by extension identifier, on top of `self.extensions`.
        """
        return InitializationOptions(
            server_name=self.name,
            server_version=self.version,
            title=self.title,
            description=self.description,
            capabilities=self.get_capabilities(notification_options, experimental_capabilities, extensions),
            instructions=self.instructions,
            website_url=self.website_url,
            icons=self.icons,
        )

    @property
    def server_info(self) -> types.Implementation:
        """Who the server is."""
        return types.Implementation(
            name=self.name,
            version=self.version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=self.icons,
        )

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """Who the server is, in wire form: what every 2026-07-28 result carries in `_meta`."""
        return self.server_info.model_dump(by_alias=True, exclude_none=True, mode="json")

    @property
    def stamp(self) -> Stamp:
        """The identity that results carry, encoded."""
        if self._stamp is None:
            self._stamp = Stamp(self.server_info_stamp)
        return self._stamp

    async def _discover(
        self, ctx: ServerRequestContext[LifespanResultT], params: types.RequestParams | None
    ) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=list(SERVED_VERSIONS),
            capabilities=self.get_capabilities(protocol_version=ctx.protocol_version),
            instructions=self.instructions,
        )


def _unprotected() -> None:
    """What protects a server whose endpoints are given their protection one by one."""


def _warn_of_deprecated(set_logging_level: object, roots_list_changed: object, progress: object) -> None:
    texts = {
        "The logging capability is deprecated as of 2026-07-28 (SEP-2577).": set_logging_level,
        "The roots capability is deprecated as of 2026-07-28 (SEP-2577).": roots_list_changed,
        "Client-to-server progress is deprecated as of 2026-07-28.": progress,
    }
    for text, handler in texts.items():
        if handler is not None:
            warnings.warn(text, MCPDeprecationWarning, stacklevel=3)
