"""The verbs that only the handshake revisions have. 2026-07-28 removed or deprecated them; see docs/deprecated.md."""

from __future__ import annotations

import logging

from typing_extensions import deprecated

from mcp import types
from mcp.client.session_core import SessionCore
from mcp.shared.exceptions import MCPDeprecationWarning

__all__ = ["HandshakeVerbs"]

logger = logging.getLogger("client")


class HandshakeVerbs(SessionCore):
    """A session with the verbs of the handshake revisions."""

    async def send_ping(self, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Asks the server whether it is still there. 2026-07-28 has no such method; its servers refuse."""
        return await self._request("ping", {}, types.EmptyResult, meta=meta)

    @deprecated(
        "Client-to-server progress is deprecated as of 2026-07-28; progress is server-to-client only.",
        category=MCPDeprecationWarning,
    )
    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        *,
        meta: types.RequestParamsMeta | None = None,
    ) -> None:
        """Reports progress with a request of the server's. 2026-07-28 has no such notification; it is dropped there.

        Args:
            progress_token: The progress token of the server's request.
            progress: How much is done.
            total: How much there is to do, if known.
            message: What is being done.
            meta: The notification's `_meta`.

        Raises:
            MCPError: The server refused it.
        """
        await self.send_handshake_notification(
            types.ProgressNotification(
                params=types.ProgressNotificationParams(
                    progress_token=progress_token, progress=progress, total=total, message=message, _meta=meta
                )
            )
        )

    @deprecated("The logging capability is deprecated as of 2026-07-28 (SEP-2577).", category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: types.LoggingLevel, *, meta: types.RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Sets the level of a handshake session's log messages. 2026-07-28 has no such method; its servers refuse."""
        return await self._request("logging/setLevel", {"level": level}, types.EmptyResult, meta=meta)

    @deprecated(
        "resources/subscribe is removed as of 2026-07-28; use Client.listen() instead.",
        category=MCPDeprecationWarning,
    )
    async def subscribe_resource(self, uri: str, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Watches a resource on a handshake session. 2026-07-28 has no such method; its servers refuse."""
        return await self._request("resources/subscribe", {"uri": uri}, types.EmptyResult, meta=meta)

    @deprecated(
        "resources/unsubscribe is removed as of 2026-07-28; use Client.listen() instead.",
        category=MCPDeprecationWarning,
    )
    async def unsubscribe_resource(self, uri: str, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Stops watching a resource on a handshake session. 2026-07-28 has no such method; its servers refuse."""
        return await self._request("resources/unsubscribe", {"uri": uri}, types.EmptyResult, meta=meta)

    @deprecated("The roots capability is deprecated as of 2026-07-28 (SEP-2577).", category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tells the server that the roots changed. 2026-07-28 has no such notification; it is dropped there."""
        await self.send_handshake_notification(types.RootsListChangedNotification())

    async def send_handshake_notification(self, notification: types.ClientNotification) -> None:
        """Sends a notification that only the handshake revisions have; drops it on a 2026-07-28 connection.

        Args:
            notification: The notification.

        Raises:
            MCPError: The server refused it.
        """
        if self.initialize_result is None:
            logger.debug("dropped %s: 2026-07-28 has no such notification from clients", notification.method)
        else:
            await self.send_notification(notification)
