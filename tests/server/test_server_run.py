"""`Server.run`: one connection over a pair of message streams, whoever made them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from wire import Context, refusal, send

from mcp import Client, types
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def memory_streams(server: Server[Any], **options: Any) -> AsyncGenerator[Any, None]:
    """Runs the server over anyio's memory streams, and yields the client's pair."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with from_server, to_server, anyio.create_task_group() as group:

        async def run() -> None:
            await server.run(from_client, to_client, server.create_initialization_options(), **options)

        group.start_soon(run)
        yield from_server, to_server


class Event(types.NotificationParams):
    name: str


class Recording:
    """A server that says what happens to it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.server = Server("srv", lifespan=self.lifespan)
        self.server.add_request_handler("acme/do", types.RequestParams, self.do)
        self.server.add_notification_handler("acme/event", Event, self.event)

    @asynccontextmanager
    async def lifespan(self, server: Server[None]) -> AsyncGenerator[None, None]:
        self.log.append("starts")
        yield
        self.log.append("ends")

    async def do(self, ctx: Context, params: types.RequestParams) -> dict[str, Any]:
        self.log.append("does")
        await ctx.session.report_progress(1)
        return {"done": True}

    async def event(self, ctx: Context, params: Event) -> None:
        self.log.append(f"event {params.name}, request {ctx.request_id}")


async def test_a_client_over_memory_streams_is_served_until_it_leaves() -> None:
    recording = Recording()
    reports: list[float] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async with memory_streams(recording.server) as streams, Client(streams_of(streams)) as client:
        assert (await send(client, "acme/do", progress_callback=report))["done"] is True
        assert (await refusal(client, "acme/unknown")).code == -32601
    assert reports == [1]
    assert recording.log == ["starts", "does", "ends"]


@asynccontextmanager
async def streams_of(pair: Any) -> AsyncGenerator[Any, None]:
    yield pair


async def test_notifications_reach_their_handler_through_middleware() -> None:
    recording = Recording()
    seen: list[tuple[str, Any, Any]] = []
    delivered = anyio.Event()

    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        result = await call_next(ctx)
        if ctx.request_id is None:
            seen.append((ctx.method, ctx.params and ctx.params.get("name"), result))
            delivered.set()
        return result

    recording.server.middleware.append(middleware)
    async with memory_streams(recording.server) as streams, Client(streams_of(streams)) as client:
        notification: Any = types.Notification[Event, str](method="acme/event", params=Event(name="e"))
        await client.session.send_notification(notification)
        await delivered.wait()
    assert seen == [("acme/event", "e", None)]
    assert recording.log == ["starts", "event e, request None", "ends"]


async def test_a_time_limit_of_the_client_cancels_the_handler() -> None:
    ended = anyio.Event()

    async def wait(ctx: Context, params: types.RequestParams) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    server = Server("srv")
    server.add_request_handler("acme/wait", types.RequestParams, wait)
    async with memory_streams(server) as streams, Client(streams_of(streams), read_timeout_seconds=0.05) as client:
        assert (await refusal(client, "acme/wait")).code == -32001
        await ended.wait()


async def test_raise_exceptions_ends_the_run_with_what_a_handler_raised() -> None:
    server = Server("srv")

    async def fail(ctx: Context, params: types.RequestParams) -> None:
        raise ValueError("wrong")

    server.add_request_handler("acme/fail", types.RequestParams, fail)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def use() -> None:
        async with from_server, to_server, Client(streams_of((from_server, to_server))) as client:
            assert (await refusal(client, "acme/fail")).code == -32603

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        with pytest.raises(ValueError, match="wrong"):
            await server.run(from_client, to_client, server.create_initialization_options(), raise_exceptions=True)


async def test_what_a_transport_could_not_read_is_answered_and_passed_over() -> None:
    recording = Recording()
    async with memory_streams(recording.server) as (read, write):
        await write.send(ValueError("line noise"))
        refused = (await read.receive()).message
        assert isinstance(refused, types.JSONRPCError)
        assert (refused.id, refused.error.code, refused.error.message) == (None, -32600, "line noise")
        async with Client(streams_of((read, write))) as client:
            assert (await send(client, "acme/do"))["done"] is True
