"""The import path of older versions; the class is in `mcp.server.middleware`."""

from mcp.server.middleware.tracing import OpenTelemetryMiddleware

__all__ = ["OpenTelemetryMiddleware"]
