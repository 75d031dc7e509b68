"""Reports about single calls: their progress, their time limit, and what they need of the server."""

import itertools
import logging
import re
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest
from connections import (
    SECONDS_OF_PATIENCE,
    Transport,
    connected,
    eventually,
    only_text,
    over_http,
    python,
    text_of,
)
from eras import MODERN, Era
from pitfall_server import Context
from raw_peers import RESULT, stdio_server_that_sends

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.shared.exceptions import RequestTimeoutError

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

Reports = list[tuple[float, float | None, str | None]]
STEPS: Reports = [(number, 100, f"step {number}") for number in range(1, 101)]


# B13


async def test_b13_a_hundred_progress_reports_and_then_the_result(transport: Transport, mode: str) -> None:
    """A handler that reported progress over stdio never got its result out."""
    reports: Reports = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with connected(transport, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            result = await client.call_tool("count", {"to": 100}, progress_callback=note)
        # Every report is in before the call returns.
        assert reports == STEPS
        assert only_text(result) == "100"
        assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
async def test_b13_the_reports_of_many_calls_do_not_mix(transport: Transport, mode: str) -> None:
    """The same with several calls at once, whose reports share one pipe."""
    reports: list[Reports] = [[] for _ in range(10)]

    async def call(client: Client, number: int) -> None:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            reports[number].append((progress, total, message))
            await anyio.lowlevel.checkpoint()

        assert only_text(await client.call_tool("count", {"to": 100}, progress_callback=note)) == "100"

    async with connected(transport, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(call, client, number)

    assert reports == [STEPS] * 10


@asyncio_only
async def test_b13_progress_that_nobody_asked_for_costs_nothing(transport: Transport, mode: str) -> None:
    """The same without a callback."""
    async with connected(transport, mode=mode) as client:
        assert await text_of(client, "count", to=1000) == "1000"


@asyncio_only
async def test_b13_a_callback_that_raises_does_not_take_the_result_away(
    transport: Transport, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault in the user's progress bar broke the call, or the connection."""

    async def fail(progress: float, total: float | None, message: str | None) -> None:
        raise ZeroDivisionError

    async with connected(transport, mode=mode) as client:
        with caplog.at_level(logging.CRITICAL, "client"), anyio.fail_after(SECONDS_OF_PATIENCE):
            result = await client.call_tool("count", {"to": 3}, progress_callback=fail)
        assert only_text(result) == "3"


# B36


async def test_b36_a_call_that_timed_out_leaves_the_connection_as_it_was(transport: Transport, mode: str) -> None:
    """After one call had timed out, every later one failed."""
    async with connected(transport, mode=mode) as client:
        for _ in range(2):
            with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RequestTimeoutError):
                await client.call_tool("nap", read_timeout_seconds=0.05)
            assert await text_of(client, "echo", text="next") == "next"


async def test_b36_so_does_a_call_that_was_cancelled(transport: Transport, mode: str) -> None:
    """The same with a call that its caller gave up."""
    async with connected(transport, mode=mode) as client:
        for _ in range(2):
            with anyio.move_on_after(0.05) as scope:
                await client.call_tool("nap")
            assert scope.cancelled_caught
            assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
async def test_b36_a_time_out_in_the_middle_of_a_stream_does_no_harm(transport: Transport, mode: str) -> None:
    """The same once the answer has begun to stream."""
    streaming = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        streaming.set()

    async with connected(transport, mode=mode) as client:
        await text_of(client, "echo", text="first")
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(RequestTimeoutError):
            await client.call_tool("nap", read_timeout_seconds=1, progress_callback=note)
        assert streaming.is_set()
        assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
async def test_b36_calls_beside_the_one_that_times_out_go_on(transport: Transport, mode: str) -> None:
    """The same for calls that are under way at that moment."""

    async def time_out(client: Client) -> None:
        with pytest.raises(RequestTimeoutError):
            await client.call_tool("nap", read_timeout_seconds=0.05)

    async with connected(transport, mode=mode) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(time_out, client)
                for _ in range(20):
                    assert await text_of(client, "count", to=10) == "10"


# B39


async def test_b39_a_time_out_names_method_and_seconds_and_cancels_the_handler(transport: Transport, mode: str) -> None:
    """A time-out said neither what had timed out nor after how long, and the handler ran on."""
    async with connected(transport, mode=mode) as client:
        before = int(await text_of(client, "cancelled_naps"))
        with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError) as caught:
            await client.call_tool("nap", read_timeout_seconds=0.3)
        assert str(caught.value) == "Timed out after 0.3s waiting for 'tools/call'"

        async def is_cancelled() -> bool:
            return int(await text_of(client, "cancelled_naps")) == before + 1

        await eventually(is_cancelled)


def own_limit(transport: Transport, era: Era) -> tuple[str, float]:
    """A mode of a client, and a limit in seconds that is enough for what the client sends on entry."""
    if era is MODERN:
        return era.version, 0.3
    return era.mode, 4 if transport == "stdio" else 1


@asyncio_only
async def test_b39_the_clients_own_limit_says_the_same(transport: Transport, era: Era) -> None:
    """The same for the limit that a client has for all its calls, which a call may extend."""
    mode, limit = own_limit(transport, era)
    expected = re.escape(f"Timed out after {limit:g}s waiting for 'tools/call'")
    async with connected(transport, mode=mode, read_timeout_seconds=limit) as client:
        with anyio.fail_after(SECONDS_OF_PATIENCE):
            with pytest.raises(RequestTimeoutError, match=expected):
                await client.call_tool("nap")
            result = await client.call_tool("count", {"to": 5}, read_timeout_seconds=SECONDS_OF_PATIENCE)
        assert only_text(result) == "5"


@asyncio_only
async def test_b39_a_connect_that_is_never_answered_says_the_same(mode: str) -> None:
    """A client waited for ever for a server that started and said nothing."""
    silent = python("import sys; sys.stdin.read()")
    method = "initialize" if mode == "legacy" else "server/discover"
    with anyio.fail_after(SECONDS_OF_PATIENCE), pytest.raises(MCPError, match=rf"0\.2s waiting for '{method}'"):
        async with Client(silent, mode=mode, read_timeout_seconds=0.2):
            pytest.fail("nothing answered")


# B45


async def test_b45_a_server_that_lists_no_tools_can_still_be_called(transport: Transport, mode: str) -> None:
    """A call failed since the client lists the tools first, for their schemas, and the server has no such method."""
    async with connected(transport, "unlisted", mode=mode) as client:
        for _ in range(2):
            assert await text_of(client, "echo", text="called") == "called"


async def _call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="called")])


async def _fail(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    raise MCPError(1, "the list is broken")


async def _make_up_cursors(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[], next_cursor=f"page {next(_pages)}")


async def _repeat_the_cursor(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[], next_cursor="again")


async def _never_answer(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    await anyio.sleep(600)
    raise AssertionError


_pages = itertools.count()

ListTools = Callable[[Context, types.PaginatedRequestParams | None], Awaitable[types.ListToolsResult]]


@asyncio_only
@pytest.mark.parametrize("on_list_tools", [_fail, _make_up_cursors, _repeat_the_cursor, _never_answer])
@pytest.mark.parametrize("over_network", [False, True], ids=["memory", "http"])
async def test_b45_a_list_that_nobody_asked_for_cannot_spoil_a_call(
    on_list_tools: ListTools, over_network: bool, mode: str
) -> None:
    """The same with a list that fails, never ends, or never comes: the call itself has been answered by then."""
    odd = Server("odd", on_list_tools=on_list_tools, on_call_tool=_call_tool)
    with over_http(odd.streamable_http_app()) as url, anyio.fail_after(SECONDS_OF_PATIENCE):
        async with Client(url if over_network else odd, mode=mode, read_timeout_seconds=1) as client:
            assert only_text(await client.call_tool("any")) == "called"


@asyncio_only
async def test_b45_a_list_that_is_malformed_cannot_spoil_a_call(mode: str) -> None:
    """The same with a list that is no list."""
    malformed = RESULT.replace('"tools":[]', '"tools":{}')
    async with Client(stdio_server_that_sends([RESULT], [malformed]), mode=mode) as client:
        assert await text_of(client, "any") == "real"


@asyncio_only
async def test_b45_the_list_is_asked_for_once_and_not_at_all_where_checking_is_off(mode: str) -> None:
    """Every call cost two requests."""
    listed = 0

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        nonlocal listed
        listed += 1
        return types.ListToolsResult(tools=[])

    counting = Server("counting", on_list_tools=list_tools, on_call_tool=_call_tool)
    async with Client(counting, mode=mode, validate_output="off") as client:
        await client.call_tool("any")
        assert listed == 0
    async with Client(counting, mode=mode) as client:
        for _ in range(3):
            await client.call_tool("any")
        assert listed == 1
