"""The Starlette application around the MCP endpoint."""

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route, Router

from mcp.server.streamable_http_manager import OWN_CALL, StreamableHTTPASGIApp

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["shorten_way"]

_SKIPPED: Final[tuple[tuple[type, str], ...]] = (
    (ServerErrorMiddleware, "__call__"),
    (ExceptionMiddleware, "__call__"),
    (Router, "__call__"),
    (Router, "app"),
    (Route, "matches"),
    (Route, "handle"),
)


def shorten_way(app: "Starlette", endpoint: Route) -> None:
    """Lets requests for one route skip those parts of an application that would do nothing for them.

    Starlette's own middleware and its router take a fifth of what a short call costs, and keep as many objects alive
    meanwhile as all the rest. They choose between routes, and turn exceptions into answers. With any middleware or
    exception handler, in debug mode, within another application, and where a monitoring tool has put something of its
    own into these parts, each request takes the usual way.

    Args:
        app: The application. It has not started.
        endpoint: The route. It is among those of the application.
    """

    def build() -> "ASGIApp":
        # Asked for when the application starts, with all that was added to it by then.
        usual = type(app).build_middleware_stack(app)
        if app.debug or app.exception_handlers or endpoint.param_convertors or not _is_bare(app, usual):
            return usual
        return _shortcut(app, endpoint, usual)

    app.build_middleware_stack = build


def _is_bare(app: "Starlette", stack: object) -> bool:
    if type(stack) is not ServerErrorMiddleware:
        return False
    inner: Any = stack.app
    return (
        type(inner) is ExceptionMiddleware
        and inner.app is app.router
        and app.router.middleware_stack == app.router.app
        and all(_is_starlettes_own(owner, method) for owner, method in _SKIPPED)
    )


def _is_starlettes_own(owner: type, method: str) -> bool:
    """Whether nobody has replaced a method. Whoever does often makes it look like the one that was there."""
    function = vars(owner).get(method)
    return type(function) is FunctionType and function.__code__.co_filename == sys.modules[owner.__module__].__file__


def _shortcut(app: "Starlette", endpoint: Route, usual: "ASGIApp") -> "ASGIApp":
    router, path = app.router, endpoint.path
    routers_own = router.middleware_stack

    async def handle(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if (
            scope.get("path") != path
            or scope["type"] != "http"
            or scope.get("root_path")
            # It stands within another application, which may have read parameters from the address.
            or "router" in scope
            # Routes may come and go, and the first that fits is the one.
            or not router.routes
            or router.routes[0] is not endpoint
            or endpoint.methods is not None
            or router.middleware_stack is not routers_own
        ):
            await usual(scope, receive, send)
            return
        scope["router"] = router
        scope["route"] = endpoint
        scope["endpoint"] = endpoint.endpoint
        scope["path_params"] = {}
        noting = _Noting(send)
        try:
            await _server_of(endpoint)(scope, receive, noting)
        except Exception as failure:
            if noting.begun:
                raise
            await _failed(failure)(scope, receive, send)

    return handle


def _server_of(endpoint: Route) -> "ASGIApp":
    """What serves, without the coroutine around it that ASGI servers want."""
    app: Any = endpoint.app
    if type(app) is StreamableHTTPASGIApp and StreamableHTTPASGIApp.__call__ is OWN_CALL:
        return app.session_manager.handle_request
    return app


class _Noting:
    """An ASGI way out that knows whether anything was sent. No closure: that would be more objects for each request."""

    __slots__ = ("__weakref__", "_send", "begun")

    def __init__(self, send: "Send") -> None:
        self._send = send
        self.begun = False

    def __call__(self, message: "Message") -> "Awaitable[None]":
        self.begun = True
        return self._send(message)


def _failed(failure: Exception) -> "ASGIApp":
    """What Starlette makes of an exception that comes before the answer: an answer, and most exceptions go on."""

    async def fail(*_: Any) -> None:
        raise failure

    return ServerErrorMiddleware(ExceptionMiddleware(fail))
