"""What the twins of the documentation's programs share: a server made of tools, and what they say."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from mcp import types
from mcp.server import Server, ServerRequestContext

Context = ServerRequestContext[Any, Any]
Tool = Callable[[Context, dict[str, Any]], Awaitable[str]]


def shopfront(name: str, *tools: Tool, **handlers: Any) -> Server[Any]:
    """A server whose tools are functions of the context and the arguments, known by their names."""
    known = {tool.__name__: tool for tool in tools}

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=one, input_schema={"type": "object"}) for one in known])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        said = await known[params.name](ctx, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=said)])

    return Server(name, on_list_tools=list_tools, on_call_tool=call_tool, **handlers)


def said(result: types.CallToolResult) -> str:
    """The one text of a result."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error
    return block.text


class Heard:
    """A callback that keeps what it is told. What belongs to no request may arrive after the answer."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def __call__(self, told: Any) -> None:
        self.told.append(told)

    async def until(self, count: int) -> None:
        """Returns when it has been told so much."""
        with anyio.fail_after(10):
            while len(self.told) < count:
                await anyio.sleep(0.001)
