"""A client and a server joined in memory, each driven by hand."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcp import Client, ClientSession, types
from mcp.engine.streams import link_of
from mcp.server import Server, ServerRequestContext
from mcp.shared.memory import MessageStream, create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio


def echo_server() -> Server[Any]:
    """A server with one tool, which asks its client."""

    async def call_tool(
        ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        answer = await ctx.session.elicit_form("Which?", {"type": "object", "properties": {}})
        return types.CallToolResult(content=[types.TextContent(text=answer.action)])

    return Server("echo", on_call_tool=call_tool)


@asynccontextmanager
async def served(server: Server[Any]) -> AsyncGenerator[MessageStream, None]:
    """The client's streams of a server that runs over the others. It must end when the client is done."""
    async with (
        create_client_server_memory_streams() as (client_streams, server_streams),
        anyio.create_task_group() as group,
    ):
        group.start_soon(server.run, *server_streams, server.create_initialization_options())
        yield client_streams


async def declined(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


async def test_a_session_and_a_server_run_over_them() -> None:
    async with (
        served(echo_server()) as (read, write),
        ClientSession(read, write, elicitation_callback=declined) as session,
    ):
        result = await session.initialize()
        assert result.server_info.name == "echo"
        answer = await session.call_tool("any")
    assert answer.content == [types.TextContent(text="decline")]


async def test_a_client_takes_them_as_a_transport() -> None:
    @asynccontextmanager
    async def transport() -> AsyncGenerator[MessageStream, None]:
        async with served(echo_server()) as streams:
            yield streams

    async with Client(transport()) as client:
        assert client.protocol_version == "2026-07-28"
    async with Client(transport(), mode="legacy", elicitation_callback=declined) as client:
        assert (await client.call_tool("any", {})).content == [types.TextContent(text="decline")]


async def test_both_sides_may_skip_the_message_objects() -> None:
    async with create_client_server_memory_streams() as (client_streams, server_streams):
        one, other = link_of(*client_streams), link_of(*server_streams)
        assert one is not None
        assert other is not None
        assert one is not other


async def test_what_one_side_writes_the_other_reads() -> None:
    async with create_client_server_memory_streams() as ((client_read, client_write), (server_read, server_write)):
        request = SessionMessage(JSONRPCRequest(jsonrpc="2.0", id="a", method="acme/do", params={"deep": [1, None]}))
        await client_write.send(request)
        received = await server_read.receive()
        assert isinstance(received, SessionMessage)
        assert received.message == request.message
        answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="a", result={"done": True}))
        await server_write.send(answer)
        assert await client_read.receive() == answer


async def test_the_two_sides_never_share_an_object() -> None:
    async with create_client_server_memory_streams() as ((_, client_write), (server_read, _)):
        params: dict[str, Any] = {"list": [1]}
        await client_write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="acme/it", params=params)))
        params["list"].append(2)
        received = await server_read.receive()
        assert isinstance(received, SessionMessage)
        assert isinstance(received.message, JSONRPCNotification)
        assert received.message.params == {"list": [1]}


async def test_leaving_the_block_ends_both_sides() -> None:
    async with create_client_server_memory_streams() as ((client_read, client_write), (server_read, _)):
        pass
    for read in (client_read, server_read):
        with pytest.raises(anyio.EndOfStream):
            await read.receive()
    with pytest.raises(anyio.ClosedResourceError):
        await client_write.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="acme/it")))


async def test_a_server_ends_when_its_client_leaves() -> None:
    ended = anyio.Event()
    server = echo_server()

    async def run(streams: MessageStream) -> None:
        await server.run(*streams, server.create_initialization_options())
        ended.set()

    async with (
        create_client_server_memory_streams() as (client_streams, server_streams),
        anyio.create_task_group() as group,
    ):
        group.start_soon(run, server_streams)
        async with ClientSession(*client_streams) as session:
            await session.initialize()
        await ended.wait()
