"""What a server does with what arrives on a two-way connection, whatever carries it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.engine.dispatch import Reply
from mcp.engine.duplex import Admission
from mcp.engine.exchange import Exchange
from mcp.protocol.codec import Notification, Request, encode_result
from mcp.protocol.eras import read_envelope, stream_era
from mcp.server.handshake import HandshakeSession
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.runtime import ServerRuntime

__all__ = ["ServerSide"]


class ServerSide:
    """The `Side` of a server: messages with a modern `_meta` stand alone, all others belong to the handshake.

    Args:
        runtime: The server, its lifespan entered.
        announce: What to announce to a client that opens the connection.
        on_failure: Told of each exception that a handler raised, once more than the log is.

    Attributes:
        session: What the handshake has settled.
    """

    def __init__(
        self,
        runtime: ServerRuntime,
        announce: Callable[[], InitializationOptions],
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        self._runtime = runtime
        self._announce = announce
        self._on_failure = on_failure
        self.session = HandshakeSession()

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self.session.takes_batches

    def opens(self, request: Request) -> bool:
        """Whether nothing further may be read before this request is answered."""
        return request.method == "initialize" and stream_era(request) == "handshake"

    def admit(self, request: Request) -> Admission:
        """How to answer a request.

        Raises:
            MCPError: It is refused.
        """
        if stream_era(request) == "modern":
            return Admission(partial(self._answer, request, read_envelope(request.params)), can_ask=False)
        self.session.admit(request)
        if request.method == "initialize":
            # The client's answer to a question could not be taken before this request is answered.
            return Admission(partial(self._initialize, request), can_ask=False)
        return Admission(partial(self._answer, request, self.session), can_ask=True)

    async def _initialize(self, request: Request, exchange: Exchange) -> Reply:
        connection = self.session.connection
        # Not kept: it is larger than everything else that a session is.
        connection.announced = self._announce()
        try:
            reply = await self._answer(request, self.session, exchange)
        finally:
            connection.announced = None
        if reply.error_code is None:
            self.session.commit(request.params)
        return reply

    async def _answer(self, request: Request, peer: Any, exchange: Exchange) -> Reply:
        engine = self._runtime.engine
        if self._on_failure is None:
            return await engine.handle(request, peer, exchange)
        try:
            return Reply(encode_result(request.id, await engine.call(request, peer, exchange)), None)
        except MCPError as error:
            return engine.failed(request, error)
        except Exception as failure:
            self._on_failure(failure)
            return engine.failed(request, failure)

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        """Takes a notification. Never raises."""
        peer: Any = self.session
        if stream_era(notification) == "modern":
            try:
                peer = read_envelope(notification.params)
            except MCPError:
                return
        await self._runtime.engine.notified(notification, peer, exchange)
