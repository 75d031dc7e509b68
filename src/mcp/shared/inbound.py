"""Headers of 2026-07-28 requests over HTTP, for hosts with an HTTP entry of their own.

The home of these names is `mcp.protocol.inbound`, `mcp.protocol.headers` and `mcp.protocol.param_headers`.
"""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.protocol.headers import ERROR_CODE_HTTP_STATUS as ERROR_CODE_HTTP_STATUS
    from mcp.protocol.headers import MCP_METHOD_HEADER as MCP_METHOD_HEADER
    from mcp.protocol.headers import MCP_NAME_HEADER as MCP_NAME_HEADER
    from mcp.protocol.headers import MCP_PARAM_HEADER_PREFIX as MCP_PARAM_HEADER_PREFIX
    from mcp.protocol.headers import MCP_PROTOCOL_VERSION_HEADER as MCP_PROTOCOL_VERSION_HEADER
    from mcp.protocol.headers import NAME_BEARING_METHODS as NAME_BEARING_METHODS
    from mcp.protocol.headers import decode_header_value as decode_header_value
    from mcp.protocol.headers import encode_header_value as encode_header_value
    from mcp.protocol.headers import find_duplicated_routing_header as find_duplicated_routing_header
    from mcp.protocol.inbound import InboundLadderRejection as InboundLadderRejection
    from mcp.protocol.inbound import InboundModernRoute as InboundModernRoute
    from mcp.protocol.inbound import classify_inbound_request as classify_inbound_request
    from mcp.protocol.inbound import unsupported_protocol_version_rejection as unsupported_protocol_version_rejection
    from mcp.protocol.inbound import validate_mcp_param_headers as validate_mcp_param_headers
    from mcp.protocol.param_headers import X_MCP_HEADER_KEY as X_MCP_HEADER_KEY
    from mcp.protocol.param_headers import find_invalid as find_invalid_x_mcp_header
    from mcp.protocol.param_headers import header_map as x_mcp_header_map
    from mcp.protocol.param_headers import param_headers as mcp_param_headers

__all__ = [
    "ERROR_CODE_HTTP_STATUS",
    "MCP_METHOD_HEADER",
    "MCP_NAME_HEADER",
    "MCP_PARAM_HEADER_PREFIX",
    "MCP_PROTOCOL_VERSION_HEADER",
    "NAME_BEARING_METHODS",
    "X_MCP_HEADER_KEY",
    "InboundLadderRejection",
    "InboundModernRoute",
    "classify_inbound_request",
    "decode_header_value",
    "encode_header_value",
    "find_duplicated_routing_header",
    "find_invalid_x_mcp_header",
    "mcp_param_headers",
    "unsupported_protocol_version_rejection",
    "validate_mcp_param_headers",
    "x_mcp_header_map",
]

_HEADERS = """
    ERROR_CODE_HTTP_STATUS MCP_METHOD_HEADER MCP_NAME_HEADER MCP_PARAM_HEADER_PREFIX MCP_PROTOCOL_VERSION_HEADER
    NAME_BEARING_METHODS decode_header_value encode_header_value find_duplicated_routing_header
"""

# Lazily, since what is shared stands below the rules of the protocol.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        **dict.fromkeys(__all__, "mcp.protocol.inbound"),
        **dict.fromkeys(_HEADERS.split(), "mcp.protocol.headers"),
        "X_MCP_HEADER_KEY": "mcp.protocol.param_headers",
        "find_invalid_x_mcp_header": "mcp.protocol.param_headers:find_invalid",
        "mcp_param_headers": "mcp.protocol.param_headers:param_headers",
        "x_mcp_header_map": "mcp.protocol.param_headers:header_map",
    },
)
