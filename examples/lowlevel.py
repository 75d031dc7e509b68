"""The bookshop of bookshop.py as a low-level server, which has a handler for each method.

    python examples/lowlevel.py            speaks on stdin and stdout, for a client that starts it
    python examples/lowlevel.py --http     speaks HTTP on a free port of this machine, and prints its URL

`from lowlevel import server` gives the server object itself, for a client in the same process.
"""

import argparse
import socket
from typing import Any

import anyio

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

BOOKS = {"Middlemarch": 3, "The Left Hand of Darkness": 0, "The Name of the Rose": 5, "Northern Lights": 2}

TOOLS = [
    types.Tool(
        name="find_books",
        description="Finds books by a part of their title.",
        input_schema={
            "type": "object",
            "properties": {"title": {"type": "string", "description": "A part of the title, in any case."}},
            "required": ["title"],
        },
        output_schema={
            "type": "object",
            "properties": {"found": {"type": "object", "additionalProperties": {"type": "integer"}}},
            "required": ["found"],
        },
    ),
    types.Tool(
        name="take_stock",
        description="Counts all books, one title after the other.",
        input_schema={"type": "object"},
    ),
]


async def list_tools(ctx: ServerRequestContext, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "find_books":
        return find_books(params.arguments or {})
    if params.name == "take_stock":
        return await take_stock(ctx)
    raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name!r}; this server has find_books and take_stock")


def find_books(arguments: dict[str, Any]) -> types.CallToolResult:
    # A low-level server gets arguments as they came: checking them against the input schema is its own affair.
    title = arguments.get("title")
    if not isinstance(title, str):
        problem = "The argument 'title' must be a string"
        return types.CallToolResult(content=[types.TextContent(text=problem)], is_error=True)
    found = {name: copies for name, copies in BOOKS.items() if title.lower() in name.lower()}
    text = "\n".join(f"{name}: {copies} in stock" for name, copies in found.items()) or "No such book"
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content={"found": found})


async def take_stock(ctx: ServerRequestContext) -> types.CallToolResult:
    total = 0
    for done, (name, copies) in enumerate(BOOKS.items(), start=1):
        total += copies
        await ctx.session.report_progress(done, len(BOOKS), f"counted {name}")
    return types.CallToolResult(content=[types.TextContent(text=f"{total} books in stock")])


server = Server(
    "bookshop",
    version="1.0",
    instructions="Look a book up with find_books before you promise it to anyone.",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)


async def serve_stdio() -> None:
    """Serves the one client at the other end of stdin and stdout, until it goes."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http() -> None:
    """Serves any number of clients over HTTP, until it is interrupted."""
    import uvicorn  # here, since a server on stdio starts faster without it

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description="A bookshop that speaks MCP.")
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead of stdin and stdout")
    if parser.parse_args().http:
        serve_http()
    else:
        anyio.run(serve_stdio)


if __name__ == "__main__":
    main()
