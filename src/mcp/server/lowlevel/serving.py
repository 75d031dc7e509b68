"""Serving a `Server`: over a pair of streams, over HTTP, or within this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, cast

from typing_extensions import TypeVar

from mcp.server.runtime import ServerRuntime

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route

    from mcp.engine.streams import ReadStream, WriteStream
    from mcp.server.auth.provider import OAuthAuthorizationServerProvider, TokenVerifier
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.list_changes import ListChanges
    from mcp.server.lowlevel.server import Server
    from mcp.server.models import InitializationOptions
    from mcp.server.streamable_http import EventStore
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.shared.message import SessionMessage

__all__ = ["LifespanResultT", "Serving"]

LifespanResultT = TypeVar("LifespanResultT", default=dict[str, Any])


class Serving(Generic[LifespanResultT]):
    """The part of a `Server` that serves."""

    lifespan: Callable[[Server[Any]], AbstractAsyncContextManager[LifespanResultT]]
    list_changes: ListChanges | None
    prepare: Callable[[], None] | None
    _session_manager: StreamableHTTPSessionManager | None

    @asynccontextmanager
    async def in_process(self) -> AsyncGenerator[ServerRuntime, None]:
        """Enters the lifespan, and yields what serves."""
        server = _whole(self)
        async with self.lifespan(server) as state:
            # Not before: the lifespan may register what it has opened.
            if self.prepare is not None:
                self.prepare()
            runtime = ServerRuntime(server, state)
            if self.list_changes is None:
                yield runtime
                return
            async with self.list_changes.serving(runtime.connections):
                yield runtime

    async def run(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        initialization_options: InitializationOptions,
        raise_exceptions: bool = False,
    ) -> None:
        """Serves one connection over a pair of message streams, until the client closes its side.

        The lifespan is entered first, and left after the last request has ended.

        Args:
            read_stream: Where messages come from.
            write_stream: Where messages go.
            initialization_options: What is announced to clients of the handshake revisions; see
                `create_initialization_options`.
            raise_exceptions: End the connection with what a handler raised, instead of answering with an error.
                For tests.
        """
        from mcp.engine.streams import open_link

        async with self.in_process() as runtime, open_link(read_stream, write_stream) as link:
            await runtime.serve_link(link, initialization_options, raise_exceptions=raise_exceptions)

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = "/mcp",
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = 4 * 1024 * 1024,
        session_idle_timeout: float | None = 1800,
        max_sessions: int | None = 10000,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        auth: AuthSettings | None = None,
        token_verifier: TokenVerifier | None = None,
        auth_server_provider: OAuthAuthorizationServerProvider[Any, Any, Any] | None = None,
        custom_starlette_routes: list[Route] | None = None,
        debug: bool = False,
    ) -> Starlette:
        """The server as an ASGI application that speaks streamable HTTP.

        Args:
            streamable_http_path: The path of the MCP endpoint.
            json_response: Answer with plain JSON always; notifications of a request are dropped.
            stateless_http: Serve the handshake revisions without sessions: no `Mcp-Session-Id`, and no way for a
                handler to ask the client something.
            event_store: Makes the streams of handshake sessions resumable; None keeps no events.
            retry_interval: How long a client shall wait before it comes back for a closed stream, in ms; None leaves
                it to the client.
            max_request_body_size: The largest request body, in bytes; larger ones are refused with 413.
            session_idle_timeout: For how many seconds a handshake session may be idle before it is ended; None for
                ever. One with an open stream or a running request is not idle.
            max_sessions: The most handshake sessions at a time, None for no limit; more are refused with 503.
            transport_security: Which `Host` and `Origin` headers are let in.
            host: The address that the application will be served on. On a loopback address, and without
                `transport_security`, only loopback hosts and origins are let in.
            auth: How the endpoint is protected; None leaves it open.
            token_verifier: Decides which tokens are good; goes with `auth`.
            auth_server_provider: An authorization server that becomes part of the application; goes with `auth`. Its
                tokens are good, unless a `token_verifier` decides.
            custom_starlette_routes: More routes for the application. They are not protected.
            debug: Starlette's debug mode.

        Raises:
            ValueError: The path does not begin with a slash; one of what protects the endpoint is given without what
                it needs; or a tool needs scopes, and nothing protects the endpoint.
            TypeError: What protects the endpoint is of a wrong type.
        """
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager, build_app
        from mcp.server.transport_security import settings_for_host

        protection = None
        if auth is not None or token_verifier is not None or auth_server_provider is not None:
            from mcp.server.auth.protection import protection as protection_of

            protection = protection_of(auth, token_verifier, auth_server_provider)
        self._session_manager = StreamableHTTPSessionManager(
            _whole(self),
            event_store=event_store,
            stateless=stateless_http,
            retry_interval=retry_interval,
            json_response=json_response,
            security_settings=transport_security or settings_for_host(host),
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            protection=protection,
        )
        return build_app(self._session_manager, streamable_http_path, custom_starlette_routes or [], debug=debug)

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """The manager behind the application.

        Raises:
            RuntimeError: `streamable_http_app()` was not called yet.
        """
        if self._session_manager is None:
            raise RuntimeError("The session manager exists once streamable_http_app() has been called; call it first.")
        return self._session_manager


def _whole(part: Serving[Any]) -> Server[Any]:
    # Only `Server` has this part, and a part cannot derive from the whole.
    return cast("Server[Any]", part)
