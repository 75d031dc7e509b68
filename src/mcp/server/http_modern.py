"""A POST of 2026-07-28: one request, answered with JSON or an event stream, and nothing that outlives it.

Specification: basic/transports/streamable-http.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from mcp.engine.dispatch import Engine, Reply
from mcp.protocol.codec import Batch, DecodeError, Message, Notification, Request
from mcp.protocol.eras import Envelope, read_envelope
from mcp.protocol.headers import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    decode_header_value,
)
from mcp.server.http_exchange import HTTPExchange, HTTPOrigin
from mcp.server.http_gate import HTTPRequest, RawHeaders, Refusal
from mcp.server.http_params import ParamHeaderCheck
from mcp.server.http_response import HTTPResponse, respond
from mcp.server.http_standing import StandingStreams
from mcp.server.http_watch import RequestWatch
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST
from mcp.types.methods import METHODS

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

    async def serve(self, request: HTTPRequest, message: Message | Batch | DecodeError) -> None:
        """Answers a POST.

        Raises:
            Refusal: It is not served.
        """
        call = self._call(request, message)
        if call is None:
            await respond(request.send, 202, [(b"content-length", b"0")], b"")
            return
        rpc, envelope = call
        origin = HTTPOrigin(request.scope, request.receive, request.body)
        json_only = self._json_only and rpc.method != _LISTEN
        exchange = HTTPExchange(origin, HTTPResponse(request.send), json_only=json_only, standing=self._standing)

        async def work() -> None:
            reply = await self._reply(request, rpc, envelope, exchange)
            status = 200 if reply.error_code is None else ERROR_CODE_HTTP_STATUS.get(reply.error_code, 200)
            await exchange.answer(reply.frame, status)

        try:
            await self._watch.run(exchange, request.receive, work)
        finally:
            self._standing.discard(exchange)

    async def _reply(self, http: HTTPRequest, rpc: Request, envelope: Envelope, exchange: HTTPExchange) -> Reply:
        if rpc.method == "tools/call":
            try:
                await self._params.check(http, rpc, envelope)
            except MCPError as error:
                return self._engine.failed(rpc, error)
        return await self._engine.handle(rpc, envelope, exchange)

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
            self._check_method_headers(http.headers, message)
            return message, envelope
        except MCPError as error:
            raise Refusal.of_error(error, message.id) from None

    def _check_method_headers(self, headers: RawHeaders, request: Request) -> None:
        method = request.method
        if _METHOD not in headers:
            raise MCPError(HEADER_MISMATCH, "mcp-method header is missing")
        if headers[_METHOD].decode("latin-1") != method:
            raise MCPError(HEADER_MISMATCH, "mcp-method header does not match the request body's method")
        spec = METHODS.get(method)
        field = None if spec is None else spec.name_field
        if field is None or request.params is None:
            return
        name = request.params.get(field)
        if not isinstance(name, str):
            return
        if _NAME not in headers:
            raise MCPError(HEADER_MISMATCH, "mcp-name header is missing")
        if decode_header_value(headers[_NAME].decode("latin-1")) != name:
            raise MCPError(HEADER_MISMATCH, f"mcp-name header does not match the request body's {field!r} parameter")
