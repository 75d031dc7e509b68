"""Lists and calls the tools of a server with openai-agents. Its arguments are a URL, or a command."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main() -> None:
    target, *arguments = sys.argv[1:]
    if target.startswith("http"):
        server = MCPServerStreamableHttp(params={"url": target})
    else:
        server = MCPServerStdio(params={"command": target, "args": arguments})
    async with server:
        names = [tool.name for tool in await server.list_tools()]
        result = await server.call_tool("price", {"title": "Dune", "copies": 2})
        failed = await server.call_tool("refuse", {})
    texts = [result.content[0].text, failed.content[0].text]
    print(json.dumps({"names": names, "texts": texts, "structured": result.structured_content}))


asyncio.run(main())
