"""Reports about calls that take their time or fail, as clients of an `MCPServer` meet them."""

import gc
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import httpx2
import pytest
from connections import SECONDS_OF_PATIENCE, Transport, connected, only_text, over_http, reachable, text_of
from pitfall_mcpserver import gate, mcp

from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context, MCPServer

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:The logging capability is deprecated")]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


# B13


async def test_b13_a_hundred_progress_reports_and_then_the_result(transport: Transport, mode: str) -> None:
    """Sending progress wedged the reply."""
    seen: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with connected(transport, "typed", mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            for tool in ("count", "count_in_a_thread"):
                seen.clear()
                result = await client.call_tool(tool, {"to": 100}, progress_callback=progress)
                assert result.structured_content == {"result": 100}
                await text_of(client, "echo", text="next")
                assert seen == [float(number + 1) for number in range(100)]


# B42, B95


def relay_to(client: Client) -> MCPServer:
    """A server whose tool works in a thread, and from there calls a tool of another server."""
    relay = MCPServer("relay")

    @relay.tool()
    def call(text: str) -> str:
        return only_text(anyio.from_thread.run(client.call_tool, "echo_later", {"text": text}))

    return relay


async def test_b42_tools_in_threads_that_call_other_servers_all_finish(transport: Transport, mode: str) -> None:
    """More of them than there are threads: each held a thread, and waited for work that needed one."""
    said: list[str] = []

    async def call(client: Client, number: int) -> None:
        said.append(only_text(await client.call_tool("call", {"text": str(number)})))

    with reachable(transport, "typed") as target:
        async with Client(target, mode=mode) as inner, Client(relay_to(inner), mode=mode) as outer:
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                async with anyio.create_task_group() as group:
                    for number in range(60):
                        group.start_soon(call, outer, number)

    assert sorted(said, key=int) == [str(number) for number in range(60)]


async def test_b95_tools_that_block_every_thread_hold_up_nobody_else(mode: str) -> None:
    """A blocking tool froze every client."""
    waiting = threading.Semaphore(0)
    release = threading.Event()
    blocking = MCPServer("blocking")

    @blocking.tool()
    def block() -> str:
        waiting.release()
        assert release.wait(SECONDS_OF_PATIENCE)
        return "through"

    @blocking.tool()
    async def quick() -> str:
        return "here"

    said: list[str] = []

    async def call(client: Client) -> None:
        said.append(only_text(await client.call_tool("block")))

    async with Client(blocking, mode=mode) as client, Client(blocking, mode=mode) as other:
        try:
            with anyio.fail_after(SECONDS_OF_PATIENCE):
                async with anyio.create_task_group() as group:
                    for _ in range(45):
                        group.start_soon(call, client)
                    # As many as there are threads; they will not go on before the end of this block.
                    for _ in range(30):
                        await anyio.to_thread.run_sync(waiting.acquire, limiter=anyio.CapacityLimiter(1))
                    assert len((await client.list_tools()).tools) == 2
                    assert await text_of(client, "quick") == "here"
                    assert await text_of(other, "quick") == "here"
                    assert said == []
                    release.set()
        finally:
            release.set()
    assert said == ["through"] * 45


# B14


async def test_b14_a_tool_that_blocks_does_not_keep_the_server_from_reading(transport: Transport, mode: str) -> None:
    """While a tool was busy nothing was read."""
    async with connected(transport, "typed", mode=mode) as client, anyio.create_task_group() as group:
        for tool, arguments in [("nap", {}), ("sleep", {"seconds": 2})]:
            group.start_soon(partial(client.call_tool, tool, arguments))
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            for number in range(50):
                assert await text_of(client, "echo", text=str(number)) == str(number)
        group.cancel_scope.cancel()


# B36


@asyncio_only
async def test_b36_blocking_calls_that_timed_out_leave_threads_for_others(mode: str) -> None:
    """Each held its thread for good; trio's threads are not ours, and there each counts until it is done."""
    gate.clear()
    try:
        async with Client(mcp, mode=mode) as client:

            async def call() -> None:
                with pytest.raises(MCPError, match="tools/call"):
                    await client.call_tool("wait_at_the_gate", read_timeout_seconds=0.3)

            with anyio.fail_after(SECONDS_OF_PATIENCE):
                async with anyio.create_task_group() as group:
                    for _ in range(45):
                        group.start_soon(call)
                assert await text_of(client, "echo", text="next") == "next"
    finally:
        gate.set()


# B53


async def test_b53_a_call_leaves_nothing_behind(mode: str) -> None:
    """Finished requests stayed in memory for as long as the session did."""
    async with Client(mcp, mode=mode) as client:
        await text_of(client, "echo", text="first")
        before = _contexts()
        for number in range(500):
            await client.call_tool("request_of", {"mark": str(number)})
        assert _contexts() <= before


def _contexts() -> int:
    gc.collect()
    return sum(isinstance(it, Context) for it in gc.get_objects())


# B64


async def test_b64_malformed_arguments_fail_alone(transport: Transport, mode: str) -> None:
    """Arguments that are no object broke the server until it was started again."""
    malformed: list[Any] = ["{}", [], 1, "text"]
    async with connected(transport, "typed", mode=mode) as client:
        for arguments in malformed:
            params = types.CallToolRequestParams.model_construct(name="echo", arguments=arguments)
            request = types.CallToolRequest.model_construct(method="tools/call", params=params)
            with pytest.warns(UserWarning, match="serializ"), pytest.raises(MCPError) as caught:
                await client.session.send_request(request, types.CallToolResult)
            assert caught.value.code == -32602
            assert await text_of(client, "echo", text="next") == "next"


# B67


@asynccontextmanager
async def marked(url: str, mark: str, mode: str) -> AsyncGenerator[Client, None]:
    """A client whose requests all carry a header."""
    http = httpx2.AsyncClient(headers={"x-mark": mark}, timeout=SECONDS_OF_PATIENCE, trust_env=False)
    try:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client
    finally:
        await http.aclose()


async def test_b67_what_a_tool_sees_is_of_its_own_request(mode: str) -> None:
    """A stale request leaked into other sessions."""
    ids: list[str] = []

    async def calls(client: Client, name: str) -> None:
        async def call(tool: str, number: int) -> None:
            mark = f"{name} {number}"
            result = await client.call_tool(tool, {"mark": mark})
            seen = result.structured_content
            assert seen is not None
            assert (seen["mark"], seen["header"], seen["before"]) == (mark, name, seen["after"])
            ids.append(f"{name} {seen['before']}")

        for start in range(0, 500, 10):
            async with anyio.create_task_group() as group:
                for number in range(start, start + 10):
                    group.start_soon(call, "request_of_a_thread" if number % 5 == 0 else "request_of", number)

    with over_http(mcp.streamable_http_app()) as url:
        async with (
            marked(url, "ann", mode) as ann,
            marked(url, "bob", mode) as bob,
            anyio.create_task_group() as group,
        ):
            group.start_soon(calls, ann, "ann")
            group.start_soon(calls, bob, "bob")
    # Each client numbers its requests.
    assert len(set(ids)) == len(ids) == 1000


# B97


async def test_b97_the_text_of_an_error_survives_a_task_group(transport: Transport, mode: str) -> None:
    """All that was told was "unhandled errors in a TaskGroup", or nothing at all."""
    async with connected(transport, "typed", mode=mode) as client:
        result = await client.call_tool("fail_in_a_group", {"what": "city unknown"})
        assert result.is_error
        assert only_text(result) == "Error executing tool fail_in_a_group: city unknown"

        result = await client.call_tool("fail_in_a_group", {"what": "city unknown", "beside": True})
        assert result.is_error
        assert "city unknown" in only_text(result)
        assert await text_of(client, "echo", text="next") == "next"
