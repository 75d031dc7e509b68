"""P1, P2, P12: what a `tools/call` of the 2026-07-28 revision costs an HTTP server."""

import asyncio
from statistics import median

from http_load import drive
from measure import Effort, HttpServer, Result, cpu_seconds, http_server, latency_figures, run_case


def calls_with(parts: str, effort: Effort) -> Result:
    """Measures 16 keep-alive connections against a server on these uvicorn parts."""
    with http_server("--parts", parts) as server:
        server_cost(server, effort.count(1000))
        cpu, latencies = server_cost(server, effort.count(5000))
    return Result({"server_cpu_s_per_1000": cpu * 1000, **latency_figures(latencies)})


def calls_in_a_long_catalogue(effort: Effort) -> Result:
    """Compares the server's CPU seconds per call with 5,000 tools listed to those with 10."""
    calls = effort.count(2500)
    with http_server() as short, http_server("--listed-tools", "5000") as long:
        for server in (short, long):
            server_cost(server, 200, connections=4, seconds=1)
        costs = [
            [server_cost(server, calls, connections=4, seconds=1.5)[0] for server in (short, long)] for _ in range(3)
        ]
    of_10, of_5000 = (median(column) for column in zip(*costs, strict=True))
    return Result({"times_the_cpu": of_5000 / of_10, "cpu_ms_per_call_of_5000": of_5000 * 1000})


def server_cost(
    server: HttpServer, calls: int, *, connections: int = 16, seconds: float = 60
) -> tuple[float, list[float]]:
    """Returns the server's CPU seconds per call, and each call's latency in seconds."""
    before = cpu_seconds(server.pid)
    latencies = asyncio.run(drive(server.port, calls=calls, connections=connections, seconds=seconds))
    return (cpu_seconds(server.pid) - before) / len(latencies), latencies


if __name__ == "__main__":
    run_case(
        {
            "installed": lambda effort: calls_with("installed", effort),
            "plain": lambda effort: calls_with("plain", effort),
            "fast": lambda effort: calls_with("fast", effort),
            "catalogue": calls_in_a_long_catalogue,
        }
    )
