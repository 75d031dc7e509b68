"""Middleware: it wraps every message, sees it raw, and may change, answer or refuse it."""

import dataclasses
from typing import Any

import anyio
import pytest
from link_wire import MODERN, on_a_link
from wire import Context, connected, identity, refusal, send

from mcp import Client, types
from mcp.server import Server
from mcp.server.context import CallNext, ServerMiddleware
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

Middleware = ServerMiddleware[Any]


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "fails":
        raise ValueError("wrong")
    return types.CallToolResult(content=[types.TextContent(text=f"{params.name} {params.arguments}")])


def server_with(*middleware: Middleware) -> Server[Any]:
    server = Server("srv", on_call_tool=call_tool)
    server.middleware.extend(middleware)
    return server


async def test_the_first_in_the_list_is_the_outermost() -> None:
    log: list[str] = []

    def named(name: str) -> Middleware:
        async def middleware(ctx: Context, call_next: CallNext) -> Any:
            log.append(f"{name} in")
            result = await call_next(ctx)
            log.append(f"{name} out")
            return result

        return middleware

    async with connected(server_with(named("a"), named("b"))) as client:
        await send(client, "tools/call", {"name": "t"})
    assert log == ["a in", "b in", "b out", "a out"]


async def test_it_sees_the_raw_message_and_the_finished_result() -> None:
    seen: list[tuple[Any, ...]] = []

    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        result = await call_next(ctx)
        assert ctx.params is not None
        seen.append((ctx.method, ctx.request_id, dict(ctx.params, _meta=None), result))
        return result

    async with connected(server_with(middleware)) as client:
        sent = await send(client, "tools/call", {"name": "t", "acme": 1})
    result = {
        "content": [{"type": "text", "text": "t None"}],
        "isError": False,
        "resultType": "complete",
        "_meta": identity(),
    }
    assert seen == [("tools/call", 1, {"name": "t", "acme": 1, "_meta": None}, result)]
    assert sent == result


async def test_it_wraps_discover_and_methods_that_nobody_answers() -> None:
    seen: list[tuple[str, int | None]] = []

    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        try:
            result = await call_next(ctx)
        except MCPError as error:
            seen.append((ctx.method, error.code))
            raise
        seen.append((ctx.method, None))
        return result

    async with Client(server_with(middleware)) as client:
        await refusal(client, "acme/unknown")
        await refusal(client, "tools/call", {"name": 5})
    assert seen == [("server/discover", None), ("acme/unknown", -32601), ("tools/call", -32602)]


async def test_it_sees_what_a_handler_raised_and_may_turn_it_into_an_answer() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        try:
            return await call_next(ctx)
        except ValueError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)

    async with connected(server_with(middleware)) as client:
        result = await client.call_tool("fails")
    assert result.is_error
    assert result.content == [types.TextContent(text="wrong")]


async def test_its_own_answer_is_sent_as_it_is() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        return {"mine": True}

    async with connected(server_with(middleware)) as client:
        assert await send(client, "tools/call", {"name": "t"}) == {"mine": True}


async def test_it_may_strip_the_identity() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        result = await call_next(ctx)
        assert isinstance(result, dict)
        del result["_meta"]
        return result

    async with connected(server_with(middleware)) as client:
        assert "_meta" not in await send(client, "tools/call", {"name": "t"})


async def test_it_may_rewrite_params_for_the_rest_of_the_chain() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        params = {**(ctx.params or {}), "arguments": {"added": True}}
        return await call_next(dataclasses.replace(ctx, params=params))

    async with connected(server_with(middleware)) as client:
        result = await client.call_tool("t", {"a": 1})
    assert result.content == [types.TextContent(text="t {'added': True}")]


async def test_it_may_send_a_message_elsewhere() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        return await call_next(dataclasses.replace(ctx, method="tools/call"))

    async with connected(server_with(middleware)) as client:
        result = await send(client, "acme/alias", {"name": "t"})
    assert result["content"][0]["text"] == "t None"


async def test_it_may_refuse() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        raise MCPError(-32602, "not today", {"retry": "tomorrow"})

    async with connected(server_with(middleware)) as client:
        error = await refusal(client, "tools/call", {"name": "t"})
    assert (error.code, error.message, error.data) == (-32602, "not today", {"retry": "tomorrow"})


@pytest.mark.parametrize("result", [[], "text", {"a": object()}])
async def test_an_answer_that_cannot_be_sent_is_an_error_of_the_servers(result: Any) -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        return result

    async with connected(server_with(middleware)) as client:
        assert (await refusal(client, "tools/call", {"name": "t"})).code == -32603


async def test_its_exits_end_the_request_alone() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        raise SystemExit(3)

    async with connected(server_with(middleware)) as client:
        assert (await refusal(client, "tools/call", {"name": "t"})).code == -32603


async def test_it_can_be_added_and_removed_while_the_server_runs() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        return {"mine": True}

    server = server_with()
    async with connected(server) as client:
        assert "content" in await send(client, "tools/call", {"name": "t"})
        server.middleware.append(middleware)
        assert await send(client, "tools/call", {"name": "t"}) == {"mine": True}
        server.middleware.remove(middleware)
        assert "content" in await send(client, "tools/call", {"name": "t"})


async def test_a_result_is_the_same_with_and_without_middleware() -> None:
    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        return await call_next(ctx)

    async with connected(server_with()) as plain, connected(server_with(middleware)) as wrapped:
        for method, params in [("tools/call", {"name": "t"}), ("server/discover", {})]:
            assert await send(plain, method, params) == await send(wrapped, method, params)


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
async def test_it_sees_a_cancellation_that_has_taken_effect(version: str) -> None:
    seen: list[tuple[Any, ...]] = []
    told, running = anyio.Event(), anyio.Event()

    async def wait(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        running.set()
        await anyio.sleep_forever()
        raise NotImplementedError

    async def middleware(ctx: Context, call_next: CallNext) -> Any:
        try:
            return await call_next(ctx)
        finally:
            if ctx.method in ("tools/call", "notifications/cancelled"):
                seen.append((ctx.method, ctx.request_id, ctx.protocol_version))
                if ctx.request_id is None:
                    told.set()

    server = Server("srv", on_call_tool=wait)
    server.middleware.append(middleware)
    async with on_a_link(server) as wire:
        if version != "2026-07-28":
            await wire.initialize(version)
        wire.say("tools/call", {"name": "t", "_meta": MODERN} if version == "2026-07-28" else {"name": "t"}, id=1)
        with anyio.fail_after(5):
            await running.wait()
            wire.say("notifications/cancelled", {"requestId": 1})
            await told.wait()

    assert sorted(seen, key=str) == [("notifications/cancelled", None, version), ("tools/call", 1, version)]


async def test_a_handler_may_take_cancellations_without_any_middleware() -> None:
    heard: list[Any] = []
    told = anyio.Event()

    async def take(ctx: Context, params: types.CancelledNotificationParams) -> None:
        heard.append(params.request_id)
        told.set()

    server: Server[Any] = Server("srv")
    server.add_notification_handler("notifications/cancelled", types.CancelledNotificationParams, take)
    async with on_a_link(server) as wire:
        await wire.initialize()
        wire.say("notifications/cancelled", {"requestId": 7})
        with anyio.fail_after(5):
            await told.wait()

    assert heard == [7]
