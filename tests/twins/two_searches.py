"""Two servers that each call a tool `search`. Run as a program, the one that is named serves stdio."""

import sys
from typing import Any

import anyio
from shopfront import Context, shopfront

from mcp import StdioServerParameters, types
from mcp.server import Server
from mcp.server.stdio import stdio_server


async def list_hours(ctx: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="archive://hours", name="hours")])


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="cite")])


def searcher(name: str) -> Server[Any]:
    """The archive has opening hours and a prompt besides its search; the other has not."""

    async def search(ctx: Context, arguments: dict[str, Any]) -> str:
        return f"{name} {ctx.session.protocol_version} {arguments['for']}"

    if name == "Archive":
        return shopfront(name, search, on_list_resources=list_hours, on_list_prompts=list_prompts)
    return shopfront(name, search)


def process(name: str) -> StdioServerParameters:
    """The server as a process to start."""
    return StdioServerParameters(command=sys.executable, args=[__file__, name])


async def main(name: str) -> None:
    server = searcher(name)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
