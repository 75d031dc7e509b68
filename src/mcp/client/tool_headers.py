"""Which arguments of a tool's call travel in HTTP headers as well: what the tools that are listed say of it.

Specification: 2026-07-28, basic/transports/streamable-http under "Custom Headers from Tool Parameters".
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcp.protocol.codec import EncodeError
from mcp.protocol.param_headers import HeaderMap, annotations, param_headers
from mcp.protocol.trees import is_object

if TYPE_CHECKING:
    from mcp.types import Tool

__all__ = ["ToolHeaders"]

logger = logging.getLogger("client")


class ToolHeaders:
    """The annotations of the tools seen so far. A call costs a lookup by name, however many tools there are."""

    def __init__(self) -> None:
        self._maps: dict[str, HeaderMap] = {}
        self._refused: dict[str, str] = {}

    def admit(self, tools: Iterable[Tool]) -> list[Tool]:
        """Takes note of listed tools, and returns those whose annotations keep to the specification.

        What is left out is logged: as a warning, unless it was the time before.

        Args:
            tools: The tools, as the server lists them.
        """
        return [tool for tool in tools if self._admits(tool)]

    def _admits(self, tool: Tool) -> bool:
        found, reason = annotations(tool.input_schema)
        if reason is not None:
            self.forget(tool.name)
            if self._refused.get(tool.name) != reason:
                logger.warning(
                    "left tool %r out of the listing, since its input schema is invalid: %s", tool.name, reason
                )
                self._refused[tool.name] = reason
            return False
        self._refused.pop(tool.name, None)
        if found:
            self._maps[tool.name] = found
        else:
            self.forget(tool.name)
        return True

    def forget(self, tool: str) -> None:
        """Forgets what is known of a tool.

        Args:
            tool: Its name.
        """
        self._maps.pop(tool, None)

    def of_call(self, params: Mapping[str, Any]) -> dict[str, str]:
        """The headers of one call; empty where the tool has no annotations, or is not known.

        Args:
            params: The params of the call.

        Raises:
            ValueError: An integer is beyond what a header may carry.
        """
        tool, arguments = params.get("name"), params.get("arguments")
        # What is sent need not be a valid call: that is for the server to say.
        header_map = self._maps.get(tool) if isinstance(tool, str) else None
        if header_map is None or not arguments or not is_object(arguments):
            return {}
        try:
            return param_headers(header_map, arguments)
        except (EncodeError, UnicodeEncodeError):
            # The body cannot be sent either, and the error that says so names the place.
            return {}
