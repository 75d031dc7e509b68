"""What arrives from the server unasked, on its way to the client's callbacks: notifications, and questions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from mcp import types
from mcp.client.bound_notifications import BoundNotifications
from mcp.client.callbacks import LoggingFnT, MessageHandlerFnT
from mcp.client.role import ClientPeer, ClientRole
from mcp.engine.backend import asyncio_task, cancelled_itself, delivered_cancels
from mcp.engine.dispatch import Reply
from mcp.engine.exchange import Exchange
from mcp.engine.requester import NotificationSink
from mcp.protocol.codec import DecodeError, Request
from mcp.protocol.eras import BATCHING_VERSION
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import METHOD_NOT_FOUND
from mcp.types.methods import METHODS
from mcp.types.version import LATEST_MODERN_VERSION

if TYPE_CHECKING:
    from mcp.client.extension import NotificationBinding

__all__ = ["Inbound"]

logger = logging.getLogger("client")


class Inbound:
    """Takes the notifications and the questions of one connection.

    A callback for notifications that raises is logged, and nothing else suffers: also one that meets a cancellation
    which nobody has asked of its task, as by awaiting a task that was cancelled.

    Args:
        logging_callback: Takes log messages.
        message_handler: Takes every notification, and what arrives that is no message.
        on_notification: Sees every notification before the callbacks do.
        bindings: What takes notifications that the protocol does not define.

    Attributes:
        bindings: The same.
        role: Answers questions; None refuses them.
        version: The handshake revision that is spoken; None where there are no questions.
        renewal: Makes what opens a session in place of the one that is open at the moment, once the server has
            forgotten that; None where nothing does.
    """

    def __init__(
        self,
        logging_callback: LoggingFnT | None,
        message_handler: MessageHandlerFnT | None,
        on_notification: NotificationSink | None = None,
        bindings: BoundNotifications | None = None,
    ) -> None:
        self._logging_callback = logging_callback
        self._message_handler = message_handler
        self._on_notification = on_notification
        self.bindings = bindings or BoundNotifications(None)
        self.role: ClientRole | None = None
        self.version: str | None = None
        self.renewal: Callable[[], Callable[[], Awaitable[None]]] | None = None

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self.version == BATCHING_VERSION

    def answerer(self, request: Request) -> Callable[[Exchange], Awaitable[Reply]]:
        """What answers a question.

        Raises:
            MCPError: -32601: the revision that is spoken has no questions.
        """
        if self.role is None or self.version is None:
            logger.warning("refused %s: 2026-07-28 has no requests from servers", request.method)
            raise MCPError(METHOD_NOT_FOUND, "Method not found", request.method)
        return partial(self.role.engine.handle, request, ClientPeer(self.version))

    async def forget_for(self, method: str) -> None:
        """Has forgotten what a notification would say has changed, where the change showed without one.

        Args:
            method: The method of the notification.
        """
        if self._on_notification is not None:
            await self._on_notification(method, None)

    async def __call__(self, method: str, params: dict[str, Any] | None) -> None:
        """Takes one notification."""
        if self._on_notification is not None:
            await self._on_notification(method, params)
        if self.bindings and (binding := self.bindings.of(method, self.version or LATEST_MODERN_VERSION)):
            await _deliver(binding, params)
            return
        if self._logging_callback is None and self._message_handler is None:
            return
        spec = METHODS.get(method)
        if method in ("notifications/progress", "notifications/cancelled"):
            # Reports of running requests have gone to their callers; what comes here is late, or of no request.
            return
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

    @property
    def takes_disturbances(self) -> bool:
        """Whether anybody is told of what is no message."""
        return self._message_handler is not None

    async def disturbed(self, error: DecodeError) -> None:
        """Takes what is no message and fails no request: the exception that a transport had in its place, if any."""
        if self._message_handler is not None:
            await _call("what is no message", self._message_handler, error.__cause__ or error)


async def _deliver(binding: NotificationBinding[Any], params: dict[str, Any] | None) -> None:
    try:
        validated = binding.params_type.model_validate({} if params is None else params)
    except ValidationError as error:
        logger.warning("dropped a malformed %s: %s", binding.method, error)
        return
    await _call(binding.method, binding.handler, validated)


async def _call(method: str, callback: Callable[..., Awaitable[None]], *args: Any) -> None:
    task = asyncio_task()
    before = delivered_cancels(task)
    try:
        await callback(*args)
    except Exception:
        logger.exception("the callback for %s raised", method)
    except anyio.get_cancelled_exc_class():
        if not cancelled_itself(task, before):
            raise
        logger.exception("the callback for %s cancelled itself", method)
