"""Listings that are made once, and again when something has changed."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel

from mcp.protocol.results import KeptResult
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources.base import Resource
from mcp.server.mcpserver.resources.templates import ResourceTemplate
from mcp.server.mcpserver.tools.base import Tool
from mcp.types import Prompt as MCPPrompt
from mcp.types import PromptArgument as MCPPromptArgument
from mcp.types import Resource as MCPResource
from mcp.types import ResourceTemplate as MCPResourceTemplate
from mcp.types import Tool as MCPTool

__all__ = ["Listing", "prompt_entry", "resource_entry", "template_entry", "tool_entry"]

ItemT = TypeVar("ItemT")


class Listing(Generic[ItemT]):
    """A listing as clients get it, encoded once for each revision.

    Args:
        items: What is listed now.
        edits: Grows when one of them is changed in place.
        result: The result of the listing.
    """

    def __init__(
        self,
        items: Callable[[], Sequence[ItemT]],
        edits: Callable[[], int],
        result: Callable[[Sequence[ItemT]], BaseModel],
    ) -> None:
        self._items = items
        self._edits = edits
        self._result = result
        self._known: tuple[Sequence[ItemT], int] | None = None
        self._kept: KeptResult | None = None

    def current(self) -> KeptResult:
        """The listing."""
        now = self._items(), self._edits()
        if self._kept is None or now != self._known:
            self._known = now
            self._kept = KeptResult(self._result(now[0]))
        return self._kept


def tool_entry(tool: Tool) -> MCPTool:
    """What clients are told of a tool."""
    return MCPTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.parameters,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
        icons=tool.icons,
        _meta=tool.meta,
    )


def resource_entry(resource: Resource) -> MCPResource:
    """What clients are told of a resource."""
    return MCPResource(
        uri=resource.uri,
        name=resource.name or resource.uri,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
        size=resource.known_size,
        icons=resource.icons,
        annotations=resource.annotations,
        _meta=resource.meta,
    )


def template_entry(template: ResourceTemplate) -> MCPResourceTemplate:
    """What clients are told of a resource template."""
    return MCPResourceTemplate(
        uri_template=template.uri_template,
        name=template.name,
        title=template.title,
        description=template.description,
        mime_type=template.mime_type,
        icons=template.icons,
        annotations=template.annotations,
        _meta=template.meta,
    )


def prompt_entry(prompt: Prompt) -> MCPPrompt:
    """What clients are told of a prompt."""
    return MCPPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            MCPPromptArgument(name=argument.name, description=argument.description, required=argument.required)
            for argument in prompt.arguments or ()
        ],
        icons=prompt.icons,
    )
