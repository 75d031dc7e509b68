"""The MCP endpoint over HTTP, as 2026-07-28 has it: one POST per request, answered with JSON or an event stream.

Specification: basic/transports/streamable-http.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.engine.dispatch import Engine, Reply
from mcp.protocol.codec import DecodeError, Notification, Request, decode, encode_error
from mcp.protocol.eras import Envelope, handshake_refused, http_era, read_envelope
from mcp.protocol.headers import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    decode_header_value,
    find_duplicated_routing_header,
)
from mcp.protocol.param_headers import check_param_headers, header_map
from mcp.server.http_exchange import HTTPExchange
from mcp.server.http_watch import RequestWatch
from mcp.server.transport_security import HostGuard, TransportSecuritySettings, declares_more, is_json
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH, INVALID_REQUEST
from mcp.types.methods import METHODS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mcp.server.lowlevel.server import Server

__all__ = ["CONTENT_TYPE_JSON", "CONTENT_TYPE_SSE", "ModernEndpoint"]

logger = logging.getLogger(__name__)

CONTENT_TYPE_JSON: Final = "application/json"
CONTENT_TYPE_SSE: Final = "text/event-stream"

_VERSION = MCP_PROTOCOL_VERSION_HEADER.encode()
_METHOD = MCP_METHOD_HEADER.encode()
_NAME = MCP_NAME_HEADER.encode()
_MAX_REMEMBERED_ACCEPTS = 256

RawHeaders = dict[bytes, bytes]


class Refusal(Exception):
    """A request that is not served.

    Args:
        status: The HTTP status.
        body: The response's body.
        content_type: What the body is.
        headers: More response headers.
    """

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: bytes = b"application/json",
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body
        self.headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]

    @classmethod
    def of_error(cls, error: MCPError | DecodeError, id: Any = None, status: int | None = None) -> "Refusal":
        """The refusal that a JSON-RPC error is over HTTP."""
        data = error.data if isinstance(error, MCPError) else None
        status = status or ERROR_CODE_HTTP_STATUS.get(error.code, 200)
        return cls(status, encode_error(id, error.code, error.message, data))

    @classmethod
    def of_text(cls, status: int, text: str) -> "Refusal":
        """A refusal of something that is not JSON-RPC yet."""
        return cls(status, text.encode(), b"text/plain; charset=utf-8")

    async def respond(self, send: "Send") -> None:
        """Sends it."""
        await _respond(send, self.status, self.headers, self.body)


class ModernEndpoint:
    """Answers the HTTP requests of one endpoint.

    Args:
        server: The server, for the input schemas that `Mcp-Param-*` headers are checked against.
        json_response: Answer with plain JSON always.
        security_settings: Which hosts and origins are let in; None lets all in.
        max_request_body_size: The largest request body, in bytes.

    Raises:
        ValueError: `max_request_body_size` is not positive.
    """

    def __init__(
        self,
        server: "Server[Any]",
        *,
        json_response: bool,
        security_settings: TransportSecuritySettings | None,
        max_request_body_size: int,
    ) -> None:
        if max_request_body_size <= 0:
            raise ValueError(f"max_request_body_size must be a positive number of bytes, got {max_request_body_size}")
        self._server = server
        self._json_only = json_response
        self._guard = HostGuard(security_settings)
        self._max_body = max_request_body_size
        self._watch = RequestWatch()
        self._accepted: dict[bytes, bool] = {}
        self._header_maps: dict[str, tuple[Any, Mapping[tuple[str, ...], str]]] = {}

    async def serve(self, engine: Engine[Any], scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answers one HTTP request."""
        try:
            headers = self._admit(scope)
            body = await self._read_body(headers, receive)
            if body is None:
                return
            message = self._message(scope, headers, body)
            if message is None:
                await _respond(send, 202, [(b"content-length", b"0")], b"")
                return
        except Refusal as refusal:
            await refusal.respond(send)
            return
        request, envelope = message
        exchange = HTTPExchange(scope, receive, send, body, json_only=self._json_only)

        async def work() -> None:
            reply: Reply = await engine.handle(request, envelope, exchange)
            status = 200 if reply.error_code is None else ERROR_CODE_HTTP_STATUS.get(reply.error_code, 200)
            await exchange.answer(reply.frame, status)

        await self._watch.run(exchange, receive, work)

    # What is looked at before the body is read.

    def _admit(self, scope: "Scope") -> RawHeaders:
        headers: RawHeaders = dict(scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            raise Refusal.of_text(*refusal)
        if scope["method"] != "POST":
            text = f"The MCP endpoint takes POST only, got {scope['method']}"
            raise Refusal(405, text.encode(), b"text/plain; charset=utf-8", ((b"allow", b"POST"),))
        content_type = headers.get(b"content-type", b"")
        if not is_json(content_type):
            shown = content_type.decode("latin-1")
            raise Refusal.of_text(415, f"Invalid Content-Type header: expected application/json, got {shown!r}")
        accept = headers.get(b"accept", b"")
        if len(headers) != len(scope["headers"]):
            accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
        if not self._accepts(accept):
            wanted = CONTENT_TYPE_JSON if self._json_only else f"{CONTENT_TYPE_JSON} and {CONTENT_TYPE_SSE}"
            shown = accept.decode("latin-1")
            raise Refusal.of_text(406, f"Invalid Accept header: it must list {wanted}, got {shown!r}")
        return headers

    def _accepts(self, accept: bytes) -> bool:
        verdict = self._accepted.get(accept)
        if verdict is None:
            ranges = {part.split(b";")[0].strip().lower() for part in accept.split(b",")}
            json = bool(ranges & {b"application/json", b"application/*", b"*/*"})
            events = bool(ranges & {b"text/event-stream", b"text/*", b"*/*"})
            verdict = json and (events or self._json_only)
            if len(self._accepted) < _MAX_REMEMBERED_ACCEPTS:
                self._accepted[accept] = verdict
        return verdict

    async def _read_body(self, headers: RawHeaders, receive: "Receive") -> bytes | None:
        """The whole body; None where the client hung up over it."""
        if declares_more(headers.get(b"content-length", b""), self._max_body):
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body:
                raise self._too_large()
            if not message.get("more_body", False):
                return chunk if not chunks else b"".join([*chunks, chunk])
            chunks.append(chunk)

    def _too_large(self) -> Refusal:
        return Refusal.of_text(413, f"Request body too large: the limit is {self._max_body} bytes")

    # What the body says, and whether the headers say the same.

    def _message(self, scope: "Scope", headers: RawHeaders, body: bytes) -> tuple[Request, Envelope] | None:
        """The request in a body; None for a notification, which is acknowledged and goes nowhere."""
        try:
            message = decode(body)
        except DecodeError as error:
            raise Refusal.of_error(error, error.id, status=400) from None
        if not isinstance(message, (Request, Notification)):
            raise Refusal.of_error(
                MCPError(INVALID_REQUEST, "Body must be a single JSON-RPC request or notification object")
            )
        id = message.id if isinstance(message, Request) else None
        try:
            if len(headers) != len(scope["headers"]):
                _refuse_repeated(scope)
            version = headers.get(_VERSION)
            if http_era(None if version is None else version.decode("latin-1"), message) == "handshake":
                raise handshake_refused(message)
            if isinstance(message, Notification):
                logger.debug("acknowledged and dropped %s: 2026-07-28 has no notifications to servers", message.method)
                return None
            envelope = read_envelope(message.params)
            self._check_method_headers(scope, headers, message)
            return message, envelope
        except MCPError as error:
            status = 400 if isinstance(message, Notification) else None
            raise Refusal.of_error(error, id, status) from None

    def _check_method_headers(self, scope: "Scope", headers: RawHeaders, request: Request) -> None:
        method = request.method
        if headers.get(_METHOD, b"").decode("latin-1") != method:
            raise MCPError(HEADER_MISMATCH, "mcp-method header does not match the request body's method")
        spec = METHODS.get(method)
        field = None if spec is None else spec.name_field
        if field is None or request.params is None:
            return
        name = request.params.get(field)
        if not isinstance(name, str):
            return
        if _header_text(headers.get(_NAME)) != name:
            raise MCPError(HEADER_MISMATCH, f"mcp-name header does not match the request body's {field!r} parameter")
        if method == "tools/call" and self._server.get_tool_input_schema is not None:
            self._check_param_headers(scope, name, request.params.get("arguments"))

    def _check_param_headers(self, scope: "Scope", tool: str, arguments: Any) -> None:
        if not isinstance(arguments, dict):
            arguments = {}
        assert self._server.get_tool_input_schema is not None
        schema = self._server.get_tool_input_schema(tool)
        if schema is None:
            return
        known = self._header_maps.get(tool)
        if known is None or known[0] is not schema:
            known = self._header_maps[tool] = (schema, header_map(schema))
        if not known[1]:
            return
        from starlette.datastructures import Headers

        problem = check_param_headers(known[1], cast("dict[str, Any]", arguments), Headers(scope=scope))
        if problem is not None:
            raise MCPError(HEADER_MISMATCH, problem)


async def _respond(send: "Send", status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    # What ASGI servers raise for a client that is gone; uvicorn drops the message instead.
    with suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _header_text(value: bytes | None) -> str | None:
    if value is None:
        return None
    text = value.decode("latin-1")
    return decode_header_value(text) if not text.isascii() or text.startswith("=?") else text


def _refuse_repeated(scope: "Scope") -> None:
    names = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    repeated = find_duplicated_routing_header(names)
    if repeated is not None:
        raise MCPError(HEADER_MISMATCH, f"{repeated} header appears more than once")
