"""P5, P6, P16: what a `tools/call` costs over standard input and output, in both eras."""

import sys
import time

import anyio
import pipe_load
from measure import PROGRAMS, Effort, Result, cpu_seconds, percentile, run_case, running
from sdk_calls import Mode, shout, shout_all

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=sys.executable, args=[str(PROGRAMS / "stdio_server.py")])


def server_alone(in_flight: int, calls: int) -> Result:
    """Measures the server's CPU seconds under a driver that writes raw lines."""
    with running("stdio_server.py") as server:
        pipe_load.drive(server, calls=calls // 5, in_flight=in_flight)
        before = cpu_seconds(server.pid)
        seconds = pipe_load.drive(server, calls=calls, in_flight=in_flight)
        cpu = cpu_seconds(server.pid) - before
    return Result({"server_cpu_s_per_1000": cpu / calls * 1000, "seconds_per_1000": seconds / calls * 1000})


async def both_ends(mode: Mode, effort: Effort) -> Result:
    """Measures the SDK's client against the SDK's server with 64 calls in flight."""
    calls = effort.count(10_000)
    async with Client(SERVER, mode=mode) as client:
        await shout_all(client, iter(range(calls // 10)))
        numbers, began = iter(range(calls)), time.perf_counter()
        async with anyio.create_task_group() as callers:
            for _ in range(64):
                callers.start_soon(shout_all, client, numbers)
        seconds = time.perf_counter() - began
    return Result({"seconds_per_1000": seconds / calls * 1000, "calls_per_s": calls / seconds})


async def connect(mode: Mode, effort: Effort) -> Result:
    """Measures the time from starting the server's process to its first result."""
    latencies: list[float] = []
    for number in range(3 if effort.quick else 8):
        began = time.perf_counter()
        async with Client(SERVER, mode=mode) as client:
            await shout(client, number)
            latencies.append(time.perf_counter() - began)
    return Result({f"p{percent}_ms": percentile(latencies, percent) * 1000 for percent in (10, 50)})


if __name__ == "__main__":
    run_case(
        {
            "sequential": lambda effort: server_alone(1, effort.count(5_000)),
            "in-flight": lambda effort: server_alone(64, effort.count(10_000)),
            "both-ends": lambda effort: anyio.run(both_ends, "auto", effort),
            "both-ends-handshake": lambda effort: anyio.run(both_ends, "legacy", effort),
            "connect": lambda effort: anyio.run(connect, "auto", effort),
            "connect-handshake": lambda effort: anyio.run(connect, "legacy", effort),
        }
    )
