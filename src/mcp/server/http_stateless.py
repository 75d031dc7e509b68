"""The handshake revisions over HTTP without sessions: each POST stands alone, as if initialize had come before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.engine.backend import Spawner
from mcp.protocol.codec import Batch, DecodeError, Message, Request
from mcp.server.handshake import HandshakeSession
from mcp.server.http_exchange import HTTPExchange
from mcp.server.http_gate import HTTPRequest, Refusal
from mcp.server.http_response import HTTPResponse
from mcp.server.http_serving import SessionServing
from mcp.server.http_session import HTTPSession
from mcp.server.http_watch import RequestWatch
from mcp.types.version import DEFAULT_NEGOTIATED_VERSION

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.server.runtime import ServerRuntime

__all__ = ["StatelessEndpoint"]


class StatelessEndpoint:
    """Serves handshake revisions without sessions.

    Args:
        server: The server.
        runtime: The same, its lifespan entered.
        serving: Serves POSTs that are no single request.
        watch: Notices clients that hang up.
        spawner: Owns what runs for such a POST.
        json_response: Answer with plain JSON always.
    """

    def __init__(
        self,
        server: Server[Any],
        runtime: ServerRuntime,
        serving: SessionServing,
        watch: RequestWatch,
        spawner: Spawner,
        *,
        json_response: bool,
    ) -> None:
        self._server = server
        self._runtime = runtime
        self._serving = serving
        self._watch = watch
        self._spawner = spawner
        self._json_only = json_response

    async def serve_post(self, request: HTTPRequest, message: Message | Batch | DecodeError) -> None:
        """Serves a POST.

        Raises:
            Refusal: It is not served.
        """
        version = request.version or DEFAULT_NEGOTIATED_VERSION
        if isinstance(message, Request):
            await self._answer(request, message, version)
            return
        session = HTTPSession(None, self._server, self._runtime, self._spawner.fork())
        session.assume(version)
        try:
            await self._serving.post(session, request, message)
        finally:
            if session.streams.waiting:
                session.close()

    async def _answer(self, http: HTTPRequest, request: Request, version: str) -> None:
        """Answers a request as a modern one is: a client that hangs up cancels it, since it cannot come back."""
        session = HandshakeSession()
        session.assume(version)
        if request.method == "initialize":
            session.connection.announced = self._server.create_initialization_options()
        exchange = HTTPExchange(http, HTTPResponse(http.send), json_only=self._json_only)

        async def work() -> None:
            reply = await self._runtime.engine.handle(request, session, exchange)
            await exchange.answer(reply.frame, 200)

        await self._watch.run(exchange, http.receive, work())

    async def serve_other(self, request: HTTPRequest) -> None:
        """Refuses what is no POST.

        Raises:
            Refusal: Always.
        """
        raise Refusal.of_verb(request.scope["method"], "POST")
