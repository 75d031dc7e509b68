"""The client's seam to a transport: a request goes out, its result comes back in the caller's task."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcp.protocol.codec import RequestId

if TYPE_CHECKING:
    from mcp.shared.message import ResumptionTokenUpdateCallback

__all__ = ["CallOptions", "NotificationSink", "NotificationTaker", "ProgressSink", "Requester", "SendRequest"]

NotificationSink = Callable[[str, "dict[str, Any] | None"], Awaitable[None]]
"""Takes a notification (method, params) that arrived from the server. Never raises."""


ProgressSink = Callable[["dict[str, Any]"], Awaitable[None]]
"""Takes the params of a `notifications/progress`. Never raises."""


NotificationTaker = Callable[[str, "dict[str, Any] | None"], bool]
"""Takes a notification (method, params) that names the request it belongs to, and says whether nobody else is to have
it. Called as the notification arrives, in order and ahead of the answer. Never raises, and never waits."""


class CallOptions(NamedTuple):
    """What one request may want besides its params.

    Attributes:
        timeout: Seconds to wait for the result; None waits for ever.
        headers: HTTP headers for this request alone; other transports ignore them.
        on_progress: Takes the params of each `notifications/progress` for this request, in the caller's task,
            in order, before the call returns. Never raises.
        bound: Seconds to wait where there is no `timeout`; None waits for ever. It costs less than a `timeout`, and
            need not hold to the second; a server in the same process has none.
        resumption_token: Take the answer from the stream that an earlier request left off after this event; handshake
            revisions over HTTP only.
        on_resumption_token: Takes the id of each event of the answer's stream; handshake revisions over HTTP only.
        on_notification: Makes the request a subscription, and takes the notifications that name it. Its stream may
            be silent for long; if the peer cancels it, it fails with `ConnectionClosedError`.
    """

    timeout: float | None = None
    headers: Mapping[str, str] | None = None
    on_progress: ProgressSink | None = None
    bound: float | None = None
    resumption_token: str | None = None
    on_resumption_token: "ResumptionTokenUpdateCallback | None" = None
    on_notification: NotificationTaker | None = None

    @property
    def limit(self) -> float | None:
        """Seconds to wait, whichever of the two says so."""
        return self.bound if self.timeout is None else self.timeout


SendRequest = Callable[[RequestId, str, "dict[str, Any]", CallOptions], Coroutine[Any, Any, "dict[str, Any]"]]
"""Sends a request and returns its result; see `Requester.request`."""


class Requester(Protocol):
    """An open connection from a client to a server."""

    @property
    def takes_handshake(self) -> bool:
        """Whether `initialize` can be sent: not to a server in the same process, which takes requests one by one."""
        ...

    @property
    def may_stay_silent(self) -> bool:
        """Whether a server that does not know a request may leave it unanswered, as old ones on a pipe do."""
        ...

    @property
    def carries_headers(self) -> bool:
        """Whether HTTP headers can be sent with a request, as far as is known: a user's transport may have any."""
        ...

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns the `result` member of its answer, as parsed JSON.

        A caller that is cancelled, or that times out, cancels the request at the server in the transport's way.

        Args:
            id: The request's id; it is also its progress token where `params["_meta"]["progressToken"]` says so.
            method: The request's method.
            params: The params in wire form, `_meta` included.
            options: Time limit, headers, progress.

        Raises:
            MCPError: The server answered with an error.
            RequestTimeoutError: No answer within `options.timeout`, or `options.bound`.
            TransportError: The connection failed.
        """
        ...

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification.

        Raises:
            TransportError: The connection failed.
        """
        ...

    async def established(self, version: str) -> None:
        """Takes note that a handshake has settled the protocol version.

        Args:
            version: The version.
        """
        ...

    async def aclose(self) -> None:
        """Ends the connection; pending requests fail with `ConnectionClosedError`."""
        ...
