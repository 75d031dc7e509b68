"""P7 to P9b, P11: what a call or a long listing costs in memory, client and server together."""

import time
from collections.abc import Awaitable, Callable

import anyio
from measure import Result, latency_figures, run_case
from programs.shout import build_function_server, build_server
from sdk_calls import shout

from mcp import Client
from mcp.server import MCPServer, Server

FIELDS = 20
LISTED = 500

Request = Callable[[Client, int], Awaitable[None]]


async def sequential(server: Server | MCPServer, request: Request, requests: int) -> Result:
    """Measures one request after the other from one task, after a tenth as many that do not count."""
    latencies: list[float] = []
    async with Client(server) as client:
        for number in range(requests // 10):
            await request(client, number)
        for number in range(requests):
            began = time.perf_counter()
            await request(client, number)
            latencies.append(time.perf_counter() - began)
    return Result(latency_figures(latencies))


async def shout_in_turn(client: Client, number: int) -> None:
    """Calls the asynchronous function."""
    await shout(client, number, "shout_in_turn")


async def report(client: Client, number: int) -> None:
    """Calls the function that returns twenty fields."""
    result = await client.call_tool("report", {})
    assert len(result.structured_content or ()) == FIELDS


async def list_500(client: Client, number: int) -> None:
    """Lists 500 tools, and takes no answer from the client's cache."""
    listing = await client.list_tools(cache_mode="bypass")
    assert len(listing.tools) == LISTED


if __name__ == "__main__":
    run_case(
        {
            "lowlevel": lambda effort: anyio.run(sequential, build_server(), shout, effort.count(10_000)),
            "async-function": lambda effort: anyio.run(
                sequential, build_function_server(), shout_in_turn, effort.count(10_000)
            ),
            "function": lambda effort: anyio.run(sequential, build_function_server(), shout, effort.count(10_000)),
            "report": lambda effort: anyio.run(sequential, build_function_server(), report, effort.count(5_000)),
            "listing": lambda effort: anyio.run(sequential, build_function_server(LISTED), list_500, effort.count(250)),
        }
    )
