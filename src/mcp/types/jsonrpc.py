"""The JSON-RPC 2.0 envelopes and the error codes that travel in them."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

__all__ = [
    "CONNECTION_CLOSED",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "ErrorData",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "RequestId",
    "jsonrpc_message_adapter",
]

JSONRPC_VERSION: Final[Literal["2.0"]] = "2.0"

# JSON-RPC's own.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# The protocol's.
HEADER_MISMATCH = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042

# Raised on this side of the wire, never sent by a peer.
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001

RequestId = Annotated[int, Field(strict=True)] | str


class _Envelope(BaseModel):
    model_config = ConfigDict(defer_build=True)


class JSONRPCRequest(_Envelope):
    """A call that expects an answer under the same `id`."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    method: str
    params: dict[str, Any] | None = None


class JSONRPCNotification(_Envelope):
    """A message that expects no answer."""

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] | None = None


class JSONRPCResponse(_Envelope):
    """The successful answer to a request."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    result: dict[str, Any]


class ErrorData(_Envelope):
    """Why a request failed; `data` is whatever else the peer wants to tell."""

    code: int
    message: str
    data: Any = None


class JSONRPCError(_Envelope):
    """The failed answer to a request; `id` is None where that of the request could not be told."""

    jsonrpc: Literal["2.0"]
    id: RequestId | None = None
    error: ErrorData


JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError


def _kind(message: Any) -> str | None:
    match message:
        case {"method": _, "id": _} | JSONRPCRequest():
            return "request"
        case {"method": _} | JSONRPCNotification():
            return "notification"
        case {"error": _} | JSONRPCError():
            return "error"
        case {"result": _} | JSONRPCResponse():
            return "response"
        case _:
            return None


# Left to the plain union, a request whose id is no id would pass as a notification, and never be answered.
_TaggedMessage = Annotated[
    Annotated[JSONRPCRequest, Tag("request")]
    | Annotated[JSONRPCNotification, Tag("notification")]
    | Annotated[JSONRPCResponse, Tag("response")]
    | Annotated[JSONRPCError, Tag("error")],
    Discriminator(
        _kind,
        custom_error_type="jsonrpc_message",
        custom_error_message="Input should be a JSON-RPC object with a method, a result or an error",
    ),
]

jsonrpc_message_adapter: TypeAdapter[JSONRPCMessage] = TypeAdapter(_TaggedMessage, config=ConfigDict(defer_build=True))
