"""Listings that are made once, and again when something has changed."""

from collections.abc import Callable
from operator import is_
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from mcp.protocol.results import KeptResult
from mcp.server.mcpserver.edits import Edits, Watch
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


_MUTABLE: Final = ("meta", "annotations", "icons", "parameters", "output_schema", "arguments")
"""The attributes of what is listed that a program can change without setting them."""


class Listing(Generic[ItemT]):
    """A listing as clients get it, encoded once for each revision, and made anew when something has changed.

    Args:
        items: What is listed now, by the names that it was added under.
        edits: The changes of all items of this kind.
        result: The result of the listing.
    """

    def __init__(
        self,
        items: Callable[[], dict[str, ItemT]],
        edits: Edits,
        result: Callable[[dict[str, ItemT]], BaseModel],
    ) -> None:
        self._items = items
        self._edits = edits
        self._result = result
        self._made: _Made | None = None

    def current(self) -> KeptResult:
        """The listing. Several threads may ask for it, and for what they have added it is never too old."""
        # Before the items are looked at: what changes from now on makes another mark.
        mark = self._edits.mark
        items = self._items()
        made = self._made
        if made is None or not made.still_holds(mark, items):
            made = self._made = _Made(mark, items, self._result)
        return made.result


class _Made:
    """A listing that was made, and what it was made of."""

    __slots__ = ("_items", "_mark", "_names", "_watch", "result")

    def __init__(self, mark: object, items: dict[str, Any], result: Callable[[dict[str, Any]], BaseModel]) -> None:
        self._mark = mark
        self._names = list(items)
        self._items = list(items.values())
        held: list[dict[str, Any]] = [vars(item) for item in self._items]
        self._watch = Watch(own.get(name) for own in held for name in _MUTABLE)
        self.result = KeptResult(result(items))

    def still_holds(self, mark: object, items: dict[str, Any]) -> bool:
        # Items are compared by what they are: models that are equal may differ in what no field says.
        return (
            mark is self._mark
            and self._names == list(items)
            and all(map(is_, self._items, items.values()))
            and self._watch.is_unchanged()
        )


# Everything is listed under the name that it was added under, since that is where clients find it.


def tool_entry(tool: Tool, name: str) -> MCPTool:
    """What clients are told of a tool."""
    return MCPTool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.peek(),
        output_schema=tool.peek_output(),
        annotations=tool.annotations,
        icons=tool.icons,
        _meta=tool.meta,
    )


def resource_entry(resource: Resource, uri: str) -> MCPResource:
    """What clients are told of a resource."""
    return MCPResource(
        uri=uri,
        name=resource.name or uri,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
        size=resource.known_size,
        icons=resource.icons,
        annotations=resource.annotations,
        _meta=resource.meta,
    )


def template_entry(template: ResourceTemplate, uri_template: str) -> MCPResourceTemplate:
    """What clients are told of a resource template."""
    return MCPResourceTemplate(
        uri_template=uri_template,
        name=template.name,
        title=template.title,
        description=template.description,
        mime_type=template.mime_type,
        icons=template.icons,
        annotations=template.annotations,
        _meta=template.meta,
    )


def prompt_entry(prompt: Prompt, name: str) -> MCPPrompt:
    """What clients are told of a prompt."""
    return MCPPrompt(
        name=name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            MCPPromptArgument(name=argument.name, description=argument.description, required=argument.required)
            for argument in prompt.peek() or ()
        ],
        icons=prompt.icons,
    )
