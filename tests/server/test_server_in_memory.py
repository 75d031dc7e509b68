"""Client and server in one process: the handler runs in the caller's task, and yet keeps to itself."""

import asyncio
import builtins
import contextvars
import importlib
import sys
from typing import Any

import anyio
import pytest
from pydantic import Field
from wire import Context, connected, refusal, send

from mcp import Client, types
from mcp.engine.memory import MemoryRequester
from mcp.engine.requester import CallOptions
from mcp.server import Server
from mcp.shared.exceptions import ConnectionClosedError, MCPError, RequestTimeoutError

pytestmark = pytest.mark.anyio

who = contextvars.ContextVar("who", default="nobody")


def group(*errors: BaseException) -> BaseException:
    """An exception group; Python 3.10 has them from a package that anyio needs."""
    kind: Any = getattr(builtins, "BaseExceptionGroup", None)
    if kind is None:
        kind = importlib.import_module("exceptiongroup").BaseExceptionGroup
    return kind("several", errors)


class Params(types.RequestParams):
    items: list[Any] = Field(default_factory=list[Any])


def server_with(handler: Any) -> Server[Any]:
    server = Server("srv")
    server.add_request_handler("acme/do", Params, handler)
    return server


# Isolation.


async def test_a_handler_sees_the_callers_context_variables_and_keeps_its_own() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        seen = who.get()
        who.set("handler")
        await anyio.sleep(0)
        return {"seen": seen, "set": who.get()}

    async with connected(server_with(handler)) as client:
        who.set("caller")
        result = await send(client, "acme/do")
    assert (result["seen"], result["set"]) == ("caller", "handler")
    assert who.get() == "caller"


async def test_the_handler_runs_in_the_callers_task() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        return {"task": anyio.get_current_task().id}

    async with connected(server_with(handler)) as client:
        assert (await send(client, "acme/do"))["task"] == anyio.get_current_task().id


async def test_the_two_sides_never_share_an_object() -> None:
    kept: dict[str, Any] = {}
    content: dict[str, Any] = {"list": [1, 2]}

    async def handler(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        assert params.arguments is not None
        kept["arguments"] = params.arguments
        params.arguments["items"].append("server")
        return types.CallToolResult(content=[], structured_content=content)

    async with connected(Server("srv", on_call_tool=handler)) as client:
        arguments = {"items": ["client"]}
        result = await client.call_tool("t", arguments)
    assert arguments == {"items": ["client"]}
    assert kept["arguments"] == {"items": ["client", "server"]}
    result.structured_content["list"].append(3)
    assert content == {"list": [1, 2]}


async def test_the_data_of_an_error_is_not_shared_either() -> None:
    data = {"list": [1]}

    async def handler(ctx: Context, params: Params) -> None:
        raise MCPError(7, "m", data)

    async with connected(server_with(handler)) as client:
        error = await refusal(client, "acme/do")
    assert error.data == data
    assert error.data is not data


async def test_notifications_are_not_shared_either() -> None:
    data = {"list": [1]}
    received: list[Any] = []

    async def handler(ctx: Context, params: Params) -> None:
        await ctx.session._exchange.notify("notifications/message", {"level": "info", "data": data})

    async def on_message(message: Any) -> None:
        received.append(message.params.data)

    async with connected(server_with(handler), message_handler=on_message) as client:
        await send(client, "acme/do")
    assert received == [data]
    assert received[0] is not data


async def test_what_a_wire_would_change_is_changed_here_too() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        return {"tuple": (1, 2), "nan": float("nan")}

    async with connected(server_with(handler)) as client:
        result = await send(client, "acme/do")
    assert (result["tuple"], result["nan"]) == ([1, 2], None)


# Exits.


@pytest.mark.parametrize("exit_", [SystemExit(3), group(ValueError(), SystemExit(3)), group(ValueError())])
async def test_an_exit_of_a_handler_ends_that_call_alone(exit_: BaseException) -> None:
    calls: list[int] = []

    async def handler(ctx: Context, params: Params) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise exit_

    async with connected(server_with(handler)) as client:
        assert (await refusal(client, "acme/do")).code == -32603
        await send(client, "acme/do")
    assert len(calls) == 2


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio counts cancellations since 3.11")
async def test_a_handlers_own_cancelled_error_is_an_error_of_that_call(anyio_backend_name: str) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("trio's cancellations cannot be made by hand")

    async def handler(ctx: Context, params: Params) -> None:
        raise asyncio.CancelledError

    async with connected(server_with(handler)) as client:
        error = await refusal(client, "acme/do")
    assert (error.code, error.message) == (-32603, "Internal server error")


# Giving up.


class Waiting:
    """A handler that waits until it is cancelled, and says so."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.ended = anyio.Event()

    async def __call__(self, ctx: Context, params: Params) -> None:
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()


@pytest.mark.parametrize("seconds", [0.01, 0, -1])
async def test_a_time_limit_cancels_the_handler(seconds: float) -> None:
    handler = Waiting()
    async with connected(server_with(handler)) as client:
        with pytest.raises(RequestTimeoutError) as raised:
            await send(client, "acme/do", request_read_timeout_seconds=seconds)
        assert raised.value.code == -32001
        assert raised.value.message == f"Timed out after {max(seconds, 0):g}s waiting for 'acme/do'"
        assert handler.ended.is_set()


async def test_a_call_within_its_time_limit_is_answered() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        await anyio.sleep(0)
        return {"a": 1}

    async with connected(server_with(handler), read_timeout_seconds=30) as client:
        assert (await send(client, "acme/do"))["a"] == 1


async def test_the_handlers_own_time_limit_is_not_the_callers() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        with anyio.move_on_after(0) as scope:
            await anyio.sleep_forever()
        return {"gave_up": scope.cancelled_caught}

    async with connected(server_with(handler), read_timeout_seconds=30) as client:
        assert (await send(client, "acme/do"))["gave_up"] is True


async def test_cancelling_the_caller_cancels_the_handler() -> None:
    handler = Waiting()
    async with connected(server_with(handler)) as client:
        with anyio.move_on_after(0) as scope:
            await send(client, "acme/do")
        assert scope.cancelled_caught
        assert handler.ended.is_set()


async def test_cancelling_the_callers_task_cancels_the_handler(anyio_backend_name: str) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("trio has no tasks to cancel by hand")
    handler = Waiting()
    async with connected(server_with(handler)) as client:
        task = asyncio.get_running_loop().create_task(send(client, "acme/do"))
        await handler.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert handler.ended.is_set()


# Many at once.


async def test_calls_run_concurrently() -> None:
    waiting = 0
    all_wait = anyio.Event()

    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        nonlocal waiting
        waiting += 1
        if waiting == 50:
            all_wait.set()
        await all_wait.wait()
        return {"number": params.items[0]}

    results: list[int] = []
    async with connected(server_with(handler)) as client:

        async def call(number: int) -> None:
            result = await send(client, "acme/do", {"items": [number]})
            assert result["number"] == number
            results.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(call, number)
    assert sorted(results) == list(range(50))


async def test_clients_of_one_server_do_not_disturb_each_other() -> None:
    async def handler(ctx: Context, params: Params) -> dict[str, Any]:
        assert ctx.session.client_params is not None
        name = ctx.session.client_params.client_info.name
        await anyio.sleep(0)
        assert ctx.session.client_params.client_info.name == name
        return {"name": name}

    server = server_with(handler)

    async def use(name: str) -> None:
        info = types.Implementation(name=name, version="1")
        async with connected(server, client_info=info) as client:
            for _ in range(5):
                assert (await send(client, "acme/do"))["name"] == name

    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(use, name)


async def test_a_handler_may_be_a_client_of_the_same_server() -> None:
    server = Server("srv")

    async def outer(ctx: Context, params: Params) -> dict[str, Any]:
        who.set("outer")
        async with Client(server) as client:
            result = await send(client, "acme/inner")
        return {"inner": result["seen"], "outer": who.get()}

    async def inner(ctx: Context, params: Params) -> dict[str, Any]:
        seen = who.get()
        who.set("inner")
        return {"seen": seen}

    server.add_request_handler("acme/outer", Params, outer)
    server.add_request_handler("acme/inner", Params, inner)
    async with connected(server) as client:
        result = await send(client, "acme/outer")
    assert (result["inner"], result["outer"]) == ("outer", "outer")


# The end.


async def test_leaving_a_client_ends_the_calls_of_other_tasks() -> None:
    handler = Waiting()
    client = Client(server_with(handler), mode="2026-07-28")
    await client.__aenter__()

    async def call() -> None:
        with pytest.raises(ConnectionClosedError):
            await send(client, "acme/do")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await handler.started.wait()
        await client.__aexit__(None, None, None)
    assert handler.ended.is_set()


async def test_a_closed_connection_takes_no_more_requests() -> None:
    async def sink(method: str, params: dict[str, Any] | None) -> None:
        raise AssertionError("nothing is sent")

    async with Server("srv").in_process() as runtime:
        requester = MemoryRequester(runtime.engine, sink)
        await requester.notify("acme/event", None)
        await requester.aclose()
        with pytest.raises(ConnectionClosedError):
            await requester.request(1, "server/discover", {}, CallOptions())
        with pytest.raises(ConnectionClosedError):
            await requester.notify("acme/event", None)


async def test_a_request_without_an_envelope_is_refused_as_on_any_transport() -> None:
    async def sink(method: str, params: dict[str, Any] | None) -> None:
        raise AssertionError("nothing is sent")

    async with Server("srv").in_process() as runtime:
        with pytest.raises(MCPError, match=r"params\._meta must be an object"):
            await MemoryRequester(runtime.engine, sink).request(1, "server/discover", {}, CallOptions())
