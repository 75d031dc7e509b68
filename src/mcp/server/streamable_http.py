"""Streamable HTTP of the handshake revisions: one session's transport, and the store that makes streams resumable.

A server has no use for the transport: `Server.streamable_http_app()` serves every session. It is there for programs
that drive one session by hand.

Specification: basic/transports of 2025-11-25.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import anyio

from mcp.engine.backend import open_spawner
from mcp.engine.streams import ReadStream, WriteStream
from mcp.protocol.codec import DecodeError, Request, RequestId, decode
from mcp.server.http_gate import (
    CONTENT_TYPE_JSON,
    CONTENT_TYPE_SSE,
    SESSION_ID_HEADER,
    HTTPGate,
    HTTPRequest,
    Refusal,
    accepted_types,
)
from mcp.server.http_hand_driven import MAX_UNREAD_MESSAGES, HandDrivenSession, OutgoingStream
from mcp.server.http_response import RawHeader, respond
from mcp.server.http_serving import SessionServing
from mcp.server.http_streams import GET_STREAM_KEY, REQUEST_CANCELLED, SessionStreams
from mcp.server.http_watch import RequestWatch
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCMessage

if TYPE_CHECKING:
    from starlette.requests import Request as HTTPStarletteRequest
    from starlette.types import Receive, Scope, Send

__all__ = [
    "CONTENT_TYPE_JSON",
    "CONTENT_TYPE_SSE",
    "GET_STREAM_KEY",
    "LAST_EVENT_ID_HEADER",
    "MCP_SESSION_ID_HEADER",
    "REQUEST_CANCELLED",
    "REQUEST_STREAM_BUFFER_SIZE",
    "SESSION_ID_PATTERN",
    "EventCallback",
    "EventId",
    "EventMessage",
    "EventStore",
    "SSEEvent",
    "StreamId",
    "StreamableHTTPServerTransport",
    "check_accept_headers",
]

logger = logging.getLogger(__name__)

MCP_SESSION_ID_HEADER = "mcp-session-id"
LAST_EVENT_ID_HEADER = "last-event-id"

REQUEST_STREAM_BUFFER_SIZE: Final = MAX_UNREAD_MESSAGES
"""Messages from the client that wait for whoever reads a hand-driven transport."""

SESSION_ID_PATTERN = re.compile(r"^[\x21-\x7E]+$")
"""What a session id may be: visible ASCII."""

EventId = str
StreamId = str
SSEEvent = dict[str, Any]


@dataclass
class EventMessage:
    """A stored event.

    Attributes:
        message: What it carries.
        event_id: The id that `EventStore.store_event` gave it.
    """

    message: JSONRPCMessage
    event_id: str | None = None


EventCallback = Callable[[EventMessage], Awaitable[None]]


class EventStore(ABC):
    """Keeps what was sent, so that a client whose connection broke can have it again. Yours to implement."""

    @abstractmethod
    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keeps an event.

        Args:
            stream_id: The stream it is sent on. No two streams have the same, of whatever session.
            message: What it carries; None for an event that is there for its id alone, and is not replayed.

        Returns:
            Its id: unique in the whole store, without line breaks.
        """

    @abstractmethod
    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Gives what followed an event on its stream.

        Args:
            last_event_id: The event. It comes from a client, and may be anything.
            send_callback: To be awaited with each later event of the same stream, in order.

        Returns:
            The event's stream; None where the store does not know the event.
        """


def check_accept_headers(request: HTTPStarletteRequest) -> tuple[bool, bool]:
    """Whether a request accepts JSON, and whether it accepts event streams."""
    return accepted_types(",".join(request.headers.getlist("accept")).encode("latin-1"))


class StreamableHTTPServerTransport:
    """One session over HTTP, driven by hand: hand each HTTP request of the session to `handle_request`.

    Args:
        mcp_session_id: The session's id; None checks none and announces none.
        is_json_response_enabled: Answer with plain JSON always.
        event_store: Makes streams resumable; None keeps no events.
        security_settings: Which hosts and origins are let in; None lets all in.
        retry_interval: How long a client shall wait before it comes back for a closed stream, in ms.
        idle_timeout: How many seconds `idle_scope` may stay idle.

    Attributes:
        mcp_session_id: The session's id.
        is_json_response_enabled: Whether every answer is plain JSON.
        idle_scope: A cancel scope of yours round what serves the session. Its deadline is moved to `idle_timeout`
            after each HTTP request.

    Raises:
        ValueError: The id is not visible ASCII.
    """

    def __init__(
        self,
        mcp_session_id: str | None,
        is_json_response_enabled: bool = False,
        event_store: EventStore | None = None,
        security_settings: TransportSecuritySettings | None = None,
        retry_interval: int | None = None,
        idle_timeout: float | None = None,
    ) -> None:
        if mcp_session_id is not None and not SESSION_ID_PATTERN.fullmatch(mcp_session_id):
            raise ValueError("Session ID must only contain visible ASCII characters (0x21-0x7E)")
        self.mcp_session_id = mcp_session_id
        self.is_json_response_enabled = is_json_response_enabled
        self.idle_scope: anyio.CancelScope | None = None
        self._idle_timeout = idle_timeout
        self._store = event_store
        self._gate = HTTPGate(
            json_only=is_json_response_enabled,
            security_settings=security_settings,
            max_request_body_size=DEFAULT_MAX_REQUEST_BODY_SIZE,
        )
        self._serving = SessionServing(
            self._gate, RequestWatch(), json_only=is_json_response_enabled, retry=retry_interval
        )
        self._session: HandDrivenSession | None = None
        self._terminated = False

    @property
    def is_terminated(self) -> bool:
        """Whether the session was ended; requests are answered with 404 then."""
        return self._terminated

    @asynccontextmanager
    async def connect(
        self,
    ) -> AsyncGenerator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]], None]:
        """Opens the session; yields where the client's messages come from, and where messages to it go.

        A message to the client goes on the response to the request that it answers, or that its
        `ServerMessageMetadata.related_request_id` names; any other on the standalone stream.
        """
        async with open_spawner() as spawner:
            streams = SessionStreams(self.mcp_session_id or uuid4().hex, spawner, self._store)
            session = self._session = HandDrivenSession(streams, self._request_ended)
            try:
                yield session.arrived, OutgoingStream(session)
            finally:
                await self.terminate()
                session.arrived.close()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request of the session.

        Raises:
            RuntimeError: `connect` was not entered.
        """
        session = self._session
        if session is None:
            raise RuntimeError("enter connect() before the first request is handled")
        try:
            request = self._gate.admit(scope, receive, send)
            if self._terminated:
                raise Refusal.of_request(404, "Not Found: Session has been terminated")
            if not request.may_be_handshake:
                raise Refusal.of_request(400, f"Bad Request: Unsupported protocol version: {request.version}")
            if scope["method"] == "POST":
                await self._post(session, request)
            else:
                await self._other(session, request)
        except Refusal as refusal:
            await refusal.respond(send)

    async def _post(self, session: HandDrivenSession, request: HTTPRequest) -> None:
        self._gate.check_post(request)
        if not await self._gate.read_body(request):
            return
        try:
            message = decode(request.body)
        except DecodeError as error:
            message = error
        if isinstance(message, Request) and message.method == "initialize":
            await self._serving.post(session, request, message, self._opened)
        else:
            self._check_id(request)
            await self._serving.post(session, request, message)

    def _opened(self) -> tuple[RawHeader, ...]:
        return () if self.mcp_session_id is None else ((SESSION_ID_HEADER, self.mcp_session_id.encode()),)

    async def _other(self, session: HandDrivenSession, request: HTTPRequest) -> None:
        verb = request.scope["method"]
        if verb == "GET":
            self._check_id(request)
            await self._serving.get(session, request)
        elif verb == "DELETE" and self.mcp_session_id is not None:
            self._check_id(request)
            await self.terminate()
            await respond(request.send, 200, [(b"content-length", b"0")], b"")
        else:
            raise Refusal.of_verb(verb)

    def _check_id(self, request: HTTPRequest) -> None:
        if self.mcp_session_id is None:
            return
        if request.session_id is None:
            raise Refusal.missing_session()
        if request.session_id != self.mcp_session_id:
            raise Refusal.unknown_session()

    def _request_ended(self) -> None:
        if self.idle_scope is not None and self._idle_timeout is not None:
            busy = self._session is not None and self._session.busy
            self.idle_scope.deadline = inf if busy else anyio.current_time() + self._idle_timeout

    async def terminate(self) -> None:
        """Ends the session: streams end, and so does what reads the client's messages."""
        if self._session is not None and not self._terminated:
            logger.info("Terminating session: %s", self.mcp_session_id)
            self._session.end()
        self._terminated = True

    def close_sse_stream(self, request_id: RequestId) -> None:
        """Ends the response to a request early, after what was sent on it; a polling client comes back for the rest.

        Does nothing without an event store, since what follows would be lost.
        """
        if self._session is not None:
            self._session.streams.close_reader_of(request_id)

    def close_standalone_sse_stream(self) -> None:
        """Ends the response to the session's GET; a polling client comes back."""
        if self._session is not None:
            self._session.streams.close_standalone_reader()
