"""The tools of a server, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.duplicates import DuplicatePolicy
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.registry import Registry
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.logging import get_logger

if TYPE_CHECKING:
    from mcp.server.mcpserver.context import Context
    from mcp.server.mcpserver.functions.arguments import UnknownArguments
    from mcp.types import Icon, ToolAnnotations

__all__ = ["ToolManager"]

logger = get_logger(__name__)


class ToolManager(Registry):
    """Tools by name, in the order in which they were added.

    Args:
        warn_on_duplicate_tools: Whether a warning is logged when a name is taken.
        tools: The tools to begin with.
        on_duplicate: What happens when a name is taken, in place of `warn_on_duplicate_tools`.

    Attributes:
        warn_on_duplicate_tools: As given.
        changed: Called after each change.
        is_served: Whether clients can see the tools.
        scopes: The scopes that tools need, by name; those that need none are not in it.
    """

    def __init__(
        self,
        warn_on_duplicate_tools: bool = True,
        *,
        tools: list[Tool] | None = None,
        on_duplicate: DuplicatePolicy | None = None,
    ) -> None:
        super().__init__(logger, on_duplicate)
        self.warn_on_duplicate_tools = warn_on_duplicate_tools
        self.scopes: dict[str, tuple[str, ...]] = {}
        self._tools: dict[str, Tool] = {}
        for tool in tools or ():
            self.add(tool)

    def get_tool(self, name: str) -> Tool | None:
        """The tool of this name; None where there is none."""
        return self._tools.get(name)

    def list_tools(self) -> list[Tool]:
        """All tools."""
        return list(self._tools.copy().values())

    def registered(self) -> dict[str, Tool]:
        """All tools, by the names that they were added under."""
        return self._tools.copy()

    def add(self, tool: Tool) -> Tool:
        """Adds a tool.

        Args:
            tool: The tool.

        Returns:
            The tool that has its name now: where that was taken, it may be the one from before.

        Raises:
            ValueError: The name is taken, and that is to be refused.
            InvalidSignature: The server is running, and an annotation of the function names what does not exist.
        """
        name = tool.name
        if tool.scopes:
            # Before anybody can call it.
            self.scopes[name] = tool.scopes
        try:
            return self._put(self._tools, name, tool, "Tool", self.warn_on_duplicate_tools)
        finally:
            self._note_scopes(name)

    def _note_scopes(self, name: str) -> None:
        with self._lock:
            tool = self._tools.get(name)
            if tool is not None and tool.scopes:
                self.scopes[name] = tool.scopes
            else:
                self.scopes.pop(name, None)

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
        scopes: Iterable[str] | None = None,
    ) -> Tool:
        """Adds a function as a tool; the arguments are those of `Tool.from_function`.

        Returns:
            The tool that has the name now: where that was taken, it may be the one from before.

        Raises:
            InvalidSignature: The function cannot be a tool as it is.
            ValueError: The name is taken, and that is to be refused; a lambda has none; or what `scopes` holds is none.
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
            scopes=scopes,
        )
        return self.add(tool)

    def remove_tool(self, name: str) -> None:
        """Removes a tool.

        Raises:
            ToolError: There is no tool of this name.
        """
        if self._tools.pop(name, None) is None:
            raise ToolError(f"Unknown tool: {name}")
        self._note_scopes(name)
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
