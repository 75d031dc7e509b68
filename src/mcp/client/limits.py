"""How long a client waits for an answer.

Specification: basic/lifecycle under "Timeouts" (2025-11-25), and basic/patterns/progress (2026-07-28).
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from mcp.engine.requester import CallOptions, SendRequest
from mcp.protocol.codec import RequestId
from mcp.shared.exceptions import RequestTimeoutError

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "MAX_TIMEOUT_SECONDS", "default_bound", "request_extended_by_progress", "seconds"]

DEFAULT_TIMEOUT_SECONDS: Final = 300.0
"""How long a request may take for which nobody set a limit. A tool's call may take `MAX_TIMEOUT_SECONDS`; a call of a
server in the same process may take for ever."""

MAX_TIMEOUT_SECONDS: Final = 3600.0
"""How long a tool's call may take for which nobody set a limit, and how far progress can extend a shorter limit."""


def seconds(limit: Any) -> float | None:
    """A time limit. Older versions of the protocol's SDK took a `timedelta`, and plain comparisons fail late with one.

    Raises:
        TypeError: It is no number.
    """
    if limit is None or isinstance(limit, (int, float)):
        return limit
    raise TypeError(f"a time limit is a number of seconds, got {type(limit).__name__}")


def default_bound(method: str) -> float:
    """How long a request may take for which nobody set a limit, in seconds."""
    return MAX_TIMEOUT_SECONDS if method == "tools/call" else DEFAULT_TIMEOUT_SECONDS


async def request_extended_by_progress(
    send: SendRequest, id: RequestId, method: str, params: dict[str, Any], options: CallOptions
) -> dict[str, Any]:
    """Sends a request whose time limit starts again with each progress report.

    However much progress is reported, it ends `MAX_TIMEOUT_SECONDS` after it was sent, or after its own limit if that
    is longer.

    Args:
        send: Sends it.
        id: The request's id.
        method: Its method.
        params: Its params, with a progress token.
        options: Its options; the limit is `timeout`, and `DEFAULT_TIMEOUT_SECONDS` without one.

    Raises:
        RequestTimeoutError: No answer and no progress for as long as the limit, or no answer before the end.
        MCPError: See `Requester.request`.
    """
    limit = DEFAULT_TIMEOUT_SECONDS if options.timeout is None else max(options.timeout, 0.0)
    bound = max(limit, MAX_TIMEOUT_SECONDS)
    started = anyio.current_time()
    end = started + bound
    report = options.on_progress

    async def extend(progress: dict[str, Any]) -> None:
        scope.deadline = min(anyio.current_time() + limit, end)
        if report is not None:
            await report(progress)

    with anyio.CancelScope(deadline=started + limit) as scope:
        # What is earlier than the bound is up to the scope.
        extended = options._replace(timeout=None, bound=bound, on_progress=extend)
        return await send(id, method, params, extended)
    raise RequestTimeoutError(method, limit if scope.deadline < end else bound)
