"""What a client knows of its server, from what the server said of itself."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from mcp import types
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

__all__ = ["ServerFacts"]

logger = logging.getLogger("client")


class ServerFacts:
    """What is known of a server; at first nothing.

    Attributes:
        initialized: What it answered to `initialize`; None on a 2026-07-28 connection.
        discovered: What it answered to `server/discover`; None on one of a handshake revision.
        version: The revision that is spoken; None before it is settled.
    """

    def __init__(self) -> None:
        self.initialized: types.InitializeResult | None = None
        self.discovered: types.DiscoverResult | None = None
        self.version: str | None = None

    def adopt_discovered(self, result: types.DiscoverResult) -> str:
        """Takes what a server says of itself as settled, and returns the newest revision that both know.

        Raises:
            RuntimeError: There is none.
        """
        common = [version for version in MODERN_PROTOCOL_VERSIONS if version in result.supported_versions]
        if not common:
            raise RuntimeError(
                f"No mutually supported modern protocol version (server: {result.supported_versions}, "
                f"client: {list(MODERN_PROTOCOL_VERSIONS)})"
            )
        self.discovered, self.initialized = result, None
        self.version = common[-1]
        return self.version

    def adopt_initialized(self, result: types.InitializeResult) -> str:
        """Takes what a server answered to `initialize` as settled, and returns the revision that it named.

        Raises:
            RuntimeError: The client does not know that revision.
        """
        if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise RuntimeError(
                f"Unsupported protocol version from the server: {result.protocol_version!r} "
                f"(this client asked for {LATEST_HANDSHAKE_VERSION!r} and knows {list(HANDSHAKE_PROTOCOL_VERSIONS)})"
            )
        self.discovered, self.initialized = None, result
        self.version = result.protocol_version
        return self.version

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server is; None where it does not say."""
        if self.initialized is not None:
            return self.initialized.server_info
        meta = self.discovered.meta if self.discovered is not None else None
        info = (meta or {}).get(types.SERVER_INFO_META_KEY)
        if info is None:
            return None
        try:
            return types.Implementation.model_validate(info)
        except ValidationError:
            logger.warning("the server's identity is malformed and counts as absent: %r", info)
            return None

    @property
    def capabilities(self) -> types.ServerCapabilities | None:
        """What the server can do; None before it is known."""
        known = self.initialized or self.discovered
        return known.capabilities if known is not None else None

    @property
    def instructions(self) -> str | None:
        """How a model should use the server; None where it does not say."""
        known = self.initialized or self.discovered
        return known.instructions if known is not None else None
