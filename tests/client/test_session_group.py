"""Many servers seen as one: names, clashes, calls, and who closes what."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from group_servers import process, shop

from mcp import Client, ClientSession, ClientSessionGroup, types
from mcp.client.callbacks import ProgressFnT
from mcp.client.session_group import ClientSessionParameters, SseServerParameters, StreamableHttpParameters
from mcp.client.streamable_http import DEFAULT_MAX_SSE_EVENT_SIZE
from mcp.server import Server
from mcp.shared.exceptions import (
    ConnectionClosedError,
    MCPError,
    RequestTimeoutError,
    ServerNotFoundError,
    TransportError,
)

pytestmark = pytest.mark.anyio

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

LIBRARY = shop("Library", tools=("search", "lend"), resources=("hours",), prompts=("recommend",))
WEB = shop("Web", tools=("search",))
KIOSK = shop("Kiosk", resources=("hours",))
MUSEUM = shop("Museum", prompts=("recommend",))


def by_server(name: str, server_info: types.Implementation) -> str:
    return f"{server_info.name}.{name}"


async def join(group: ClientSessionGroup, client: Client) -> ClientSession:
    assert client.server_info is not None
    return await group.connect_with_session(client.server_info, client.session)


async def said_by(group: ClientSessionGroup, tool: str, progress: ProgressFnT | None = None) -> list[str]:
    """What a tool says, word by word."""
    (content,) = (await group.call_tool(tool, {"x": 1}, progress_callback=progress)).content
    assert isinstance(content, types.TextContent)
    return content.text.split(" ")


# What is in a group.


async def test_a_group_has_everything_that_its_servers_list() -> None:
    async with Client(LIBRARY) as library, ClientSessionGroup() as group:
        assert await join(group, library) is library.session
        assert group.sessions == [library.session]
        assert {name: tool.name for name, tool in group.tools.items()} == {"search": "search", "lend": "lend"}
        assert {name: str(one.uri) for name, one in group.resources.items()} == {"hours": "shop://Library/hours"}
        assert {name: one.name for name, one in group.prompts.items()} == {"recommend": "recommend"}


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_sessions_of_any_era_can_be_joined(mode: str) -> None:
    async with Client(LIBRARY, mode=mode) as library, ClientSessionGroup() as group:
        await group.connect_with_session(types.Implementation(name="any", version="1"), library.session)
        assert set(group.tools) == {"search", "lend"}


async def test_a_tool_is_called_on_the_server_that_has_it() -> None:
    trade = shop("Trade", tools=("buy",))
    async with Client(LIBRARY) as library, Client(trade) as other, ClientSessionGroup() as group:
        await join(group, library)
        await join(group, other)
        assert (await said_by(group, "lend"))[:2] == ["Library", "lend"]
        assert (await said_by(group, "buy"))[:2] == ["Trade", "buy"]


async def test_a_call_reports_progress() -> None:
    reports: list[float] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async with Client(LIBRARY) as library, ClientSessionGroup() as group:
        await join(group, library)
        await said_by(group, "lend", report)
    assert reports == [1]


async def test_an_unknown_tool_is_named_beside_the_known_ones() -> None:
    async with Client(LIBRARY) as library, ClientSessionGroup() as group:
        await join(group, library)
        with pytest.raises(KeyError, match=r"no tool 'steal' in the group, which has \['lend', 'search'\]"):
            await group.call_tool("steal")


async def test_a_hook_renames_everything_in_the_group_and_nothing_on_the_wire() -> None:
    async with (
        Client(LIBRARY) as library,
        Client(WEB) as web,
        ClientSessionGroup(component_name_hook=by_server) as group,
    ):
        await join(group, library)
        await join(group, web)
        assert set(group.tools) == {"Library.search", "Library.lend", "Web.search"}
        assert set(group.resources) == {"Library.hours"}
        assert set(group.prompts) == {"Library.recommend"}
        assert group.tools["Web.search"].name == "search"
        assert (await said_by(group, "Web.search"))[:2] == ["Web", "search"]


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (WEB, "{'search'} already exist in group tools."),
        (KIOSK, "{'hours'} already exist in group resources."),
        (MUSEUM, "{'recommend'} already exist in group prompts."),
        (shop("Copy", tools=("lend", "search", "new")), "{'lend', 'search'} already exist in group tools."),
    ],
)
async def test_a_name_clash_is_refused_and_changes_nothing(other: Server[Any], text: str) -> None:
    async with Client(LIBRARY) as library, Client(other) as second, ClientSessionGroup() as group:
        await join(group, library)
        with pytest.raises(MCPError) as raised:
            await join(group, second)
        assert (raised.value.code, raised.value.message) == (types.INVALID_PARAMS, text)
        assert group.sessions == [library.session]
        assert set(group.tools) == {"search", "lend"}
        assert (await said_by(group, "search"))[0] == "Library"


async def test_of_two_that_join_at_once_with_the_same_name_one_is_refused() -> None:
    refused: list[MCPError] = []

    async def join_or_fail(client: Client) -> None:
        try:
            await join(group, client)
        except MCPError as error:
            refused.append(error)

    async with Client(LIBRARY) as library, Client(WEB) as web, ClientSessionGroup() as group:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(join_or_fail, library)
            tasks.start_soon(join_or_fail, web)
        assert len(group.sessions) == 1
    assert [error.message for error in refused] == ["{'search'} already exist in group tools."]


async def test_a_list_that_a_server_refuses_counts_as_empty(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(ctx: Any, params: Any) -> Any:
        raise MCPError(-32000, "the shelves are closed")

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="search", input_schema={"type": "object"})])

    server = Server("odd", on_list_tools=list_tools, on_list_prompts=refuse)
    async with Client(server) as client, ClientSessionGroup() as group:
        await join(group, client)
        assert set(group.tools) == {"search"}
        assert group.prompts == {}
    assert "Could not fetch prompts: the shelves are closed" in caplog.text


async def test_a_list_without_end_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="search", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], next_cursor="again")

    async with Client(Server("odd", on_list_tools=list_tools)) as client, ClientSessionGroup() as group:
        await join(group, client)
        assert set(group.tools) == {"search"}
    assert "Could not fetch tools: the list does not end" in caplog.text


async def test_what_a_server_does_not_declare_is_not_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(WEB) as web, ClientSessionGroup() as group:
        await join(group, web)
    assert "Could not fetch" not in caplog.text


# Leaving.


async def test_a_session_leaves_with_everything_it_brought() -> None:
    async with (
        Client(LIBRARY) as library,
        Client(shop("Trade", tools=("buy",))) as trade,
        ClientSessionGroup() as group,
    ):
        await join(group, library)
        await join(group, trade)
        await group.disconnect_from_server(library.session)
        assert group.sessions == [trade.session]
        assert (set(group.tools), group.resources, group.prompts) == ({"buy"}, {}, {})
        with pytest.raises(KeyError):
            await group.call_tool("search")
        assert (await library.list_resources()).resources, "a session that was given is never closed"
        await join(group, library)
        assert set(group.tools) == {"buy", "search", "lend"}


async def test_a_session_that_is_not_in_the_group_cannot_leave_it() -> None:
    async with Client(LIBRARY) as library, ClientSessionGroup() as group:
        with pytest.raises(MCPError, match="Provided session is not managed or already disconnected") as raised:
            await group.disconnect_from_server(library.session)
        assert raised.value.code == types.INVALID_PARAMS


# Connections of the group's own.


async def closed(session: ClientSession) -> bool:
    try:
        await session.send_ping()
    except ConnectionClosedError:
        return True
    return False


async def test_servers_are_started_and_ended_by_the_group() -> None:
    async with ClientSessionGroup() as group:
        library = await group.connect_to_server(process("Library", "lend"))
        web = await group.connect_to_server(process("Web", "search"))
        assert library.protocol_version == "2025-11-25"
        pids = {int((await said_by(group, tool))[-1]) for tool in ("lend", "search")}
        assert len(pids) == 2
        await group.disconnect_from_server(library)
        assert await closed(library)
        assert not await closed(web)
    assert await closed(web)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_the_parameters_of_a_session_reach_it() -> None:
    parameters = ClientSessionParameters(
        read_timeout_seconds=5, client_info=types.Implementation(name="visitor", version="1")
    )
    async with ClientSessionGroup() as group:
        await group.connect_to_server(process("Library", "lend", "stall"), parameters)
        assert (await said_by(group, "lend"))[2] == "visitor"
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.1s"):
            await group.call_tool("stall", read_timeout_seconds=0.1)


@linux
async def test_a_server_that_clashes_is_ended_again() -> None:
    async with ClientSessionGroup() as group:
        await group.connect_to_server(process("Library", "search"))
        before = children()
        with pytest.raises(MCPError, match="already exist in group tools"):
            await group.connect_to_server(process("Web", "search"))
        assert children() == before
        assert len(group.sessions) == 1


def children() -> set[str]:
    """The processes that this one has started and that still run."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(file.read().split())


async def test_a_server_that_is_not_there_leaves_the_group_as_it_was() -> None:
    async with ClientSessionGroup() as group:
        with pytest.raises(ServerNotFoundError):
            await group.connect_to_server(process("x").model_copy(update={"command": "/nowhere/at/all"}))
        for unreachable in (
            SseServerParameters(url="http://127.0.0.1:9/sse"),
            StreamableHttpParameters(url="http://127.0.0.1:9/mcp"),
        ):
            with pytest.raises(TransportError, match=r"Cannot connect to http://127\.0\.0\.1:9"):
                await group.connect_to_server(unreachable)
        await group.connect_to_server(process("Library", "lend"))
        assert set(group.tools) == {"lend"}


async def test_parameters_of_another_kind_are_refused() -> None:
    async with ClientSessionGroup() as group:
        with pytest.raises(TypeError, match=r"connect_to_server takes StdioServerParameters, .* got str"):
            await group.connect_to_server("http://127.0.0.1/mcp")  # pyright: ignore[reportArgumentType]


@linux
async def test_a_cancelled_connection_leaves_nothing_behind() -> None:
    before = children()
    async with ClientSessionGroup() as group:
        with anyio.move_on_after(0.01):
            await group.connect_to_server(process("Library", "lend"))
            pytest.fail("it was faster than any process")
        assert group.sessions == []
    assert children() == before


async def test_a_stack_of_ones_own_closes_the_connections() -> None:
    async with AsyncExitStack() as stack:
        async with ClientSessionGroup(stack) as group:
            session = await group.connect_to_server(process("Library", "lend"))
        assert not await closed(session)
    assert await closed(session)


async def test_a_group_with_a_stack_need_not_be_entered() -> None:
    async with AsyncExitStack() as stack:
        group = ClientSessionGroup(stack)
        session = await group.connect_to_server(process("Library", "lend"))
        other = await group.connect_to_server(process("Web", "search"))
        assert (await said_by(group, "lend"))[0] == "Library"
        await group.disconnect_from_server(session)
        assert await closed(session)
        assert group.sessions == [other]
    assert await closed(other)
    assert (group.sessions, group.tools) == ([], {})


@pytest.mark.parametrize("before", [True, False])
async def test_outside_of_its_block_a_group_connects_to_nothing(before: bool) -> None:
    group = ClientSessionGroup()
    if not before:
        async with group:
            pass
    with pytest.raises(RuntimeError, match="ClientSessionGroup must be used within an async context manager"):
        await group.connect_to_server(process("x").model_copy(update={"command": "/nowhere/at/all"}))


async def test_a_group_that_was_left_is_empty() -> None:
    everything = {"tools": ("lend",), "resources": ("hours",), "prompts": ("recommend",)}
    async with Client(shop("Library", **everything)) as library:
        async with ClientSessionGroup() as group:
            await join(group, library)
        assert (group.sessions, group.tools, group.resources, group.prompts) == ([], {}, {}, {})
        with pytest.raises(KeyError):
            await group.call_tool("lend")
        assert (await library.list_tools()).tools


@linux
async def test_a_connection_that_is_made_when_the_group_is_left_is_closed() -> None:
    before = children()
    failures: list[BaseException] = []

    async def connect(group: ClientSessionGroup) -> None:
        try:
            await group.connect_to_server(process("Library", "lend"))
        except (RuntimeError, MCPError) as failure:
            failures.append(failure)

    group = ClientSessionGroup()
    async with anyio.create_task_group() as tasks, group:
        tasks.start_soon(connect, group)
        while children() == before:
            await anyio.sleep(0.001)
    assert len(failures) == 1
    assert group.sessions == []
    assert children() == before


@asynccontextmanager
async def elsewhere() -> AsyncGenerator[Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]], None]:
    """Runs each function in an asyncio task of its own."""

    async def run(function: Callable[[], Awaitable[Any]]) -> Any:
        async def body() -> Any:
            return await function()

        return await asyncio.get_running_loop().create_task(body())

    yield run


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_on_asyncio_any_task_may_open_and_close() -> None:
    group = ClientSessionGroup()
    async with elsewhere() as run:
        await run(group.__aenter__)
        first = await run(lambda: group.connect_to_server(process("Library", "lend")))
        second = await run(lambda: group.connect_to_server(process("Web", "search")))
        await run(lambda: group.disconnect_from_server(first))
        assert await closed(first)
        assert (await said_by(group, "search"))[0] == "Web"
        await run(lambda: group.__aexit__(None, None, None))
        assert await closed(second)


def test_parameters_have_the_documented_defaults() -> None:
    sse = SseServerParameters(url="http://h/sse")
    assert (sse.headers, sse.timeout, sse.sse_read_timeout) == (None, 5, 300)
    http = StreamableHttpParameters(url="http://h/mcp")
    assert (http.headers, http.timeout, http.sse_read_timeout, http.terminate_on_close) == (None, 30, 300, True)
    assert http.max_sse_event_size == DEFAULT_MAX_SSE_EVENT_SIZE
    assert ClientSessionParameters() == ClientSessionParameters(None, None, None, None, None, None, None)
