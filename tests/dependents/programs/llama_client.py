"""Lists and calls the tools of a server with llama-index-tools-mcp. Its arguments are a URL, or a command."""

import asyncio
import json
import sys

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main() -> None:
    target, *arguments = sys.argv[1:]
    client = BasicMCPClient(target, args=arguments)
    names = [tool.metadata.name for tool in await McpToolSpec(client=client).to_tool_list_async()]
    result = await client.call_tool("price", {"title": "Dune", "copies": 2})
    failed = await client.call_tool("refuse", {})
    texts = [result.content[0].text, failed.content[0].text]
    print(json.dumps({"names": names, "texts": texts, "structured": result.structured_content}))


asyncio.run(main())
