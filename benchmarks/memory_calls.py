"""P7: what a `tools/call` costs in memory, client and server together."""

import time

import anyio
from measure import Effort, Result, latency_figures, run_case
from programs.shout import build_server
from sdk_calls import shout, shout_all

from mcp import Client
from mcp.server import Server


async def sequential_calls(server: Server, effort: Effort) -> Result:
    """Measures one call after the other from one task."""
    latencies: list[float] = []
    async with Client(server) as client:
        await shout_all(client, iter(range(effort.count(1_000))))
        for number in range(effort.count(10_000)):
            began = time.perf_counter()
            await shout(client, number)
            latencies.append(time.perf_counter() - began)
    return Result(latency_figures(latencies))


if __name__ == "__main__":
    run_case({"lowlevel": lambda effort: anyio.run(sequential_calls, build_server(), effort)})
