"""`ClientSession` by itself: over any pair of message streams, and after its connection has closed."""

import logging

import anyio
import house
import pytest
from played_server import Peer, serving

from mcp import Client, ClientSession, MCPError, types
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import ConnectionClosedError
from mcp.types import JSONRPCNotification

pytestmark = pytest.mark.anyio


async def test_a_session_works_over_streams_of_anyio() -> None:
    async with serving(house.build()) as (read, write), ClientSession(read, write) as session:
        result = await session.discover()
        assert result.supported_versions == ["2026-07-28"]
        assert (await session.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
        assert session.protocol_version == "2026-07-28"


async def test_a_session_works_over_http_streams(house_url: str) -> None:
    async with streamable_http_client(house_url) as (read, write), ClientSession(read, write) as session:
        await session.discover()
        assert (await session.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_a_client_works_over_a_transport_of_the_users() -> None:
    async with Client(serving(house.build())) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_two_sessions_over_one_http_connection_are_two(house_url: str) -> None:
    async with (
        streamable_http_client(house_url) as (read, write),
        ClientSession(read, write) as first,
        ClientSession(read, write) as second,
    ):
        assert (await first.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
        assert (await second.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}


async def test_a_session_needs_a_pair_of_streams() -> None:
    with pytest.raises(RuntimeError, match="a session needs a pair of streams"):
        async with ClientSession():
            pass


def test_a_dispatcher_is_not_supported_and_says_so() -> None:
    with pytest.raises(NotImplementedError, match="dispatcher="):
        ClientSession(dispatcher=object())


async def test_a_request_before_entering_says_what_to_do() -> None:
    session = ClientSession()
    with pytest.raises(RuntimeError, match="ClientSession must be used within an async context manager"):
        await session.list_tools()
    with pytest.raises(RuntimeError, match="ClientSession must be used within an async context manager"):
        await session.send_notification(types.RootsListChangedNotification())


async def test_a_session_may_declare_settings_of_extensions() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write, extensions={"acme/x": {"level": 1}}) as session:
            await session.send_notification(types.RootsListChangedNotification())
            meta = ((await peer.next()).params or {})["_meta"]
            assert meta[types.CLIENT_CAPABILITIES_META_KEY] == {"extensions": {"acme/x": {"level": 1}}}


# On the wire.


async def test_a_request_is_one_message_with_meta_at_its_end() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:
            group.start_soon(session.call_tool, "add", {"a": 1})
            request = await peer.next()
            assert request.model_dump(by_alias=True, exclude_none=True) == {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {
                    "name": "add",
                    "arguments": {"a": 1},
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientInfo": {"name": "mcp", "version": "0.1.0"},
                        "io.modelcontextprotocol/clientCapabilities": {},
                    },
                },
            }
            assert list(request.params or {})[-1] == "_meta"
            await peer.answer(request, {"content": [], "isError": True})


async def test_ids_are_numbers_that_count_and_a_progress_token_is_the_id() -> None:
    async def ignore(progress: float, total: float | None, message: str | None) -> None: ...

    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:
            group.start_soon(session.list_prompts)
            first = await peer.request()
            group.start_soon(session.call_tool, "add", None, None, ignore)
            second = await peer.request()
            assert (first.id, second.id) == (1, 2)
            assert second.params is not None
            assert second.params["_meta"]["progressToken"] == 2
            assert "arguments" not in second.params
            await peer.answer(first, {"prompts": []})
            await peer.answer(second, {"content": [], "isError": True})


async def test_a_progress_token_of_the_callers_own_has_the_name_it_has_on_the_wire() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:
            params = types.PaginatedRequestParams(_meta={"progress_token": "mine", "acme/k": 1})

            async def list_prompts() -> None:
                await session.list_prompts(params=params)

            group.start_soon(list_prompts)
            request = await peer.request()
            meta = (request.params or {})["_meta"]
            assert (meta["progressToken"], meta["acme/k"]) == ("mine", 1)
            assert "progress_token" not in meta
            await peer.answer(request, {"prompts": []})

            async def get_prompt() -> None:
                await session.get_prompt("greet", meta={"progress_token": "mine"})

            group.start_soon(get_prompt)
            request = await peer.request()
            assert (request.params or {})["_meta"]["progressToken"] == "mine"
            await peer.answer(request, {"messages": []})


async def test_an_abandoned_request_is_cancelled_at_the_server() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session:
            with pytest.raises(MCPError, match="Timed out"):
                await session.call_tool("wait", read_timeout_seconds=0.01)
            request = await peer.request()
            cancelled = await peer.next()
            assert cancelled.method == "notifications/cancelled"
            reason = "Timed out after 0.01s waiting for 'tools/call'"
            assert cancelled.params == {"requestId": request.id, "reason": reason}


async def test_a_peer_that_hangs_up_ends_what_is_pending() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session:

            async def call() -> None:
                with pytest.raises(ConnectionClosedError, match="Connection closed"):
                    await session.call_tool("wait")

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await peer.next()
                peer.hang_up()
            with pytest.raises(ConnectionClosedError, match="Connection closed"):
                await session.list_tools()


async def test_a_notification_of_the_server_reaches_the_message_handler() -> None:
    heard: list[IncomingMessage] = []
    arrived = anyio.Event()

    async def handle(message: IncomingMessage) -> None:
        heard.append(message)
        arrived.set()

    with Peer() as peer:
        async with ClientSession(peer.read, peer.write, message_handler=handle):
            await peer.say(JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed"))
            await arrived.wait()
    assert heard == [types.ToolListChangedNotification()]


async def test_what_is_no_message_is_logged_and_the_connection_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:
            await peer.say(ValueError("a line of nonsense"))
            group.start_soon(session.list_prompts)
            await peer.answer(await peer.next(), {"prompts": []})
    assert "Failed to parse JSONRPC message from server: a line of nonsense" in caplog.text


# After the end.


async def test_a_request_after_the_end_says_that_the_connection_is_closed(target: house.Target) -> None:
    async with Client(target) as client:
        session = client.session
    with pytest.raises(ConnectionClosedError, match="Connection closed") as raised:
        await session.list_tools()
    assert raised.value.code == types.CONNECTION_CLOSED


async def test_a_notification_after_the_end_is_dropped(target: house.Target, caplog: pytest.LogCaptureFixture) -> None:
    async with Client(target) as client:
        session = client.session
    with caplog.at_level(logging.DEBUG, "client"):
        await session.send_notification(types.RootsListChangedNotification())
    assert "dropped notifications/roots/list_changed: Connection closed" in caplog.text
