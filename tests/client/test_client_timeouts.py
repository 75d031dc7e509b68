"""Time limits and cancellation of calls: what the caller sees, and what becomes of the handler."""

import math
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import anyio
import house
import pytest
from house import Target

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.shared.exceptions import RequestTimeoutError

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
async def client(target: Target) -> AsyncGenerator[Client, None]:
    async with Client(target) as client:
        yield client


async def test_a_call_that_takes_too_long_is_a_timeout(client: Client) -> None:
    with pytest.raises(RequestTimeoutError) as raised:
        await client.call_tool("wait", read_timeout_seconds=0.05)
    assert isinstance(raised.value, MCPError)
    assert raised.value.code == types.REQUEST_TIMEOUT
    assert str(raised.value) == "Timed out after 0.05s waiting for 'tools/call'"
    assert (raised.value.method, raised.value.seconds) == ("tools/call", 0.05)


@pytest.mark.parametrize("seconds", [0, 0.0, -1, -math.inf])
async def test_no_time_is_no_answer(client: Client, seconds: float) -> None:
    with pytest.raises(RequestTimeoutError, match="waiting for 'tools/call'"):
        await client.call_tool("wait", read_timeout_seconds=seconds)


async def test_a_limit_that_is_no_number_is_refused_before_anything_is_sent(client: Client) -> None:
    limit: Any = timedelta(seconds=1)
    with pytest.raises(TypeError, match=r"^a time limit is a number of seconds, got timedelta$"):
        await client.call_tool("wait", read_timeout_seconds=limit)
    with pytest.raises(TypeError, match="got timedelta"):
        async with Client(house.build(), read_timeout_seconds=limit):
            pass


async def test_a_connection_goes_on_after_a_timeout(client: Client) -> None:
    with pytest.raises(RequestTimeoutError):
        await client.call_tool("wait", read_timeout_seconds=0.01)
    assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_a_call_within_its_limit_is_none_the_worse(client: Client) -> None:
    assert (await client.call_tool("add", {"a": 1, "b": 1}, 30)).structured_content == {"sum": 2}
    assert (await client.call_tool("add", {"a": 1, "b": 1}, math.inf)).structured_content == {"sum": 2}


async def test_a_limit_of_the_client_holds_for_every_request(target: Target) -> None:
    async with Client(target, read_timeout_seconds=0.2, mode="2026-07-28") as client:
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.2s waiting for 'tools/call'"):
            await client.call_tool("wait")


async def test_a_limit_of_a_call_counts_more_than_that_of_the_client() -> None:
    async with Client(house.build(), read_timeout_seconds=30) as client:
        with pytest.raises(RequestTimeoutError, match=r"0\.01s"):
            await client.call_tool("wait", read_timeout_seconds=0.01)
    async with Client(house.build(), read_timeout_seconds=0.01) as client:
        with pytest.raises(RequestTimeoutError, match=r"0\.02s"):
            await client.call_tool("wait", read_timeout_seconds=0.02)


async def test_a_cancelled_call_leaves_the_connection_alone(client: Client) -> None:
    with anyio.move_on_after(0.05) as scope:
        await client.call_tool("wait")
    assert scope.cancelled_caught
    assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_a_timeout_of_the_caller_is_the_callers_own(client: Client) -> None:
    with pytest.raises(TimeoutError):
        with anyio.fail_after(0.05):
            await client.call_tool("wait")


@pytest.mark.parametrize("seconds", [0.01, None])
async def test_the_handler_of_an_abandoned_call_is_cancelled(seconds: float | None) -> None:
    ended: list[bool] = []

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await house.wait(ctx, {})
        finally:
            ended.append(True)

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        with anyio.move_on_after(0.05):
            try:
                await client.call_tool("any", read_timeout_seconds=seconds)
            except RequestTimeoutError:
                pass
        assert ended == [True]


async def test_a_timeout_that_a_handler_raises_is_an_error_of_the_handler() -> None:
    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise TimeoutError("the database is slow")

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("any", read_timeout_seconds=30)
