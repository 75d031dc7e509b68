"""Middleware that everybody writes, ready made. `server.middleware.append(...)` puts one to work."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.server.middleware.callers import CallerKey as CallerKey
    from mcp.server.middleware.callers import caller as caller
    from mcp.server.middleware.concurrency_limit import ConcurrencyLimit as ConcurrencyLimit
    from mcp.server.middleware.error_reports import ErrorReports as ErrorReports
    from mcp.server.middleware.rate_limit import TOO_MANY_REQUESTS as TOO_MANY_REQUESTS
    from mcp.server.middleware.rate_limit import RateLimit as RateLimit
    from mcp.server.middleware.request_log import RequestLog as RequestLog
    from mcp.server.middleware.time_limit import TIME_LIMIT_EXCEEDED as TIME_LIMIT_EXCEEDED
    from mcp.server.middleware.time_limit import TimeLimit as TimeLimit
    from mcp.server.middleware.timing import Timing as Timing
    from mcp.server.middleware.tracing import OpenTelemetryMiddleware as OpenTelemetryMiddleware

__all__ = [
    "TIME_LIMIT_EXCEEDED",
    "TOO_MANY_REQUESTS",
    "CallerKey",
    "ConcurrencyLimit",
    "ErrorReports",
    "OpenTelemetryMiddleware",
    "RateLimit",
    "RequestLog",
    "TimeLimit",
    "Timing",
    "caller",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "TIME_LIMIT_EXCEEDED": "mcp.server.middleware.time_limit",
        "TOO_MANY_REQUESTS": "mcp.server.middleware.rate_limit",
        "CallerKey": "mcp.server.middleware.callers",
        "ConcurrencyLimit": "mcp.server.middleware.concurrency_limit",
        "ErrorReports": "mcp.server.middleware.error_reports",
        "OpenTelemetryMiddleware": "mcp.server.middleware.tracing",
        "RateLimit": "mcp.server.middleware.rate_limit",
        "RequestLog": "mcp.server.middleware.request_log",
        "TimeLimit": "mcp.server.middleware.time_limit",
        "Timing": "mcp.server.middleware.timing",
        "caller": "mcp.server.middleware.callers",
    },
)
