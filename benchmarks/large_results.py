"""P21: one big result, and whether its cost grows no faster than its size."""

import sys
import time
from collections.abc import Callable

import anyio
import httpx2
from measure import PROGRAMS, Effort, Result, cpu_seconds, http_server, run_case
from sdk_calls import Mode

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

MEGABYTE = 1_000_000
EVENT_LIMIT = 64 * MEGABYTE
PATIENCE = 120


async def over_stdio(mode: Mode, effort: Effort) -> Result:
    """Compares the time of 24 MB to that of 3 MB."""
    server = StdioServerParameters(command=sys.executable, args=[str(PROGRAMS / "stdio_server.py")])
    async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as client:
        return await _compare(client, 3, 24, time.perf_counter)


async def over_http(mode: Mode, media_type: str, event_limit: int, effort: Effort) -> Result:
    """Compares the CPU of both ends for 8 MB to that for 1 MB.

    The answers come in this media type; the client takes no event larger than the limit, in bytes.
    """
    seen: list[str] = []

    async def record(response: httpx2.Response) -> None:
        if response.request.method == "POST" and response.status_code == 200:
            seen.append(response.headers["content-type"])

    streamed = media_type == "text/event-stream"
    http_client = httpx2.AsyncClient(timeout=PATIENCE, event_hooks={"response": [record]})
    with http_server(*(() if streamed else ("--json-response",))) as server:

        def cpu_of_both() -> float:
            return time.process_time() + cpu_seconds(server.pid)

        transport = streamable_http_client(server.url, http_client=http_client, max_sse_event_size=event_limit)
        async with http_client, Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            result = await _compare(client, 1, 8, cpu_of_both, progress=streamed)
    assert seen[-1].startswith(media_type), f"the answers came as {seen[-1]}"
    return result


async def _compare(
    client: Client, small: int, large: int, clock: Callable[[], float], *, progress: bool = False
) -> Result:
    costs: dict[int, float] = {}
    try:
        for megabytes, rounds in ((small, 8), (large, 3)):
            costs[megabytes] = min([await _cost(client, megabytes, clock, progress) for _ in range(rounds)])
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        return Result(failures={"times_the_small": reason, "seconds": reason})
    return Result({"times_the_small": costs[large] / costs[small], "seconds": costs[large]})


async def _cost(client: Client, megabytes: int, clock: Callable[[], float], progress: bool) -> float:
    """Returns what the call took of the clock; asking for progress makes an HTTP server answer with a stream."""
    began = clock()
    result = await client.call_tool("large", {"megabytes": megabytes}, progress_callback=_ignore if progress else None)
    cost = clock() - began
    content = result.content[0]
    assert isinstance(content, TextContent)
    assert len(content.text) == megabytes * MEGABYTE
    return cost


async def _ignore(progress: float, total: float | None, message: str | None) -> None:
    return None


if __name__ == "__main__":
    run_case(
        {
            "stdio": lambda effort: anyio.run(over_stdio, "auto", effort),
            "stdio-handshake": lambda effort: anyio.run(over_stdio, "legacy", effort),
            "http-json": lambda effort: anyio.run(over_http, "auto", "application/json", EVENT_LIMIT, effort),
            "http-sse": lambda effort: anyio.run(over_http, "auto", "text/event-stream", EVENT_LIMIT, effort),
            "http-json-handshake": lambda effort: anyio.run(
                over_http, "legacy", "application/json", EVENT_LIMIT, effort
            ),
            "http-sse-handshake": lambda effort: anyio.run(
                over_http, "legacy", "text/event-stream", EVENT_LIMIT, effort
            ),
            "http-sse-default": lambda effort: anyio.run(over_http, "auto", "text/event-stream", 1 << 20, effort),
        }
    )
