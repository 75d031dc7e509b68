"""A POST of 2026-07-28: one request, answered with JSON or an event stream, and nothing that outlives it.

Specification: basic/transports/streamable-http.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from mcp.engine.dispatch import Engine, Reply
from mcp.protocol.codec import Batch, DecodeError, Message, Notification, Request
from mcp.protocol.eras import Envelope, read_envelope
from mcp.protocol.headers import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    check_routing_headers,
)
from mcp.server.http_exchange import HTTPExchange
from mcp.server.http_gate import HTTPRequest, Refusal
from mcp.server.http_params import ParamHeaderCheck
from mcp.server.http_response import HTTPResponse, respond
from mcp.server.http_standing import StandingStreams
from mcp.server.http_watch import RequestWatch
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

__all__ = ["ModernEndpoint"]

logger = logging.getLogger(__name__)

_METHOD = MCP_METHOD_HEADER.encode()
_NAME = MCP_NAME_HEADER.encode()
_LISTEN = "subscriptions/listen"


class ModernEndpoint:
    """Answers the modern POSTs of one endpoint.

    Args:
        server: The server, for the input schemas that `Mcp-Param-*` headers are checked against.
        engine: Its engine.
        json_response: Answer with plain JSON always, but for `subscriptions/listen`, whose answer is a stream.
        watch: Notices clients that hang up.
    """

    def __init__(
        self, server: Server[Any], engine: Engine[Any, Any], *, json_response: bool, watch: RequestWatch
    ) -> None:
        self._engine = engine
        self._json_only = json_response
        self._watch = watch
        self._standing = StandingStreams()
        self._params = ParamHeaderCheck(server, engine)

    def serve(self, request: HTTPRequest, message: Message | Batch | DecodeError) -> Coroutine[Any, Any, None]:
        """Answers a POST, once it is awaited.

        Raises:
            Refusal: It is not served.
        """
        call = self._call(request, message)
        if call is None:
            return respond(request.send, 202, [(b"content-length", b"0")], b"")
        rpc, envelope = call
        json_only = self._json_only and rpc.method != _LISTEN
        response = HTTPResponse(request.send, request.receive)
        exchange = HTTPExchange(request, response, json_only=json_only, standing=self._standing)
        return self._watch.run(exchange, request.receive, self._answer(request, rpc, envelope, exchange))

    async def _answer(self, http: HTTPRequest, rpc: Request, envelope: Envelope, exchange: HTTPExchange) -> None:
        try:
            error = await self._params_error(http, rpc, envelope) if rpc.method == "tools/call" else None
            reply = error or await self._engine.handle(rpc, envelope, exchange)
            status = 200 if reply.error_code is None else ERROR_CODE_HTTP_STATUS.get(reply.error_code, 200)
            await exchange.answer(reply.frame, status)
        finally:
            self._standing.discard(exchange)

    async def _params_error(self, http: HTTPRequest, rpc: Request, envelope: Envelope) -> Reply | None:
        """The answer to a call whose `Mcp-Param-*` headers will not do; None where they will."""
        try:
            await self._params.check(http, rpc, envelope)
        except MCPError as error:
            return self._engine.failed(rpc, error)
        return None

    def close(self) -> None:
        """Ends the streams that stand open."""
        self._standing.close()

    # What the body says, and whether the headers say the same.

    def _call(self, http: HTTPRequest, message: Message | Batch | DecodeError) -> tuple[Request, Envelope] | None:
        """The request in a body; None for a notification, which is acknowledged and goes nowhere."""
        if isinstance(message, DecodeError):
            raise Refusal.of_error(message, message.id, status=400)
        if isinstance(message, Notification):
            logger.debug("acknowledged and dropped %s: 2026-07-28 has no notifications to servers", message.method)
            return None
        if not isinstance(message, Request):
            raise Refusal.of_error(
                MCPError(INVALID_REQUEST, "Body must be a single JSON-RPC request or notification object")
            )
        try:
            envelope = read_envelope(message.params)
            named = _text(http.raw_headers.get(_METHOD)), _text(http.raw_headers.get(_NAME))
            check_routing_headers(message.method, message.params, *named)
            return message, envelope
        except MCPError as error:
            raise Refusal.of_error(error, message.id) from None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
