"""Progress of a request, from the wire to a callback."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

__all__ = ["ProgressFnT", "progress_reporter"]

logger = logging.getLogger(__name__)


class ProgressFnT(Protocol):
    """Takes progress reports of one request."""

    async def __call__(self, progress: float, total: float | None, message: str | None, /) -> None:
        """Takes one report.

        Args:
            progress: How much is done.
            total: How much there is to do, if known.
            message: What is being done.
        """
        ...


def progress_reporter(callback: ProgressFnT) -> Callable[[dict[str, Any]], Awaitable[None]]:
    """Takes the params of progress notifications and calls the callback with what they say. Never raises."""

    async def report(params: dict[str, Any]) -> None:
        progress = params.get("progress")
        if not isinstance(progress, (int, float)):
            logger.warning("dropped a progress notification without a number: %r", params)
            return
        try:
            await callback(progress, params.get("total"), params.get("message"))
        except Exception:
            logger.exception("the callback for notifications/progress raised")

    return report
