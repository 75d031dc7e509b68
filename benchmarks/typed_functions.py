"""P13, and parts of P9 and P9b: what registering a function, calling it and converting its result cost alone."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
from measure import Effort, Result, latency_figures, run_case
from pydantic import BaseModel, create_model

from mcp.server import MCPServer
from mcp.server.mcpserver.utilities.func_metadata import func_metadata


def search(query: str, limit: int = 10, tags: list[str] | None = None) -> str:
    """A tool as most are."""
    return f"{query} {limit} {tags}"


def registering(effort: Effort) -> Result:
    """Measures the decorator."""
    rounds = effort.count(500)
    server: MCPServer = MCPServer("registering", log_level="ERROR")
    server.tool()(search)
    began = time.process_time()
    for number in range(rounds):
        server.tool(name=f"search_{number}")(search)
    return Result({"cpu_us": (time.process_time() - began) / rounds * 1e6})


def structured(effort: Effort) -> Result:
    """Measures converting a model of 20 fields to text and structured content."""
    values: tuple[int | float | str | bool, ...] = (1, 1.5, "text", True)
    fields: dict[str, Any] = {f"field_{number}": (type(values[number % 4]), ...) for number in range(20)}
    model: type[BaseModel] = create_model("Report", **fields)
    report = model(**{f"field_{number}": values[number % 4] for number in range(20)})

    def tool() -> BaseModel:
        return report

    tool.__annotations__["return"] = model
    metadata = func_metadata(tool)
    latencies: list[float] = []
    for _ in range(effort.count(20_000)):
        began = time.perf_counter()
        metadata.convert_result(report)
        latencies.append(time.perf_counter() - began)
    return Result(latency_figures(latencies[len(latencies) // 10 :]))


async def worker(effort: Effort) -> Result:
    """Measures a plain function in a worker thread, one call after the other, beside anyio's own threads."""
    metadata = func_metadata(search)
    arguments = metadata.validate_arguments({"query": "a"})
    ours = await _latencies(lambda: metadata.call_fn(search, False, arguments), effort)
    anyios = await _latencies(lambda: anyio.to_thread.run_sync(search, "a"), effort)
    figures = latency_figures(ours)
    return Result({**figures, "times_anyio": figures["p10_us"] / latency_figures(anyios)["p10_us"]})


async def _latencies(call: Callable[[], Awaitable[Any]], effort: Effort) -> list[float]:
    latencies: list[float] = []
    for _ in range(effort.count(10_000)):
        began = time.perf_counter()
        await call()
        latencies.append(time.perf_counter() - began)
    return latencies[len(latencies) // 10 :]


if __name__ == "__main__":
    run_case({"registering": registering, "structured": structured, "worker": lambda effort: anyio.run(worker, effort)})
