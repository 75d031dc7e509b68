"""Middleware, ready made: `server.middleware.append(...)` puts one to work."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.middleware.tracing import OpenTelemetryMiddleware as OpenTelemetryMiddleware

__all__ = ["OpenTelemetryMiddleware"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "OpenTelemetryMiddleware": "mcp.server.middleware.tracing",
    },
)
