"""P1 to P4, P10, P12: what a `tools/call` costs an HTTP server, in both eras, and what a long listing costs it."""

import asyncio
from collections.abc import Callable, Sequence
from statistics import median

from handshake_sessions import session_opener
from http_load import Writer, drive, handshake_writer, header_parameter_writer, listing_writer, modern_writer
from measure import Effort, HttpServer, Result, cpu_seconds, http_server, latency_figures, run_case

CONNECTIONS = 16


def calls_with(parts: str, effort: Effort, *options: str) -> Result:
    """Measures 16 keep-alive connections against a server on these uvicorn parts."""
    with http_server("--parts", parts, *options) as server:
        return _cost_figures(server, [modern_writer(server.port)] * CONNECTIONS, effort)


def long_listing(effort: Effort) -> Result:
    """Measures one connection that lists the 500 tools of an MCPServer again and again."""
    with http_server("--functions", "--listed-tools", "500") as server:
        writers = [listing_writer(server.port)]
        server_cost(server, writers, 3)
        cpu, latencies = server_cost(server, writers, effort.count(100))
        return Result({"server_cpu_ms": cpu * 1000, **latency_figures(latencies)})


def handshake_calls(effort: Effort) -> Result:
    """Measures 16 keep-alive connections, each with a session of its own, answered with event streams."""
    with http_server() as server, session_opener(server.port) as opener:
        writers = [handshake_writer(server.port, opener.open()) for _ in range(CONNECTIONS)]
        return _cost_figures(server, writers, effort)


def stateless_calls(effort: Effort) -> Result:
    """Measures 16 keep-alive connections without sessions, answered with JSON."""
    with http_server("--stateless", "--json-response") as server:
        return _cost_figures(server, [handshake_writer(server.port, None)] * CONNECTIONS, effort)


def _cost_figures(server: HttpServer, writers: Sequence[Writer], effort: Effort) -> Result:
    server_cost(server, writers, effort.count(1000))
    cpu, latencies = server_cost(server, writers, effort.count(5000))
    return Result({"server_cpu_s_per_1000": cpu * 1000, **latency_figures(latencies)})


def calls_in_a_long_catalogue(effort: Effort, writer: Callable[[int], Writer], *options: str) -> Result:
    """Compares the server's CPU seconds per call with 5,000 tools listed to those with 10."""
    calls = effort.count(2500)
    with http_server(*options) as short, http_server("--listed-tools", "5000", *options) as long:
        servers = [(server, [writer(server.port)] * 4) for server in (short, long)]
        for server, writers in servers:
            server_cost(server, writers, 200, seconds=1)
        costs = [[server_cost(*each, calls, seconds=1.5)[0] for each in servers] for _ in range(3)]
    of_10, of_5000 = (median(column) for column in zip(*costs, strict=True))
    return Result({"times_the_cpu": of_5000 / of_10, "cpu_ms_per_call_of_5000": of_5000 * 1000})


def server_cost(
    server: HttpServer, writers: Sequence[Writer], calls: int, *, seconds: float = 60
) -> tuple[float, list[float]]:
    """Returns the server's CPU seconds per call, and each call's latency in seconds."""
    before = cpu_seconds(server.pid)
    latencies = asyncio.run(drive(server.port, writers, calls=calls, seconds=seconds))
    return (cpu_seconds(server.pid) - before) / len(latencies), latencies


if __name__ == "__main__":
    run_case(
        {
            "installed": lambda effort: calls_with("installed", effort),
            "plain": lambda effort: calls_with("plain", effort),
            "fast": lambda effort: calls_with("fast", effort),
            "functions": lambda effort: calls_with("installed", effort, "--functions"),
            "functions-plain": lambda effort: calls_with("plain", effort, "--functions"),
            "listing": long_listing,
            "handshake": handshake_calls,
            "handshake-stateless": stateless_calls,
            "catalogue": lambda effort: calls_in_a_long_catalogue(effort, modern_writer),
            "catalogue-headers": lambda effort: calls_in_a_long_catalogue(
                effort, header_parameter_writer, "--header-parameters"
            ),
        }
    )
