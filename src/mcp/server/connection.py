"""What a server knows of the client at the other end, for as long as their connection lasts."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from mcp.engine.dispatch import invalid_params
from mcp.protocol.eras import Envelope
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp.types import ClientCapabilities, Implementation, LoggingLevel
from mcp.types.jsonrpc import INVALID_PARAMS

__all__ = ["LOG_LEVELS", "ClientFacts", "Connection", "StandaloneChannel"]

logger = logging.getLogger(__name__)

LOG_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)
"""From the least to the most severe."""

StandaloneChannel = Callable[[str, "dict[str, Any] | None"], Awaitable[None]]
"""Sends a notification that belongs to no request."""


class ClientFacts:
    """Who a client says it is and what it says it can do, validated.

    Attributes:
        info: Its name and version; None where it keeps them to itself.
        capabilities: What it can do.
    """

    __slots__ = ("_wire", "capabilities", "info")

    def __init__(self, info: Implementation | None, capabilities: ClientCapabilities, wire: Any = None) -> None:
        self.info = info
        self.capabilities = capabilities
        self._wire = wire

    @classmethod
    def of_envelope(cls, envelope: Envelope) -> "ClientFacts":
        """The facts that a modern request states.

        Raises:
            MCPError: -32602: one of the two is malformed.
        """
        info = None
        if envelope.client_info is not None:
            info = _parsed(Implementation, envelope.client_info, "clientInfo")
        capabilities = _parsed(ClientCapabilities, envelope.client_capabilities, "clientCapabilities")
        return cls(info, capabilities, (envelope.client_info, envelope.client_capabilities))

    def covers(self, envelope: Envelope) -> bool:
        """Whether these are the facts that `envelope` states."""
        return self._wire == (envelope.client_info, envelope.client_capabilities)


def _parsed(model: type[BaseModel], value: Any, key: str) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = invalid_params(error)
        raise MCPError(INVALID_PARAMS, f"{problem.message} (in _meta {key})", problem.data) from error


class Connection:
    """One client, seen from the server. A modern request is a connection of its own.

    Args:
        protocol_version: The revision that is spoken.
        facts: What the client says of itself.
        log_level: The least severe log message the client wants; None wants none.
        standalone: Sends notifications that belong to no request; None where there is no way to.

    Attributes:
        announced: What the server announces, while it answers `initialize`.
    """

    __slots__ = ("__weakref__", "announced", "facts", "log_level", "protocol_version", "standalone")

    def __init__(
        self,
        protocol_version: str,
        facts: ClientFacts,
        *,
        log_level: str | None = None,
        standalone: StandaloneChannel | None = None,
    ) -> None:
        self.protocol_version = protocol_version
        self.facts = facts
        self.log_level = log_level
        self.standalone = standalone
        self.announced: InitializationOptions | None = None

    @classmethod
    def of_request(cls, envelope: Envelope, facts: ClientFacts) -> "Connection":
        """The connection that a modern request is by itself.

        Raises:
            MCPError: -32602: the log level is not one of the protocol's.
        """
        level = envelope.log_level
        if level is not None and level not in LOG_LEVELS:
            raise MCPError(
                INVALID_PARAMS,
                f"Invalid request parameters: _meta logLevel must be one of {', '.join(LOG_LEVELS)}, got {level!r}",
            )
        return cls(envelope.version, facts, log_level=level)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification that belongs to no request; drops it where there is no way to."""
        if self.standalone is None:
            logger.debug("dropped %s: no standalone channel", method)
            return
        await self.standalone(method, params)

    def wants_log(self, level: str) -> bool:
        """Whether the client asked for log messages of this level.

        Raises:
            ValueError: The protocol has no such level.
        """
        if level not in LOG_LEVELS:
            raise ValueError(f"a log level is one of {', '.join(LOG_LEVELS)}, got {level!r}")
        return self.log_level is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level)
