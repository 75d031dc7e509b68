"""Cancelled connections, trio's rules, and context variables: what a client leaves behind, and where it lives."""

import asyncio
import contextvars
import gc
import socket
import sys
import weakref
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import house
import pytest
import trio
from house import Target

from mcp import Client, MCPError, StdioServerParameters, types
from mcp.server import Server

# Cancelled connections.


@pytest.fixture
def unanswering_url() -> Iterator[str]:
    """An endpoint that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@asynccontextmanager
async def endless_start(server: Server[None]) -> AsyncGenerator[None, None]:
    await anyio.sleep_forever()
    yield


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["memory", "stdio", "http"])
async def test_a_cancelled_connection_leaves_nothing_behind(
    where: str, unanswering_url: str, anyio_backend_name: str
) -> None:
    silent: dict[str, Target] = {
        "memory": Server("house", lifespan=endless_start),
        "stdio": StdioServerParameters(command=sys.executable, args=["-S", "-c", "import sys; sys.stdin.read()"]),
        "http": unanswering_url,
    }
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()

    async def connect() -> "weakref.ref[Client]":
        client = Client(silent[where])
        with anyio.move_on_after(0.05) as scope:
            await client.__aenter__()
        assert scope.cancelled_caught
        return weakref.ref(client)

    client = await connect()
    await anyio.sleep(0)  # Until then the event loop itself holds the cancellation, and with it its traceback.
    gc.collect()
    assert client() is None
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


@pytest.mark.anyio
async def test_a_client_that_is_left_while_cancelled_ends_its_server(target: Target, anyio_backend_name: str) -> None:
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()
    with anyio.CancelScope() as scope:
        async with Client(target) as client:
            scope.cancel()
            await client.call_tool("wait")
    assert scope.cancelled_caught
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


@pytest.mark.anyio
async def test_entering_while_cancelled_leaves_nothing_behind(house_url: str, anyio_backend_name: str) -> None:
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with Client(house_url):
            pass
    assert scope.cancelled_caught
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


# Trio.


def test_on_trio_a_client_lives_in_the_nursery_of_the_task_that_entered_it() -> None:
    sums: list[object] = []

    async def call(client: Client, number: int) -> None:
        sums.append((await client.call_tool("add", {"a": number, "b": 1})).structured_content)

    async def main() -> None:
        async with Client(house.build()) as client, trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(call, client, number)

    trio.run(main)
    assert sorted(sums, key=str) == [{"sum": 1}, {"sum": 2}, {"sum": 3}]


def test_on_trio_a_nursery_wraps_its_own_tasks_failures_and_a_client_nothing() -> None:
    async def fail(client: Client) -> None:
        await client.call_tool("refuse")

    async def main() -> None:
        async with trio.open_nursery() as nursery, Client(house.build()) as client:
            nursery.start_soon(fail, client)
            await trio.sleep_forever()

    with pytest.raises(BaseException) as raised:
        trio.run(main)
    [error] = getattr(raised.value, "exceptions")  # noqa: B009 (Python 3.10 has the type elsewhere)
    assert isinstance(error, MCPError)
    assert str(error) == "Closed on Sundays"


# Context variables.

visitor = contextvars.ContextVar("visitor", default="nobody")


@pytest.mark.anyio
async def test_context_variables_reach_a_server_in_this_process_and_do_not_come_back() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server[None]) -> AsyncGenerator[None, None]:
        seen.append(visitor.get())
        visitor.set("lifespan")
        yield

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(visitor.get())
        visitor.set("handler")
        await anyio.sleep(0)
        seen.append(visitor.get())
        return types.CallToolResult(content=[])

    visitor.set("opener")
    async with Client(Server("house", lifespan=lifespan, on_call_tool=call_tool)) as client:
        visitor.set("caller")
        await client.call_tool("any")
        assert visitor.get() == "caller"
    assert seen == ["opener", "caller", "handler"]
