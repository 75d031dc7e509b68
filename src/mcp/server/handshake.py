"""A connection of the handshake era, as its server sees it: from `initialize` to the end.

Specification: basic/lifecycle of the revisions 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from mcp import types
from mcp.protocol.codec import Notification, Request
from mcp.server.connection import ClientFacts, Connection, StandaloneChannel
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions

__all__ = ["HandshakeSession", "negotiated_version"]

logger = logging.getLogger(__name__)

_BEFORE_INITIALIZE: Final = frozenset({"initialize", "ping"})


def negotiated_version(requested: object) -> str:
    """The revision that a server answers `initialize` with: the requested one if it knows it, else its newest."""
    if isinstance(requested, str) and requested in HANDSHAKE_PROTOCOL_VERSIONS:
        return requested
    return LATEST_HANDSHAKE_VERSION


class HandshakeSession:
    """What lasts as long as one connection of the handshake era.

    Args:
        options: What the server announces; None announces what its handlers say.
        standalone: Sends what belongs to no request; None where there is no way to.

    Attributes:
        connection: The client.
        initialized: Whether `initialize` has been answered.
    """

    def __init__(
        self, options: InitializationOptions | None = None, standalone: StandaloneChannel | None = None
    ) -> None:
        self.options = options
        self.connection = Connection(LATEST_HANDSHAKE_VERSION, ClientFacts.none(), standalone=standalone)
        self.initialized = False

    @property
    def version(self) -> str:
        """The revision that is spoken; the newest before it is settled."""
        return self.connection.protocol_version

    def admit(self, message: Request | Notification) -> None:
        """Refuses what may not come yet.

        Raises:
            MCPError: -32600: the connection is not initialized.
        """
        if not self.initialized and isinstance(message, Request) and message.method not in _BEFORE_INITIALIZE:
            raise MCPError(
                INVALID_REQUEST,
                f"{message.method!r} came before initialize: open the connection with initialize, or name a protocol "
                "version in params._meta",
            )

    def commit(self, params: dict[str, Any] | None) -> None:
        """Takes what the client said in its `initialize` request as settled. A second one settles it anew."""
        wire = types.InitializeRequestParams.model_validate(params or {})
        self.connection.protocol_version = negotiated_version(wire.protocol_version)
        self.connection.facts = ClientFacts.given(wire.client_info, wire.capabilities)
        self.initialized = True


def initialize_result(
    server_info: types.Implementation,
    capabilities: types.ServerCapabilities,
    instructions: str | None,
    requested: str,
) -> types.InitializeResult:
    """The answer to `initialize`.

    Args:
        server_info: Who the server is.
        capabilities: What it can do.
        instructions: How a model should use it.
        requested: The revision that the client asked for.
    """
    return types.InitializeResult(
        protocol_version=negotiated_version(requested),
        capabilities=capabilities,
        server_info=server_info,
        instructions=instructions,
    )
