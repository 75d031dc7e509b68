"""The HTTP headers that mirror a message, and how values travel in them.

Specification: basic/transports/streamable-http under "Request Metadata" and "Value Encoding".
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp.types.methods import METHODS

__all__ = [
    "ERROR_CODE_HTTP_STATUS",
    "MCP_METHOD_HEADER",
    "MCP_NAME_HEADER",
    "MCP_PARAM_HEADER_PREFIX",
    "MCP_PROTOCOL_VERSION_HEADER",
    "NAME_BEARING_METHODS",
    "check_routing_headers",
    "decode_header_value",
    "encode_header_value",
    "find_duplicated_routing_header",
]

MCP_PROTOCOL_VERSION_HEADER: Final = "mcp-protocol-version"
MCP_METHOD_HEADER: Final = "mcp-method"
MCP_NAME_HEADER: Final = "mcp-name"
MCP_PARAM_HEADER_PREFIX: Final = "Mcp-Param-"

ERROR_CODE_HTTP_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of an answer that refuses a request, by its error code; every other answer is a 200."""

NAME_BEARING_METHODS: Final[Mapping[str, str]] = {
    method.name: method.name_field for method in METHODS.values() if method.name_field is not None
}
"""The methods whose requests have a name header, to the param that it repeats."""

_ROUTING_HEADERS: Final = frozenset({MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER})
_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_PLAIN_AS_SENT: Final = re.compile(r"(?! )[\x20-\x7e]*(?<! )").fullmatch
_PLAIN_AS_RECEIVED: Final = re.compile(r"[\t\x20-\x7e]*").fullmatch


def encode_header_value(value: str) -> str:
    """The form in which a value is safe in a header: itself, or `=?base64?...?=` round its UTF-8.

    Encoded is whatever holds more than printable ASCII, starts or ends with a blank, or looks encoded. A tab, which a
    header may hold, is encoded too: some proxies turn it into a blank.

    Raises:
        ValueError: The value holds a lone surrogate.
    """
    if _PLAIN_AS_SENT(value) and not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    return f"{_PREFIX}{b64encode(value.encode('utf-8')).decode('ascii')}{_SUFFIX}"


def decode_header_value(value: str | None) -> str | None:
    """The value behind a header.

    Args:
        value: The header as received, which may have blanks round it; None for an absent header.

    Returns:
        The value; None for an absent header, for characters no header may hold, and for an encoded form that is no
        strict Base64 of UTF-8.
    """
    if value is None:
        return None
    value = value.strip(" \t")
    if not _PLAIN_AS_RECEIVED(value):
        return None
    if len(value) < len(_PREFIX) + len(_SUFFIX) or not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    return _decode_base64(value[len(_PREFIX) : -len(_SUFFIX)])


def _decode_base64(text: str) -> str | None:
    try:
        raw = b64decode(text)
        # One value has one spelling, so that whoever compares headers on the way sees what the server sees.
        return raw.decode("utf-8") if b64encode(raw).decode("ascii") == text else None
    except (Base64Error, UnicodeDecodeError):
        return None


def find_duplicated_routing_header(headers: Iterable[tuple[str, str]]) -> str | None:
    """The first of the version, method and name headers that a request carries twice, in lower case; None if none.

    Args:
        headers: The header lines of a request; the case of the names does not matter.
    """
    seen: set[str] = set()
    for name, _ in headers:
        name = name.lower()
        if name in seen:
            return name
        if name in _ROUTING_HEADERS:
            seen.add(name)
    return None


def check_routing_headers(
    method: str, params: Mapping[str, Any] | None, method_header: str | None, name_header: str | None
) -> None:
    """Compares the method and name headers of a request with its body.

    Args:
        method: The method in the body.
        params: The params in the body.
        method_header: The value of `Mcp-Method`; None where the header is absent.
        name_header: The value of `Mcp-Name`; None where the header is absent.

    Raises:
        MCPError: -32020: they do not agree, or one that is needed is missing.
    """
    if method_header is None:
        raise MCPError(HEADER_MISMATCH, "mcp-method header is missing")
    if method_header != method:
        raise MCPError(HEADER_MISMATCH, "mcp-method header does not match the request body's method")
    field = NAME_BEARING_METHODS.get(method)
    if field is None or params is None:
        return
    name = params.get(field)
    if not isinstance(name, str):
        return
    if name_header is None:
        raise MCPError(HEADER_MISMATCH, "mcp-name header is missing")
    if decode_header_value(name_header) != name:
        raise MCPError(HEADER_MISMATCH, f"mcp-name header does not match the request body's {field!r} parameter")
