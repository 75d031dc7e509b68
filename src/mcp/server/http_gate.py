"""What is looked at before anybody knows what an HTTP request says: host, origin, verb, types, size."""

from typing import TYPE_CHECKING, Any, Final

from mcp.protocol.codec import DecodeError, RequestId, encode_error
from mcp.protocol.headers import ERROR_CODE_HTTP_STATUS, MCP_PROTOCOL_VERSION_HEADER
from mcp.server.http_origin import HTTPOrigin
from mcp.server.http_response import RawHeader, respond
from mcp.server.transport_security import HostGuard, TransportSecuritySettings, declares_more, is_json
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = [
    "CONTENT_TYPE_JSON",
    "CONTENT_TYPE_SSE",
    "SESSION_ID_HEADER",
    "HTTPGate",
    "HTTPRequest",
    "RawHeaders",
    "Refusal",
    "accepted_types",
]

RawHeaders = dict[bytes, bytes]

CONTENT_TYPE_JSON: Final = "application/json"
CONTENT_TYPE_SSE: Final = "text/event-stream"

SESSION_ID_HEADER: Final = b"mcp-session-id"

_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()
_MAX_REMEMBERED_ACCEPTS: Final = 256


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
        headers: tuple[RawHeader, ...] = (),
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
    def of_request(
        cls, status: int, text: str, code: int = INVALID_REQUEST, *, id: Any = None, headers: tuple[RawHeader, ...] = ()
    ) -> "Refusal":
        """The refusal of a request of a handshake revision, whose clients read JSON-RPC errors at any status."""
        return cls(status, encode_error(id, code, text), headers=headers)

    @classmethod
    def of_text(cls, status: int, text: str) -> "Refusal":
        """A refusal of something that is not JSON-RPC yet."""
        return cls(status, text.encode(), b"text/plain; charset=utf-8")

    @classmethod
    def of_verb(cls, verb: str, allowed: str = "GET, POST, DELETE") -> "Refusal":
        """The refusal of a verb."""
        text = f"Method Not Allowed: expected {allowed}, got {verb}"
        return cls.of_request(405, text, headers=((b"allow", allowed.encode()),))

    @classmethod
    def not_acceptable(cls, wanted: str, accept: bytes) -> "Refusal":
        """The refusal of a request of a handshake revision whose client does not take what it would be sent."""
        text = f"Not Acceptable: Client must accept {wanted}, got {accept.decode('latin-1')!r}"
        return cls.of_request(406, text)

    @classmethod
    def missing_session(cls, id: RequestId | None = None) -> "Refusal":
        """The refusal of a request, under its id if it has one, that must name its session."""
        return cls.of_request(400, "Bad Request: Missing session ID", id=id)

    @classmethod
    def unknown_session(cls) -> "Refusal":
        """The refusal of a request of a session that is not there; a client then opens another one."""
        return cls.of_request(404, "Session not found")

    async def respond(self, send: "Send") -> None:
        """Sends it."""
        await respond(send, self.status, self.headers, self.body)


class HTTPRequest(HTTPOrigin):
    """A request that was let in.

    Args:
        scope: The ASGI scope.
        receive: The ASGI way in.
        send: The ASGI way out.
        raw_headers: The headers, names in lower case; of a repeated one the last.

    Attributes:
        version: The value of `MCP-Protocol-Version`; None where the header is absent.
        may_be_handshake: Whether the headers leave open that the request is of a handshake revision.
    """

    __slots__ = ("may_be_handshake", "raw_headers", "send", "version")

    def __init__(self, scope: "Scope", receive: "Receive", send: "Send", raw_headers: RawHeaders) -> None:
        super().__init__(scope, receive)
        self.send = send
        self.raw_headers = raw_headers
        version = raw_headers.get(_VERSION)
        self.version = None if version is None else version.decode("latin-1")
        self.may_be_handshake = version is None or self.version in HANDSHAKE_PROTOCOL_VERSIONS

    @property
    def session_id(self) -> str | None:
        """The value of `Mcp-Session-Id`; None where the header is absent."""
        id = self.raw_headers.get(SESSION_ID_HEADER)
        return None if id is None else id.decode("latin-1")


class HTTPGate:
    """Lets requests in.

    Args:
        json_only: Every answer is plain JSON, so clients need not accept event streams.
        security_settings: Which hosts and origins are let in; None lets all in.
        max_request_body_size: The largest request body, in bytes.

    Raises:
        ValueError: `max_request_body_size` is not positive.
    """

    def __init__(
        self, *, json_only: bool, security_settings: TransportSecuritySettings | None, max_request_body_size: int
    ) -> None:
        if max_request_body_size <= 0:
            raise ValueError(f"max_request_body_size must be a positive number of bytes, got {max_request_body_size}")
        self._json_only = json_only
        self._guard = HostGuard(security_settings)
        self._max_body = max_request_body_size
        self._accepted: dict[bytes, tuple[bool, bool]] = {}

    def admit(self, scope: "Scope", receive: "Receive", send: "Send") -> HTTPRequest:
        """A request whose host and origin are let in. Its body is still to be read.

        Raises:
            Refusal: It is not let in.
        """
        headers: RawHeaders = dict(scope["headers"])
        refusal = self._guard.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refusal is not None:
            raise Refusal.of_text(*refusal)
        return HTTPRequest(scope, receive, send, headers)

    def check_post(self, request: HTTPRequest) -> None:
        """Checks the types that a POST sends and takes.

        Raises:
            Refusal: One of them will not do.
        """
        content_type = request.raw_headers.get(b"content-type", b"")
        if not is_json(content_type):
            shown = content_type.decode("latin-1")
            raise Refusal.of_text(415, f"Invalid Content-Type header: expected application/json, got {shown!r}")
        json, events = self.accepted(request)
        if json and (events or self._json_only):
            return
        if request.may_be_handshake:
            wanted = CONTENT_TYPE_JSON if self._json_only else f"both {CONTENT_TYPE_JSON} and {CONTENT_TYPE_SSE}"
            raise Refusal.not_acceptable(wanted, _accept(request))
        wanted = CONTENT_TYPE_JSON if self._json_only else f"{CONTENT_TYPE_JSON} and {CONTENT_TYPE_SSE}"
        shown = _accept(request).decode("latin-1")
        raise Refusal.of_text(406, f"Invalid Accept header: it must list {wanted}, got {shown!r}")

    def check_get(self, request: HTTPRequest) -> None:
        """Checks the type that a GET takes.

        Raises:
            Refusal: It will not do.
        """
        if not self.accepted(request)[1]:
            raise Refusal.not_acceptable(CONTENT_TYPE_SSE, _accept(request))

    def accepted(self, request: HTTPRequest) -> tuple[bool, bool]:
        """Whether a client takes JSON, and whether it takes event streams."""
        accept = _accept(request)
        verdict = self._accepted.get(accept)
        if verdict is None:
            verdict = accepted_types(accept)
            if len(self._accepted) < _MAX_REMEMBERED_ACCEPTS:
                self._accepted[accept] = verdict
        return verdict

    async def read_body(self, request: HTTPRequest) -> bool:
        """Reads the body of a request; False where the client hung up over it.

        Raises:
            Refusal: The body is too large.
        """
        if declares_more(request.raw_headers.get(b"content-length", b""), self._max_body):
            raise self._too_large()
        receive = request.receive
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body:
                raise self._too_large()
            if not message.get("more_body", False):
                request.body = chunk if not chunks else b"".join([*chunks, chunk])
                return True
            chunks.append(chunk)

    def _too_large(self) -> Refusal:
        return Refusal.of_text(
            413, f"Request body too large: the limit is {self._max_body} bytes (max_request_body_size)"
        )


def accepted_types(accept: bytes) -> tuple[bool, bool]:
    """Whether an `Accept` header lists JSON, and whether it lists event streams."""
    ranges = {part.split(b";")[0].strip().lower() for part in accept.split(b",")}
    json = bool(ranges & {b"application/json", b"application/*", b"*/*"})
    events = bool(ranges & {b"text/event-stream", b"text/*", b"*/*"})
    return json, events


def _accept(request: HTTPRequest) -> bytes:
    pairs: list[RawHeader] = request.scope["headers"]
    if len(request.raw_headers) == len(pairs):
        return request.raw_headers.get(b"accept", b"")
    return b",".join(value for name, value in pairs if name == b"accept")
