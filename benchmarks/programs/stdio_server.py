"""Serves the `shout` server over standard input and output."""

import anyio
from shout import build_server

from mcp.server.stdio import stdio_server


async def main() -> None:
    server = build_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
