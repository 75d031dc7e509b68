"""Settles which protocol version a client and its server speak.

Specification: basic/versioning, server/discover.
"""

from __future__ import annotations

from mcp import types
from mcp.client.session import ClientSession
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import MalformedResultError, MCPError, RequestTimeoutError, TransportError
from mcp.types.jsonrpc import INTERNAL_ERROR, UNSUPPORTED_PROTOCOL_VERSION
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

__all__ = ["settle_version"]


async def settle_version(session: ClientSession, mode: str, prior: types.DiscoverResult | None) -> None:
    """Settles the version of an open session.

    Args:
        session: The session.
        mode: "auto" asks the server; a version is taken as it is, without a message.
        prior: What the server said of itself earlier; used with a version.

    Raises:
        MCPError: The server did not answer `server/discover` as a server of a modern revision does.
        RuntimeError: There is no revision that both know.
    """
    if mode != "auto":
        session.adopt(prior or types.DiscoverResult(supported_versions=[mode], capabilities=types.ServerCapabilities()))
        return
    try:
        await session.discover()
    except MCPError as error:
        if _is_explicable(error):
            raise _explained(error) from error
        raise


def _is_explicable(error: MCPError) -> bool:
    """Whether the server answered as one does that has never heard of `server/discover`."""
    if isinstance(error, (TransportError, RequestTimeoutError, MalformedResultError)) or error.code == INTERNAL_ERROR:
        return False
    if error.code != UNSUPPORTED_PROTOCOL_VERSION:
        return True
    supported = error.data.get("supported") if is_object(error.data) else None
    return not isinstance(supported, list) or any(version in supported for version in HANDSHAKE_PROTOCOL_VERSIONS)


def _explained(error: MCPError) -> MCPError:
    """The error, with the reason why the connection cannot be used as far as this library can tell."""
    return MCPError(
        error.code,
        f"{error.message} (in answer to server/discover; the server seems to speak only handshake revisions, up to "
        "2025-11-25, which are not part of this version of the library yet)",
        error.data,
    )
