"""One client, many tasks: calls at the same time, and on asyncio a life that is no task's own."""

import asyncio
import random
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import house
import pytest
from house import Target

from mcp import Client, types
from mcp.server import Server
from mcp.shared.exceptions import ConnectionClosedError

pytestmark = pytest.mark.anyio


@pytest.mark.anyio
async def test_a_hundred_calls_at_once_have_their_own_answers(target: Target) -> None:
    sums: dict[int, Any] = {}

    async def call(client: Client, number: int) -> None:
        sums[number] = (await client.call_tool("add", {"a": number, "b": 1000})).structured_content

    async with Client(target) as client:
        await client.list_tools()
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(call, client, number)
    assert sums == {number: {"sum": number + 1000} for number in range(100)}


async def test_a_call_that_waits_holds_up_no_other(target: Target) -> None:
    async with Client(target) as client, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(client.call_tool, "wait")
        for number in range(5):
            assert (await client.call_tool("add", {"a": number, "b": 0})).structured_content == {"sum": number}
        group.cancel_scope.cancel()


# On asyncio a client is held by a task of its own.


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


async def test_a_client_may_be_entered_used_and_left_in_different_tasks(target: Target) -> None:
    loop = asyncio.get_running_loop()
    before = asyncio.all_tasks()
    client = await loop.create_task(Client(target).__aenter__())
    results = await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 1}) for number in range(3)))
    assert [result.structured_content for result in results] == [{"sum": 1}, {"sum": 2}, {"sum": 3}]
    await loop.create_task(client.__aexit__(None, None, None))
    assert asyncio.all_tasks() == before


async def test_clients_may_be_left_in_any_order(house_url: str) -> None:
    order = random.Random(7)
    clients = [Client(house_url if number % 2 else house.build()) for number in range(10)]
    before = asyncio.all_tasks()
    for client in order.sample(clients, len(clients)):
        await asyncio.create_task(client.__aenter__())
    for left, client in enumerate(order.sample(clients, len(clients))):
        assert (await client.call_tool("add", {"a": left, "b": 0})).structured_content == {"sum": left}
        await asyncio.create_task(client.__aexit__(None, None, None))
    assert asyncio.all_tasks() == before


async def test_clients_may_come_and_go_at_the_same_time(house_url: str) -> None:
    async def visit(number: int) -> Any:
        async with Client(house_url if number % 2 else house.build()) as client:
            return (await client.call_tool("add", {"a": number, "b": 0})).structured_content

    assert await asyncio.gather(*(visit(number) for number in range(20))) == [{"sum": number} for number in range(20)]


async def test_calls_that_are_pending_when_a_client_is_left_fail(target: Target) -> None:
    begun = asyncio.Semaphore(0)

    async def count(progress: float, total: float | None, message: str | None) -> None:
        begun.release()

    client = await Client(target).__aenter__()
    calls = [asyncio.create_task(client.call_tool("wait", progress_callback=count)) for _ in range(3)]
    for _ in calls:
        await begun.acquire()
    await client.__aexit__(None, None, None)
    await asyncio.wait(calls, timeout=2)
    assert [type(call.exception()) if call.done() else None for call in calls] == [ConnectionClosedError] * 3


async def test_leaving_a_client_from_two_tasks_at_once_leaves_it_once() -> None:
    left: list[bool] = []

    class Held:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *_: object) -> None:
            await asyncio.sleep(0)
            left.append(True)

    server = Server("house", lifespan=lambda _: Held())
    client = await Client(server).__aenter__()
    await asyncio.gather(client.__aexit__(None, None, None), client.__aexit__(None, None, None))
    assert left == [True]


async def test_a_generator_may_hold_a_client_whoever_closes_it(target: Target) -> None:
    async def clients() -> AsyncGenerator[Client, None]:
        async with Client(target) as client:
            yield client

    generator = clients()
    client = await asyncio.create_task(anext_of(generator))
    assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
    await asyncio.create_task(generator.aclose())


async def anext_of(generator: AsyncGenerator[Client, None]) -> Client:
    return await generator.__anext__()


async def test_a_task_that_leaves_a_client_is_not_left_cancelled(target: Target) -> None:
    async def visit() -> str:
        async with Client(target) as client:
            await client.call_tool("add", {"a": 1, "b": 1})
        await asyncio.sleep(0)
        return "done"

    assert await asyncio.create_task(visit()) == "done"


async def test_a_cancelled_task_leaves_its_client_and_is_cancelled(target: Target) -> None:
    waiting = asyncio.Event()
    before = asyncio.all_tasks()

    async def visit() -> None:
        async with Client(target) as client:
            waiting.set()
            await client.call_tool("wait")

    task = asyncio.create_task(visit())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_a_callback_that_leaves_the_client_is_no_deadlock() -> None:
    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1)
        return types.CallToolResult(content=[])

    client = await Client(Server("house", on_call_tool=call_tool)).__aenter__()

    async def leave(progress: float, total: float | None, message: str | None) -> None:
        await client.__aexit__(None, None, None)

    with anyio.fail_after(5):
        try:
            await client.call_tool("any", progress_callback=leave)
        except ConnectionClosedError:
            pass
    with pytest.raises(RuntimeError, match="Client must be used within"):
        await client.list_tools()
