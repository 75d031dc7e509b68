"""JSON-RPC 2.0 messages to bytes and back.

Bytes are parsed once, and what came out is checked, never the text: of a repeated key the last value counts for every
check alike. Nothing a peer sends raises anything but `DecodeError`, and each message that decodes can be encoded again.

Specification: basic/index under "Messages", JSON-RPC 2.0, RFC 8259. Where peers are known to stray, the codec is
lenient only if the meaning is plain: a byte order mark is skipped, and a `null` for `params`, or for the one of
`result` and `error` that does not apply, counts as absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, Literal, TypeGuard, overload

from mcp.protocol.jsontext import DecodeError, EncodeError, RequestId, dumps, loads, readable_fields
from mcp.protocol.trees import is_object
from mcp.types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST

__all__ = [
    "Batch",
    "DecodeError",
    "EncodeError",
    "ErrorResponse",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "Response",
    "decode",
    "dumps",
    "encode_error",
    "encode_notification",
    "encode_request",
    "encode_response",
    "encode_result",
    "from_object",
    "loads",
    "to_object",
]


@dataclass(slots=True)
class Request:
    """A call that expects an answer under the same id."""

    id: RequestId
    method: str
    params: dict[str, Any] | None = None


@dataclass(slots=True)
class Notification:
    """A message that expects no answer."""

    method: str
    params: dict[str, Any] | None = None


@dataclass(slots=True)
class Response:
    """The successful answer to a request."""

    id: RequestId
    result: dict[str, Any]


@dataclass(slots=True)
class ErrorResponse:
    """The failed answer to a request; `id` is None where the peer could not read the request's."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


Message = Request | Notification | Response | ErrorResponse


@dataclass(slots=True)
class Batch:
    """A JSON-RPC batch: the messages of one array, with an error in the place of each that is none."""

    items: list[Message | DecodeError]


# Reading messages


@overload
def decode(data: bytes | bytearray | memoryview, *, allow_batch: Literal[False] = False) -> Message: ...
@overload
def decode(data: bytes | bytearray | memoryview, *, allow_batch: bool) -> Message | Batch: ...
def decode(data: bytes | bytearray | memoryview, *, allow_batch: bool = False) -> Message | Batch:
    """Read one message.

    Args:
        data: JSON text in UTF-8.
        allow_batch: Whether an array of messages is read as a `Batch` (2025-03-26) or refused (any other revision).

    Raises:
        DecodeError: The text is no JSON, or what it says is no message.
    """
    try:
        value = loads(data)
    except DecodeError as error:
        _recover_id(error, bytes(data))
        raise
    if allow_batch and isinstance(value, list):
        return _batch(value)  # pyright: ignore[reportUnknownArgumentType]
    return from_object(value)


def from_object(obj: Any) -> Message:
    """Read one message from a parsed JSON value; the rules are those of `decode`.

    Raises:
        DecodeError: The value is no message.
    """
    if not is_object(obj):
        raise _not_a_message(obj)
    if obj.get("jsonrpc") != "2.0":
        raise _refuse(obj, f'jsonrpc must be "2.0", got {_shown(obj, "jsonrpc")}')
    if "method" in obj:
        return _call(obj)
    return _answer(obj)


def _call(message: dict[str, Any]) -> Request | Notification:
    method = message["method"]
    if not isinstance(method, str):
        raise _refuse(message, f"method must be a string, got {_shown(message, 'method')}")
    if "result" in message or "error" in message:
        raise _refuse(message, "a message has a method, a result or an error, but never two of them")
    if "id" in message:
        # Before anything else that can be wrong, so that the peer is told of the rest under this id.
        _check_id(message)
    params = message.get("params")
    if params is not None and not is_object(params):
        raise _refuse(message, f"params must be an object, got {_shown(message, 'params')}", INVALID_PARAMS)
    if "id" in message:
        return Request(message["id"], method, params)
    return Notification(method, params)


def _answer(message: dict[str, Any]) -> Response | ErrorResponse:
    result = message.get("result")
    error = message.get("error")
    if error is None:
        if "result" not in message and "error" not in message:
            raise _refuse(message, "a message needs a method, a result or an error, and this one has none of them")
        _check_id(message)
        if not is_object(result):
            key = "result" if "result" in message else "error"
            raise _refuse(message, f"{key} must be an object, got {_shown(message, key)}")
        return Response(message["id"], result)
    if result is not None:
        raise _refuse(message, "a response has a result or an error, but never both")
    if message.get("id") is not None:
        _check_id(message)
    if not is_object(error):
        raise _refuse(message, f"error must be an object, got {_shown(message, 'error')}")
    return _error_response(message, error)


def _error_response(message: dict[str, Any], error: dict[str, Any]) -> ErrorResponse:
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        raise _refuse(message, f"error.code must be an integer, got {_shown(error, 'code')}")
    text = error.get("message")
    if not isinstance(text, str):
        raise _refuse(message, f"error.message must be a string, got {_shown(error, 'message')}")
    return ErrorResponse(message.get("id"), code, text, error.get("data"))


def _check_id(message: dict[str, Any]) -> None:
    id = message.get("id")
    if type(id) is not int and not _is_id(id):
        raise _refuse(message, f"id must be a string or an integer, got {_shown(message, 'id')}")


def _batch(values: list[Any]) -> Batch:
    if not values:
        raise DecodeError(INVALID_REQUEST, "a JSON-RPC batch must hold at least one message, got an empty array")
    items: list[Message | DecodeError] = []
    for value in values:
        try:
            if isinstance(value, list):
                raise DecodeError(INVALID_REQUEST, "a JSON-RPC batch must not hold another batch")
            items.append(from_object(value))
        except DecodeError as error:
            items.append(error)
    return Batch(items)


def to_object(message: Message) -> dict[str, Any]:
    """The JSON object that a message is on the wire; members that are None are left out, but for an error's id."""
    wire: dict[str, Any] = {"jsonrpc": "2.0"}
    if not isinstance(message, Notification):
        wire["id"] = message.id
    if isinstance(message, Response):
        wire["result"] = message.result
    elif isinstance(message, ErrorResponse):
        wire["error"] = _error_object(message.code, message.message, message.data)
    else:
        wire["method"] = message.method
        if message.params is not None:
            wire["params"] = message.params
    return wire


# Writing messages


def encode_request(id: RequestId, method: str, params: Mapping[str, Any] | None) -> bytes:
    """Write a request; `params` of None leaves the member out.

    Raises:
        EncodeError: `params` cannot be written as JSON.
    """
    if params is None:
        return dumps({"jsonrpc": "2.0", "id": id, "method": method})
    return dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": _as_dict(params)})


def encode_notification(method: str, params: Mapping[str, Any] | None) -> bytes:
    """Write a notification; `params` of None leaves the member out.

    Raises:
        EncodeError: `params` cannot be written as JSON.
    """
    if params is None:
        return dumps({"jsonrpc": "2.0", "method": method})
    return dumps({"jsonrpc": "2.0", "method": method, "params": _as_dict(params)})


def encode_result(id: RequestId, *result_json: bytes | memoryview) -> bytes:
    """Write a response round a result that is JSON already, in one piece or several."""
    # Joined once: a copy of a large result costs more than reading it does.
    return b"".join((b'{"jsonrpc":"2.0","id":%b,"result":' % dumps(id), *result_json, b"}"))


def encode_response(id: RequestId, result: Mapping[str, Any]) -> bytes:
    """Write a response.

    Raises:
        EncodeError: `result` cannot be written as JSON.
    """
    return dumps({"jsonrpc": "2.0", "id": id, "result": _as_dict(result)})


def encode_error(id: RequestId | None, code: int, message: str, data: object = None) -> bytes:
    """Write an error response.

    Args:
        id: The request it answers; None (`null` on the wire) where its id could not be read.
        code: The error code.
        message: One sentence. What no UTF-8 text can hold of it becomes "?", so that reporting an error never fails.
        data: Anything more; None leaves the member out.

    Raises:
        EncodeError: `data` cannot be written as JSON.
    """
    if not message.isascii():
        message = message.encode("utf-8", "replace").decode("utf-8")
    return dumps({"jsonrpc": "2.0", "id": id, "error": _error_object(code, message, data)})


def _error_object(code: int, message: str, data: object) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return error


def _as_dict(params: Mapping[str, Any]) -> dict[str, Any]:
    return params if isinstance(params, dict) else dict(params)


# Refusals


def _refuse(message: dict[str, Any], reason: str, code: int = INVALID_REQUEST) -> DecodeError:
    """The error for a broken message, with the id it can be answered under, or the id it meant to answer."""
    id = message.get("id")
    if not _is_id(id):
        return DecodeError(code, reason)
    if "method" not in message and ("result" in message or "error" in message):
        return DecodeError(code, reason, response_id=id)
    return DecodeError(code, reason, id)


def _not_a_message(value: object) -> DecodeError:
    if isinstance(value, list):
        return DecodeError(INVALID_REQUEST, "JSON-RPC batches are not supported in this protocol revision")
    return DecodeError(INVALID_REQUEST, f"a message must be a JSON object, got {_kind(value)}")


def _is_id(value: object) -> TypeGuard[RequestId]:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _shown(holder: dict[str, Any], key: str) -> str:
    if key not in holder:
        return "nothing"
    value = holder[key]
    return f"the string {value[:20]!a}" if isinstance(value, str) else _kind(value)


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)


_KINDS: Final[dict[type, str]] = {
    NoneType: "null",
    bool: "a boolean",
    int: "an integer",
    float: "a floating-point number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def _recover_id(error: DecodeError, data: bytes) -> None:
    """Read the id from a text that is no JSON: a peer that numbered its request gets an answer, and a broken answer
    ends the request it was for."""
    fields = readable_fields(data, error)
    id = fields.get("id")
    if not _is_id(id) or (isinstance(id, str) and not _is_faithful(id)):
        return
    if "method" not in fields and ("result" in fields or "error" in fields or _starts_an_answer(data)):
        error.response_id = id
    else:
        error.id = id


def _is_faithful(id: str) -> bool:
    """Whether an id was read as it was meant: bytes that are no UTF-8 were replaced, lone surrogates were not."""
    return "\ufffd" not in id and id == id.encode("utf-8", "replace").decode("utf-8")


def _starts_an_answer(data: bytes) -> bool:
    return b'"method"' not in data and (b'"result"' in data or b'"error"' in data)
