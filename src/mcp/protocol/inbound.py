"""What an HTTP entry checks of a 2026-07-28 request before anything is called, as functions that return their verdict.

The servers of this library raise instead. These are for whoever hosts a `Server` behind an entry of their own.

Specification: basic/transports/streamable-http under "Request Metadata" and "Server Validation".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.protocol.eras import SERVED_VERSIONS, envelope_of, unsupported_version
from mcp.protocol.headers import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    check_routing_headers,
)
from mcp.protocol.param_headers import check_param_headers, header_map
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH, INVALID_PARAMS

__all__ = [
    "InboundLadderRejection",
    "InboundModernRoute",
    "classify_inbound_request",
    "unsupported_protocol_version_rejection",
    "validate_mcp_param_headers",
]


@dataclass(frozen=True)
class InboundModernRoute:
    """A request that may be served as one of a modern revision.

    Attributes:
        protocol_version: The revision.
        client_info: What the client says of itself, as it stands in `_meta`; None where it keeps that to itself.
        client_capabilities: What the client says it can do, as it stands in `_meta`.
    """

    protocol_version: str
    client_info: Any
    client_capabilities: Any


@dataclass(frozen=True)
class InboundLadderRejection:
    """The error to answer a request with; `ERROR_CODE_HTTP_STATUS` has the HTTP status for it.

    Attributes:
        code: The error's code.
        message: What is wrong.
        data: More about it, if there is more.
    """

    code: int
    message: str
    data: Any = None


def _rejection(error: MCPError) -> InboundLadderRejection:
    return InboundLadderRejection(error.code, error.message, error.data)


def classify_inbound_request(
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    supported_modern_versions: Sequence[str] = SERVED_VERSIONS,
) -> InboundModernRoute | InboundLadderRejection:
    """Whether a request is one of a modern revision, and its headers say what its body says.

    Args:
        body: The JSON-RPC request.
        headers: Its HTTP headers, names in lower case; None checks the body alone.
        supported_modern_versions: The revisions to accept.

    Returns:
        What the request says of itself, or the first thing that is wrong with it: its `_meta` (-32602), its headers
        (-32020), its version (-32022).
    """
    params = body.get("params")
    params = params if is_object(params) else {}
    try:
        envelope = envelope_of(params)
        if type(envelope.version) is not str:
            raise MCPError(INVALID_PARAMS, "the protocol version in params._meta must be a string")
        if headers is not None:
            if headers.get(MCP_PROTOCOL_VERSION_HEADER) != envelope.version:
                text = f"{MCP_PROTOCOL_VERSION_HEADER} header does not match the request envelope's protocol version"
                raise MCPError(HEADER_MISMATCH, text)
            method: Any = body.get("method")
            check_routing_headers(method, params, headers.get(MCP_METHOD_HEADER), headers.get(MCP_NAME_HEADER))
    except MCPError as error:
        return _rejection(error)
    unsupported = unsupported_protocol_version_rejection(envelope.version, supported_modern_versions)
    return unsupported or InboundModernRoute(envelope.version, envelope.client_info, envelope.client_capabilities)


def unsupported_protocol_version_rejection(
    requested: str, supported_modern_versions: Sequence[str] = SERVED_VERSIONS
) -> InboundLadderRejection | None:
    """The error -32022 for a version that is not among those supported; None for one that is.

    Args:
        requested: The version.
        supported_modern_versions: Those that are supported.
    """
    if requested in supported_modern_versions:
        return None
    return _rejection(unsupported_version(requested, supported_modern_versions))


def validate_mcp_param_headers(
    input_schema: Any, arguments: Mapping[str, Any], headers: Mapping[str, str]
) -> InboundLadderRejection | None:
    """Compares the `Mcp-Param-*` headers of a tool's call with its arguments.

    Args:
        input_schema: The tool's input schema.
        arguments: The arguments.
        headers: All headers of the request; the case of their names does not matter.

    Returns:
        The error -32020 for what does not agree; None if all does.
    """
    problem = check_param_headers(header_map(input_schema), arguments, headers)
    return None if problem is None else InboundLadderRejection(HEADER_MISMATCH, problem)
