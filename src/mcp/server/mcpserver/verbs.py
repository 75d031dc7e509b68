"""The verbs of the protocol as methods of an `MCPServer`, for its handlers and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, cast

from mcp import types
from mcp.server.lowlevel.server import LifespanResultT
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.listings import prompt_entry, resource_entry, template_entry, tool_entry

if TYPE_CHECKING:
    from pydantic import AnyUrl

    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from mcp.server.mcpserver.prompts.manager import PromptManager
    from mcp.server.mcpserver.resources.resource_manager import ResourceManager
    from mcp.server.mcpserver.server import MCPServer
    from mcp.server.mcpserver.tools.tool_manager import ToolManager

__all__ = ["OWN_METHODS", "Verbs"]


class Verbs(Generic[LifespanResultT]):
    """The part of an `MCPServer` that lists, calls, reads and renders what is registered."""

    _tool_manager: ToolManager
    _resource_manager: ResourceManager
    _prompt_manager: PromptManager

    async def list_tools(self) -> list[types.Tool]:
        """The tools, as clients are told of them."""
        return [tool_entry(tool, name) for name, tool in self._tool_manager.registered().items()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[LifespanResultT, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Calls a tool.

        Args:
            name: The tool.
            arguments: Its arguments.
            context: The request; one without a request when left out.

        Raises:
            ToolError: There is no such tool, its arguments are wrong, or it failed.
            MCPError: The tool raised it.
        """
        context = context or _without_request(self)
        return await self._tool_manager.call_tool(name, arguments, context, convert_result=True)

    async def list_resources(self) -> list[types.Resource]:
        """The resources, as clients are told of them."""
        return [resource_entry(resource, uri) for uri, resource in self._resource_manager.registered().items()]

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """The resource templates, as clients are told of them."""
        return [
            template_entry(template, text) for text, template in self._resource_manager.registered_templates().items()
        ]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[LifespanResultT, Any] | None = None
    ) -> Iterable[ReadResourceContents] | types.InputRequiredResult:
        """Reads a resource.

        Args:
            uri: The resource.
            context: The request; one without a request when left out.

        Raises:
            ResourceNotFoundError: There is no such resource.
            ResourceError: It could not be read.
            MCPError: The function behind it raised it.
        """
        context = context or _without_request(self)
        resource = await self._resource_manager.get_resource(uri, context)
        return resource if isinstance(resource, types.InputRequiredResult) else await resource.read_contents()

    async def list_prompts(self) -> list[types.Prompt]:
        """The prompts, as clients are told of them."""
        return [prompt_entry(prompt, name) for name, prompt in self._prompt_manager.registered().items()]

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[LifespanResultT, Any] | None = None,
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Renders a prompt.

        Args:
            name: The prompt.
            arguments: Its arguments, which are text.
            context: The request; one without a request when left out.

        Raises:
            MCPError: -32602: there is no such prompt, or an argument is missing, wrong or unknown.
        """
        context = context or _without_request(self)
        messages = await self._prompt_manager.render_prompt(name, arguments, context)
        if isinstance(messages, types.InputRequiredResult):
            return messages
        prompt = self._prompt_manager.get_prompt(name)
        return types.GetPromptResult(
            description=None if prompt is None else prompt.description,
            messages=[types.PromptMessage(role=message.role, content=message.content) for message in messages],
        )


OWN_METHODS: Final[Mapping[str, Any]] = {
    method: getattr(Verbs, method)
    for method in ("list_tools", "list_resources", "list_resource_templates", "list_prompts", "call_tool")
}
"""Methods of the class itself, to know those apart that a subclass or an instrumentation puts in their place."""


def _without_request(part: Verbs[LifespanResultT]) -> Context[LifespanResultT, Any]:
    # Only `MCPServer` has this part, and a part cannot derive from the whole.
    return Context(mcp_server=cast("MCPServer[LifespanResultT]", part))
