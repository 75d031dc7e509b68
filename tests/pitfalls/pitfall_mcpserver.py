"""An `MCPServer` whose functions do what the reports are about; the tests reach it in every way there is.

python pitfall_mcpserver.py    serves it on stdin and stdout
"""

import threading
import time
from typing import Any

import anyio
import anyio.to_thread
from pitfall_server import UNDECODABLE_NAME

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import LoggingLevel

mcp = MCPServer("typed", version="1")

gate = threading.Event()
"""Holds up `wait_at_the_gate`, in the process of the tests."""


@mcp.tool()
def echo(text: str) -> str:
    """Answers with its argument."""
    return text


@mcp.tool()
async def echo_later(text: str) -> str:
    """The same on the event loop."""
    return text


@mcp.tool()
def anything(value: Any) -> Any:
    """The same, for values of every kind."""
    return value


@mcp.tool()
def sleep(seconds: float) -> None:
    """Blocks a thread."""
    time.sleep(seconds)


@mcp.tool()
def wait_at_the_gate() -> str:
    """Blocks a thread until the gate opens."""
    assert gate.wait(timeout=60)
    return "through"


@mcp.tool()
async def nap(ctx: Context) -> None:
    """Says that it has begun, and then takes longer than anybody waits."""
    await ctx.report_progress(0)
    await anyio.sleep(600)


@mcp.tool()
async def count(to: int, ctx: Context) -> int:
    """Reports every step of counting to a number."""
    for number in range(to):
        await ctx.report_progress(number + 1, to, f"step {number + 1}")
    return to


@mcp.tool()
def count_in_a_thread(to: int, ctx: Context) -> int:
    """The same, in a worker thread."""
    for number in range(to):
        anyio.from_thread.run(ctx.report_progress, number + 1, to)
    return to


@mcp.tool()
async def log(levels: list[LoggingLevel], ctx: Context) -> str:
    """Logs one message of each level."""
    for level in levels:
        await ctx.log(level, f"of level {level}")  # pyright: ignore[reportDeprecated]
    return "logged"


@mcp.tool()
async def request_of(mark: str, ctx: Context) -> dict[str, str]:
    """Tells what its request was, before and after other requests had their turn."""
    before = ctx.request_id
    await anyio.to_thread.run_sync(lambda: None)
    headers = ctx.headers or {}
    return {"mark": mark, "before": before, "after": ctx.request_id, "header": headers.get("x-mark", "")}


@mcp.tool()
def request_of_a_thread(mark: str, ctx: Context) -> dict[str, str]:
    """The same from a worker thread."""
    headers = ctx.headers or {}
    return {"mark": mark, "before": ctx.request_id, "after": ctx.request_id, "header": headers.get("x-mark", "")}


@mcp.tool()
async def fail_in_a_group(what: str, beside: bool = False) -> str:
    """Fails in a child task, and in another one beside it if it shall."""

    async def fail(problem: str) -> None:
        await anyio.lowlevel.checkpoint()
        raise ToolError(problem)

    async with anyio.create_task_group() as group:
        group.start_soon(fail, what)
        if beside:
            group.start_soon(fail, f"{what} too")
    return "never"


@mcp.tool()
def name_a_file(where: str) -> Any:
    """Says a file name that is no UTF-8, in one of the ways a function has to say something."""
    if where == "exception":
        raise FileNotFoundError(UNDECODABLE_NAME)
    if where == "tool error":
        raise ToolError(UNDECODABLE_NAME)
    if where == "value":
        return {"name": UNDECODABLE_NAME}
    if where == "key":
        return {UNDECODABLE_NAME: 1}
    return UNDECODABLE_NAME


@mcp.tool()
def name_a_file_in_structure() -> dict[str, str]:
    """The same in structured content."""
    return {"name": UNDECODABLE_NAME}


@mcp.tool()
def nest(depth: int) -> list[Any]:
    """Returns a list of any depth."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@mcp.resource("files://undecodable")
def undecodable() -> str:
    """A text that is no UTF-8."""
    return UNDECODABLE_NAME


@mcp.prompt()
def undecodable_prompt() -> str:
    """A prompt that is no UTF-8."""
    return UNDECODABLE_NAME


if __name__ == "__main__":
    mcp.run()
