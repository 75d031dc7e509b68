"""P21: one big result, and whether its cost grows no faster than its size."""

import sys
import time

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from measure import PROGRAMS, Effort, Result, http_server, run_case

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

MEGABYTE = 1_000_000
EVENT_LIMIT = 64 * MEGABYTE
PATIENCE = 120


async def over_stdio(effort: Effort) -> Result:
    """Compares 24 MB to 3 MB."""
    server = StdioServerParameters(command=sys.executable, args=[str(PROGRAMS / "stdio_server.py")])
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        return await _compare(client, 3, 24, progress=False)


async def over_http(media_type: str, event_limit: int, effort: Effort) -> Result:
    """Compares 8 MB to 1 MB, answered in this media type, with this limit on one event at the client."""
    seen: list[str] = []

    async def record(response: httpx2.Response) -> None:
        seen.append(response.headers["content-type"])

    streamed = media_type == "text/event-stream"
    with http_server(*(() if streamed else ("--json-response",))) as server:
        async with httpx2.AsyncClient(timeout=PATIENCE, event_hooks={"response": [record]}) as http_client:
            transport = streamable_http_client(server.url, http_client=http_client, max_sse_event_size=event_limit)
            async with Client(transport, read_timeout_seconds=PATIENCE) as client:
                result = await _compare(client, 1, 8, progress=streamed)
    assert seen[-1].startswith(media_type), f"the answers came as {seen[-1]}"
    return result


async def _compare(client: Client, small: int, large: int, *, progress: bool) -> Result:
    try:
        small_seconds = min([await _seconds(client, small, progress) for _ in range(8)])
        large_seconds = min([await _seconds(client, large, progress) for _ in range(3)])
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        return Result(failures={"times_the_small": reason, "seconds": reason})
    return Result({"times_the_small": large_seconds / small_seconds, "seconds": large_seconds})


async def _seconds(client: Client, megabytes: int, progress: bool) -> float:
    """Returns how long the call took; asking for progress makes an HTTP server answer with a stream."""

    async def ignore(progress: float, total: float | None, message: str | None) -> None:
        return None

    callback = ignore if progress else None
    began = time.perf_counter()
    result = await client.call_tool("large", {"megabytes": megabytes}, progress_callback=callback)
    seconds = time.perf_counter() - began
    content = result.content[0]
    assert isinstance(content, TextContent)
    assert len(content.text) == megabytes * MEGABYTE
    return seconds


if __name__ == "__main__":
    run_case(
        {
            "stdio": lambda effort: anyio.run(over_stdio, effort),
            "http-json": lambda effort: anyio.run(over_http, "application/json", EVENT_LIMIT, effort),
            "http-sse": lambda effort: anyio.run(over_http, "text/event-stream", EVENT_LIMIT, effort),
            "http-sse-default": lambda effort: anyio.run(over_http, "text/event-stream", 1 << 20, effort),
        }
    )
