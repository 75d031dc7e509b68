"""What `MCPServer` is constructed with: a mistake in it shows there, and not with the first request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

from mcp.server.mcpserver.duplicates import check_policy
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.security import ResourceSecurity
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.request_state import RequestStateSecurity

if TYPE_CHECKING:
    from mcp.server.auth.settings import AuthSettings

__all__ = ["check_given", "checked_protection", "named"]


def check_given(
    *,
    version: object,
    icons: object,
    tools: object,
    resources: object,
    extensions: object,
    dependencies: object,
    lifespan: object,
    resource_security: object,
    request_state_security: object,
    subscriptions: object,
    middleware: object,
    on_duplicate: object,
    unknown_arguments: object,
    **texts: object,
) -> None:
    """Checks arguments of `MCPServer`.

    Args:
        version: As it is there, and so are the others.
        icons: See `version`.
        tools: See `version`.
        resources: See `version`.
        extensions: Whether it is a sequence; what is in it is for `add_extension` to check.
        dependencies: See `version`.
        lifespan: See `version`.
        resource_security: See `version`.
        request_state_security: See `version`.
        subscriptions: See `version`.
        middleware: See `version`.
        on_duplicate: See `version`.
        unknown_arguments: See `version`.
        texts: What is text, or None.

    Raises:
        TypeError: One is of a wrong type. The text names the argument, what was given, and what is expected.
        ValueError: `on_duplicate` or `unknown_arguments` is none of the words that there are.
    """
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            _refuse(name, "a str or None", value)
    if not isinstance(version, str):
        _refuse("version", "a str", version)
    _check_list("icons", icons, "Icon objects", _is_icon)
    how = "mcp.add_tool(function) and Tool.from_function(function) make one"
    _check_list("tools", tools, f"Tool objects ({how})", lambda one: isinstance(one, Tool))
    how = "TextResource and FileResource among others; @mcp.resource(uri) makes one of a function"
    _check_list("resources", resources, f"Resource objects ({how})", lambda one: isinstance(one, Resource))
    _check_list("extensions", extensions, "Extension objects", lambda one: True)
    _check_list("dependencies", dependencies, "requirements as str", lambda one: isinstance(one, str))
    _check_list("middleware", middleware, "callables: async (ctx, call_next) -> result", callable)
    _check_lifespan(lifespan)
    if not isinstance(resource_security, ResourceSecurity):
        how = "leave it out for the default; ResourceSecurity(...) says what is checked"
        _refuse("resource_security", f"a ResourceSecurity ({how})", resource_security)
    if request_state_security is not None and not isinstance(request_state_security, RequestStateSecurity):
        _refuse("request_state_security", "a RequestStateSecurity or None", request_state_security)
    if subscriptions is not None and subscriptions is not False and not _is_bus(subscriptions):
        what = "a SubscriptionBus, False for no subscriptions, or None for a bus within this process"
        _refuse("subscriptions", what, subscriptions)
    if on_duplicate is not None:
        check_policy(on_duplicate)
    _check_unknown_arguments(unknown_arguments)


def checked_protection(auth: Any, token_verifier: Any, auth_server_provider: Any) -> AuthSettings:
    """Checks what protects an `MCPServer` where any of it is given.

    Args:
        auth: As it is there, and so are the others.
        token_verifier: See `auth`.
        auth_server_provider: See `auth`.

    Returns:
        How the server is protected.

    Raises:
        ValueError: One is given without what it needs, or both that decide which tokens are good.
        TypeError: One is of a wrong type.
    """
    # Few servers are protected, and the others need not load what that takes.
    from mcp.server.auth.protection import check_arguments

    settings = check_arguments(auth, token_verifier, auth_server_provider)
    if token_verifier is not None and auth_server_provider is not None:
        raise ValueError("Cannot specify both auth_server_provider and token_verifier")
    return settings


def _check_lifespan(lifespan: object) -> None:
    """Checks that a call of a lifespan makes an asynchronous context manager, as far as can be seen without one.

    Raises:
        TypeError: It does not.
    """
    if lifespan is None:
        return
    if not callable(lifespan):
        _refuse("lifespan", "a function under @asynccontextmanager, or None", lifespan)
    function: Any = lifespan
    while isinstance(function, functools.partial):
        function = cast("Any", function.func)
    generates = inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)
    if generates or inspect.iscoroutinefunction(function):
        raise TypeError(
            f"lifespan= takes a function that returns an asynchronous context manager, and {named(lifespan)} returns "
            "none: write `async def`, `yield` once in it, and decorate it with @contextlib.asynccontextmanager"
        )


def _check_unknown_arguments(mode: object) -> None:
    """Checks the argument `unknown_arguments`.

    Raises:
        ValueError: There is no such mode.
    """
    if mode == "suggest":
        return
    from mcp.server.mcpserver.functions.arguments import UnknownArguments

    if mode not in get_args(UnknownArguments):
        known = ", ".join(map(repr, get_args(UnknownArguments)))
        raise ValueError(f"unknown_arguments= must be one of {known}, got {mode!r}")


def _check_list(name: str, value: object, what: str, fits: Callable[[Any], bool]) -> None:
    if value is None:
        return
    # Not an iterator: it would be empty by the time it is used.
    if isinstance(value, (str, bytes, Mapping, Iterator)) or not isinstance(value, Iterable):
        _refuse(name, f"a list of {what}", cast("object", value))
    for one in cast("Iterable[Any]", value):
        if not fits(one):
            raise TypeError(f"{name}= takes a list of {what}; {named(one)} is in it")


def _is_icon(value: object) -> bool:
    from mcp.types import Icon

    # A dict with the fields of an icon becomes one when clients are told of it.
    return isinstance(value, (Icon, Mapping))


def _is_bus(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, method, None)) for method in ("publish", "subscribe")
    )


def _refuse(name: str, what: str, value: object) -> NoReturn:
    raise TypeError(f"{name}= takes {what}, got {named(value)}")


def named(value: object) -> str:
    """An object as a message speaks of it: a function and a class by name, a plain value as it is."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        shown = repr(value)
        return shown if len(shown) < 60 else f"{shown[:56]}..."
    return f"an object of type {type(value).__name__}"
