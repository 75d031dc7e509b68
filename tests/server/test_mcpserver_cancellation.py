"""What a tool may still do after its caller has given up."""

import sys
from typing import Literal

import anyio
import pytest

from mcp import Client
from mcp.server import MCPServer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_clean_up_in_a_shield_outlives_the_connection(
    mode: Literal["auto", "legacy"], anyio_backend: str
) -> None:
    if sys.version_info < (3, 11) and (mode, anyio_backend) == ("legacy", "asyncio"):
        pytest.skip("Python 3.10 does not count cancellations, and the second one gets through the shield")
    mcp = MCPServer("Bookshop")
    holds: set[str] = set()
    held, may_release = anyio.Event(), anyio.Event()

    @mcp.tool()
    async def order_book(title: str) -> str:
        holds.add(title)
        held.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await may_release.wait()
                await anyio.lowlevel.checkpoint()
                holds.discard(title)
        return title

    async def give_up(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "order_book", {"title": "Dune"})
            await held.wait()
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as outside, Client(mcp, mode=mode) as client:
        outside.start_soon(_set_later, may_release)
        await give_up(client)
    assert holds == set()


async def _set_later(event: anyio.Event) -> None:
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
    event.set()
