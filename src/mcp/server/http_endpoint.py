"""The MCP endpoint over HTTP: lets a request in, reads it, and hands it to its era."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from mcp.protocol.codec import Batch, DecodeError, Message, Notification, Request, RequestId, decode
from mcp.protocol.eras import Era, claimed_version, http_era
from mcp.protocol.headers import find_duplicated_routing_header
from mcp.server.http_gate import HTTPGate, HTTPRequest, Refusal
from mcp.server.tool_scopes import NO_SCOPES, ToolScopes, check_calls
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH
from mcp.types.version import KNOWN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mcp.server.http_handshake import HandshakeEndpoint
    from mcp.server.http_modern import ModernEndpoint
    from mcp.server.http_stateless import StatelessEndpoint

__all__ = ["HTTPEndpoint"]


class HTTPEndpoint:
    """Answers the HTTP requests of one endpoint.

    Args:
        gate: Lets requests in.
        modern: Serves 2026-07-28.
        handshake: Serves the revisions before it.
        tool_scopes: The scopes that calls of tools need.
    """

    def __init__(
        self,
        gate: HTTPGate,
        modern: ModernEndpoint,
        handshake: HandshakeEndpoint | StatelessEndpoint,
        tool_scopes: ToolScopes = NO_SCOPES,
    ) -> None:
        self._gate = gate
        self._modern = modern
        self._handshake = handshake
        self._tool_scopes = tool_scopes

    def close(self) -> None:
        """Ends the streams that stand open by themselves; those of sessions end with their sessions."""
        self._modern.close()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        try:
            request = self._gate.admit(scope, receive, send)
            if scope["method"] != "POST":
                await self._other(request)
                return
            self._gate.check_post(request)
            if await self._gate.read_body(request):
                await self._post(request)
        except Refusal as refusal:
            await refusal.respond(send)

    def _post(self, request: HTTPRequest) -> Coroutine[Any, Any, None]:
        message = _decoded(request)
        if self._tool_scopes:
            check_calls(self._tool_scopes, message, request.scope)
        if _era(request, message) == "modern":
            return self._modern.serve(request, message)
        return self._handshake.serve_post(request, message)

    def _other(self, request: HTTPRequest) -> Coroutine[Any, Any, None]:
        if request.may_be_handshake:
            return self._handshake.serve_other(request)
        _refuse_unknown(request)
        text = f"2026-07-28 takes POST only, got {request.scope['method']}"
        raise Refusal(405, text.encode(), b"text/plain; charset=utf-8", ((b"allow", b"POST"),))


def _decoded(request: HTTPRequest) -> Message | Batch | DecodeError:
    try:
        return decode(request.body, allow_batch=request.may_be_handshake)
    except DecodeError as error:
        return error


def _era(request: HTTPRequest, message: Message | Batch | DecodeError) -> Era:
    if not isinstance(message, (Request, Notification)):
        return "handshake" if request.may_be_handshake else "modern"
    try:
        if len(request.raw_headers) != len(request.scope["headers"]):
            _refuse_repeated(request)
        version = request.version
        if isinstance(message, Request) and claimed_version(message.params) is None:
            # A modern request would name its version in its body as well.
            _refuse_unknown(request, message.id)
        return http_era(version, message)
    except MCPError as error:
        is_request = isinstance(message, Request)
        raise Refusal.of_error(error, message.id if is_request else None, None if is_request else 400) from None


def _refuse_unknown(request: HTTPRequest, id: RequestId | None = None) -> None:
    """Refuses a version that nobody knows."""
    version = request.version
    if version is None or version in KNOWN_PROTOCOL_VERSIONS:
        return
    supported = ", ".join(KNOWN_PROTOCOL_VERSIONS)
    text = f"Bad Request: Unsupported protocol version: {version}. Supported versions: {supported}"
    raise Refusal.of_request(400, text, id=id)


def _refuse_repeated(request: HTTPRequest) -> None:
    names = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"])
    repeated = find_duplicated_routing_header(names)
    if repeated is not None:
        raise MCPError(HEADER_MISMATCH, f"{repeated} header appears more than once")
