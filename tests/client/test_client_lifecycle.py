"""Constructing a client, entering and leaving it, and what leaves it when something fails."""

import asyncio
import contextvars
import gc
import inspect
import socket
import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import house
import pytest
import trio
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


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mode": "legacy"}, "mode='legacy'"),
        ({"extensions": [object()]}, "extensions"),
        ({"cache": object()}, "caching"),
    ],
    ids=["legacy", "extensions", "cache"],
)
def test_what_is_not_built_yet_says_so(options: dict[str, Any], what: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"{what}.* not part of this version of the library yet"):
        made(**options)


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
    again = r"^Client is already entered; cannot reenter$"
    client = Client(house.build())
    async with client:
        with pytest.raises(RuntimeError, match=again):
            await client.__aenter__()
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
    with pytest.raises(RuntimeError, match=again):
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


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.anyio
async def test_a_failed_connection_leaves_as_the_error_itself_and_nothing_of_itself_behind(closed_port: int) -> None:
    for unreachable in (
        StdioServerParameters(command="/no/such/program"),
        StdioServerParameters(command=sys.executable, args=["-c", "raise SystemExit(3)"]),
        f"http://127.0.0.1:{closed_port}/mcp",
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


# Cancelled connections.


@pytest.fixture
def unanswering_url() -> Iterator[str]:
    """An endpoint that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@asynccontextmanager
async def endless_start(server: Server[None]) -> AsyncGenerator[None, None]:
    await anyio.sleep_forever()
    yield


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["memory", "stdio", "http"])
async def test_a_cancelled_connection_leaves_nothing_behind(
    where: str, unanswering_url: str, anyio_backend_name: str
) -> None:
    silent: dict[str, Target] = {
        "memory": Server("house", lifespan=endless_start),
        "stdio": StdioServerParameters(command=sys.executable, args=["-S", "-c", "import sys; sys.stdin.read()"]),
        "http": unanswering_url,
    }
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()

    async def connect() -> "weakref.ref[Client]":
        client = Client(silent[where])
        with anyio.move_on_after(0.05) as scope:
            await client.__aenter__()
        assert scope.cancelled_caught
        return weakref.ref(client)

    client = await connect()
    await anyio.sleep(0)  # Until then the event loop itself holds the cancellation, and with it its traceback.
    gc.collect()
    assert client() is None
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


@pytest.mark.anyio
async def test_a_client_that_is_left_while_cancelled_ends_its_server(target: Target, anyio_backend_name: str) -> None:
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()
    with anyio.CancelScope() as scope:
        async with Client(target) as client:
            scope.cancel()
            await client.call_tool("wait")
    assert scope.cancelled_caught
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


@pytest.mark.anyio
async def test_entering_while_cancelled_leaves_nothing_behind(house_url: str, anyio_backend_name: str) -> None:
    tasks = asyncio.all_tasks() if anyio_backend_name == "asyncio" else set[Any]()
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with Client(house_url):
            pass
    assert scope.cancelled_caught
    if anyio_backend_name == "asyncio":
        assert asyncio.all_tasks() == tasks


# Trio.


def test_on_trio_a_client_lives_in_the_nursery_of_the_task_that_entered_it() -> None:
    sums: list[object] = []

    async def call(client: Client, number: int) -> None:
        sums.append((await client.call_tool("add", {"a": number, "b": 1})).structured_content)

    async def main() -> None:
        async with Client(house.build()) as client, trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(call, client, number)

    trio.run(main)
    assert sorted(sums, key=str) == [{"sum": 1}, {"sum": 2}, {"sum": 3}]


def test_on_trio_a_nursery_wraps_its_own_tasks_failures_and_a_client_nothing() -> None:
    async def fail(client: Client) -> None:
        await client.call_tool("refuse")

    async def main() -> None:
        async with trio.open_nursery() as nursery, Client(house.build()) as client:
            nursery.start_soon(fail, client)
            await trio.sleep_forever()

    with pytest.raises(BaseException) as raised:
        trio.run(main)
    [error] = getattr(raised.value, "exceptions")  # noqa: B009 (Python 3.10 has the type elsewhere)
    assert isinstance(error, MCPError)
    assert str(error) == "Closed on Sundays"


# Context variables.

visitor = contextvars.ContextVar("visitor", default="nobody")


@pytest.mark.anyio
async def test_context_variables_reach_a_server_in_this_process_and_do_not_come_back() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server[None]) -> AsyncGenerator[None, None]:
        seen.append(visitor.get())
        visitor.set("lifespan")
        yield

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(visitor.get())
        visitor.set("handler")
        await anyio.sleep(0)
        seen.append(visitor.get())
        return types.CallToolResult(content=[])

    visitor.set("opener")
    async with Client(Server("house", lifespan=lifespan, on_call_tool=call_tool)) as client:
        visitor.set("caller")
        await client.call_tool("any")
        assert visitor.get() == "caller"
    assert seen == ["opener", "caller", "handler"]
