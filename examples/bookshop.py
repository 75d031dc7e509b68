"""A bookshop as an MCP server: two tools, one of which reports progress, and a resource.

    python examples/bookshop.py            speaks on stdin and stdout, for a client that starts it
    python examples/bookshop.py --http     speaks HTTP on a free port of this machine, and prints its URL

`from bookshop import mcp` gives the server object itself, for a client in the same process. lowlevel.py is the same
shop with handlers written by hand.
"""

import argparse
import socket

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

BOOKS = {"Middlemarch": 3, "The Left Hand of Darkness": 0, "The Name of the Rose": 5, "Northern Lights": 2}

mcp = MCPServer(
    "bookshop",
    version="1.0",
    instructions="Look a book up with find_books before you promise it to anyone.",
)


@mcp.tool()
def find_books(title: str) -> dict[str, int]:
    """Finds books, and how many there are, by a part of their title.

    Args:
        title: A part of the title, in any case.
    """
    found = {name: copies for name, copies in BOOKS.items() if title.lower() in name.lower()}
    if not found:
        raise ToolError(f"There is no book with {title!r} in its title.")
    return found


@mcp.tool()
async def take_stock(ctx: Context) -> str:
    """Counts all books, one title after the other."""
    total = 0
    for done, (name, copies) in enumerate(BOOKS.items(), start=1):
        total += copies
        await ctx.report_progress(done, len(BOOKS), f"counted {name}")
    return f"{total} books in stock"


@mcp.resource("shop://hours")
def hours() -> str:
    """When the shop is open."""
    return "Tuesday to Saturday, 10 to 18"


def serve_http() -> None:
    """Serves any number of clients on a free port. With a port of your own, `mcp.run("streamable-http")` does it."""
    import uvicorn  # here, since a server on stdio starts faster without it

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(mcp.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description="A bookshop that speaks MCP.")
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead of stdin and stdout")
    if parser.parse_args().http:
        serve_http()
    else:
        mcp.run()


if __name__ == "__main__":
    main()
