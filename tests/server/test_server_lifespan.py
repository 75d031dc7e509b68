"""The lifespan: entered before the first request of a connection, left after the last, in one task."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from wire import Context, connected, send

from mcp import Client, types
from mcp.server import Server, ServerRequestContext

pytestmark = pytest.mark.anyio


@dataclass
class State:
    connection: int


async def state_of(ctx: ServerRequestContext[State], params: types.RequestParams) -> dict[str, Any]:
    return {"connection": ctx.lifespan_context.connection}


class Recording:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.tasks: set[int] = set()
        self.connections = 0

    @asynccontextmanager
    async def lifespan(self, server: Server[State]) -> AsyncGenerator[State, None]:
        self.connections += 1
        number = self.connections
        self.log.append(f"{server.name} enters {number}")
        task = anyio.get_current_task().id
        yield State(number)
        assert anyio.get_current_task().id == task
        self.log.append(f"{server.name} leaves {number}")

    def server(self) -> Server[State]:
        server = Server("srv", lifespan=self.lifespan)
        server.add_request_handler("acme/state", types.RequestParams, state_of)
        return server


async def test_each_client_in_memory_has_a_lifespan_of_its_own() -> None:
    recording = Recording()
    server = recording.server()
    async with connected(server) as first:
        assert (await send(first, "acme/state"))["connection"] == 1
        async with connected(server) as second:
            assert (await send(second, "acme/state"))["connection"] == 2
            assert (await send(first, "acme/state"))["connection"] == 1
    assert recording.log == ["srv enters 1", "srv enters 2", "srv leaves 2", "srv leaves 1"]


async def test_without_a_lifespan_the_context_is_an_empty_dict() -> None:
    seen: list[Any] = []

    async def look(ctx: Context, params: types.RequestParams) -> None:
        seen.append(ctx.lifespan_context)

    server = Server("srv")
    server.add_request_handler("acme/look", types.RequestParams, look)
    async with connected(server) as client:
        await send(client, "acme/look")
    assert seen == [{}]


async def test_a_lifespan_that_does_not_start_is_what_the_client_sees() -> None:
    @asynccontextmanager
    async def failing(server: Server[None]) -> AsyncGenerator[None, None]:
        raise ValueError("no database")
        yield

    with pytest.raises(ValueError, match="no database"):
        await Client(Server("srv", lifespan=failing)).__aenter__()


async def test_what_a_lifespan_raises_at_its_end_is_what_leaving_raises() -> None:
    @asynccontextmanager
    async def failing(server: Server[None]) -> AsyncGenerator[None, None]:
        yield
        raise ValueError("could not save")

    client = Client(Server("srv", lifespan=failing), mode="2026-07-28")
    await client.__aenter__()
    with pytest.raises(ValueError, match="could not save"):
        await client.__aexit__(None, None, None)


async def test_a_lifespan_is_left_when_the_clients_block_is_cancelled() -> None:
    recording = Recording()
    with anyio.CancelScope() as scope:
        async with connected(recording.server()):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert recording.log == ["srv enters 1", "srv leaves 1"]


async def test_a_lifespan_may_hold_a_task_group() -> None:
    @asynccontextmanager
    async def background(server: Server[anyio.Event]) -> AsyncGenerator[anyio.Event, None]:
        ticked = anyio.Event()

        async def tick() -> None:
            ticked.set()
            await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            yield ticked
            group.cancel_scope.cancel()

    async def wait(ctx: ServerRequestContext[anyio.Event], params: types.RequestParams) -> None:
        await ctx.lifespan_context.wait()

    server = Server("srv", lifespan=background)
    server.add_request_handler("acme/wait", types.RequestParams, wait)
    async with connected(server) as client:
        await send(client, "acme/wait")
