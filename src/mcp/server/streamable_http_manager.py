"""The application around the MCP endpoint: its lifespan, its routes."""

import logging
import re
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp.engine.backend import Spawner, asyncio_task, open_spawner
from mcp.engine.supervisor import Held
from mcp.server.http_endpoint import HTTPEndpoint
from mcp.server.http_gate import HTTPGate
from mcp.server.http_handshake import HandshakeEndpoint
from mcp.server.http_modern import ModernEndpoint
from mcp.server.http_serving import SessionServing
from mcp.server.http_sessions import SessionTable
from mcp.server.http_stateless import StatelessEndpoint
from mcp.server.http_watch import RequestWatch
from mcp.server.streamable_http import EventStore
from mcp.server.tool_scopes import check_protected
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, TransportSecuritySettings

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from mcp.server.auth.protection import Protection
    from mcp.server.lowlevel.server import Server
    from mcp.server.runtime import ServerRuntime

__all__ = [
    "DEFAULT_MAX_SESSIONS",
    "DEFAULT_SESSION_IDLE_TIMEOUT",
    "OWN_CALL",
    "StreamableHTTPASGIApp",
    "StreamableHTTPSessionManager",
    "build_app",
    "check_path",
]

logger = logging.getLogger(__name__)

DEFAULT_MAX_SESSIONS: Final = 10000
DEFAULT_SESSION_IDLE_TIMEOUT: Final = 1800

_NOT_STARTED = """\
The MCP application serves requests, but its lifespan was never entered, so its first request started it. Enter it \
where your own application starts:

    async with server.session_manager.run():
        ...  # in the lifespan of the application that mounts this one
"""


class StreamableHTTPSessionManager:
    """Runs one server behind an HTTP endpoint.

    Args:
        app: The server.
        event_store: Makes the streams of handshake sessions resumable; None keeps no events.
        json_response: Answer with plain JSON always.
        stateless: Serve the handshake revisions without sessions.
        security_settings: Which hosts and origins are let in; None lets all in.
        retry_interval: How long a client shall wait before it comes back for a closed stream, in ms; None leaves it to
            the client.
        session_idle_timeout: For how many seconds a session may have neither an open HTTP request nor a handler that
            runs, before it is ended; None for ever. One that waits for the client's answer does not count.
        max_request_body_size: The largest request body, in bytes; larger ones are refused with 413.
        max_sessions: The most sessions at a time; None for no limit.
        protection: What every request must get past, wherever the endpoint is mounted; None for what protects the
            server itself, if anything does.

    Raises:
        ValueError: A size, a number or a timeout is not positive.
    """

    def __init__(
        self,
        app: "Server[Any]",
        event_store: EventStore | None = None,
        json_response: bool = False,
        stateless: bool = False,
        security_settings: TransportSecuritySettings | None = None,
        retry_interval: int | None = None,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        *,
        protection: "Protection | None" = None,
    ) -> None:
        _check_session_limits(session_idle_timeout, max_sessions)
        self.app = app
        self.event_store = event_store
        self.json_response = json_response
        self.stateless = stateless
        self.security_settings = security_settings
        self.retry_interval = retry_interval
        self.session_idle_timeout = session_idle_timeout
        self.max_request_body_size = max_request_body_size
        self.max_sessions = max_sessions
        self.protection = app.protection() if protection is None else protection
        self._answer = self._serve if self.protection is None else self.protection.endpoint(self._serve)
        self.asgi_app = StreamableHTTPASGIApp(self)
        self._gate = HTTPGate(
            json_only=json_response,
            security_settings=security_settings,
            max_request_body_size=max_request_body_size,
        )
        self._endpoint: HTTPEndpoint | None = None
        self._table: SessionTable | None = None
        self._ran = False
        self._late_start: anyio.Lock | None = None
        self._late: Held[None] | None = None

    @property
    def open_sessions(self) -> int:
        """How many sessions of handshake revisions are open."""
        return 0 if self._table is None else len(self._table)

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None, None]:
        """Enters the server's lifespan, once for all requests, and leaves it when the block ends.

        Raises:
            RuntimeError: It ran before.
        """
        async with self._serving():
            yield

    @asynccontextmanager
    async def _serving(self) -> AsyncGenerator[None, None]:
        if self._ran:
            raise RuntimeError(
                "StreamableHTTPSessionManager .run() can only be called once per instance. "
                "Create a new instance if you need to run again."
            )
        self._ran = True
        async with self.app.in_process() as runtime, open_spawner() as spawner:
            table = SessionTable(
                idle_timeout=self.session_idle_timeout, max_sessions=self.max_sessions, spawner=spawner
            )
            self._table = table
            endpoint = self._endpoint = self._build(runtime, spawner, table)
            try:
                yield
            finally:
                self._endpoint = self._table = None
                table.close()
                endpoint.close()

    @asynccontextmanager
    async def _serving_until_cancelled(self) -> AsyncGenerator[None, None]:
        """Nobody waits for its end, so a failure of the lifespan there is logged."""
        entered = False
        try:
            async with self._serving():
                entered = True
                yield
        except Exception:
            if not entered:
                raise
            logger.exception("the lifespan of server %r failed at its end", self.app.name)

    def _build(self, runtime: "ServerRuntime", spawner: Spawner, table: SessionTable) -> HTTPEndpoint:
        watch = RequestWatch()
        modern = ModernEndpoint(self.app, runtime.engine, json_response=self.json_response, watch=watch)
        serving = SessionServing(self._gate, watch, json_only=self.json_response, retry=self.retry_interval)
        if self.stateless:
            stateless = StatelessEndpoint(self.app, runtime, serving, watch, spawner, json_response=self.json_response)
            return HTTPEndpoint(self._gate, modern, stateless, self.app.tool_scopes)
        # Asked for the store each time: a subclass may give every session a store of its own.
        sessions = HandshakeEndpoint(self.app, runtime, serving, table, spawner, lambda: self.event_store)
        return HTTPEndpoint(self._gate, modern, sessions, self.app.tool_scopes)

    async def handle_request(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answers one HTTP request, if it gets past what protects the server.

        Raises:
            RuntimeError: The application was shut down, or on trio: its lifespan was never entered.
        """
        await self._answer(scope, receive, send)

    def _serve(self, scope: "Scope", receive: "Receive", send: "Send") -> Coroutine[Any, Any, None]:
        endpoint = self._endpoint
        return self._serve_late(scope, receive, send) if endpoint is None else endpoint.serve(scope, receive, send)

    async def _serve_late(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        endpoint = await self._started_late()
        await endpoint.serve(scope, receive, send)

    async def _started_late(self) -> HTTPEndpoint:
        if self._late_start is None:
            self._late_start = anyio.Lock()
        async with self._late_start:
            if self._endpoint is None:
                if self._ran:
                    raise RuntimeError("the MCP application was shut down; its lifespan has ended")
                if asyncio_task() is None:
                    raise RuntimeError(_NOT_STARTED.replace("so its first request started it. ", ""))
                logger.warning("%s", _NOT_STARTED)
                # Held by a task of its own until the event loop ends, and cancelled with it.
                self._late = Held(self._serving_until_cancelled())
                await self._late.open()
        assert self._endpoint is not None
        return self._endpoint


def _check_session_limits(idle_timeout: float | None, max_sessions: int | None) -> None:
    if idle_timeout is not None and not 0 < idle_timeout < inf:
        raise ValueError(f"session_idle_timeout must be a positive, finite number of seconds, got {idle_timeout}")
    if max_sessions is not None and max_sessions <= 0:
        raise ValueError(f"max_sessions must be a positive number of sessions or None, got {max_sessions}")


class StreamableHTTPASGIApp:
    """The endpoint as a bare ASGI application.

    Args:
        session_manager: What answers.
    """

    def __init__(self, session_manager: StreamableHTTPSessionManager) -> None:
        self.session_manager = session_manager

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answers one HTTP request."""
        await self.session_manager.handle_request(scope, receive, send)


OWN_CALL: Final = StreamableHTTPASGIApp.__call__
"""As it was defined, to know it apart from what an instrumentation puts in its place."""


def check_path(name: str, path: object) -> None:
    """Checks the path of a route.

    Args:
        name: The argument.
        path: Its value.

    Raises:
        ValueError: It does not begin with a slash.
    """
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"{name}= must be a path that begins with a slash, such as '/mcp', got {path!r}")


def build_app(
    manager: StreamableHTTPSessionManager,
    path: str,
    more_routes: "Sequence[BaseRoute]",
    *,
    debug: bool,
) -> "Starlette":
    """A Starlette application with the endpoint at `path`, whose lifespan is the manager's.

    Args:
        manager: What answers at the endpoint, and protects it.
        path: The endpoint's path; it answers with and without a final slash.
        more_routes: Routes besides the endpoint. They are not protected.
        debug: Starlette's debug mode.

    Raises:
        ValueError: The path does not begin with a slash, or a tool needs scopes and nothing protects the endpoint.
    """
    check_path("streamable_http_path", path)
    protection = manager.protection
    if protection is None:
        check_protected(manager.app.tool_scopes)
    from starlette.applications import Starlette
    from starlette.routing import Route

    from mcp.server.http_app import shorten_way

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        if protection is None:
            # Of tools that were registered since as well.
            check_protected(manager.app.tool_scopes)
        async with manager.run():
            yield

    before = [] if protection is None else protection.authorization_server_routes()
    after = [] if protection is None else protection.resource_routes()
    endpoint = Route(path, endpoint=manager.asgi_app)
    pattern = endpoint.path_regex.pattern.removesuffix("$").removesuffix("/")
    endpoint.path_regex = re.compile(f"{pattern}/?$")
    routes = [*before, endpoint, *after, *more_routes]
    app = Starlette(debug=debug, routes=routes, lifespan=lifespan)
    shorten_way(app, endpoint)
    return app
