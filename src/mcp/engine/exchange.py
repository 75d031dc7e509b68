"""The way back of one inbound request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from mcp.engine.requester import ProgressSink
from mcp.shared.exceptions import NoBackChannelError

if TYPE_CHECKING:
    from mcp.shared.message import CloseSSEStreamCallback

__all__ = ["NOWHERE", "Exchange", "FrameWriter", "OneWayExchange", "Origin"]

FrameWriter = Callable[[Sequence[bytes]], Awaitable[None]]
"""Sends notifications that are encoded already, in order; waits while the peer is behind."""


class Origin:
    """What a transport knows about where a message came from. This base class knows nothing."""

    __slots__ = ()

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The HTTP headers, names in lower case; None where there are none."""
        return None

    @property
    def context(self) -> Context | None:
        """The context that the request is handled in; None for that of whoever hands it over."""
        return None

    @property
    def request(self) -> Any:
        """The transport's own object for the request, such as Starlette's `Request`; None where there is none."""
        return None

    @property
    def can_ask(self) -> bool:
        """Whether the transport can carry questions to the peer while the message is handled."""
        return True

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        """Ends the answer's stream early, so that a polling client comes back; None where there is no such stream."""
        return None

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        """Ends the session's standalone stream; None where there is none."""
        return None


NOWHERE: Final = Origin()


class Exchange(Protocol):
    """Lives as long as one inbound request, and carries what its handler sends besides the answer."""

    @property
    def origin(self) -> Origin:
        """What the transport knows about the request."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether `ask` can reach the peer."""
        ...

    @property
    def cancel_requested(self) -> anyio.Event:
        """Set when the peer cancels the request."""
        ...

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to the request. After the answer it is dropped."""
        ...

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        """Makes the request one whose answer is long in coming, and what is sent ahead of it the point.

        Args:
            end: Called when the connection is about to close from this side; the handler should return soon. Never
                raises.

        Returns:
            Sends notifications that belong to the request. A call that is cancelled gives the client up: it was too far
            behind.
        """
        ...

    async def ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None = None,
        on_progress: ProgressSink | None = None,
    ) -> Any:
        """Sends a request to the peer and returns the `result` member of its answer.

        Args:
            method: The request's method.
            params: Its params, in wire form.
            timeout: Seconds to wait for the answer; None waits for ever.
            on_progress: Takes the params of each `notifications/progress` for it.

        Raises:
            NoBackChannelError: Era or transport have no way to ask.
        """
        ...


class OneWayExchange:
    """The parts of an exchange that are the same wherever the peer cannot be asked."""

    __slots__ = ("_cancel_requested", "origin")

    can_ask = False

    def __init__(self, origin: Origin = NOWHERE) -> None:
        self.origin = origin
        self._cancel_requested: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        """Set when the peer cancels the request."""
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    def cancelled(self) -> None:
        """Notes that the peer cancelled the request. Its handler is cancelled by whoever calls this."""
        self.cancel_requested.set()

    async def ask(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None = None,
        on_progress: ProgressSink | None = None,
    ) -> Any:
        """Refuses: a modern request cannot carry questions to the client."""
        raise NoBackChannelError(method)
