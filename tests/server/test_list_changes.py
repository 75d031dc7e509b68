"""Changes of an `MCPServer`'s lists are told by themselves, to listeners of both eras, and once."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest

from mcp import Client
from mcp.client import IncomingMessage
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import TextResource
from mcp.shared.subscriptions import ServerEvent

pytestmark = pytest.mark.anyio

Mode = Literal["auto", "legacy"]

_KINDS: dict[Any, str] = {ToolsListChanged: "tools", PromptsListChanged: "prompts", ResourcesListChanged: "resources"}


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Both eras."""
    return request.param


class Listener:
    """A client, and what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.client: Client

    async def settled(self) -> list[str]:
        """What it has been told, once everything that is under way has arrived."""
        # Both come over the same connection, so what was told before this arrives before its answer.
        await self.client.call_tool("nothing", {})
        await anyio.wait_all_tasks_blocked()
        return self.heard


@asynccontextmanager
async def listening(mcp: MCPServer, mode: Mode) -> AsyncGenerator[Listener, None]:
    listener = Listener()

    async def hear(message: IncomingMessage) -> None:
        method = getattr(message, "method", "")
        # The handler is told of what comes on a subscription as well.
        if mode == "legacy" and method.endswith("list_changed"):
            listener.heard.append(method.split("/")[1])

    async with Client(mcp, mode=mode, message_handler=hear) as client:
        listener.client = client
        if mode == "legacy":
            yield listener
            return
        async with (
            client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True) as events,
            anyio.create_task_group() as group,
        ):

            async def watch() -> None:
                async for event in events:
                    listener.heard.append(_KINDS[type(event)])

            group.start_soon(watch)
            yield listener
            group.cancel_scope.cancel()


def one() -> int:
    return 1


@pytest.fixture
def mcp() -> MCPServer:
    mcp = MCPServer("changing")

    @mcp.tool()
    async def add(names: list[str]) -> None:
        for name in names:
            mcp.add_tool(one, name=name)
            await anyio.sleep(0)

    @mcp.tool()
    def add_in_a_thread(name: str) -> None:
        mcp.add_tool(one, name=name)

    @mcp.tool()
    async def add_and_tell(ctx: Context) -> None:
        mcp.add_tool(one, name="told")
        await anyio.sleep(0)
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()

    return mcp


async def test_what_a_handler_adds_is_told_once_when_it_ends(mcp: MCPServer, mode: Mode) -> None:
    async with listening(mcp, mode) as listener:
        await listener.client.call_tool("add", {"names": ["a", "b", "c"]})
        assert await listener.settled() == ["tools"]
        await listener.client.call_tool("add_in_a_thread", {"name": "d"})
        assert await listener.settled() == ["tools", "tools"]


async def test_what_a_handler_tells_itself_is_not_told_again(mcp: MCPServer, mode: Mode) -> None:
    async with listening(mcp, mode) as listener:
        await listener.client.call_tool("add_and_tell", {})
        assert await listener.settled() == ["tools"]


async def test_another_client_is_told_of_what_this_one_was_told_by_the_handler(mcp: MCPServer, mode: Mode) -> None:
    # Over one server, so that both are clients of the same lists.
    async with listening(mcp, "auto") as modern, listening(mcp, "legacy") as legacy:
        caller = modern if mode == "auto" else legacy
        await caller.client.call_tool("add_and_tell", {})
        assert await modern.settled() == ["tools"]
        assert await legacy.settled() == ["tools"]


async def test_what_was_told_before_the_change_does_not_count(mcp: MCPServer, mode: Mode) -> None:
    @mcp.tool()
    async def tell_and_add(ctx: Context) -> None:
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        mcp.add_tool(one, name="late")

    async with listening(mcp, mode) as listener:
        await listener.client.call_tool("tell_and_add", {})
        assert await listener.settled() == ["tools", "tools"]


async def test_each_list_has_a_notification_of_its_own(mcp: MCPServer, mode: Mode) -> None:
    def greet() -> str:
        return "Hello"

    async with listening(mcp, mode) as listener:
        mcp.add_prompt(Prompt.from_function(greet))
        mcp.add_resource(TextResource(uri="text://a", text="a"))
        mcp.remove_prompt("greet")
        mcp.remove_tool("add")
        assert sorted(await listener.settled()) == ["prompts", "resources", "tools"]


async def test_a_duplicate_that_is_dropped_changes_nothing(mcp: MCPServer, mode: Mode) -> None:
    async with listening(mcp, mode) as listener:
        mcp.add_tool(one, name="add")
        assert await listener.settled() == []


async def test_a_change_in_another_thread_is_told_too(mcp: MCPServer, mode: Mode) -> None:
    async with listening(mcp, mode) as listener:
        thread = threading.Thread(target=lambda: mcp.add_tool(one, name="from-a-thread"))
        thread.start()
        thread.join()
        with anyio.fail_after(5):
            while not listener.heard:
                await anyio.sleep(0.01)
        assert await listener.settled() == ["tools"]


async def test_a_handler_that_goes_on_does_not_keep_its_change_to_itself(
    mcp: MCPServer, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.server.list_changes.LONGEST_WAIT", 0.01)
    finish = anyio.Event()

    @mcp.tool()
    async def long() -> None:
        mcp.add_tool(one, name="early")
        await finish.wait()

    async with listening(mcp, mode) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.client.call_tool, "long")
        with anyio.fail_after(5):
            while not listener.heard:
                await anyio.sleep(0.01)
        finish.set()
    assert listener.heard == ["tools"]


async def test_what_a_handler_left_running_changes_is_told_as_well(mcp: MCPServer, mode: Mode) -> None:
    changing: list[Callable[[], None]] = []

    async with listening(mcp, mode) as listener, anyio.create_task_group() as group:

        @mcp.tool()
        async def leave_running() -> None:
            async def later() -> None:
                await listener.client.list_prompts()
                changing[0]()

            group.start_soon(later)

        changing.append(lambda: mcp.add_tool(one, name="later"))
        assert await listener.settled() == ["tools"]
        await listener.client.call_tool("leave_running", {})
        with anyio.fail_after(5):
            while listener.heard != ["tools", "tools"]:
                await anyio.sleep(0.01)


async def test_both_eras_announce_that_they_tell(mcp: MCPServer, mode: Mode) -> None:
    async with Client(mcp, mode=mode) as client:
        capabilities = client.server_capabilities
    assert capabilities is not None
    for part in (capabilities.tools, capabilities.prompts, capabilities.resources):
        assert part is not None
        assert part.list_changed is True


class SlowBus:
    """A bus that fails, as one over a network may."""

    def __init__(self) -> None:
        self.published: list[ServerEvent] = []

    async def publish(self, event: ServerEvent) -> None:
        self.published.append(event)
        raise ConnectionError("the broker is gone")

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        return lambda: None


async def test_a_bus_that_fails_is_logged_and_other_clients_are_told(caplog: pytest.LogCaptureFixture) -> None:
    bus = SlowBus()
    mcp = MCPServer("changing", subscriptions=bus)
    async with listening(mcp, "legacy") as listener:
        mcp.add_tool(one)
        assert await listener.settled() == ["tools"]
    assert bus.published == [ToolsListChanged()]
    assert "the subscription bus failed to publish" in caplog.text


async def test_without_a_bus_only_clients_of_the_handshake_are_told() -> None:
    mcp = MCPServer("changing", subscriptions=False)

    @mcp.tool()
    async def tell(ctx: Context) -> None:
        await ctx.notify_tools_changed()

    async with listening(mcp, "legacy") as listener:
        await listener.client.call_tool("tell", {})
        mcp.add_tool(one)
        assert await listener.settled() == ["tools"]
    async with Client(mcp) as client:
        assert client.server_capabilities is not None
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed is True


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_server_that_serves_no_more_tells_nobody(mcp: MCPServer) -> None:
    async with listening(mcp, "legacy"):
        pass
    mcp.add_tool(one)
    await asyncio.sleep(0)
