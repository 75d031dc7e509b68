"""`MCPServer`: a server made of ordinary typed functions.

    mcp = MCPServer("Weather")

    @mcp.tool()
    def forecast(city: str, days: int = 3) -> list[str]: ...

    mcp.run()

It builds a low-level `Server` and registers handlers on it, as any program could: there is no other way to the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mcp.server.extension import (
    ResourceBinding,
    ToolBinding,
    add_extension,
    compose_tool_call_handler,
    require_client_extension,
)
from mcp.server.extension_checks import declared
from mcp.server.list_changes import ListChanges
from mcp.server.lowlevel.server import LifespanResultT, NotificationOptions, Server
from mcp.server.lowlevel.server import lifespan as default_lifespan
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.functions.signature import callable_name
from mcp.server.mcpserver.given import check_given, checked_protection
from mcp.server.mcpserver.handlers import Handlers
from mcp.server.mcpserver.prompts.manager import PromptManager
from mcp.server.mcpserver.registration import Registration
from mcp.server.mcpserver.resources.resource_manager import ResourceManager
from mcp.server.mcpserver.resources.security import DEFAULT_RESOURCE_SECURITY, ResourceSecurity
from mcp.server.mcpserver.serving import Serving
from mcp.server.mcpserver.settings import LogLevel, Settings
from mcp.server.mcpserver.tools.tool_manager import ToolManager
from mcp.server.mcpserver.utilities.logging import configure_logging, get_logger
from mcp.server.mcpserver.verbs import OWN_METHODS, Verbs
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.auth.provider import OAuthAuthorizationServerProvider, TokenVerifier
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.caching import CacheableMethod, CacheHint
    from mcp.server.context import ServerMiddleware
    from mcp.server.extension import Extension
    from mcp.server.mcpserver.duplicates import DuplicatePolicy
    from mcp.server.mcpserver.functions.arguments import UnknownArguments
    from mcp.server.mcpserver.resources.base import Resource
    from mcp.server.mcpserver.tools.base import Tool
    from mcp.server.subscriptions import SubscriptionBus

__all__ = ["Context", "MCPServer", "Settings", "configure_logging", "lifespan_wrapper", "require_client_extension"]

logger = get_logger(__name__)


class MCPServer(Registration, Verbs[LifespanResultT], Serving[LifespanResultT]):
    """A server made of typed functions.

    Args:
        name: The server's programmatic name.
        title: Its name for people.
        description: What it is for.
        instructions: How a model should use it.
        website_url: Where to read more.
        icons: Images to show beside it.
        version: Its version.
        auth_server_provider: An authorization server that becomes part of this one; goes with `auth`.
        token_verifier: Decides which tokens are good, over HTTP; goes with `auth`.
        tools: Tools to begin with.
        resources: Resources to begin with.
        extensions: What is added under identifiers that clients are told of: tools, resources, methods. Of those that
            intercept tools' calls, the first is outermost. They are taken now, and there is no way to add one later.
        debug: Starlette's debug mode, in the HTTP applications.
        log_level: What `run()` logs, where the program has not set up logging itself.
        warn_on_duplicate_resources: Whether a warning is logged when the URI of a resource is taken.
        warn_on_duplicate_tools: Whether a warning is logged when the name of a tool is taken.
        warn_on_duplicate_prompts: Whether a warning is logged when the name of a prompt is taken.
        dependencies: What `mcp dev` and `mcp install` install besides.
        lifespan: Entered with the server when serving starts, left when it ends; what it yields is
            `ctx.request_context.lifespan_context`.
        auth: How the HTTP endpoints are protected. It needs a `token_verifier` or an `auth_server_provider`, and they
            need it.
        resource_security: What the values in a resource's URI are checked for.
        request_state_security: How the state of requests in several rounds is sealed. Left out, with a key of this
            process: several processes behind one address need keys that they share.
        cache_hints: How results may be cached, by method.
        subscriptions: Carries changes to `subscriptions/listen` streams; a bus within this process when left out, and
            none with False.
        middleware: Wraps every message, outermost first.
        on_duplicate: What happens when a name or a URI is taken, for all three kinds; by default the first stays, and
            the `warn_on_duplicate_*` arguments decide on a warning.
        unknown_arguments: "suggest" refuses an argument of a tool that looks like a slip and ignores other unknown
            ones, "refuse" refuses them all.
        tracing: Whether `middleware` begins with an `OpenTelemetryMiddleware`.

    Raises:
        ValueError: `cache_hints` names a method whose results are not cacheable, `on_duplicate` or `unknown_arguments`
            is none of their words, two extensions have the same identifier, method, tool or resource, or what protects
            the server is not whole.
        TypeError: An argument is of another type, or what an extension declares is. The text says what is expected.
    """

    def __init__(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: list[types.Icon] | None = None,
        version: str = "",
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
        token_verifier: TokenVerifier | None = None,
        *,
        tools: list[Tool] | None = None,
        resources: list[Resource] | None = None,
        extensions: Sequence[Extension] | None = None,
        debug: bool = False,
        log_level: LogLevel = "INFO",
        warn_on_duplicate_resources: bool = True,
        warn_on_duplicate_tools: bool = True,
        warn_on_duplicate_prompts: bool = True,
        dependencies: list[str] | None = None,
        lifespan: Callable[[MCPServer[Any]], AbstractAsyncContextManager[LifespanResultT]] | None = None,
        auth: AuthSettings | None = None,
        resource_security: ResourceSecurity = DEFAULT_RESOURCE_SECURITY,
        request_state_security: RequestStateSecurity | None = None,
        cache_hints: Mapping[CacheableMethod, CacheHint] | None = None,
        subscriptions: SubscriptionBus | Literal[False] | None = None,
        middleware: Sequence[ServerMiddleware[Any]] | None = None,
        on_duplicate: DuplicatePolicy | None = None,
        unknown_arguments: UnknownArguments = "suggest",
        tracing: bool = True,
    ) -> None:
        if auth is not None or token_verifier is not None or auth_server_provider is not None:
            auth = checked_protection(auth, token_verifier, auth_server_provider)
        check_given(
            name=name,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            version=version,
            icons=icons,
            tools=tools,
            resources=resources,
            extensions=extensions,
            dependencies=dependencies,
            lifespan=lifespan,
            resource_security=resource_security,
            request_state_security=request_state_security,
            subscriptions=subscriptions,
            middleware=middleware,
            on_duplicate=on_duplicate,
            unknown_arguments=unknown_arguments,
        )
        self.settings: Settings[LifespanResultT] = Settings(
            debug=debug,
            log_level=log_level,
            warn_on_duplicate_resources=warn_on_duplicate_resources,
            warn_on_duplicate_tools=warn_on_duplicate_tools,
            warn_on_duplicate_prompts=warn_on_duplicate_prompts,
            dependencies=list(dependencies or ()),
            lifespan=lifespan,
            auth=auth,
        )
        self._token_verifier = token_verifier
        self._auth_server_provider = auth_server_provider
        self.dependencies = self.settings.dependencies
        self._tool_manager = ToolManager(warn_on_duplicate_tools, tools=tools, on_duplicate=on_duplicate)
        self._resource_manager = ResourceManager(
            warn_on_duplicate_resources, resources=resources, on_duplicate=on_duplicate
        )
        self._prompt_manager = PromptManager(warn_on_duplicate_prompts, on_duplicate=on_duplicate)
        self._resource_security = resource_security
        self._unknown_arguments = unknown_arguments
        self._custom_starlette_routes = []
        self._bus: SubscriptionBus | None = None
        if subscriptions is not False:
            self._bus = InMemorySubscriptionBus() if subscriptions is None else subscriptions
        self._changes = ListChanges(None if self._bus is None else self._bus.publish)
        self._announce_changes()
        state = RequestStateBoundary(
            request_state_security or RequestStateSecurity.ephemeral(), default_audience=name or "mcp-server"
        )
        handlers = Handlers(self, self._changes, state)
        extensions = tuple(extensions or ())
        call_tool = compose_tool_call_handler(extensions, handlers.call_tool)
        # Where no extension looks at the results, they are only sent.
        call_tool = handlers.call_tool_to_send if call_tool == handlers.call_tool else state.around(call_tool)
        self._lowlevel_server: Server[LifespanResultT] = Server(
            name or "mcp-server",
            version=version,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            icons=icons,
            cache_hints=cache_hints,
            lifespan=default_lifespan if lifespan is None else lifespan_wrapper(self, lifespan),
            get_tool_input_schema=None if self._lists_otherwise() else self._input_schema,
            tracing=tracing,
            on_list_tools=handlers.list_tools,
            on_call_tool=call_tool,
            on_list_resources=handlers.list_resources,
            on_list_resource_templates=handlers.list_resource_templates,
            on_read_resource=state.around(handlers.read_resource),
            on_list_prompts=handlers.list_prompts,
            on_get_prompt=state.around(handlers.get_prompt),
            on_subscriptions_listen=None if self._bus is None else ListenHandler(self._bus),
        )
        self._lowlevel_server.notification_options = NotificationOptions(True, True, True)
        self._lowlevel_server.list_changes = self._changes
        self._lowlevel_server.prepare = self.complete
        self._lowlevel_server.protection = self._protection
        self._lowlevel_server.tool_scopes = self._tool_manager.scopes
        self._lowlevel_server.middleware.extend(middleware or ())
        # Who says which of two shall be it has chosen; nobody else could mean either.
        owners: dict[str, str] | None = {} if on_duplicate in (None, "error") else None
        for extension in extensions:
            self._take(extension, owners)

    def _take(self, extension: Extension, owners: dict[str, str] | None) -> None:
        add_extension(self._lowlevel_server, extension)
        for tool in declared(extension, "tools", ToolBinding):
            _own(owners, extension, f"tool {(tool.kwargs.get('name') or callable_name(tool.fn))!r}")
            self.add_tool(tool.fn, meta=tool.meta, **tool.kwargs)
        for binding in declared(extension, "resources", ResourceBinding):
            _own(owners, extension, f"resource {binding.resource.uri!r}")
            self.add_resource(binding.resource)

    def _announce_changes(self) -> None:
        self._tool_manager.changed = partial(self._changes.changed, ToolsListChanged())
        self._resource_manager.changed = partial(self._changes.changed, ResourcesListChanged())
        self._prompt_manager.changed = partial(self._changes.changed, PromptsListChanged())
        for manager in self.managers:
            manager.is_served = self._changes.is_served

    def _lists_otherwise(self) -> bool:
        return type(self).list_tools is not OWN_METHODS["list_tools"]

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tool_manager.get_tool(name)
        return None if tool is None else tool.peek()

    @property
    def name(self) -> str:
        """The server's programmatic name."""
        return self._lowlevel_server.name

    @property
    def title(self) -> str | None:
        """Its name for people."""
        return self._lowlevel_server.title

    @property
    def description(self) -> str | None:
        """What it is for."""
        return self._lowlevel_server.description

    @property
    def instructions(self) -> str | None:
        """How a model should use it."""
        return self._lowlevel_server.instructions

    @property
    def website_url(self) -> str | None:
        """Where to read more."""
        return self._lowlevel_server.website_url

    @property
    def icons(self) -> list[types.Icon] | None:
        """Images to show beside it."""
        return self._lowlevel_server.icons

    @property
    def version(self) -> str:
        """Its version."""
        return self._lowlevel_server.version

    @property
    def middleware(self) -> list[ServerMiddleware[Any]]:
        """What wraps every message, outermost first. It may be changed."""
        return self._lowlevel_server.middleware

    @property
    def managers(self) -> tuple[ToolManager, PromptManager, ResourceManager]:
        """What is registered: tools, prompts, and resources."""
        return self._tool_manager, self._prompt_manager, self._resource_manager

    def complete(self) -> None:
        """Works out every schema that was left for later, as is done by itself before anything is served.

        Raises:
            InvalidSignature: An annotation of a registered function names what does not exist.
        """
        tools, prompts, resources = self.managers
        for item in (*tools.list_tools(), *prompts.list_prompts(), *resources.list_templates()):
            item.complete()

    async def publish(self, event: ServerEvent) -> None:
        """Tells every listener that something has changed, also from outside a request.

        Args:
            event: What changed. Changes of this server's own lists are told by themselves.
        """
        await self._changes.publish(event)


def lifespan_wrapper(
    app: MCPServer[LifespanResultT],
    lifespan: Callable[[MCPServer[Any]], AbstractAsyncContextManager[LifespanResultT]],
) -> Callable[[Server[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]]:
    """The lifespan of a low-level server that enters the one of an `MCPServer`.

    Args:
        app: What `lifespan` is given.
        lifespan: The lifespan.
    """

    def wrapped(_: Server[LifespanResultT]) -> AbstractAsyncContextManager[LifespanResultT]:
        return lifespan(app)

    return wrapped


def _own(owners: dict[str, str] | None, extension: Extension, what: str) -> None:
    owner = extension.identifier if owners is None else owners.setdefault(what, extension.identifier)
    if owner != extension.identifier:
        raise ValueError(
            f"Extension {extension.identifier!r} adds the {what}, which extension {owner!r} has added already: "
            "give one of them another name"
        )
