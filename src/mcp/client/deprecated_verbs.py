"""The verbs of `Client` that only the handshake revisions have; see docs/deprecated.md.

2026-07-28 has none of them: its servers refuse the requests, and the notifications are dropped here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import deprecated

from mcp import types
from mcp.shared.exceptions import MCPDeprecationWarning

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["DeprecatedVerbs"]


class DeprecatedVerbs:
    """A client with the verbs of the handshake revisions."""

    @property
    def session(self) -> ClientSession:
        """The connection underneath."""
        raise NotImplementedError

    @deprecated(
        "ping is removed as of 2026-07-28; the method only works under mode='legacy'.", category=MCPDeprecationWarning
    )
    async def send_ping(self, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Asks the server whether it is still there."""
        return await self.session.send_ping(meta=meta)

    @deprecated(
        "Client-to-server progress is deprecated as of 2026-07-28; progress is server-to-client only.",
        category=MCPDeprecationWarning,
    )
    async def send_progress_notification(
        self, progress_token: str | int, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Reports progress with a request of the server's.

        Args:
            progress_token: The progress token of the server's request.
            progress: How much is done.
            total: How much there is to do, if known.
            message: What is being done.
        """
        params = types.ProgressNotificationParams(
            progress_token=progress_token, progress=progress, total=total, message=message
        )
        await self.session.send_handshake_notification(types.ProgressNotification(params=params))

    @deprecated("The logging capability is deprecated as of 2026-07-28 (SEP-2577).", category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: types.LoggingLevel, *, meta: types.RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Sets the level of the session's log messages."""
        return await self._handshake_request(types.SetLevelRequestParams(level=level), "logging/setLevel", meta)

    @deprecated(
        "resources/subscribe is removed as of 2026-07-28; use Client.listen() instead.",
        category=MCPDeprecationWarning,
    )
    async def subscribe_resource(self, uri: str, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Watches a resource."""
        return await self._handshake_request(types.SubscribeRequestParams(uri=uri), "resources/subscribe", meta)

    @deprecated(
        "resources/unsubscribe is removed as of 2026-07-28; use Client.listen() instead.",
        category=MCPDeprecationWarning,
    )
    async def unsubscribe_resource(self, uri: str, *, meta: types.RequestParamsMeta | None = None) -> types.EmptyResult:
        """Stops watching a resource."""
        return await self._handshake_request(types.UnsubscribeRequestParams(uri=uri), "resources/unsubscribe", meta)

    @deprecated("The roots capability is deprecated as of 2026-07-28 (SEP-2577).", category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tells the server that the roots changed."""
        await self.session.send_handshake_notification(types.RootsListChangedNotification())

    async def _handshake_request(
        self, params: types.RequestParams, method: str, meta: Mapping[str, Any] | None
    ) -> types.EmptyResult:
        return await self.session.request(method, params, types.EmptyResult, meta=meta)
