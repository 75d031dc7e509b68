"""P12, P20: what the SDK's client adds to the bare HTTP request it makes, however many tools it has seen listed."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median

import anyio
import httpx2
from measure import Effort, HttpServer, Result, http_server, run_case
from sdk_calls import Mode, shout

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

ROUNDS = 5


async def client_cpu(mode: Mode, effort: Effort) -> Result:
    """Measures this process's CPU per call, and per POST of the same bytes to the same server."""
    calls = effort.count(500)
    bare = httpx2.AsyncClient()
    with http_server() as server:
        recorded = await _record_a_call(server, mode)
        async with Client(server.url, mode=mode) as client, bare:
            call, post = partial(shout, client, 1), partial(_post_again, bare, recorded)
            await _cpu_per_call(call, calls)
            await _cpu_per_call(post, calls)
            costs = [(await _cpu_per_call(call, calls), await _cpu_per_call(post, calls)) for _ in range(ROUNDS)]
    sdk, floor = (sum(column) / ROUNDS for column in zip(*costs, strict=True))
    return Result({"cpu_ms_per_call": sdk * 1000, "bare_cpu_ms_per_call": floor * 1000, "times_bare": sdk / floor})


async def calls_in_a_long_catalogue(effort: Effort) -> Result:
    """Compares the client's CPU seconds per call with 5,000 tools listed, each with a header parameter, to 10."""
    calls = effort.count(250)
    options = "--header-parameters", "--listed-tools"
    with http_server(*options, "10") as short, http_server(*options, "5000") as long:
        async with Client(short.url) as of_few, Client(long.url) as of_many:
            for client in (of_few, of_many):
                await client.list_tools()
                await _cpu_per_call(partial(shout, client, 1), calls)
            costs = [
                [await _cpu_per_call(partial(shout, client, 1), calls) for client in (of_few, of_many)]
                for _ in range(ROUNDS)
            ]
    of_10, of_5000 = (median(column) for column in zip(*costs, strict=True))
    return Result({"times_the_cpu": of_5000 / of_10, "cpu_ms_per_call_of_5000": of_5000 * 1000})


async def _record_a_call(server: HttpServer, mode: Mode) -> httpx2.Request:
    """Returns the request that the SDK's client sends for the call."""
    seen: list[httpx2.Request] = []

    async def record(request: httpx2.Request) -> None:
        await request.aread()
        seen.append(request)

    http_client = httpx2.AsyncClient(event_hooks={"request": [record]})
    # The request is posted again, so its session must outlive this client.
    transport = streamable_http_client(server.url, http_client=http_client, terminate_on_close=False)
    async with http_client, Client(transport, mode=mode) as client:
        await shout(client, 1)
    return next(request for request in seen if b"tools/call" in request.content)


async def _post_again(client: httpx2.AsyncClient, recorded: httpx2.Request) -> None:
    answer = await client.post(recorded.url, content=recorded.content, headers=recorded.headers)
    assert b"HELLO 1" in answer.content, answer.content


async def _cpu_per_call(action: Callable[[], Awaitable[None]], calls: int) -> float:
    before = time.process_time()
    for _ in range(calls):
        await action()
    return (time.process_time() - before) / calls


if __name__ == "__main__":
    run_case(
        {
            "http": lambda effort: anyio.run(client_cpu, "auto", effort),
            "catalogue-headers": lambda effort: anyio.run(calls_in_a_long_catalogue, effort),
            "http-handshake": lambda effort: anyio.run(client_cpu, "legacy", effort),
        }
    )
