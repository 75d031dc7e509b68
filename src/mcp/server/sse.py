"""The HTTP+SSE transport of revision 2024-11-05, for clients that know no other: the server's end.

A client opens an event stream with GET. Its first event names the URL that the client posts its messages to; what the
server has to say, answers included, comes back on the stream.

    sse = SseServerTransport("/messages/")

    class Events:
        async def __call__(self, scope, receive, send):
            async with sse.connect_sse(scope, receive, send) as (read, write):
                await server.run(read, write, server.create_initialization_options())

    app = Starlette(routes=[Route("/sse", Events()), Mount("/messages/", app=sse.handle_post_message)])

Specification: basic/transports under "HTTP with SSE" (2024-11-05).
"""

import re
import secrets
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from urllib.parse import parse_qs, quote

import anyio

from mcp.engine.backend import open_spawner
from mcp.engine.bytelink import CLOSE_TIMEOUT
from mcp.engine.link import OriginFrame
from mcp.engine.queuelink import QueueLink
from mcp.engine.streams import TransportStreams, open_streams
from mcp.protocol.codec import DecodeError, decode
from mcp.protocol.sse import COMMENT, format_event
from mcp.server.http_gate import HTTPGate, HTTPRequest, Refusal
from mcp.server.http_origin import HTTPOrigin
from mcp.server.http_response import HTTPResponse, respond
from mcp.server.principals import principal
from mcp.server.shutdown import ShutdownWatch
from mcp.server.tool_scopes import NO_SCOPES, ToolScopes, check_calls
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, TransportSecuritySettings, is_json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["SseServerTransport"]

KEEP_ALIVE_SECONDS: Final = 15.0
"""After how long a silence a comment is sent, so that nobody on the way takes it for the end."""

_SESSION_ID = re.compile("[0-9a-f]{32}")
_TEXT = b"text/plain; charset=utf-8"


class _Session(NamedTuple):
    link: QueueLink
    principal: object


class SseServerTransport:
    """Both endpoints of the transport, and the sessions that are open.

    Args:
        endpoint: The path that clients post to, such as "/messages/". The path that the application is mounted at is
            put before it.
        security_settings: Which `Host` and `Origin` headers are let in; None lets all in.
        max_request_body_size: The largest message, in bytes; a larger one is refused with 413.

    Attributes:
        tool_scopes: The scopes that calls of tools need; none when left alone.

    Raises:
        ValueError: `endpoint` is no path, or `max_request_body_size` is not positive.
    """

    def __init__(
        self,
        endpoint: str,
        security_settings: TransportSecuritySettings | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
    ) -> None:
        if "://" in endpoint or endpoint.startswith("//") or "?" in endpoint or "#" in endpoint:
            raise ValueError(f"expected the path that clients post to, such as '/messages/', got {endpoint!r}")
        self._endpoint = endpoint if endpoint.startswith("/") else f"/{endpoint}"
        self._gate = HTTPGate(
            json_only=False, security_settings=security_settings, max_request_body_size=max_request_body_size
        )
        self.tool_scopes: ToolScopes = NO_SCOPES
        self._sessions: dict[str, _Session] = {}
        self._shutdown = ShutdownWatch(lambda: bool(self._sessions), self._end_all)

    # The event stream.

    @asynccontextmanager
    async def connect_sse(
        self, scope: "Scope", receive: "Receive", send: "Send"
    ) -> AsyncGenerator[TransportStreams, None]:
        """Answers a GET with an event stream, and yields the connection that it and the posts to it make.

        The connection ends when the client hangs up, and when uvicorn is told to stop; the stream ends when the block
        does.

        Args:
            scope: The ASGI scope of the request.
            receive: The ASGI way in.
            send: The ASGI way out.

        Yields:
            Where messages come from, and where they go.

        Raises:
            ValueError: It is no HTTP request, or one that is refused; then the refusal is sent already.
            HTTPException: It is refused inside a Starlette application, which answers it.
        """
        if scope["type"] != "http":
            raise ValueError(f"connect_sse takes HTTP requests, got {scope['type']!r}")
        try:
            self._gate.admit(scope, receive, send)
            _check_verb(scope, "GET")
        except Refusal as refusal:
            await _refuse_stream(refusal, scope, send)
        id = secrets.token_hex(16)
        link = QueueLink()
        stream = _EventStream(link, send)
        with self._registered(id, _Session(link, principal(scope.get("user")))):
            await stream.open(quote(f"{scope.get('root_path', '').rstrip('/')}{self._endpoint}"), id)
            async with open_spawner() as spawner:
                spawner.spawn(stream.write)
                spawner.spawn(_await_disconnect, receive, link)
                try:
                    yield open_streams(link)
                finally:
                    await link.aclose()
        await stream.close()

    @contextmanager
    def _registered(self, id: str, session: _Session) -> Generator[None, None, None]:
        self._sessions[id] = session
        self._shutdown.start()
        try:
            yield
        finally:
            del self._sessions[id]

    def _end_all(self) -> None:
        for session in self._sessions.values():
            session.link.end()

    # Messages.

    async def handle_post_message(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Takes one message, as an ASGI application: mount it at the endpoint.

        Answers 202 once the message is handed to its session. Refuses with 400 what is no message or names no session,
        and with 404 a session that is not open, or that somebody else has opened.

        Args:
            scope: The ASGI scope of the request.
            receive: The ASGI way in.
            send: The ASGI way out.
        """
        try:
            request = self._gate.admit(scope, receive, send)
            _check_verb(scope, "POST")
            _check_content_type(request)
            session = self._session_of(scope)
            if not await self._gate.read_body(request):
                return
            _deliver(session.link, request, self.tool_scopes)
        except Refusal as refusal:
            await refusal.respond(send)
            return
        await respond(send, 202, [(b"content-type", _TEXT), (b"content-length", b"8")], b"Accepted")

    def _session_of(self, scope: "Scope") -> _Session:
        ids = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id")
        if not ids:
            raise Refusal.of_text(400, "session_id is required: post to the URL in the stream's `endpoint` event")
        if not _SESSION_ID.fullmatch(ids[-1]):
            raise Refusal.of_text(400, "Invalid session ID")
        session = self._sessions.get(ids[-1])
        # Nobody is told that a session exists which is not theirs.
        if session is None or session.principal != principal(scope.get("user")):
            raise _no_session()
        return session


class _PostOrigin(HTTPOrigin):
    """What is known of a posted message: also in which context it was posted, for those who look there for its user."""

    __slots__ = ("_context",)

    def __init__(self, scope: "Scope", receive: "Receive", body: bytes) -> None:
        super().__init__(scope, receive, body)
        self._context = copy_context()

    @property
    def context(self) -> Context:
        """See `Origin.context`."""
        return self._context


class _EventStream:
    """The response to the GET of one session."""

    def __init__(self, link: QueueLink, send: "Send") -> None:
        self._link = link
        self._response = HTTPResponse(send)

    async def open(self, path: str, session_id: str) -> None:
        await self._events(format_event(f"{path}?session_id={session_id}".encode(), event="endpoint"))

    async def write(self) -> None:
        """Sends what the session has to say, and a comment where that is nothing for long."""
        with suppress(anyio.EndOfStream):
            while True:
                frames: list[bytes] = []
                with anyio.move_on_after(KEEP_ALIVE_SECONDS):
                    frames = await self._link.unsent()
                await self._events(b"".join(format_event(frame, event="message") for frame in frames) or COMMENT)
                self._link.sent(*frames)

    async def close(self) -> None:
        # Bounded: one who does not read would not take this either.
        with anyio.move_on_after(CLOSE_TIMEOUT):
            await self._events(b"", last=True)

    async def _events(self, data: bytes, *, last: bool = False) -> None:
        await self._response.events(data, last=last)
        if self._response.disconnected:
            self._link.end()


async def _await_disconnect(receive: "Receive", link: QueueLink) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    link.end()


def _deliver(link: QueueLink, request: HTTPRequest, tool_scopes: ToolScopes) -> None:
    body = request.body
    if link.ended:
        raise _no_session()
    if link.full:
        text = b"Too many messages wait to be read on this session"
        raise Refusal(503, text, _TEXT, ((b"retry-after", b"1"),))
    try:
        # Which revisions have batches is for the session to say.
        message = decode(body, allow_batch=True)
    except DecodeError as error:
        # Whoever waits for an answer looks at the stream, so the session is told as well.
        link.put(error, len(body))
        raise Refusal.of_text(400, f"Could not parse message: {error}") from None
    if tool_scopes:
        check_calls(tool_scopes, message, request.scope)
    frame = OriginFrame(body)
    frame.origin = _PostOrigin(request.scope, request.receive, body)
    link.put(frame, len(body))


def _no_session() -> Refusal:
    text = "Could not find session: its event stream has ended, or was opened by somebody else"
    return Refusal.of_text(404, text)


def _check_verb(scope: "Scope", allowed: str) -> None:
    if scope["method"] != allowed:
        text = f"This endpoint takes {allowed} only, got {scope['method']}"
        raise Refusal(405, text.encode(), _TEXT, ((b"allow", allowed.encode()),))


def _check_content_type(request: HTTPRequest) -> None:
    value = request.raw_headers.get(b"content-type", b"")
    if not is_json(value):
        shown = value.decode("latin-1")
        raise Refusal.of_text(400, f"Invalid Content-Type header: expected application/json, got {shown!r}")


async def _refuse_stream(refusal: Refusal, scope: "Scope", send: "Send") -> NoReturn:
    """Refuses a GET, and raises, since there is no connection to yield."""
    from starlette.exceptions import HTTPException

    text = refusal.body.decode()
    if "starlette.exception_handlers" in scope:
        # Answered by the application: an error after the answer would be logged as a fault of the server's.
        headers = {name.decode(): value.decode() for name, value in refusal.headers}
        raise HTTPException(refusal.status, text, {"allow": headers["allow"]} if "allow" in headers else None)
    await refusal.respond(send)
    raise ValueError(f"The request for an event stream was refused: {text}")
