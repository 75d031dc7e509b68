"""Constructing a client, entering and leaving it, and what leaves it when something fails."""

import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import house
import pytest
from held_port import held_port
from house import Target

from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.shared.exceptions import TransportError

NOT_ENTERED = "^Client must be used within an async context manager$"


# Constructing.


def made(**options: Any) -> Client:
    return Client(house.build(), **options)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_handshake_version_is_no_mode(version: str) -> None:
    with pytest.raises(ValueError) as raised:
        made(mode=version)
    assert str(raised.value) == (
        f"mode must be 'legacy', 'auto', or one of ['2026-07-28']; got '{version}' "
        f"('{version}' is a handshake-era version; use mode='legacy')"
    )


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError) as raised:
        made(mode="bogus")
    assert str(raised.value) == "mode must be 'legacy', 'auto', or one of ['2026-07-28']; got 'bogus'"


def test_an_unknown_way_to_validate_output_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^validate_output must be 'error', 'warn' or 'off', got 'strict'$"):
        made(validate_output="strict")


def test_an_unknown_log_level_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^log_level must be one of debug, info, .*, emergency, got 'loud'$"):
        made(log_level="loud")


def test_only_the_server_is_positional() -> None:
    parameters = list(inspect.signature(Client).parameters.values())
    assert [one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == ["server"]
    assert {one.kind for one in parameters[1:]} == {inspect.Parameter.KEYWORD_ONLY}


def test_a_client_shows_what_it_was_given_and_nothing_of_its_insides() -> None:
    shown = repr(Client("http://127.0.0.1:1/mcp", read_timeout_seconds=3))
    assert shown.startswith("Client(server='http://127.0.0.1:1/mcp', ")
    assert "read_timeout_seconds=3" in shown
    assert "_session" not in shown


# Outside the block.

VERBS: dict[str, Callable[[Client], Coroutine[Any, Any, object]]] = {
    "list_tools": lambda client: client.list_tools(),
    "list_prompts": lambda client: client.list_prompts(),
    "list_resources": lambda client: client.list_resources(),
    "list_resource_templates": lambda client: client.list_resource_templates(),
    "read_resource": lambda client: client.read_resource("house://hall"),
    "call_tool": lambda client: client.call_tool("add"),
    "get_prompt": lambda client: client.get_prompt("greet"),
    "complete": lambda client: client.complete(types.PromptReference(name="greet"), {"name": "whom", "value": ""}),
}


@pytest.mark.anyio
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_a_verb_needs_an_entered_client(verb: Callable[[Client], Coroutine[Any, Any, object]]) -> None:
    client = Client(house.build())
    with pytest.raises(RuntimeError, match=NOT_ENTERED):
        await verb(client)
    async with client:
        pass
    with pytest.raises(RuntimeError, match=NOT_ENTERED):
        await verb(client)


@pytest.mark.parametrize("name", ["session", "protocol_version", "server_info", "server_capabilities", "instructions"])
def test_a_property_needs_an_entered_client(name: str) -> None:
    with pytest.raises(RuntimeError, match=NOT_ENTERED):
        getattr(Client(house.build()), name)


@pytest.mark.anyio
async def test_entering_yields_the_client_itself() -> None:
    client = Client(house.build())
    async with client as entered:
        assert entered is client


@pytest.mark.anyio
async def test_a_client_is_entered_once() -> None:
    client = Client(house.build())
    async with client:
        with pytest.raises(RuntimeError, match=r"^Client is already entered; cannot reenter$"):
            await client.__aenter__()
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
    with pytest.raises(RuntimeError, match="a client is used once, so make another one"):
        await client.__aenter__()


@pytest.mark.anyio
async def test_a_client_that_could_not_connect_is_not_entered_again() -> None:
    client = Client("http://127.0.0.1:9/mcp")
    with pytest.raises(TransportError):
        await client.__aenter__()
    with pytest.raises(RuntimeError, match="a client is used once, so make another one"):
        await client.__aenter__()


@pytest.mark.anyio
async def test_leaving_a_client_twice_or_without_entering_does_nothing() -> None:
    client = Client(house.build())
    await client.__aexit__(None, None, None)
    async with client:
        pass
    await client.__aexit__(None, None, None)


@pytest.mark.anyio
@pytest.mark.parametrize("thing", [5, None, b"http://127.0.0.1/mcp", object()], ids=type)
async def test_what_is_no_server_is_refused_with_what_would_be_one(thing: Any) -> None:
    with pytest.raises(TypeError) as raised:
        async with Client(thing):
            pass
    assert str(raised.value) == (
        "Client takes a server object, a URL, StdioServerParameters, or a transport (anything to enter with "
        f"`async with ... as (read, write)`), got {type(thing).__name__}"
    )


@pytest.mark.anyio
async def test_a_transport_is_entered_and_left_with_the_client(house_url: str) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any, None]:
        async with streamable_http_client(house_url) as streams:
            log.append("open")
            yield streams
        log.append("closed")

    async with Client(transport()) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}
        assert log == ["open"]
    assert log == ["open", "closed"]


@pytest.mark.anyio
async def test_a_server_in_this_process_has_one_lifespan_for_each_client() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server[str]) -> AsyncGenerator[str, None]:
        log.append("up")
        yield "state"
        log.append("down")

    server: Server[str] = Server("house", lifespan=lifespan)
    async with Client(server), Client(server):
        assert log == ["up", "up"]
    assert log == ["up", "up", "down", "down"]


# What leaves the block.


@pytest.mark.anyio
async def test_an_error_in_the_block_leaves_as_itself(target: Target) -> None:
    error = ValueError("mine")
    with pytest.raises(ValueError) as raised:
        async with Client(target):
            raise error
    assert raised.value is error
    assert error.__cause__ is None


@pytest.mark.anyio
async def test_an_error_of_a_call_leaves_as_itself(target: Target) -> None:
    with pytest.raises(MCPError, match="Closed on Sundays") as raised:
        async with Client(target) as client:
            await client.call_tool("refuse")
    assert type(raised.value) is MCPError


@pytest.mark.anyio
async def test_a_failed_connection_leaves_as_the_error_itself_and_nothing_of_itself_behind() -> None:
    with held_port() as closed:
        for unreachable in (
            StdioServerParameters(command="/no/such/program"),
            StdioServerParameters(command=sys.executable, args=["-c", "raise SystemExit(3)"]),
            f"http://127.0.0.1:{closed}/mcp",
        ):
            with pytest.raises(TransportError):
                async with Client(unreachable):
                    pass
            # Were a cancellation left behind, it would end here.
            await anyio.sleep(0)


@pytest.mark.anyio
async def test_an_error_of_a_lifespan_leaves_as_itself() -> None:
    @asynccontextmanager
    async def no_start(server: Server[Any]) -> AsyncGenerator[None, None]:
        raise LookupError("no database")
        yield

    @asynccontextmanager
    async def no_end(server: Server[Any]) -> AsyncGenerator[None, None]:
        yield
        raise LookupError("the database is stuck")

    with pytest.raises(LookupError, match="no database"):
        async with Client(Server("house", lifespan=no_start)):
            pass
    with pytest.raises(LookupError, match="the database is stuck"):
        async with Client(Server("house", lifespan=no_end)):
            pass


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_ctrl_c_in_the_block_goes_through(backend: str) -> None:
    left: list[bool] = []

    @asynccontextmanager
    async def lifespan(server: Server[None]) -> AsyncGenerator[None, None]:
        yield
        left.append(True)

    async def main() -> None:
        async with Client(Server("house", lifespan=lifespan)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=backend)
    assert left == [True]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_ctrl_c_in_a_handler_goes_through(backend: str) -> None:
    async def interrupt(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise KeyboardInterrupt

    async def main() -> None:
        async with Client(Server("house", on_call_tool=interrupt)) as client:
            await client.call_tool("any")

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main, backend=backend)
