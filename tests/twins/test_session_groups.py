"""Two servers in one group: whose tool is called, what a clash does, and names that cannot clash."""

from typing import Any

import pytest
from serving_http import served, served_over_sse
from shopfront import said
from two_searches import process, searcher

from mcp import Client, ClientSessionGroup, MCPError, types
from mcp.client.session_group import SseServerParameters, StreamableHttpParameters

pytestmark = pytest.mark.anyio


def labelled(name: str, server_info: types.Implementation) -> str:
    return f"{server_info.name}.{name}"


async def test_a_group_has_what_its_server_offers_and_calls_it_after_a_handshake() -> None:
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(process("Archive"))
        assert session.initialize_result is not None
        assert session.discover_result is None
        assert (set(group.tools), set(group.resources), set(group.prompts)) == ({"search"}, {"hours"}, {"cite"})
        assert isinstance(group.tools["search"], types.Tool)
        assert said(await group.call_tool("search", {"for": "owls"})) == "Archive 2025-11-25 owls"


async def test_a_second_server_with_the_same_name_is_refused_and_leaves_nothing_behind() -> None:
    async with ClientSessionGroup() as group:
        await group.connect_to_server(process("Index"))
        with pytest.raises(MCPError) as raised:
            await group.connect_to_server(process("Archive"))
        assert str(raised.value) == "{'search'} already exist in group tools."
        assert len(group.sessions) == 1
        assert (set(group.tools), set(group.resources), set(group.prompts)) == ({"search"}, set(), set())
        assert said(await group.call_tool("search", {"for": "owls"})) == "Index 2025-11-25 owls"


async def test_a_hook_names_everything_and_the_server_never_hears_of_it() -> None:
    async with ClientSessionGroup(component_name_hook=labelled) as group:
        await group.connect_to_server(process("Archive"))
        await group.connect_to_server(process("Index"))
        assert sorted(group.tools) == ["Archive.search", "Index.search"]
        assert (set(group.resources), set(group.prompts)) == ({"Archive.hours"}, {"Archive.cite"})
        assert group.tools["Index.search"].name == "search"
        assert said(await group.call_tool("Index.search", {"for": "owls"})) == "Index 2025-11-25 owls"
        assert said(await group.call_tool("Archive.search", {"for": "owls"})) == "Archive 2025-11-25 owls"
        with pytest.raises(KeyError):
            await group.call_tool("search", {"for": "owls"})


async def test_a_server_that_is_disconnected_takes_its_names_along() -> None:
    async with ClientSessionGroup(component_name_hook=labelled) as group:
        archive = await group.connect_to_server(process("Archive"))
        await group.connect_to_server(process("Index"))
        await group.disconnect_from_server(archive)
        assert (set(group.tools), group.resources, group.prompts) == ({"Index.search"}, {}, {})
        assert said(await group.call_tool("Index.search", {"for": "owls"})) == "Index 2025-11-25 owls"


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
async def test_an_open_session_joins_and_stays_open_after_the_group(mode: str, version: str) -> None:
    async with Client(searcher("Archive"), mode=mode) as client:
        who = client.server_info or types.Implementation(name="Mine", version="1")
        async with ClientSessionGroup(component_name_hook=labelled) as group:
            assert await group.connect_with_session(who, client.session) is client.session
            assert set(group.tools) == {f"{who.name}.search"}
            assert said(await group.call_tool(f"{who.name}.search", {"for": "owls"})) == f"Archive {version} owls"
        assert said(await client.call_tool("search", {"for": "bats"})) == f"Archive {version} bats"
    assert who.name == ("Archive" if mode == "legacy" else "Mine")


@pytest.mark.parametrize(
    ("serving", "parameters"),
    [(served, StreamableHttpParameters), (served_over_sse, SseServerParameters)],
    ids=["streamable HTTP", "HTTP+SSE"],
)
async def test_a_server_at_a_url_joins_one_that_is_a_process(serving: Any, parameters: Any) -> None:
    with serving(searcher("Index")) as url:
        async with ClientSessionGroup(component_name_hook=labelled) as group:
            await group.connect_to_server(process("Archive"))
            session = await group.connect_to_server(parameters(url=url))
            assert session.protocol_version == "2025-11-25"
            assert said(await group.call_tool("Index.search", {"for": "owls"})) == "Index 2025-11-25 owls"
            assert said(await group.call_tool("Archive.search", {"for": "owls"})) == "Archive 2025-11-25 owls"


async def test_a_group_takes_neither_a_server_nor_a_url() -> None:
    target: Any
    async with ClientSessionGroup() as group:
        for target in (searcher("Archive"), "http://127.0.0.1:9/mcp"):
            with pytest.raises(TypeError, match="takes StdioServerParameters"):
                await group.connect_to_server(target)
        assert group.sessions == []
