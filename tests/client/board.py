"""A sprint board that tells of its changes, for clients in the same process, over a pipe and over HTTP.

Run as a program it serves stdio.
"""

from typing import Any

import anyio

from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

SPRINT = "board://sprint"
LISTS: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


def build() -> Server:
    """The server. Its tool `change` publishes what its arguments say: lists by name, or URIs."""
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)

    async def call_tool(
        ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name == "close":
            handler.close()
        for what in (params.arguments or {}).get("what", []):
            await bus.publish(LISTS.get(what) or ResourceUpdated(uri=what))
        return types.CallToolResult(content=[types.TextContent(text=f"{len(handler._streams)} streams")])

    return Server("board", on_call_tool=call_tool, on_subscriptions_listen=handler)


async def main() -> None:
    server = build()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
