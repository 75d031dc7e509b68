"""Whether OpenTelemetry is at work in this process.

A program that has installed no tracer provider pays one look into a dict per message, and never loads OpenTelemetry.
What is done with a provider is in `mcp.engine.spans`, which is loaded once there is one.
"""

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

__all__ = ["TRACER_NAME", "current_tracer", "traced"]

SendT = TypeVar("SendT", bound=Callable[..., Any])

TRACER_NAME: Final = "mcp-python-sdk"
"""The instrumentation scope of every span that this library makes."""

_API: Final = "opentelemetry.trace"

# The API installs the provider that this variable names when it is first used, and nobody else may load it.
if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ:
    import_module(_API)


def current_tracer() -> "Tracer | None":
    """The tracer of the provider that is installed by now; None where there is none, or where it does nothing."""
    if _API not in modules:
        return None
    from mcp.engine.spans import installed_tracer

    return installed_tracer()


def traced(send: SendT) -> SendT:
    """What sends requests: `send` with a span for each, or `send` itself where there is no tracer.

    Args:
        send: A coroutine function that takes a request's id, method and params, and perhaps more.
    """
    if _API not in modules:
        return send
    tracer = current_tracer()
    if tracer is None:
        return send
    from mcp.engine.spans import traced_request

    return cast("SendT", partial(traced_request, tracer, send))
