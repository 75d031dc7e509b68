"""The way from a server to its client: `ctx.session` in a handler."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typing_extensions import deprecated

from mcp.engine.exchange import Exchange, FrameWriter
from mcp.server.list_changes import told
from mcp.server.questions import ClientQuestions
from mcp.shared.exceptions import ConnectionClosedError, MCPDeprecationWarning
from mcp.types.jsonrpc import RequestId

if TYPE_CHECKING:
    from pydantic import AnyUrl

    from mcp import types
    from mcp.server.connection import Connection

__all__ = ["ServerSession"]

logger = logging.getLogger(__name__)

_LOGGING_DEPRECATED = "The logging capability is deprecated as of 2026-07-28 (SEP-2577)."


class ServerSession(ClientQuestions):
    """What a handler can send to the client besides its answer.

    Notifications that belong to the request at hand (progress, log messages) travel with its answer. Those that do not
    (list changes) go where the connection has a channel for them, and are dropped where it has none. Requests to the
    client need a back-channel: a 2026-07-28 request has none, and every one of them raises `NoBackChannelError`.

    Args:
        request_outbound: The way back of the request at hand.
        connection: The client.
        request_meta: The request's `_meta`.
    """

    __slots__ = ("_meta",)

    def __init__(
        self,
        request_outbound: Exchange,
        connection: Connection,
        *,
        request_meta: types.RequestParamsMeta | None = None,
    ) -> None:
        super().__init__(request_outbound, connection)
        self._meta = request_meta

    @property
    def connection(self) -> Connection:
        """The client, for as long as the connection lasts."""
        return self._connection

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What the client sent to open the connection; None where it opened without a handshake and kept its name."""
        from mcp.types import InitializeRequestParams

        facts = self._connection.facts
        if facts.info is None:
            return None
        return InitializeRequestParams(
            protocol_version=self.protocol_version, capabilities=facts.capabilities, client_info=facts.info
        )

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken."""
        return self._connection.protocol_version

    async def send_notification(
        self,
        notification: types.ServerNotification | types.Notification[Any, Any],
        related_request_id: RequestId | None = None,
    ) -> None:
        """Sends a notification, also one of an extension; a log message only if the client asked for its level.

        Args:
            notification: The notification.
            related_request_id: The request it belongs to; one without goes over the connection's own channel.
        """
        if notification.method == "notifications/message" and not self._connection.wants_log(notification.params.level):
            return
        wire = notification.model_dump(by_alias=True, exclude_none=True, mode="json")
        if related_request_id is None and notification.method not in _REQUEST_SCOPED:
            await self._announce(notification.method, wire.get("params"))
        else:
            await self._exchange.notify(notification.method, wire.get("params"))

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        """Makes the request at hand a stream: one that is answered late, if ever, and is there for what comes before.

        Args:
            end: Called when the connection is about to be closed from this side, so that the handler returns while its
                answer can still be sent. Must not raise.

        Returns:
            Sends notifications that are encoded already, as whole JSON-RPC messages, and waits while the client is
            behind with reading. A call that is cancelled gives the client up where it has the connection to itself.
        """
        return self._exchange.open_stream(end)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress of the request at hand, if the client asked for it.

        Args:
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.
        """
        token = (self._meta or {}).get("progress_token")
        if token is not None:
            await self.send_progress_notification(token, progress, total, message)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: str | None = None,
    ) -> None:
        """Reports progress under a token of the client's.

        Args:
            progress_token: The token of the request that progresses.
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.
            related_request_id: The request it belongs to; the one at hand when left out.
        """
        params: dict[str, Any] = {"progressToken": progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._exchange.notify("notifications/progress", params)

    @deprecated(_LOGGING_DEPRECATED, category=MCPDeprecationWarning)
    async def send_log_message(
        self,
        level: types.LoggingLevel,
        data: Any,
        logger: str | None = None,
        related_request_id: RequestId | None = None,
    ) -> None:
        """Sends a log message with the request at hand, if the client asked for its level.

        Args:
            level: How severe it is.
            data: Anything that serialises to JSON.
            logger: The logger's name.
            related_request_id: The request it belongs to; the one at hand when left out.
        """
        if not self._connection.wants_log(level):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self._exchange.notify("notifications/message", params)

    async def send_resource_updated(self, uri: str | AnyUrl) -> None:
        """Tells the client that a resource has changed."""
        await self._announce("notifications/resources/updated", {"uri": str(uri)})

    async def send_resource_list_changed(self) -> None:
        """Tells the client that the list of resources has changed."""
        await self._announce("notifications/resources/list_changed", None)

    async def send_tool_list_changed(self) -> None:
        """Tells the client that the list of tools has changed."""
        await self._announce("notifications/tools/list_changed", None)

    async def send_prompt_list_changed(self) -> None:
        """Tells the client that the list of prompts has changed."""
        await self._announce("notifications/prompts/list_changed", None)

    async def send_elicit_complete(self, elicitation_id: str, related_request_id: RequestId | None = None) -> None:
        """Tells the client that what a URL elicitation asked for is done.

        Args:
            elicitation_id: The elicitation.
            related_request_id: The request it belongs to; one without goes over the connection's own channel.
        """
        params = {"elicitationId": elicitation_id}
        if related_request_id is None:
            await self._announce("notifications/elicitation/complete", params)
        else:
            await self._exchange.notify("notifications/elicitation/complete", params)

    async def _announce(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends what belongs to no request. A client that is gone misses it."""
        told(self._connection, method)
        try:
            await self._connection.notify(method, params)
        except ConnectionClosedError:
            logger.debug("dropped %s: the connection is closed", method)


_REQUEST_SCOPED = frozenset({"notifications/progress", "notifications/message"})
