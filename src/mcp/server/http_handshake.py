"""The handshake revisions over HTTP: which session a request is of, and which requests open and end one.

Specification: basic/transports of 2025-11-25, under "Session Management".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcp.engine.backend import Spawner
from mcp.protocol.codec import Batch, DecodeError, Message, Request
from mcp.server.http_gate import SESSION_ID_HEADER, HTTPRequest, Refusal
from mcp.server.http_response import RawHeader, respond
from mcp.server.http_serving import SessionServing
from mcp.server.http_session import HTTPSession
from mcp.server.http_sessions import SessionTable
from mcp.server.principals import principal

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.server.runtime import ServerRuntime
    from mcp.server.streamable_http import EventStore

__all__ = ["HandshakeEndpoint"]


class HandshakeEndpoint:
    """Serves handshake revisions with sessions.

    Args:
        server: The server.
        runtime: The same, its lifespan entered.
        serving: Serves what belongs to a session.
        table: The sessions.
        spawner: Owns what the sessions own.
        event_store: Gives the event store of each new session.
    """

    def __init__(
        self,
        server: Server[Any],
        runtime: ServerRuntime,
        serving: SessionServing,
        table: SessionTable,
        spawner: Spawner,
        event_store: Callable[[], EventStore | None],
    ) -> None:
        self._server = server
        self._runtime = runtime
        self._serving = serving
        self._table = table
        self._spawner = spawner
        self._event_store = event_store

    async def serve_post(self, request: HTTPRequest, message: Message | Batch | DecodeError) -> None:
        """Serves a POST.

        Raises:
            Refusal: It is not served.
        """
        id = request.session_id
        if id is not None:
            await self._serving.post(self._found(request, id), request, message)
        elif isinstance(message, Request) and message.method == "initialize":
            await self._open(request, message)
        elif isinstance(message, DecodeError):
            raise Refusal.of_error(message, message.id, 400)
        else:
            raise Refusal.missing_session(message.id if isinstance(message, Request) else None)

    async def serve_other(self, request: HTTPRequest) -> None:
        """Serves what is no POST.

        Raises:
            Refusal: It is not served.
        """
        verb = request.scope["method"]
        if verb not in ("GET", "DELETE"):
            raise Refusal.of_verb(verb)
        id = request.session_id
        if id is None:
            raise Refusal.missing_session()
        session = self._found(request, id)
        if verb == "GET":
            await self._serving.get(session, request)
        else:
            self._table.remove(id)
            await respond(request.send, 200, [(b"content-length", b"0")], b"")

    def _found(self, request: HTTPRequest, id: str) -> HTTPSession:
        return self._table.find(id, principal(request.scope.get("user")))

    async def _open(self, request: HTTPRequest, message: Request) -> None:
        """Answers `initialize`. Only if it succeeds there is a session, and its id goes with the answer."""
        self._table.reserve()
        id = uuid4().hex
        session = HTTPSession(
            id,
            self._server,
            self._runtime,
            self._spawner.fork(),
            user=principal(request.scope.get("user")),
            store=self._event_store(),
        )
        added = False

        def opened() -> tuple[RawHeader, ...]:
            nonlocal added
            if not session.opened:
                return ()
            added = True
            self._table.add(id, session)
            return ((SESSION_ID_HEADER, id.encode()),)

        try:
            await self._serving.post(session, request, message, opened)
        finally:
            if not added:
                self._table.give_up()
                session.close()
