"""What a server does with what arrives on a two-way connection, whatever carries it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.engine.dispatch import Reply
from mcp.engine.duplex import Admission
from mcp.engine.exchange import Exchange
from mcp.protocol.codec import DecodeError, Notification, Request
from mcp.protocol.eras import Envelope, read_envelope, stream_era
from mcp.server.handshake import HandshakeSession
from mcp.shared.exceptions import MCPError
from mcp.types.base import CLIENT_CAPABILITIES_META_KEY
from mcp.types.version import LATEST_MODERN_VERSION

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.runtime import ServerRuntime

__all__ = ["ServerSide"]

logger = logging.getLogger(__name__)

_CANCELLED = "notifications/cancelled"


class ServerSide:
    """The `Side` of a server: messages with a modern `_meta` stand alone, all others belong to the handshake.

    Args:
        runtime: The server, its lifespan entered.
        announce: What to announce to a client that opens the connection.
        on_failure: Takes each exception that a handler raised, of which the client is told as well. Without it, only
            the log is.

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
    def traces(self) -> bool:
        """Whether what handlers ask the client is traced: where what they handle is."""
        return self._runtime.traces

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self.session.takes_batches

    @property
    def hears_cancellations(self) -> bool:
        """Whether there is middleware to see a cancellation, or a handler."""
        return self._runtime.hears(_CANCELLED)

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
        try:
            # Not kept: it is larger than everything else that a session is.
            connection.announced = self._announce()
            reply = await self._answer(request, self.session, exchange)
        except Exception as failure:
            # `create_initialization_options` may be the user's.
            return self._runtime.engine.failed(request, failure)
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
            return await engine.answer(request, peer, exchange)
        except MCPError as error:
            return engine.failed(request, error)
        except Exception as failure:
            self._on_failure(failure)
            error = engine.as_error(request.method, failure)
            return engine.failed(request, MCPError(error.code, str(failure), error.data))

    def may_ask(self, notification: Notification) -> bool:
        """Whether the handler of a notification may ask the peer something."""
        return stream_era(notification) == "handshake"

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        """Takes a notification. Never raises."""
        try:
            peer: Any = self._sender(notification)
        except MCPError as error:
            logger.debug("dropped %s: %s", notification.method, error)
            return
        await self._runtime.engine.notified(notification, peer, exchange)

    def _sender(self, notification: Notification) -> Envelope | HandshakeSession:
        if stream_era(notification) == "modern":
            return read_envelope(notification.params)
        if notification.method == _CANCELLED and not self.session.initialized:
            # What cancels a 2026-07-28 request need not say which revision it is of.
            return Envelope(LATEST_MODERN_VERSION, {CLIENT_CAPABILITIES_META_KEY: {}})
        self.session.admit(notification)
        return self.session

    def unreadable(self, error: DecodeError) -> bool:
        """Takes note of what is no message. The client is told, under no id where none could be read."""
        if error.response_id is not None:
            logger.debug("what answers %r is no answer: %s", error.response_id, error.message)
        return True

    @property
    def takes_disturbances(self) -> bool:
        """See `Side.takes_disturbances`. The client has been told; no handler is."""
        return False

    async def disturbed(self, error: DecodeError) -> None:
        """See `Side.disturbed`."""
