"""Settles which protocol version a client and its server speak.

Specification: basic/versioning, server/discover.
"""

from __future__ import annotations

from typing import Any, cast

from mcp import types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError, TransportError
from mcp.types.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION
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
    except TransportError:
        raise
    except MCPError as error:
        raise _explained(error) from error


def _explained(error: MCPError) -> MCPError:
    """The error, with the reason why the connection cannot be used as far as this library can tell."""
    data: Any = error.data
    if error.code == UNSUPPORTED_PROTOCOL_VERSION and isinstance(data, dict):
        supported: Any = cast("dict[str, Any]", data).get("supported", ())
        if not set(supported) & set(HANDSHAKE_PROTOCOL_VERSIONS):
            return error
    return MCPError(
        error.code,
        f"{error.message} (in answer to server/discover; the server seems to speak only handshake revisions, up to "
        "2025-11-25, which are not part of this version of the library yet)",
        data,
    )
