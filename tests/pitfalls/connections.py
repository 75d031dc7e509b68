"""Ways to reach `pitfall_server` and `pitfall_mcpserver`, and what tests want to know of its process."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pitfall_mcpserver
import pitfall_server
from served_app import served

from mcp import Client, StdioServerParameters, types

Transport = Literal["memory", "stdio", "http"]

HERE = str(Path(__file__).parent)
PROGRAM = str(Path(HERE, "pitfall_server.py"))
TYPED_PROGRAM = str(Path(HERE, "pitfall_mcpserver.py"))
SECONDS_OF_PATIENCE = 20
"""For what happens at once on a machine that has nothing else to do."""


def subprocess_server(name: str = "server", env: dict[str, str] | None = None) -> StdioServerParameters:
    """How to start a server of `pitfall_server` as a process."""
    return StdioServerParameters(command=sys.executable, args=[PROGRAM, name], env=env)


def python(program: str, *args: str) -> StdioServerParameters:
    """How to start a program as a server."""
    return StdioServerParameters(command=sys.executable, args=["-c", program, *args])


@contextmanager
def over_http(app: Any) -> Generator[str, None, None]:
    """The URL of an MCP endpoint in an ASGI application, which is served in a thread of this process."""
    with served(app) as origin:
        yield f"{origin}/mcp"


@contextmanager
def reachable(transport: Transport, name: str = "server") -> Generator[Any, None, None]:
    """What to give a client to reach one of the servers of the programs here, any number of times.

    Args:
        transport: The way to it.
        name: "typed" for the `MCPServer`, else one of `pitfall_server`.
    """
    server: Any = pitfall_mcpserver.mcp if name == "typed" else pitfall_server.SERVERS[name]
    if transport == "http":
        with over_http(server.streamable_http_app()) as url:
            yield url
    elif transport == "memory":
        yield server
    else:
        yield (
            StdioServerParameters(command=sys.executable, args=[TYPED_PROGRAM])
            if name == "typed"
            else (subprocess_server(name))
        )


@asynccontextmanager
async def connected(transport: Transport, name: str = "server", **options: Any) -> AsyncGenerator[Client, None]:
    """A client of one of these servers; see `reachable`."""
    with reachable(transport, name) as target:
        async with Client(target, **options) as client:
            yield client


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers, as text."""
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        return only_text(await client.call_tool(tool, arguments))


def only_text(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def only_message(result: types.GetPromptResult) -> str:
    [message] = result.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what nothing reports."""
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        while not await condition():
            await anyio.sleep(0.01)


def exists(pid: int) -> bool:
    """Whether there is such a process, be it one that exited and waits to be reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def runs(pid: int) -> bool:
    """Whether such a process runs. One that waits to be reaped, perhaps by an init that never does, counts as gone."""
    if sys.platform != "linux":
        return exists(pid)
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
