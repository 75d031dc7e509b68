"""Registering functions on an `MCPServer`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from mcp.server.mcpserver.functions.signature import is_async_callable

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver.functions.arguments import UnknownArguments
    from mcp.server.mcpserver.prompts.base import Prompt
    from mcp.server.mcpserver.prompts.manager import PromptManager
    from mcp.server.mcpserver.resources.base import Resource
    from mcp.server.mcpserver.resources.resource_manager import ResourceManager
    from mcp.server.mcpserver.resources.security import ResourceSecurity
    from mcp.server.mcpserver.tools.tool_manager import ToolManager

__all__ = ["Registration", "with_parentheses"]

CallableT = TypeVar("CallableT", bound=Callable[..., Any])
CompleterT = TypeVar("CompleterT", bound=Callable[..., Any])
MethodT = TypeVar("MethodT", bound=Callable[..., Any])
EndpointT = TypeVar("EndpointT", bound="Callable[[Request], Awaitable[Response]]")

MOST_VALUES: Final = 100
"""Of one completion, says the specification (server/utilities/completion)."""


def with_parentheses(right: str) -> Callable[[MethodT], MethodT]:
    """Tells somebody who forgets the parentheses behind a decorator so, where a function cannot be its argument.

    Args:
        right: The decorator with them.

    Returns:
        Decorates the method that makes the decorator.
    """

    def around(method: MethodT) -> MethodT:
        @wraps(method)
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            if args:
                _check_called(method.__name__, args[0], right)
            return method(self, *args, **kwargs)

        return cast("MethodT", checked)

    return around


def _check_called(decorator: str, argument: object, right: str) -> None:
    if callable(argument):
        raise TypeError(
            f"The @{decorator} decorator was used incorrectly. Did you forget to call it? "
            f"Use {right} instead of @{decorator}"
        )


class Registration:
    """The part of an `MCPServer` that takes functions. Decorated functions stay what they are."""

    _tool_manager: ToolManager
    _resource_manager: ResourceManager
    _prompt_manager: PromptManager
    _resource_security: ResourceSecurity
    _unknown_arguments: UnknownArguments
    _custom_starlette_routes: list[Route]
    _lowlevel_server: Server[Any]

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        scopes: Iterable[str] | None = None,
    ) -> None:
        """Registers a function as a tool. Clients that are connected are told.

        Args:
            fn: Any callable with type hints.
            name: The tool's name; the function's when left out.
            title: Its name for people.
            description: What it does, for the model; the function's docstring when left out.
            annotations: How it behaves, as hints.
            icons: Images to show beside it.
            meta: Its `_meta`.
            structured_output: True demands a return type that makes structured content, False makes none; None makes
                it wherever the return type allows it.
            scopes: What an access token must be good for, over HTTP: whoever lacks one of them is not told of the tool,
                and a call is refused with a challenge that names them. In memory and over stdio there is no
                authorization.

        Raises:
            InvalidSignature: The function cannot be a tool as it is. The text says what to change.
            ValueError: A lambda has no name, the name is taken and that is to be refused, or what `scopes` holds is
                none.
            TypeError: `scopes` is no list of texts.
        """
        self._tool_manager.add_tool(
            fn,
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            structured_output=structured_output,
            unknown_arguments=self._unknown_arguments,
            scopes=scopes,
        )

    def remove_tool(self, name: str) -> None:
        """Removes a tool. Clients that are connected are told.

        Raises:
            ToolError: There is no tool of this name.
        """
        self._tool_manager.remove_tool(name)

    def tool(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: types.ToolAnnotations | None = None,
        icons: list[types.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        *,
        scopes: Iterable[str] | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Registers the decorated function as a tool; the arguments are those of `add_tool`.

        Raises:
            TypeError: The parentheses were forgotten, or an argument is wrong.
            InvalidSignature: The function cannot be a tool as it is.
        """
        _check_called("tool", name, "@tool()")

        def register(fn: CallableT) -> CallableT:
            # A subclass may have an `add_tool` from before there were scopes.
            more = {} if scopes is None else {"scopes": scopes}
            self.add_tool(fn, name, title, description, annotations, icons, meta, structured_output, **more)
            return fn

        return register

    def add_resource(self, resource: Resource) -> None:
        """Registers a resource. Clients that are connected are told.

        Args:
            resource: The resource.

        Raises:
            ValueError: The URI is taken, and that is to be refused.
        """
        self._resource_manager.add_resource(resource)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        icons: list[types.Icon] | None = None,
        annotations: types.Annotations | None = None,
        meta: dict[str, Any] | None = None,
        security: ResourceSecurity | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Registers the decorated function as a resource, or with a variable in its URI as a resource template.

        Args:
            uri: The URI, or a URI template whose variables are the function's parameters.
            name: The resource's name; the function's when left out.
            title: Its name for people.
            description: What it is; the function's docstring when left out.
            mime_type: What kind of content it has; text/plain when left out.
            icons: Images to show beside it.
            annotations: Whom it is for and how much it matters, as hints.
            meta: Its `_meta`.
            security: What the values of variables are checked for, in place of the server's `resource_security`.

        Raises:
            TypeError: The parentheses were forgotten.
            ValueError: The variables are not the parameters, or the template is malformed.
        """
        from mcp.server.mcpserver.resources.functions import FunctionResource
        from mcp.shared.uri_template import UriTemplate

        _check_called("resource", uri, "@resource('uri')")

        def register(fn: CallableT) -> CallableT:
            about = (name, title, description, mime_type, icons, annotations, meta)
            if UriTemplate.parse(uri).variable_names:
                self._resource_manager.add_template(fn, uri, *about, security or self._resource_security)
            else:
                self.add_resource(FunctionResource.from_function(fn, uri, *about))
            return fn

        return register

    def add_prompt(self, prompt: Prompt) -> None:
        """Registers a prompt. Clients that are connected are told.

        Args:
            prompt: The prompt.

        Raises:
            ValueError: The name is taken, and that is to be refused.
        """
        self._prompt_manager.add_prompt(prompt)

    def remove_prompt(self, name: str) -> None:
        """Removes a prompt. Clients that are connected are told.

        Raises:
            ValueError: There is no prompt of this name.
        """
        self._prompt_manager.remove_prompt(name)

    def prompt(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[types.Icon] | None = None,
    ) -> Callable[[CallableT], CallableT]:
        """Registers the decorated function as a prompt.

        Args:
            name: The prompt's name; the function's when left out.
            title: Its name for people.
            description: What it is for; the function's docstring when left out.
            icons: Images to show beside it.

        Raises:
            TypeError: The parentheses were forgotten.
            InvalidSignature: The function cannot be a prompt as it is.
        """
        from mcp.server.mcpserver.prompts.base import Prompt

        _check_called("prompt", name, "@prompt()")

        def register(fn: CallableT) -> CallableT:
            self.add_prompt(Prompt.from_function(fn, name=name, title=title, description=description, icons=icons))
            return fn

        return register

    @with_parentheses("@completion()")
    def completion(self) -> Callable[[CompleterT], CompleterT]:
        """Registers the decorated function as what completes arguments of prompts and resource templates.

        It is `async (ref, argument, context) -> Completion | None`. A server has one. Of more than 100 values, which is
        what a client may be sent, the first 100 are.
        """

        def register(fn: CompleterT) -> CompleterT:
            from mcp.types import CompleteRequestParams

            self._lowlevel_server.add_request_handler("completion/complete", CompleteRequestParams, _completer(fn))
            return fn

        return register

    @with_parentheses("@custom_route('/path', methods=['GET'])")
    def custom_route(
        self, path: str, methods: list[str], name: str | None = None, include_in_schema: bool = True
    ) -> Callable[[EndpointT], EndpointT]:
        """Registers the decorated function as a route of the HTTP applications, such as a health check.

        Args:
            path: The path.
            methods: The HTTP methods.
            name: The route's name.
            include_in_schema: Whether it is part of an OpenAPI schema.

        Raises:
            TypeError: The parentheses were forgotten, or `methods` is a text.
            ValueError: The path does not begin with a slash.
        """
        from mcp.server.streamable_http_manager import check_path

        check_path("path", path)
        if isinstance(methods, str):
            raise TypeError(f"custom_route() takes a list of HTTP methods as methods, got {methods!r}")

        def register(fn: EndpointT) -> EndpointT:
            from starlette.routing import Route

            route = Route(path, endpoint=fn, methods=methods, name=name, include_in_schema=include_in_schema)
            self._custom_starlette_routes.append(route)
            return fn

        return register


def _completer(fn: Callable[..., Any]) -> Callable[..., Awaitable[types.CompleteResult]]:
    async def complete(ctx: ServerRequestContext[Any], params: types.CompleteRequestParams) -> types.CompleteResult:
        from mcp.engine.workers import run_in_worker
        from mcp.types import CompleteResult, Completion

        if is_async_callable(fn):
            found = await fn(params.ref, params.argument, params.context)
        else:
            found = await run_in_worker(fn, params.ref, params.argument, params.context)
        return CompleteResult(completion=Completion(values=[]) if found is None else _sendable(found))

    return complete


def _sendable(found: types.Completion) -> types.Completion:
    """A completion with as many values as the protocol lets a client be sent."""
    if len(found.values) <= MOST_VALUES:
        return found
    total = len(found.values) if found.total is None else found.total
    return found.model_copy(update={"values": found.values[:MOST_VALUES], "total": total, "has_more": True})
