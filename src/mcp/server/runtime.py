"""A server while it serves: its handlers compiled per revision, and what its lifespan yielded."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from pydantic import BaseModel

from mcp import types
from mcp.engine.dispatch import Engine, Route
from mcp.engine.exchange import Exchange
from mcp.engine.link import Link
from mcp.engine.tracing import current_tracer
from mcp.protocol.codec import Notification, Request
from mcp.protocol.eras import Envelope, meta_for_handlers
from mcp.protocol.results import ResultShape, Stamp, wire_rules
from mcp.server.connection import ClientFacts, Connection
from mcp.server.context import ServerRequestContext
from mcp.server.handshake import HandshakeSession, initialize_result
from mcp.server.input_gate import check_asked
from mcp.server.middleware.tracing import OpenTelemetryMiddleware
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import METHOD_NOT_FOUND
from mcp.types.methods import CORE_METHODS, METHODS, Method
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

__all__ = ["ServerRuntime"]


class ServerRuntime:
    """What the engine needs of one server, for one lifespan.

    Args:
        server: The server.
        lifespan_state: What its lifespan yielded.

    Attributes:
        connections: The clients of handshake revisions that have opened a connection, while it lasts.
    """

    def __init__(self, server: "Server[Any]", lifespan_state: Any) -> None:
        self._server = server
        self._lifespan_state = lifespan_state
        self._routes: dict[tuple[str, str], Route] = {}
        self._routes_of = server.handlers_revision
        self._facts: ClientFacts | None = None
        self.connections: WeakSet[Connection] = WeakSet()
        self.engine: Engine[ServerRequestContext[Any, Any], Envelope | HandshakeSession] = Engine(self)

    async def serve_link(
        self,
        link: Link,
        options: InitializationOptions | None = None,
        *,
        raise_exceptions: bool = False,
        tell_exceptions: bool = False,
    ) -> None:
        """Serves one connection, of either era, until the client closes its side.

        Args:
            link: The connection; it is left open.
            options: What is announced to clients of the handshake revisions; what the server says when left out.
            raise_exceptions: End the connection with the first exception that a handler raised, once it is answered.
            tell_exceptions: Tell the client what a handler raised, instead of "Internal server error".
        """
        from mcp.server.stream_side import serve_link

        announced = options or self._server.create_initialization_options()
        await serve_link(self, link, announced, raise_exceptions=raise_exceptions, tell_exceptions=tell_exceptions)

    @property
    def middleware(self) -> Sequence[Any]:
        """The server's middleware that has something to do, outermost first: without a tracer, tracing has not."""
        layers = self._server.middleware
        if len(layers) == 1 and type(layers[0]) is OpenTelemetryMiddleware and current_tracer() is None:
            return ()
        return layers

    @property
    def traces(self) -> bool:
        """Whether messages get spans, once there is a tracer."""
        return any(isinstance(layer, OpenTelemetryMiddleware) for layer in self._server.middleware)

    def hears(self, notification: str) -> bool:
        """Whether anybody would be told of a notification."""
        return bool(self.middleware) or self._server.get_notification_handler(notification) is not None

    @property
    def stamp(self) -> Stamp:
        """The identity that results carry."""
        return self._server.stamp

    def context(
        self, message: Request | Notification, peer: Envelope | HandshakeSession, exchange: Exchange
    ) -> ServerRequestContext[Any, Any]:
        """The context of one message.

        Raises:
            MCPError: -32602: what the client says of itself is malformed.
        """
        connection = self._connection_of(peer) if isinstance(peer, Envelope) else peer.connection
        meta = meta_for_handlers((message.params or {}).get("_meta"))
        origin = exchange.origin
        return ServerRequestContext(
            session=ServerSession(exchange, connection, request_meta=meta),
            lifespan_context=self._lifespan_state,
            protocol_version=peer.version,
            method=message.method,
            params=message.params,
            request_id=message.id if isinstance(message, Request) else None,
            meta=meta,
            request=origin.request,
            close_sse_stream=origin.close_sse_stream,
            close_standalone_sse_stream=origin.close_standalone_sse_stream,
        )

    def _connection_of(self, envelope: Envelope) -> Connection:
        facts = self._facts
        if facts is None or not facts.covers(envelope):
            facts = self._facts = ClientFacts.of_envelope(envelope)
        return Connection.of_request(envelope, facts)

    def route(self, method: str, version: str) -> Route:
        """The route of a request method.

        Raises:
            MCPError: -32601: the revision has no such method, or nobody handles it.
        """
        if self._routes_of != self._server.handlers_revision:
            self._routes.clear()
            self._routes_of = self._server.handlers_revision
        route = self._routes.get((method, version))
        if route is not None:
            return route
        entry = self._server.get_request_handler(method)
        if entry is not None and entry.protocol_versions is not None and version not in entry.protocol_versions:
            entry = None
        spec = METHODS.get(method)
        if spec is not None and version not in spec.from_client:
            if entry is None or method in CORE_METHODS:
                raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
            # In this revision the name is free for extensions, as those of tasks are since 2026-07-28.
            spec = None
        handler = None if entry is None else entry.handler
        if method == "initialize":
            handler = self._initialize
        elif method == "logging/setLevel":
            handler = partial(self._set_level, handler)
        if handler is None:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
        params_type = entry.params_type if entry is not None else cast("type[BaseModel]", METHODS[method].params_type)
        asks = spec is not None and spec.input_required and version in MODERN_PROTOCOL_VERSIONS
        check = partial(check_asked, spec.result_types[0]) if spec is not None and asks else None
        route = Route(_validator(params_type, spec), handler, self._shape(method, spec, version), check)
        self._routes[method, version] = route
        return route

    async def _initialize(
        self, ctx: ServerRequestContext[Any, Any], params: types.InitializeRequestParams
    ) -> types.InitializeResult:
        connection = ctx.session.connection
        options = connection.announced
        assert options is not None, "only a connection of the handshake era routes initialize"
        self.connections.add(connection)
        return initialize_result(options, params.protocol_version)

    async def _set_level(
        self, handler: Any, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
    ) -> Any:
        """Settles the level of the session's log messages. A handler of the server's own is asked first."""
        result = types.EmptyResult() if handler is None else await handler(ctx, params)
        ctx.session.connection.log_level = params.level
        return result

    def notification_route(self, method: str, version: str) -> Route | None:
        """The route of a notification method; None where nobody handles it."""
        entry = self._server.get_notification_handler(method)
        spec = METHODS.get(method)
        if entry is None or (spec is not None and version not in spec.from_client):
            return None
        return Route(_validator(entry.params_type, spec), entry.handler, ResultShape(wire_rules(version)))

    def _shape(self, method: str, spec: Method | None, version: str) -> ResultShape:
        if spec is None:
            return ResultShape(wire_rules(version))
        hint = self._server.cache_hints.get(method)
        return ResultShape(
            wire_rules(version),
            model=spec.result_types[0] if spec.result_types else None,
            cacheable=spec.cacheable,
            input_required=spec.input_required,
            hint=None if hint is None else (hint.ttl_ms, hint.scope),
        )


def _validator(model: type[BaseModel], spec: Method | None) -> Any:
    if not model.__pydantic_complete__:
        model.model_rebuild()
    validate = model.__pydantic_validator__.validate_python
    # Models take their fields by their Python names as well, which on the wire are other members than the protocol's.
    is_the_protocols = spec is not None and model is spec.params_type
    return partial(validate, by_alias=True, by_name=False) if is_the_protocols else validate
