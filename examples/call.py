"""Calls a tool of any MCP server; without a tool, lists what the server has.

    python examples/call.py http://127.0.0.1:8000/mcp
    python examples/call.py "python examples/bookshop.py" find_books '{"title": "rose"}'

The first argument is the URL of a server, or the command that starts one.
"""

import argparse
import json
import shlex
import sys
from typing import Any

import anyio

from mcp import Client, MCPError, StdioServerParameters, types


async def list_tools(client: Client) -> None:
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            print(f"{tool.name}: {tool.description}")
        cursor = page.next_cursor
        if cursor is None:
            return


async def call_tool(client: Client, name: str, arguments: dict[str, Any]) -> bool:
    result = await client.call_tool(name, arguments, progress_callback=show_progress)
    for block in result.content:
        print(block.text if isinstance(block, types.TextContent) else f"({block.type})")
    return not result.is_error


async def show_progress(progress: float, total: float | None, message: str | None) -> None:
    print(f"[{progress:g}/{total:g}]" if total is not None else f"[{progress:g}]", message or "", file=sys.stderr)


async def run(target: str, tool: str | None, arguments: dict[str, Any]) -> bool:
    command, *args = shlex.split(target)
    server = target if "://" in target else StdioServerParameters(command=command, args=args)
    try:
        async with Client(server) as client:
            if tool is not None:
                return await call_tool(client, tool, arguments)
            await list_tools(client)
            return True
    except MCPError as error:
        print(f"error {error.code}: {error}", file=sys.stderr)
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Calls a tool of an MCP server.")
    parser.add_argument("server", help="the URL of a server, or the command that starts one")
    parser.add_argument("tool", nargs="?", help="the tool to call; left out, the tools are listed")
    parser.add_argument("arguments", nargs="?", default="{}", type=json.loads, help="its arguments, as a JSON object")
    options = parser.parse_args()
    return 0 if anyio.run(run, options.server, options.tool, options.arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
