# isort: skip_file
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportReturnType=false
"""A server on the Python SDK 1.x for our client.

    python python_v1_server.py stdio|http|http-stateless|http-json|sse

Over HTTP it listens on a free loopback port, prints its URL as the first line, and ends when its standard input
does.
"""

import socket
import sys
import threading

import anyio
import uvicorn
from pydantic import BaseModel

from mcp import types
from mcp.server.fastmcp import Context, FastMCP


class Person(BaseModel):
    name: str


class Book(BaseModel):
    title: str
    pages: int


kind = sys.argv[1]
server = FastMCP(
    "python-v1",
    instructions="An older server",
    log_level="CRITICAL",
    stateless_http="stateless" in kind,
    json_response="json" in kind,
)


@server.tool()
def find_book(title: str) -> Book:
    """Finds a book."""
    return Book(title=title, pages=412)


@server.tool()
async def ask_model(question: str, ctx: Context) -> str:
    """Asks the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=question))
    answer = await ctx.session.create_message([message], max_tokens=50, related_request_id=ctx.request_id)
    return f"{answer.model} said {answer.content.text}"


@server.tool()
async def ask_user(ctx: Context) -> str:
    """Asks the user for a name."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action} {answer.data.name}"


@server.tool()
async def folders(ctx: Context) -> str:
    """Lists the client's folders."""
    return " ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Counts, reports each step and logs the end."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    await ctx.info(f"counted {steps}")
    return f"counted {steps}"


@server.tool()
async def change_board(ctx: Context) -> str:
    """Tells the client that the board and the tools changed."""
    await ctx.session.send_resource_updated("workshop://board")
    await ctx.session.send_tool_list_changed()
    return "changed"


cancelled = []


@server.tool()
async def wait_for_cancellation(ctx: Context) -> str:
    """Reports that it runs, and does not end by itself."""
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    finally:
        cancelled.append(ctx.request_id)


@server.tool()
async def count_cancelled() -> str:
    """Tells how many calls were cancelled."""
    return str(len(cancelled))


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


@server.resource("workshop://board", mime_type="text/plain")
def board() -> str:
    return "Grüße, 世界"


@server.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Greet {name}"


def serve_http() -> None:
    app, path = (server.sse_app(), "/sse") if kind == "sse" else (server.streamable_http_app(), "/mcp")
    http = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))

    def stop_at_end_of_input() -> None:
        sys.stdin.read()
        http.should_exit = True

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
        http.run(sockets=[listener])


if __name__ == "__main__":
    if kind == "stdio":
        server.run()
    else:
        serve_http()
