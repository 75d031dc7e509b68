"""The tools of a server, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.duplicates import DuplicatePolicy, takes_over
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.logging import get_logger

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.functions.arguments import UnknownArguments
    from mcp.types import Icon, ToolAnnotations

__all__ = ["ToolManager"]

logger = get_logger(__name__)


class ToolManager:
    """Tools by name, in the order in which they were added.

    Args:
        warn_on_duplicate_tools: Whether a warning is logged when a name is taken.
        tools: The tools to begin with.
        on_duplicate: What happens when a name is taken, in place of `warn_on_duplicate_tools`.

    Attributes:
        changed: Called after each change.
    """

    def __init__(
        self,
        warn_on_duplicate_tools: bool = True,
        *,
        tools: list[Tool] | None = None,
        on_duplicate: DuplicatePolicy | None = None,
    ) -> None:
        self.warn_on_duplicate_tools = warn_on_duplicate_tools
        self.changed: Callable[[], None] = _nothing
        self._on_duplicate: DuplicatePolicy | None = on_duplicate
        self._tools: dict[str, Tool] = {}
        for tool in tools or ():
            self.add(tool)

    def get_tool(self, name: str) -> Tool | None:
        """The tool of this name; None where there is none."""
        return self._tools.get(name)

    def list_tools(self) -> list[Tool]:
        """All tools."""
        return list(self._tools.values())

    def add(self, tool: Tool) -> Tool:
        """Adds a tool.

        Args:
            tool: The tool.

        Returns:
            The tool that has its name now: where that was taken, it may be the one from before.

        Raises:
            ValueError: The name is taken, and that is to be refused.
        """
        known = self._tools.get(tool.name)
        if known is not None:
            policy = self._on_duplicate or ("warn" if self.warn_on_duplicate_tools else "ignore")
            if not takes_over(policy, "Tool", tool.name, logger):
                return known
        self._tools[tool.name] = tool
        self.changed()
        return tool

    def add_tool(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        unknown_arguments: UnknownArguments = "suggest",
    ) -> Tool:
        """Adds a function as a tool; the arguments are those of `Tool.from_function`.

        Returns:
            The tool that has the name now: where that was taken, it may be the one from before.

        Raises:
            InvalidSignature: The function cannot be a tool as it is.
            ValueError: The name is taken, and that is to be refused; or a lambda has none.
        """
        tool = Tool.from_function(
            fn,
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            icons=icons,
            meta=meta,
            structured_output=structured_output,
            unknown_arguments=unknown_arguments,
        )
        return self.add(tool)

    def remove_tool(self, name: str) -> None:
        """Removes a tool.

        Raises:
            ToolError: There is no tool of this name.
        """
        if name not in self._tools:
            raise ToolError(f"Unknown tool: {name}")
        del self._tools[name]
        self.changed()

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Calls a tool; see `Tool.run`.

        Args:
            name: The tool.
            arguments: As the client sent them.
            context: The request.
            convert_result: Return a result of the protocol instead of the function's own value.

        Raises:
            ToolError: There is no tool of this name, its arguments are wrong, or it failed.
            MCPError: The function raised it.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"Unknown tool: {name}")
        return await tool.run(arguments, context, convert_result)


def _nothing() -> None:
    pass
