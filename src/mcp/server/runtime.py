"""A server while it serves: its handlers compiled per revision, and what its lifespan yielded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from mcp.engine.dispatch import Engine, Route
from mcp.engine.exchange import Exchange
from mcp.protocol.codec import Notification, Request
from mcp.protocol.eras import Envelope
from mcp.protocol.results import ResultShape, Stamp, wire_rules
from mcp.server.connection import ClientFacts, Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import METHOD_NOT_FOUND
from mcp.types.methods import METHODS, Method

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import HandlerEntry, Server

__all__ = ["ServerRuntime"]


class ServerRuntime:
    """What the engine needs of one server, for one lifespan.

    Args:
        server: The server.
        lifespan_state: What its lifespan yielded.
    """

    def __init__(self, server: "Server[Any]", lifespan_state: Any) -> None:
        self._server = server
        self._lifespan_state = lifespan_state
        self._routes: dict[tuple[str, str], Route] = {}
        self._routes_of = server.handlers_revision
        self._facts: ClientFacts | None = None
        self.engine: Engine[ServerRequestContext[Any, Any]] = Engine(self)

    @property
    def middleware(self) -> Sequence[Any]:
        """The server's middleware, outermost first."""
        return self._server.middleware

    @property
    def stamp(self) -> Stamp:
        """The identity that results carry."""
        return self._server.stamp

    def context(
        self, message: Request | Notification, envelope: Envelope, exchange: Exchange
    ) -> ServerRequestContext[Any, Any]:
        """The context of one message.

        Raises:
            MCPError: -32602: what the client says of itself is malformed.
        """
        facts = self._facts
        if facts is None or not facts.covers(envelope):
            facts = self._facts = ClientFacts(envelope)
        connection = Connection.of_request(envelope, facts)
        meta: Any = envelope.meta
        if "progressToken" in meta:
            meta = {**meta, "progress_token": meta["progressToken"]}
            del meta["progressToken"]
        return ServerRequestContext(
            session=ServerSession(exchange, connection, request_meta=meta),
            lifespan_context=self._lifespan_state,
            protocol_version=envelope.version,
            method=message.method,
            params=message.params,
            request_id=message.id if isinstance(message, Request) else None,
            meta=meta,
            request=exchange.request,
        )

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
        spec = METHODS.get(method)
        if entry is None or (spec is not None and version not in spec.from_client):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
        route = self._routes[method, version] = Route(
            _validator(entry), entry.handler, self._shape(method, spec, version)
        )
        return route

    def notification_route(self, method: str, version: str) -> Route | None:
        """The route of a notification method; None where nobody handles it."""
        entry = self._server.get_notification_handler(method)
        spec = METHODS.get(method)
        if entry is None or (spec is not None and version not in spec.from_client):
            return None
        return Route(_validator(entry), entry.handler, ResultShape(wire_rules(version)))

    def _shape(self, method: str, spec: Method | None, version: str) -> ResultShape:
        if spec is None:
            return ResultShape(wire_rules(version))
        hint = self._server.cache_hints.get(method)
        return ResultShape(
            wire_rules(version),
            model=spec.result_types[0] if spec.result_types else None,
            cacheable=spec.cacheable,
            hint=None if hint is None else (hint.ttl_ms, hint.scope),
        )


def _validator(entry: "HandlerEntry[Any]") -> Any:
    model: type[BaseModel] = entry.params_type
    if not model.__pydantic_complete__:
        model.model_rebuild()
    return model.__pydantic_validator__.validate_python
