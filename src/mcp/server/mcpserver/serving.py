"""Serving an `MCPServer`: over stdio, over HTTP, or inside an application of yours."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

import anyio

from mcp.server.lowlevel.server import LifespanResultT
from mcp.server.mcpserver.utilities.logging import configure_logging
from mcp.server.tool_scopes import check_protected

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from mcp.server.auth.protection import Protection
    from mcp.server.auth.provider import OAuthAuthorizationServerProvider, TokenVerifier
    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver.settings import Settings
    from mcp.server.mcpserver.tools.tool_manager import ToolManager
    from mcp.server.runtime import ServerRuntime
    from mcp.server.streamable_http import EventStore
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

__all__ = ["Serving", "ServingRefused", "refuse_to_serve"]

_MAX_BODY = 4 * 1024 * 1024

_refused: ContextVar[bool] = ContextVar("serving_refused", default=False)


class ServingRefused(RuntimeError):
    """A program serves where it is only looked at."""


@contextmanager
def refuse_to_serve() -> Generator[None]:
    """While a program is imported to be looked at, its servers must not keep the import waiting for clients.

    Inside, `run()` and what is like it raise `ServingRefused`.
    """
    token = _refused.set(True)
    try:
        yield
    finally:
        _refused.reset(token)


class Serving(Generic[LifespanResultT]):
    """The part of an `MCPServer` that serves."""

    settings: Settings[LifespanResultT]
    _token_verifier: TokenVerifier | None
    _auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None
    _lowlevel_server: Server[LifespanResultT]
    _tool_manager: ToolManager
    _custom_starlette_routes: list[Route]

    def complete(self) -> None:
        """Works out what was left for later, so that a mistake shows before the first request."""
        raise NotImplementedError

    @overload
    def run(self, transport: Literal["stdio"] = ...) -> None: ...

    @overload
    def run(
        self,
        transport: Literal["sse"],
        *,
        host: str = ...,
        port: int = ...,
        sse_path: str = ...,
        message_path: str = ...,
        max_request_body_size: int = ...,
        transport_security: TransportSecuritySettings | None = ...,
    ) -> None: ...

    @overload
    def run(
        self,
        transport: Literal["streamable-http"],
        *,
        host: str = ...,
        port: int = ...,
        streamable_http_path: str = ...,
        json_response: bool = ...,
        stateless_http: bool = ...,
        event_store: EventStore | None = ...,
        retry_interval: int | None = ...,
        max_request_body_size: int = ...,
        session_idle_timeout: float | None = ...,
        max_sessions: int | None = ...,
        transport_security: TransportSecuritySettings | None = ...,
    ) -> None: ...

    def run(self, transport: Literal["stdio", "sse", "streamable-http"] = "stdio", **kwargs: Any) -> None:
        """Serves until the client hangs up (stdio), or the process is told to stop (HTTP).

        Args:
            transport: "stdio" for the process that started this one, "streamable-http" for a port, "sse" for a port
                and clients of 2024-11-05.
            **kwargs: Options of the transport; see `run_streamable_http_async` and `run_sse_async`. stdio has none.

        Raises:
            ValueError: There is no such transport.
            TypeError: The transport has no such option.
            InvalidSignature: An annotation of a registered function names what does not exist.
        """
        runs: dict[str, Callable[..., Any]] = {
            "stdio": self.run_stdio_async,
            "sse": self.run_sse_async,
            "streamable-http": self.run_streamable_http_async,
        }
        if transport not in runs:
            raise ValueError(f"Unknown transport: {transport}; expected one of {', '.join(runs)}")
        options = signature(runs[transport]).parameters
        if unknown := [name for name in kwargs if name not in options]:
            known = ", ".join(options) or "none"
            raise TypeError(f"run({transport!r}) has no option {', '.join(unknown)}; expected {known}")
        fast = transport != "stdio" and sys.platform != "win32" and find_spec("uvloop") is not None
        # uvicorn has stopped in good order by the time it hands on the signal that told it to. On Python 3.10 it comes
        # out as a cancellation.
        with suppress(KeyboardInterrupt, CancelledError) if transport != "stdio" else nullcontext():
            anyio.run(partial(runs[transport], **kwargs), backend_options={"use_uvloop": True} if fast else {})

    async def run_stdio_async(self) -> None:
        """Serves one client over stdin and stdout, until it closes its side."""
        from mcp.server.stdio import stdio_server

        self._prepare()
        server = self._lowlevel_server
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    async def run_sse_async(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        sse_path: str = "/sse",
        message_path: str = "/messages/",
        max_request_body_size: int = _MAX_BODY,
        transport_security: TransportSecuritySettings | None = None,
    ) -> None:
        """Serves clients of 2024-11-05 on a port, until the process is told to stop.

        Args:
            host: The address to listen on.
            port: The port; 0 takes a free one.
            sse_path: The path of the event stream.
            message_path: The path that clients post to.
            max_request_body_size: The largest message, in bytes.
            transport_security: Which `Host` and `Origin` headers are let in; on a loopback address, when left out,
                only loopback ones.

        Raises:
            ValueError: A path does not begin with a slash.
        """
        app = self.sse_app(
            sse_path=sse_path,
            message_path=message_path,
            max_request_body_size=max_request_body_size,
            transport_security=transport_security,
            host=host,
        )
        await self._serve(app, host, port)

    async def run_streamable_http_async(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        streamable_http_path: str = "/mcp",
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = _MAX_BODY,
        session_idle_timeout: float | None = 1800,
        max_sessions: int | None = 10000,
        transport_security: TransportSecuritySettings | None = None,
    ) -> None:
        """Serves streamable HTTP on a port, until the process is told to stop.

        Args:
            host: The address to listen on.
            port: The port; 0 takes a free one.
            streamable_http_path: The path of the MCP endpoint.
            json_response: Answer with plain JSON always; notifications of a request are dropped.
            stateless_http: Serve the handshake revisions without sessions.
            event_store: Makes the streams of handshake sessions resumable.
            retry_interval: How long a client shall wait before it comes back for a closed stream, in ms.
            max_request_body_size: The largest request body, in bytes.
            session_idle_timeout: For how many seconds a handshake session may be idle; None for ever.
            max_sessions: The most handshake sessions at a time; None for no limit.
            transport_security: Which `Host` and `Origin` headers are let in; on a loopback address, when left out,
                only loopback ones.

        Raises:
            ValueError: The path does not begin with a slash.
        """
        app = self.streamable_http_app(
            streamable_http_path=streamable_http_path,
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            host=host,
        )
        await self._serve(app, host, port)

    def _prepare(self) -> None:
        if _refused.get():
            raise ServingRefused("this program is only looked at, and does not serve")
        configure_logging(self.settings.log_level)
        self.complete()

    async def _serve(self, app: Starlette, host: str, port: int) -> None:
        import uvicorn

        self._prepare()
        config = uvicorn.Config(app, host=host, port=port, log_level=self.settings.log_level.lower())
        await uvicorn.Server(config).serve()

    def sse_app(
        self,
        *,
        sse_path: str = "/sse",
        message_path: str = "/messages/",
        max_request_body_size: int = _MAX_BODY,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
    ) -> Starlette:
        """The server as an ASGI application for clients of 2024-11-05.

        Args:
            sse_path: The path of the event stream.
            message_path: The path that clients post to. Mounted under another path, both move with it.
            max_request_body_size: The largest message, in bytes.
            transport_security: Which `Host` and `Origin` headers are let in.
            host: The address that the application will be served on. On a loopback address, and without
                `transport_security`, only loopback hosts and origins are let in.

        Raises:
            ValueError: A path does not begin with a slash, or a tool needs scopes and nothing protects the server.
        """
        from starlette.applications import Starlette
        from starlette.routing import Mount, Route

        from mcp.server.sse import SseServerTransport
        from mcp.server.streamable_http_manager import check_path
        from mcp.server.transport_security import settings_for_host

        check_path("sse_path", sse_path)
        check_path("message_path", message_path)
        transport = SseServerTransport(
            message_path,
            security_settings=transport_security or settings_for_host(host),
            max_request_body_size=max_request_body_size,
        )
        protection = self._protection()
        scopes = transport.tool_scopes = self._tool_manager.scopes
        if protection is None:
            check_protected(scopes)
        protect = _unprotected if protection is None else protection.endpoint
        events = Route(sse_path, endpoint=protect(_Events(self._lowlevel_server, transport)), methods=["GET"])
        messages = Mount(message_path, app=protect(transport.handle_post_message))
        before = [] if protection is None else protection.authorization_server_routes()
        after = [] if protection is None else protection.resource_routes()
        routes = [*before, events, messages, *after, *self._custom_starlette_routes]

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
            if protection is None:
                # Of tools that were registered since as well.
                check_protected(scopes)
            self.complete()
            yield

        return Starlette(debug=self.settings.debug, routes=routes, lifespan=lifespan)

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = "/mcp",
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = _MAX_BODY,
        session_idle_timeout: float | None = 1800,
        max_sessions: int | None = 10000,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
    ) -> Starlette:
        """The server as an ASGI application that speaks streamable HTTP.

        Mounted in another application, `session_manager.run()` belongs into that application's lifespan.

        Args:
            streamable_http_path: The path of the MCP endpoint.
            json_response: Answer with plain JSON always; notifications of a request are dropped.
            stateless_http: Serve the handshake revisions without sessions.
            event_store: Makes the streams of handshake sessions resumable.
            retry_interval: How long a client shall wait before it comes back for a closed stream, in ms.
            max_request_body_size: The largest request body, in bytes.
            session_idle_timeout: For how many seconds a handshake session may be idle; None for ever.
            max_sessions: The most handshake sessions at a time; None for no limit.
            transport_security: Which `Host` and `Origin` headers are let in.
            host: The address that the application will be served on. On a loopback address, and without
                `transport_security`, only loopback hosts and origins are let in.

        Raises:
            ValueError: A path does not begin with a slash, or a tool needs scopes and nothing protects the server.
        """
        return self._lowlevel_server.streamable_http_app(
            streamable_http_path=streamable_http_path,
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            host=host,
            auth=self.settings.auth,
            token_verifier=self._token_verifier,
            auth_server_provider=self._auth_server_provider,
            custom_starlette_routes=self._custom_starlette_routes,
            debug=self.settings.debug,
        )

    def _protection(self) -> Protection | None:
        auth, verifier, provider = self.settings.auth, self._token_verifier, self._auth_server_provider
        if auth is None and verifier is None and provider is None:
            return None
        from mcp.server.auth.protection import protection

        return protection(auth, verifier, provider)

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """The manager behind the streamable HTTP application.

        Raises:
            RuntimeError: `streamable_http_app()` was not called yet.
        """
        return self._lowlevel_server.session_manager

    @asynccontextmanager
    async def in_process(self) -> AsyncGenerator[ServerRuntime, None]:
        """Enters the lifespan, and yields what serves clients in this process."""
        async with self._lowlevel_server.in_process() as runtime:
            yield runtime


def _unprotected(app: ASGIApp) -> ASGIApp:
    return app


class _Events:
    """The event stream of a client of 2024-11-05, as a bare ASGI application."""

    def __init__(self, server: Server[Any], transport: Any) -> None:
        self._server = server
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = self._server
        async with self._transport.connect_sse(scope, receive, send) as (read, write):
            await server.run(read, write, server.create_initialization_options())
