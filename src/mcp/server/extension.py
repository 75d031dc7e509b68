"""Extensions of a server: bundles of tools, resources and methods under an identifier, announced to clients.

An extension declares what it adds, as data; the server takes it over when it is constructed. It adds, and replaces
nothing: the one place where it may step in is `intercept_tool_call`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension_checks import check_method, check_tool, declared, is_sync
from mcp.shared.exceptions import MCPError
from mcp.shared.extension import check_class_identifier, read_extension
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY
from mcp.types.methods import CORE_METHODS
from mcp.types.version import KNOWN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.resources.base import Resource
    from mcp.types import CallToolRequestParams

__all__ = [
    "Extension",
    "MethodBinding",
    "RequestHandler",
    "ResourceBinding",
    "ToolBinding",
    "add_extension",
    "client_extension_settings",
    "compose_tool_call_handler",
    "require_client_extension",
]

RequestHandler = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[HandlerResult]]
"""`async (ctx, params) -> model, dict or None`."""


@dataclass(frozen=True)
class ToolBinding:
    """A tool of an extension.

    Attributes:
        fn: The function, as for `MCPServer.add_tool`.
        meta: The tool's `_meta`.
        kwargs: Further arguments of `add_tool`, such as `name` and `title`.

    Raises:
        TypeError: `fn` cannot be called, or `kwargs` is no dict, or holds what has a field of its own.
    """

    fn: Callable[..., Any]
    meta: dict[str, Any] | None = None
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        check_tool(self.fn, self.kwargs)


@dataclass(frozen=True)
class ResourceBinding:
    """A resource of an extension.

    Attributes:
        resource: The resource, as for `MCPServer.add_resource`.
    """

    resource: Resource


@dataclass(frozen=True)
class MethodBinding:
    """A request method of an extension.

    Attributes:
        method: Its name, such as `com.example/tides`.
        params_type: What params are validated against before `handler` runs. Derive it from `RequestParams`.
        handler: `async (ctx, params) -> model, dict or None`.
        protocol_versions: The revisions that have the method; None for all. In any other it does not exist: -32601.

    Raises:
        TypeError: `method` is no text, `params_type` is no model, or `handler` is no asynchronous function.
        ValueError: The protocol defines the method, or `protocol_versions` names none that could be served.
    """

    method: str
    params_type: type[BaseModel]
    handler: RequestHandler
    protocol_versions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        check_method(self.method, self.params_type, self.handler)
        if self.method in CORE_METHODS:
            raise ValueError(
                f"MethodBinding cannot bind spec method {self.method!r}: extensions add methods, and do not replace "
                "those of the protocol; Extension.intercept_tool_call wraps tools/call, Server.middleware any other"
            )
        versions = self.protocol_versions
        if versions is None:
            return
        if not versions:
            raise ValueError(
                f"MethodBinding for {self.method!r} has an empty protocol_versions set, so it could never be served; "
                "None serves it in every version"
            )
        if isinstance(versions, str) or versions.isdisjoint(KNOWN_PROTOCOL_VERSIONS):
            raise ValueError(
                f"MethodBinding for {self.method!r} could never be served: protocol_versions must be a set with one "
                f"of {', '.join(KNOWN_PROTOCOL_VERSIONS)}, got {versions!r}"
            )


_ONE_HANDLER = (
    ". A method has one handler for all versions. Bind it once with the protocol_versions of both, and tell them apart "
    "by ctx.protocol_version"
)


class Extension:
    """What a server can be given under an identifier. Override what is needed.

    Attributes:
        identifier: `vendor-prefix/name`, with a domain of your own as the prefix: `com.example/labels`.

    Raises:
        TypeError: A subclass has an identifier of another form.
    """

    identifier: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_class_identifier(cls)

    def settings(self) -> dict[str, Any]:
        """What is announced beside the identifier, in `capabilities.extensions`."""
        return {}

    def tools(self) -> Sequence[ToolBinding]:
        """The tools that it adds."""
        return ()

    def resources(self) -> Sequence[ResourceBinding]:
        """The resources that it adds."""
        return ()

    def methods(self) -> Sequence[MethodBinding]:
        """The request methods that it adds."""
        return ()

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Stands around every tool's call; not overridden, it costs nothing.

        Args:
            params: The call. It decides what is called, whatever context is passed on.
            ctx: The request.
            call_next: Runs the rest of the chain, and returns its result.

        Returns:
            The result to send.

        Raises:
            MCPError: Refuses the call.
        """
        return await call_next(ctx)


def add_extension(server: Server[Any], extension: Extension) -> None:
    """Announces an extension on a server, and registers its methods. Tools and resources are for the caller to add.

    Args:
        server: The server.
        extension: The extension.

    Raises:
        TypeError: It is no extension, or its identifier or its settings are not what they should be.
        ValueError: The server has the extension, or one of its methods, already.
    """
    identifier, settings = read_extension(extension, Extension)
    if identifier in server.extensions:
        raise ValueError(f"Extension {identifier!r} is already registered")
    server.extensions[identifier] = settings
    for binding in declared(extension, "methods", MethodBinding):
        taken = server.get_request_handler(binding.method)
        if taken is not None:
            versions = taken.protocol_versions, binding.protocol_versions
            raise ValueError(
                f"Extension {identifier!r} binds method {binding.method!r}, which is already registered; "
                "extensions add methods, and do not replace another handler"
                + (_ONE_HANDLER if None not in versions and versions[0] != versions[1] else "")
            )
        server.add_request_handler(
            binding.method, binding.params_type, binding.handler, protocol_versions=binding.protocol_versions
        )


def compose_tool_call_handler(extensions: Sequence[Extension], handler: RequestHandler) -> RequestHandler:
    """A handler of `tools/call` with the interceptors of extensions around it; the first extension is outermost.

    Args:
        extensions: The extensions.
        handler: What calls the tool.

    Returns:
        The handler as it is, where no extension intercepts.

    Raises:
        TypeError: An `intercept_tool_call` is not `async def`.
    """
    for extension in reversed(extensions):
        if _intercepts(extension):
            if is_sync(extension.intercept_tool_call):
                raise TypeError(f"{type(extension).__name__}.intercept_tool_call must be `async def`, and is not")
            handler = _intercepted(extension, handler)
    return handler


def _intercepts(extension: Extension) -> bool:
    method: Any = getattr(extension, "intercept_tool_call", Extension.intercept_tool_call)
    return getattr(method, "__func__", method) is not Extension.intercept_tool_call


def _intercepted(extension: Extension, handler: RequestHandler) -> RequestHandler:
    async def handle(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> HandlerResult:
        async def call_next(ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
            return await handler(ctx, params)

        return await extension.intercept_tool_call(params, ctx, call_next)

    return handle


def client_extension_settings(
    ctx: ServerRequestContext[Any, Any] | Context[Any, Any], identifier: str
) -> dict[str, Any] | None:
    """What a client declared beside the identifier of an extension; None where it did not declare it.

    Args:
        ctx: The request.
        identifier: The extension.
    """
    declared = ctx.session.client_capabilities
    return None if declared is None else (declared.extensions or {}).get(identifier)


def require_client_extension(ctx: ServerRequestContext[Any, Any] | Context[Any, Any], identifier: str) -> None:
    """Refuses a request of a client that has not declared an extension.

    Args:
        ctx: The request.
        identifier: The extension.

    Raises:
        MCPError: -32021, with `requiredCapabilities` in its data: the client did not declare it.
    """
    if client_extension_settings(ctx, identifier) is None:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"Client did not declare required extension {identifier!r}",
            {"requiredCapabilities": {"extensions": {identifier: {}}}},
        )
