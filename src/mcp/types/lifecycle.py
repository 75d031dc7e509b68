"""Getting to know the peer: `initialize`, `server/discover`, and the errors of a failed match."""

from mcp.types.base import BaseMetadata, CacheableResult, Icon, MCPModel, RequestParams, Result, ResultType
from mcp.types.capabilities import ClientCapabilities, ServerCapabilities


class Implementation(BaseMetadata):
    """The name and version of a client or server program."""

    version: str
    description: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None


class InitializeRequestParams(RequestParams):
    """Params of `initialize`: the client's preferred revision, and what it is and can do."""

    protocol_version: str
    capabilities: ClientCapabilities
    client_info: Implementation


class InitializeResult(Result):
    """The revision the server chose, and what it is and can do."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None


class DiscoverResult(CacheableResult):
    """The revisions a server speaks without a handshake, and what it can do."""

    supported_versions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
    result_type: ResultType = "complete"


class UnsupportedProtocolVersionErrorData(MCPModel):
    """`data` of an UNSUPPORTED_PROTOCOL_VERSION error."""

    supported: list[str]
    requested: str


class MissingRequiredClientCapabilityErrorData(MCPModel):
    """`data` of a MISSING_REQUIRED_CLIENT_CAPABILITY error: what the client must declare."""

    required_capabilities: ClientCapabilities
