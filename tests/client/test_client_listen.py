"""`Client.listen` with a real server, in this process, behind a pipe and over HTTP."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import board
import pytest
from board import SPRINT
from served_app import served

from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    Subscription,
    SubscriptionLost,
    ToolsListChanged,
    listen,
)
from mcp.server import Server

pytestmark = pytest.mark.anyio

Target = Server[Any] | StdioServerParameters | str


@pytest.fixture(scope="module")
def board_url() -> Iterator[str]:
    """The URL of a board."""
    with served(board.build().streamable_http_app()) as origin:
        yield f"{origin}/mcp"


@pytest.fixture(params=["memory", "stdio", "http"])
def target(request: pytest.FixtureRequest) -> Target:
    """What a client is given to reach a board."""
    if request.param == "memory":
        return board.build()
    if request.param == "stdio":
        return StdioServerParameters(command=sys.executable, args=[str(Path(board.__file__))])
    return request.getfixturevalue("board_url")


async def change(client: Client, *what: str) -> None:
    await client.call_tool("change", {"what": what})


async def taken(subscription: Subscription, number: int) -> list[ServerEvent]:
    with anyio.fail_after(10):
        return [await anext(subscription) for _ in range(number)]


async def open_streams(client: Client) -> str:
    [content] = (await client.call_tool("count")).content
    assert isinstance(content, types.TextContent)
    return content.text


async def settled(client: Client, streams: str) -> None:
    """Waits until the server has so many streams: a client that leaves does not wait for the server to notice."""
    with anyio.fail_after(10):
        while await open_streams(client) != streams:
            await anyio.sleep(0.02)


async def test_what_was_asked_for_is_told_and_the_rest_is_not(target: Target) -> None:
    async with Client(target) as client, client.listen(tools_list_changed=True, resource_subscriptions=[SPRINT]) as sub:
        assert sub.honored == types.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=[SPRINT])
        await change(client, "prompts", "board://other", f"{SPRINT}/tasks/1", "resources", SPRINT, "tools")
        assert await taken(sub, 2) == [ResourceUpdated(SPRINT), ToolsListChanged()]


async def test_every_kind_of_event_arrives_as_its_type(target: Target) -> None:
    async with (
        Client(target) as client,
        client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[SPRINT],
        ) as sub,
    ):
        await change(client, "tools", "prompts", "resources", SPRINT)
        assert set(await taken(sub, 4)) == {
            ToolsListChanged(),
            PromptsListChanged(),
            ResourcesListChanged(),
            ResourceUpdated(SPRINT),
        }


async def test_several_subscriptions_have_an_id_and_a_filter_each(target: Target) -> None:
    async with (
        Client(target) as client,
        client.listen(tools_list_changed=True) as tools,
        client.listen(resource_subscriptions=[SPRINT]) as sprint,
    ):
        assert (tools.subscription_id, sprint.subscription_id) == ("listen-1", "listen-2")
        await change(client, SPRINT, "tools")
        assert await taken(tools, 1) == [ToolsListChanged()]
        assert await taken(sprint, 1) == [ResourceUpdated(SPRINT)]


async def test_equal_events_that_wait_become_one(target: Target) -> None:
    async with (
        Client(target) as client,
        client.listen(tools_list_changed=True, resource_subscriptions=["r://a", "r://b", "r://end"]) as sub,
    ):
        await change(client, "r://a", "r://a", "r://b", "tools", "r://a", "r://end")
        # On every transport the last one says that the others have come.
        while ResourceUpdated("r://end") not in sub._route._waiting:
            await anyio.sleep(0.01)
        assert await taken(sub, 4) == [
            ResourceUpdated("r://a"),
            ResourceUpdated("r://b"),
            ToolsListChanged(),
            ResourceUpdated("r://end"),
        ]
        await change(client, "r://a")
        assert await taken(sub, 1) == [ResourceUpdated("r://a")]


async def test_calls_go_on_beside_a_watcher(target: Target) -> None:
    seen: list[ServerEvent] = []

    async def watch(client: Client, sub: Subscription) -> None:
        async for event in sub:
            seen.append(event)
            assert "streams" in await open_streams(client)
            if event == ToolsListChanged():
                return

    async with Client(target) as client, client.listen(tools_list_changed=True, resource_subscriptions=[SPRINT]) as sub:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(watch, client, sub)
                await change(client, SPRINT)
                await change(client, "tools")
    assert seen == [ResourceUpdated(SPRINT), ToolsListChanged()]


async def test_leaving_ends_the_stream_at_the_server(target: Target) -> None:
    async with Client(target) as client:
        async with client.listen(tools_list_changed=True) as sub:
            await settled(client, "1 streams")
        await settled(client, "0 streams")
        assert [event async for event in sub] == []


async def test_cancelling_a_watcher_ends_its_stream_at_the_server(target: Target) -> None:
    async def watch(client: Client, watching: anyio.Event) -> None:
        async with client.listen(tools_list_changed=True) as sub:
            watching.set()
            async for _ in sub:
                raise AssertionError("nothing changes")

    async with Client(target) as client:
        async with anyio.create_task_group() as group:
            watching = anyio.Event()
            group.start_soon(watch, client, watching)
            await watching.wait()
            group.cancel_scope.cancel()
        await settled(client, "0 streams")


async def test_a_graceful_end_ends_the_iteration_behind_what_waits(target: Target) -> None:
    async with Client(target) as client, client.listen(tools_list_changed=True) as sub:
        await change(client, "tools")
        await client.call_tool("close")
        with anyio.fail_after(10):
            assert [event async for event in sub] == [ToolsListChanged()]
            assert [event async for event in sub] == []
        async with client.listen(tools_list_changed=True) as again:
            await change(client, "tools")
            assert await taken(again, 1) == [ToolsListChanged()]


async def test_closing_the_client_loses_its_subscriptions(anyio_backend_name: str, target: Target) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("on trio the nursery rules hold")
    client = Client(target)
    await client.__aenter__()
    async with client.listen(tools_list_changed=True) as sub:
        await change(client, "tools")
        await settled(client, "1 streams")
        await taken(sub, 1)
        with anyio.fail_after(20):
            await client.__aexit__(None, None, None)
        with pytest.raises(SubscriptionLost, match="listen-1") as raised:
            await anext(sub)
        assert "closed" in str(raised.value.__cause__)


async def test_hundreds_of_subscriptions_come_and_go(target: Target) -> None:
    async with Client(target) as client:
        for _ in range(10):
            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(_listen_once, client)
        await settled(client, "0 streams")


async def _listen_once(client: Client) -> None:
    async with client.listen(tools_list_changed=True, resource_subscriptions=[SPRINT]):
        await anyio.sleep(0)


async def test_a_bare_session_listens_as_well() -> None:
    async with Client(board.build()) as client, listen(client.session, tools_list_changed=True) as sub:
        await change(client, "tools")
        assert await taken(sub, 1) == [ToolsListChanged()]


async def test_on_a_handshake_revision_there_is_nothing_to_listen_to(target: Target) -> None:
    async with Client(target, mode="legacy") as client:
        with pytest.raises(ListenNotSupportedError, match="2025-11-25 is spoken") as raised:
            async with client.listen(tools_list_changed=True):
                pass
    assert raised.value.negotiated_version == "2025-11-25"


async def test_a_server_without_streams_refuses() -> None:
    async with Client(Server("deaf")) as client:
        with pytest.raises(MCPError, match="Method not found"):
            async with client.listen(tools_list_changed=True):
                pass


def test_a_client_that_is_not_entered_cannot_listen() -> None:
    with pytest.raises(RuntimeError, match="within an async context manager"):
        Client(board.build()).listen()


async def test_a_subscription_may_be_left_in_another_task_on_asyncio(anyio_backend_name: str, target: Target) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("on trio the nursery rules hold")
    async with Client(target) as client:
        opened = client.listen(tools_list_changed=True)
        sub = await asyncio.create_task(opened.__aenter__())
        await change(client, "tools")
        assert await taken(sub, 1) == [ToolsListChanged()]
        await asyncio.create_task(_leave(opened))
        await settled(client, "0 streams")


async def _leave(opened: Any) -> None:
    await opened.__aexit__(None, None, None)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tasks do not count their cancellations")
async def test_a_message_handler_that_meets_a_cancellation_is_logged_and_changes_nothing_else(
    anyio_backend_name: str, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("on trio a cancellation is never a program's own")

    async def meet(message: Any) -> None:
        helper = asyncio.create_task(asyncio.sleep(9))
        helper.cancel()
        await helper

    async with Client(target, message_handler=meet) as client, client.listen(tools_list_changed=True) as sub:
        for _ in range(3):
            await change(client, "tools")
            assert await taken(sub, 1) == [ToolsListChanged()]
    assert "the callback for notifications/tools/list_changed cancelled itself" in caplog.text
