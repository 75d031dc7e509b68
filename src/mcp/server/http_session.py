"""One session over HTTP: a connection of the handshake era, in by many POSTs and out by many streams."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp.engine.backend import Spawner
from mcp.engine.duplex import Duplex
from mcp.engine.exchange import Origin
from mcp.protocol.codec import Batch, DecodeError, Message, encode_notification
from mcp.server.http_gate import HTTPRequest
from mcp.server.http_origin import HTTPOrigin
from mcp.server.http_streams import SessionStreams, Stream
from mcp.server.server_side import ServerSide
from mcp.shared.exceptions import ConnectionClosedError
from mcp.shared.message import CloseSSEStreamCallback

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.server.runtime import ServerRuntime
    from mcp.server.streamable_http import EventStore

__all__ = ["HTTPSession", "PostOrigin", "SessionPort"]

PRIMING_VERSION: Final = "2025-11-25"
"""From this revision on clients expect events without data, and servers may close a stream that goes on."""


class SessionPort(Protocol):
    """A session as the handling of its HTTP requests sees it."""

    streams: SessionStreams

    @property
    def version(self) -> str:
        """The revision that is spoken."""
        ...

    @property
    def takes_batches(self) -> bool:
        """Whether that revision has JSON-RPC batches."""
        ...

    async def take(self, message: Message | Batch | DecodeError, origin: Origin) -> None:
        """Takes what a POST brought. Waits only for the answer to one that opens the session."""
        ...

    def entered(self) -> None:
        """An HTTP request of the session has begun."""
        ...

    def left(self) -> None:
        """An HTTP request of the session has ended."""
        ...


class HTTPSession:
    """A session that a server of ours serves.

    Args:
        id: The session's id; None where it lasts for one POST.
        server: The server.
        runtime: The same, its lifespan entered.
        spawner: Owns the session's tasks, and only those.
        user: Whom it belongs to.
        store: Stores events; None where streams cannot be resumed.

    Attributes:
        idle_since: When its last HTTP request ended, on the monotonic clock.
    """

    def __init__(
        self,
        id: str | None,
        server: Server[Any],
        runtime: ServerRuntime,
        spawner: Spawner,
        *,
        user: object = None,
        store: EventStore | None = None,
    ) -> None:
        self.id = id
        self.user = user
        self._spawner = spawner
        self._requests = 0
        self.idle_since = monotonic()
        self.streams = SessionStreams(id or "", spawner, store, has_standalone=id is not None)
        self._side = ServerSide(runtime, server.create_initialization_options)
        self._duplex = Duplex(self.streams, spawner, self._side)
        if id is not None:
            self._side.session.connection.standalone = self._notify

    async def _notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends what belongs to no request. Never waits: a standalone stream that is not read keeps the newest."""
        self.streams.send(encode_notification(method, params))

    @property
    def opened(self) -> bool:
        """Whether `initialize` has succeeded."""
        return self._side.session.initialized

    @property
    def version(self) -> str:
        """See `SessionPort.version`."""
        return self._side.session.version

    @property
    def takes_batches(self) -> bool:
        """See `SessionPort.takes_batches`."""
        return self._side.takes_batches

    def assume(self, version: str) -> None:
        """Takes `initialize` as done elsewhere."""
        self._side.session.assume(version)

    async def take(self, message: Message | Batch | DecodeError, origin: Origin) -> None:
        """See `SessionPort.take`."""
        await self._duplex.take(message, origin)

    def entered(self) -> None:
        """See `SessionPort.entered`."""
        self._requests += 1

    def left(self) -> None:
        """See `SessionPort.left`."""
        self._requests -= 1
        self.idle_since = monotonic()

    @property
    def busy(self) -> bool:
        """Whether an HTTP request is open, or a handler runs that does not wait for the client to answer it."""
        return self._requests > 0 or self._duplex.working

    def close(self) -> None:
        """Ends the session: running requests are answered with an error and cancelled, streams end."""
        reason = ConnectionClosedError("Connection closed: the session has ended")
        self._duplex.end(reason)
        self.streams.close()
        self._spawner.cancel()


class PostOrigin(HTTPOrigin):
    """What HTTP knows about a request of a session.

    Args:
        request: The HTTP request.
        session: The session.
        stream: The stream of the POST; None for one that has none.
    """

    __slots__ = ("_session", "_stream")

    def __init__(self, request: HTTPRequest, session: SessionPort, stream: Stream | None) -> None:
        super().__init__(request.scope, request.receive, request.body)
        self._session = session
        self._stream = stream

    @property
    def can_ask(self) -> bool:
        """Whether a question can go out on the answer's stream, or for a notification on the standalone one."""
        return self._session.streams.standalone is not None and not (self._stream and self._stream.answer_only)

    @property
    def _closable(self) -> bool:
        return self._session.streams.resumable and self._session.version >= PRIMING_VERSION

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        """Ends the answer's stream early, so that a polling client comes back; None where it could not."""
        stream = self._stream
        if stream is None or stream.answer_only or not self._closable:
            return None
        return partial(_close, self._session.streams, stream)

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        """Ends the session's standalone stream, so that a polling client comes back; None where it could not."""
        streams = self._session.streams
        if self._stream is None or self._stream.answer_only or streams.standalone is None or not self._closable:
            return None
        return partial(_close, streams, streams.standalone)


async def _close(streams: SessionStreams, stream: Stream) -> None:
    streams.close_reader(stream)
