"""A line in the log for each message."""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.middleware.timing import OK, Timing
from mcp.types.methods import METHODS

__all__ = ["RequestLog"]

MAX_NAME: Final = 100
"""How much of a name is logged, in characters."""


class RequestLog(Timing):
    """Logs each message once it is handled: `tools/call find took 12.3 ms`, or `tools/call find took 12.3 ms: -32602`.

    It names the method, and the tool, prompt or resource; never arguments or results.

    Args:
        logger: Where to; the logger `mcp.server.requests` when left out.
        level: The level of what went well.
        failure_level: The level of what did not: of every outcome but "ok" (see `Timing`).
        clock: The time in seconds.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        *,
        level: int = logging.INFO,
        failure_level: int = logging.WARNING,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        super().__init__(self._write, clock=clock)
        self._logger = logger or logging.getLogger("mcp.server.requests")
        self._level = level
        self._failure_level = failure_level

    def _write(self, ctx: ServerRequestContext[Any, Any], seconds: float, outcome: str) -> None:
        level = self._level if outcome == OK else self._failure_level
        if self._logger.isEnabledFor(level):
            ending = "" if outcome == OK else f": {outcome}"
            self._logger.log(level, "%s took %.1f ms%s", _subject(ctx), seconds * 1000, ending)


def _subject(ctx: ServerRequestContext[Any, Any]) -> str:
    spec = METHODS.get(ctx.method)
    field = None if spec is None else spec.name_field
    name = None if field is None else (ctx.params or {}).get(field)
    return f"{_safe(ctx.method)} {_safe(name)}" if isinstance(name, str) else _safe(ctx.method)


def _safe(text: str) -> str:
    """A peer's text, on one line."""
    text = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."
    return text if text.isprintable() else repr(text)
