"""Reports about handlers that take their time, and what waits for them that should not."""

from functools import partial

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, Transport, connected, only_text, reachable, text_of
from eras import MODERN, Era
from pitfall_server import Context

from mcp import Client, types
from mcp.server import Server

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# B14


async def is_there(client: Client, era: Era) -> None:
    """Pings; 2026-07-28 has no such request, and anything that is answered at once takes its place."""
    if era is MODERN:
        await client.list_tools()
    else:
        await client.session.send_ping()


class Nap:
    """A call that takes longer than anybody waits."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._begun = anyio.Event()

    async def take(self) -> None:
        await self._client.call_tool("nap", progress_callback=self._begin)

    async def _begin(self, progress: float, total: float | None, message: str | None) -> None:
        self._begun.set()

    async def begun(self) -> None:
        await self._begun.wait()


async def test_b14_a_slow_handler_does_not_keep_the_server_from_reading(transport: Transport, era: Era) -> None:
    """While a tool was busy nothing was read, and pings timed out, one after the other."""
    async with connected(transport, mode=era.mode) as client, anyio.create_task_group() as group:
        nap = Nap(client)
        group.start_soon(nap.take)
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            await nap.begun()
            for _ in range(50):
                await is_there(client, era)
        group.cancel_scope.cancel()


@asyncio_only
async def test_b14_nor_do_many(transport: Transport, era: Era) -> None:
    """The same with many slow handlers, and with pings that come together."""
    async with connected(transport, mode=era.mode) as client, anyio.create_task_group() as group:
        naps = [Nap(client) for _ in range(20)]
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            for nap in naps:
                group.start_soon(nap.take)
            for nap in naps:
                await nap.begun()
            async with anyio.create_task_group() as pings:
                for _ in range(50):
                    pings.start_soon(is_there, client, era)
            assert await text_of(client, "echo", text="next") == "next"
        group.cancel_scope.cancel()


# B42


def relay_to(client: Client) -> Server:
    """A server whose tool works in a thread, and from there calls a tool of another server."""

    def work() -> str:
        result = anyio.from_thread.run(client.call_tool, "measure")
        assert result.structured_content == {"weather": "rain"}
        return only_text(result)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        said = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        return types.CallToolResult(content=[types.TextContent(text=said)], structured_content={"weather": said})

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        schema = {"type": "object", "required": ["weather"]}
        tool = types.Tool(name="relay", input_schema={"type": "object"}, output_schema=schema)
        return types.ListToolsResult(tools=[tool])

    return Server("relay", on_call_tool=call_tool, on_list_tools=list_tools)


async def test_b42_tools_in_threads_that_call_other_servers_all_finish(transport: Transport, mode: str) -> None:
    """More of them than there are threads: each held a thread, and waited for work that needed one."""
    said: list[str] = []

    async def call(client: Client) -> None:
        said.append(only_text(await client.call_tool("relay")))

    with reachable(transport) as target:
        async with Client(target, mode=mode) as inner, Client(relay_to(inner), mode=mode) as outer:
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                async with anyio.create_task_group() as group:
                    for _ in range(60):
                        group.start_soon(call, outer)

    assert said == ["rain"] * 60


@asyncio_only
async def test_b42_nothing_needs_a_thread_while_all_are_taken(transport: Transport, mode: str) -> None:
    """The same where tools hold every thread for good, as those that wait for a person do."""
    release = anyio.Event()
    threads = int(anyio.to_thread.current_default_thread_limiter().total_tokens)
    block = partial(anyio.to_thread.run_sync, partial(anyio.from_thread.run, release.wait))

    with reachable(transport) as target:
        async with anyio.create_task_group() as group:
            for _ in range(threads):
                group.start_soon(block)
            await anyio.wait_all_tasks_blocked()
            try:
                with anyio.fail_after(SECONDS_OF_PATIENCE):
                    async with Client(target, mode=mode) as client:
                        assert only_text(await client.call_tool("measure")) == "rain"
            finally:
                release.set()
