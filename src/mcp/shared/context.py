"""The part of a request's context that both roles share."""

from typing import TYPE_CHECKING, Any, Generic, cast

import anyio
from typing_extensions import TypeVar

if TYPE_CHECKING:
    from mcp.engine.exchange import Exchange, Origin
    from mcp.types import RequestParamsMeta

__all__ = ["BaseContext", "TransportT"]

TransportT = TypeVar("TransportT", bound="Origin", default="Origin")


class BaseContext(Generic[TransportT]):
    """One inbound request, and the way back to its sender.

    Args:
        dctx: The way back.
        meta: The incoming `_meta`.
    """

    def __init__(self, dctx: "Exchange", meta: "RequestParamsMeta | None" = None) -> None:
        self._exchange = dctx
        self._meta = meta

    @property
    def transport(self) -> TransportT:
        """What the transport knows about the request, such as its HTTP headers."""
        return cast("TransportT", self._exchange.origin)

    @property
    def cancel_requested(self) -> anyio.Event:
        """Set when the peer cancels the request."""
        return self._exchange.cancel_requested

    @property
    def can_send_request(self) -> bool:
        """Whether the peer can be asked something while it waits for its answer."""
        return self._exchange.can_ask

    @property
    def meta(self) -> "RequestParamsMeta | None":
        """The incoming `_meta`."""
        return self._meta

    async def send_raw_request(
        self, method: str, params: dict[str, Any] | None, timeout: float | None = None
    ) -> dict[str, Any]:
        """Asks the peer something.

        Args:
            method: The request's method.
            params: Its params, in wire form.
            timeout: Seconds to wait for the answer; None waits for ever.

        Returns:
            The `result` member of the answer.

        Raises:
            NoBackChannelError: Era or transport have no way to ask.
            MCPError: The peer answered with an error.
        """
        return await self._exchange.ask(method, params, timeout)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request.

        Args:
            method: The notification's method.
            params: Its params, in wire form.
        """
        await self._exchange.notify(method, params)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Reports progress, if the sender asked for it.

        Args:
            progress: How much is done; it grows with every report.
            total: How much there is to do, if known.
            message: What is being done.
        """
        token = (self._meta or {}).get("progress_token")
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._exchange.notify("notifications/progress", params)
