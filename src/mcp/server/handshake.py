"""A connection of the handshake era, as its server sees it: from `initialize` to the end.

Specification: basic/lifecycle of the revisions 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from mcp import types
from mcp.protocol.codec import Notification, Request
from mcp.protocol.eras import BATCHING_VERSION
from mcp.server.connection import ClientFacts, Connection, StandaloneChannel
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions

__all__ = ["HandshakeSession", "initialize_result", "negotiated_version"]

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
        standalone: Sends what belongs to no request; None where there is no way to.

    Attributes:
        connection: The client.
        initialized: Whether `initialize` has been answered.
    """

    def __init__(self, standalone: StandaloneChannel | None = None) -> None:
        nobody = ClientFacts(None, types.ClientCapabilities())
        self.connection = Connection(LATEST_HANDSHAKE_VERSION, nobody, log_level="debug", standalone=standalone)
        self.initialized = False

    @property
    def version(self) -> str:
        """The revision that is spoken; the newest before it is settled."""
        return self.connection.protocol_version

    @property
    def takes_batches(self) -> bool:
        """Whether the revision that is spoken has JSON-RPC batches."""
        return self.initialized and self.version == BATCHING_VERSION

    def admit(self, message: Request | Notification) -> None:
        """Refuses what may not come yet.

        Raises:
            MCPError: -32600: the connection is not initialized.
        """
        if not self.initialized and message.method not in _BEFORE_INITIALIZE:
            raise MCPError(
                INVALID_REQUEST,
                f"{message.method!r} came before initialize: open the connection with initialize, or name a protocol "
                "version in params._meta",
            )

    def assume(self, version: str) -> None:
        """Takes a handshake as done, elsewhere: nothing is known of the client but the revision that it speaks."""
        self.connection.protocol_version = version
        self.initialized = True

    def commit(self, params: dict[str, Any] | None) -> None:
        """Takes what the client said in its `initialize` request as settled. A second one settles it anew."""
        wire = types.InitializeRequestParams.model_validate(params or {})
        self.connection.protocol_version = negotiated_version(wire.protocol_version)
        self.connection.facts = ClientFacts(wire.client_info, wire.capabilities)
        self.initialized = True


def initialize_result(options: InitializationOptions, requested: str) -> types.InitializeResult:
    """The answer to `initialize`.

    Args:
        options: What the server announces.
        requested: The revision that the client asked for.
    """
    return types.InitializeResult(
        protocol_version=negotiated_version(requested),
        # No handshake revision has extensions: their clients would meet what they cannot know.
        capabilities=options.capabilities.model_copy(update={"extensions": None}),
        server_info=types.Implementation(
            name=options.server_name,
            version=options.server_version,
            title=options.title,
            description=options.description,
            website_url=options.website_url,
            icons=options.icons,
        ),
        instructions=options.instructions,
    )
