"""A server on a link: both eras on one pipe, each message deciding for itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp.engine.backend import open_spawner
from mcp.engine.dispatch import Reply
from mcp.engine.duplex import Admission, Duplex, LinkOutlet
from mcp.engine.exchange import Exchange
from mcp.engine.link import Link
from mcp.protocol.codec import Notification, Request, encode_result
from mcp.protocol.eras import read_envelope, stream_era
from mcp.server.handshake import HandshakeSession
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.runtime import ServerRuntime

__all__ = ["CLOSING_GRACE_SECONDS", "serve_link"]

CLOSING_GRACE_SECONDS: Final = 1.0
"""How long requests may go on after the client has closed its side, so that what was piped in is still answered."""


async def serve_link(
    runtime: ServerRuntime, link: Link, options: InitializationOptions, *, raise_exceptions: bool = False
) -> None:
    """Serves one connection until the client closes its side.

    Args:
        runtime: The server, its lifespan entered.
        link: The connection; it is left open.
        options: What is announced to clients of the handshake revisions.
        raise_exceptions: End the connection with the first exception that a handler raised, once it is answered.
    """
    async with open_spawner() as spawner:
        side = _ServerSide(runtime, options, raise_exceptions)
        duplex = Duplex(LinkOutlet(link), spawner, side)
        side.session.connection.standalone = duplex.notify
        with side.reading:
            await duplex.read(link)
        await duplex.finish(CLOSING_GRACE_SECONDS)
    if side.failure is not None:
        raise side.failure


class _ServerSide:
    def __init__(self, runtime: ServerRuntime, options: InitializationOptions, raise_exceptions: bool) -> None:
        self._runtime = runtime
        self._raise_exceptions = raise_exceptions
        self.session = HandshakeSession(options)
        self.reading = anyio.CancelScope()
        self.failure: Exception | None = None

    @property
    def takes_batches(self) -> bool:
        return self.session.takes_batches

    def opens(self, request: Request) -> bool:
        return request.method == "initialize" and stream_era(request) == "handshake"

    def admit(self, request: Request) -> Admission:
        if stream_era(request) == "modern":
            return Admission(partial(self._answer, request, read_envelope(request.params)), can_ask=False)
        self.session.admit(request)
        if request.method == "initialize":
            return Admission(partial(self._initialize, request), can_ask=True)
        return Admission(partial(self._answer, request, self.session), can_ask=True)

    async def _initialize(self, request: Request, exchange: Exchange) -> Reply:
        reply = await self._answer(request, self.session, exchange)
        if reply.error_code is None:
            self.session.commit(request.params)
        return reply

    async def _answer(self, request: Request, peer: Any, exchange: Exchange) -> Reply:
        engine = self._runtime.engine
        if not self._raise_exceptions:
            return await engine.handle(request, peer, exchange)
        try:
            return Reply(encode_result(request.id, await engine.call(request, peer, exchange)), None)
        except MCPError as error:
            return engine.failed(request, error)
        except Exception as failure:
            if self.failure is None:
                self.failure = failure
            self.reading.cancel()
            return engine.failed(request, failure)

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        peer: Any = self.session
        if stream_era(notification) == "modern":
            try:
                peer = read_envelope(notification.params)
            except MCPError:
                return
        await self._runtime.engine.notified(notification, peer, exchange)
