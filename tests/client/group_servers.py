"""Small servers for session groups. Run as a program, each serves stdio under the name it is given."""

import os
import sys
from typing import Any

import anyio

from mcp import StdioServerParameters, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any, Any]


def shop(
    name: str, *, tools: tuple[str, ...] = (), resources: tuple[str, ...] = (), prompts: tuple[str, ...] = ()
) -> Server[Any]:
    """A server that offers these names, a tool a page. A tool says whose it is, who calls it, and in which process
    it runs; the tool "stall" says nothing."""

    async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
        index = int(params.cursor) if params and params.cursor else 0
        return types.ListToolsResult(
            tools=[types.Tool(name=tools[index], input_schema={"type": "object"})],
            next_cursor=str(index + 1) if index + 1 < len(tools) else None,
        )

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1)
        if params.name == "stall":
            await anyio.sleep_forever()
        client = ctx.session.client_params
        said = f"{name} {params.name} {client and client.client_info.name} {os.getpid()}"
        return types.CallToolResult(content=[types.TextContent(text=said)])

    async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
        found = [types.Resource(uri=f"shop://{name}/{one}", name=one) for one in resources]
        return types.ListResourcesResult(resources=found)

    async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=one) for one in prompts])

    return Server(
        name,
        on_list_tools=list_tools if tools else None,
        on_call_tool=call_tool if tools else None,
        on_list_resources=list_resources if resources else None,
        on_list_prompts=list_prompts if prompts else None,
    )


def process(name: str, *tools: str) -> StdioServerParameters:
    """A server with these tools, as a process to start."""
    return StdioServerParameters(command=sys.executable, args=[__file__, name, *tools])


async def main(name: str, tools: tuple[str, ...]) -> None:
    server = shop(name, tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], tuple(sys.argv[2:]))
