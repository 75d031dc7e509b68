"""Strict JSON text to values and back, and what can still be read of a text that is broken.

Specification: RFC 8259. NaN, Infinity, numbers beyond a double and lone surrogates are refused in both directions,
except that an infinity or NaN which a program wants to send becomes `null`.
"""

import re
from math import isinf
from typing import Any, Final

from pydantic_core import from_json, to_json

from mcp.protocol.trees import find_path, has_infinity, is_object
from mcp.types.jsonrpc import PARSE_ERROR

__all__ = ["DecodeError", "EncodeError", "RequestId", "dumps", "loads", "loads_own", "readable_fields"]

RequestId = int | str


class DecodeError(Exception):
    """A peer sent what is no JSON-RPC message.

    Attributes:
        code: -32700 where the text is no JSON, -32600 where it is no message, -32602 where `params` is no object.
        message: What was wrong and what was expected, fit to be sent back.
        id: The request to answer with this error, as far as it could be read; None for anything else.
        response_id: The request of our own that the broken message meant to answer, as far as it could be read. It
            must not be answered: the peer may have a request of its own under the same id.
    """

    def __init__(
        self, code: int, message: str, id: RequestId | None = None, response_id: RequestId | None = None
    ) -> None:
        super().__init__(code, message, id, response_id)
        self.code = code
        self.message = message
        self.id = id
        self.response_id = response_id

    def __str__(self) -> str:
        return self.message


class EncodeError(ValueError):
    """A value has no JSON form; the text says what, and for a lone surrogate where it stands."""


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NUMBER_SHAPES: Final = bytes.maketrans(b"123456789E+", b"000000000ee")
_LONG_NUMBER: Final = "0" * 32
_LONG_TEXT: Final = 50_000


def loads(data: bytes | bytearray | memoryview) -> Any:
    """Parse strict JSON in UTF-8, at most 200 levels deep; of a repeated key the last value stays.

    Raises:
        DecodeError: The text is no such JSON (-32700).
    """
    if type(data) is memoryview:
        data = bytes(data)
    value = loads_own(data)
    # The parser turns 1e999 into infinity. A number gets that large only by an exponent of three digits or by hundreds
    # of digits, and looking for these shapes in the text is much cheaper than walking the values of every message,
    # unless the text is long for its few values.
    infinite = has_infinity(value, most_nodes=1000) if len(data) > _LONG_TEXT else None
    if infinite is None:
        shapes = data.translate(_NUMBER_SHAPES).decode("latin-1")
        # The digits first: the letter is in most words.
        infinite = "000" in shapes and ("e000" in shapes or _LONG_NUMBER in shapes) and has_infinity(value)
    if infinite:
        place = find_path(value, lambda node: isinstance(node, float) and isinf(node))
        raise DecodeError(PARSE_ERROR, f"Parse error: number out of range at {place}, expected less than 1.8e308")
    return value


def loads_own(data: bytes | bytearray) -> Any:
    """Parse JSON that this library has written: no number in it is out of range, so nothing looks for one.

    Raises:
        DecodeError: As `loads`.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError as error:
        return _loads_marked(data, error)


def _loads_marked(data: bytes | bytearray, error: ValueError) -> Any:
    """The second chance of a text behind a byte order mark, which RFC 8259 allows a reader to ignore."""
    if data.startswith(_BYTE_ORDER_MARK):
        try:
            return from_json(data[len(_BYTE_ORDER_MARK) :], allow_inf_nan=False)
        except ValueError as second:
            error = second
    raise DecodeError(PARSE_ERROR, f"Parse error: {_reason(data, str(error))}") from None


def _reason(data: bytes | bytearray, reason: str) -> str:
    if not data or data.isspace():
        return "the message is empty, expected JSON"
    if "recursion limit" in reason:
        return f"{reason}, expected at most 200 levels of nesting"
    if "hex escape" in reason:
        return f"{reason}, expected four hex digits, and surrogates in pairs only"
    if "digits" in reason or "out of range" in reason:
        place = _POSITION.search(reason)
        where = "" if place is None else f" at {place[0]}"
        return f"number out of range{where}, expected an integer of fewer than 4300 digits"
    return f"{reason}, expected JSON in UTF-8"


def dumps(value: object) -> bytes:
    """Write a value as JSON: models by alias, infinities and NaN as `null`, nothing left out.

    Raises:
        EncodeError: Something in it has no JSON form: a lone surrogate, a cycle, an unknown type, too many levels.
    """
    try:
        return to_json(value, by_alias=True, inf_nan_mode="null")
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).removeprefix("Error serializing to JSON: ")
        place = find_path(value, _has_lone_surrogate) if "surrogate" in reason else None
        where = "" if place is None else f" (a lone surrogate at {place})"
        raise EncodeError(f"cannot be written as JSON: {reason}{where}") from error


def _has_lone_surrogate(node: object) -> bool:
    return isinstance(node, str) and _LONE_SURROGATE.search(node) is not None


_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


# What is left of a broken text.

_POSITION: Final = re.compile(r"line (\d+) column (\d+)")
_MOST_LINES: Final = 1000


def readable_fields(data: bytes, error: DecodeError) -> dict[str, Any]:
    """The members of the top-level object of a text that `loads` refused, as far as they can be told.

    Args:
        data: The text.
        error: What `loads` raised.

    Returns:
        The members; none where the text is beyond reading. It never raises.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data.lstrip().startswith(b"{"):
        return {}  # no object: a flood of such lines is told apart by one look at each
    fields = _read_tolerantly(data)
    if fields is None:
        fields = _read_partly(data)
    if fields is None:
        fields = _read_partly(data[: _offset(data, error.message)])
    return fields or {}


def _read_tolerantly(data: bytes) -> dict[str, Any] | None:
    """The standard library reads what is complete but not strict: NaN, lone surrogates, control characters."""
    # Here, because it costs an import that a healthy connection never needs.
    import json

    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False, parse_int=_int_of_any_length)
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else {}


def _int_of_any_length(text: str) -> int | float:
    """Python refuses to read integers of thousands of digits, and an answer's id may stand behind one."""
    return int(text) if len(text) < 1000 else float(text)


def _read_partly(data: bytes) -> dict[str, Any] | None:
    """What stands before the end of a text that stops early."""
    try:
        value = from_json(data, allow_partial="on")
    except ValueError:
        return None
    if not is_object(value):
        return {}
    tail = data[len(data.rstrip(b"0123456789.eE+-")) :]
    if tail and tail.startswith(b"%r" % value.get("id")):
        del value["id"]  # the text ends within it, perhaps: of 123 only 12 may have come
    return value


def _offset(data: bytes, message: str) -> int:
    """Where in the text the parser stopped, by what it said."""
    position = _POSITION.search(message)
    if position is None:
        return 0
    line, column = int(position[1]), int(position[2])
    if line > _MOST_LINES:
        return 0
    start = 0
    for _ in range(line - 1):
        start = data.find(b"\n", start) + 1
    return start + column - 1
