"""What arrives from the server unasked, on its way to the client's callbacks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError

from mcp import types
from mcp.client.callbacks import LoggingFnT, MessageHandlerFnT, ProgressFnT
from mcp.types.methods import METHODS

__all__ = ["NotificationInbox"]

logger = logging.getLogger("client")


class NotificationInbox:
    """Takes the notifications of one connection. A callback that raises is logged, and nothing else suffers.

    Args:
        logging_callback: Takes log messages.
        message_handler: Takes every notification.
    """

    def __init__(self, logging_callback: LoggingFnT | None, message_handler: MessageHandlerFnT | None) -> None:
        self._logging_callback = logging_callback
        self._message_handler = message_handler

    async def __call__(self, method: str, params: dict[str, Any] | None) -> None:
        """Takes one notification."""
        if self._logging_callback is None and self._message_handler is None:
            return
        spec = METHODS.get(method)
        if spec is None or spec.kind != "notification":
            logger.debug("dropped %s: the protocol has no such notification", method)
            return
        try:
            message: Any = spec.message_type.model_validate({"method": method, "params": params})
        except ValidationError as error:
            logger.warning("dropped a malformed %s: %s", method, error)
            return
        if method == "notifications/message" and self._logging_callback is not None:
            notification: types.LoggingMessageNotification = message
            await _call(method, self._logging_callback, notification.params)
        if self._message_handler is not None:
            await _call(method, self._message_handler, message)

    def progress_reporter(self, callback: ProgressFnT) -> Callable[[dict[str, Any]], Awaitable[None]]:
        """Takes the params of progress notifications and calls the callback with what they say."""

        async def report(params: dict[str, Any]) -> None:
            progress = params.get("progress")
            if not isinstance(progress, (int, float)):
                logger.warning("dropped a progress notification without a number: %r", params)
                return
            await _call("notifications/progress", callback, progress, params.get("total"), params.get("message"))

        return report


async def _call(method: str, callback: Callable[..., Awaitable[None]], *args: Any) -> None:
    try:
        await callback(*args)
    except Exception:
        logger.exception("the callback for %s raised", method)
