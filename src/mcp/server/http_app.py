"""The Starlette application around the MCP endpoint."""

from typing import Any

from starlette.applications import Starlette
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["EndpointApp"]


class EndpointApp(Starlette):
    """An application whose requests for one route skip what would do nothing for them.

    Starlette's own middleware and its router take a fifth of what a short call costs, and keep as many objects alive
    meanwhile as all the rest. They are for exceptions, which the endpoint answers itself, and for the choice between
    routes. With any middleware, exception handler or debug mode, each request takes the usual way.

    Args:
        endpoint: The route. It is among `routes`.
        options: As in `Starlette`.
    """

    def __init__(self, endpoint: Route, **options: Any) -> None:
        self._endpoint = endpoint
        super().__init__(**options)

    def build_middleware_stack(self) -> ASGIApp:
        """The application as it is when it starts."""
        stack = super().build_middleware_stack()
        if self.debug or self.exception_handlers or self._endpoint.param_convertors or not self._is_bare(stack):
            return stack
        return _shortcut(self, self._endpoint, stack)

    def _is_bare(self, stack: ASGIApp) -> bool:
        return (
            isinstance(stack, ServerErrorMiddleware)
            and isinstance(stack.app, ExceptionMiddleware)
            and stack.app.app is self.router
            and self.router.middleware_stack == self.router.app
        )


def _shortcut(app: Starlette, endpoint: Route, stack: ASGIApp) -> ASGIApp:
    router, path = app.router, endpoint.path

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope.get("path") == path
            and scope["type"] == "http"
            and not scope.get("root_path")
            # Routes may come and go, and the first that fits is the one.
            and router.routes
            and router.routes[0] is endpoint
        ):
            scope["router"] = router
            scope["route"] = endpoint
            scope["endpoint"] = endpoint.endpoint
            scope["path_params"] = {}
            await endpoint.app(scope, receive, send)
        else:
            await stack(scope, receive, send)

    return handle
