"""A client and a server in one process: nothing is shared between them, and a handler's doing is its own."""

import asyncio
import sys
from typing import Any

import anyio
import house
import pytest

from mcp import Client, MCPDeprecationWarning, MCPError, types
from mcp.server import Server
from mcp.shared.exceptions import MalformedResultError

pytestmark = pytest.mark.anyio


def calling(handler: Any) -> Server:
    """A server with one tool."""

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = await handler(ctx, params)
        return types.CallToolResult(content=[]) if result is None else result

    return Server("house", on_call_tool=call_tool)


# raise_exceptions.


async def test_an_exception_of_a_handler_is_hidden(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(house.build()) as client:
        with pytest.raises(MCPError, match=r"^Internal server error$") as raised:
            await client.call_tool("fail")
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert "ValueError: the secret is 42" in caplog.text


async def test_an_exception_of_a_handler_is_shown_to_tests_that_ask_for_it() -> None:
    async with Client(house.build(), raise_exceptions=True) as client:
        with pytest.raises(MCPError, match=r"^the secret is 42$") as raised:
            await client.call_tool("fail")
        assert raised.value.code == types.INTERNAL_ERROR
        assert isinstance(raised.value.__cause__, ValueError)
        with pytest.raises(MCPError, match="Closed on Sundays"):
            await client.call_tool("refuse")
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_an_error_has_no_subclass_that_a_wire_could_not_carry() -> None:
    class Own(MCPError):
        pass

    async def refuse(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise Own(-7, "mine", {"a": 1})

    async with Client(calling(refuse), raise_exceptions=True) as client:
        with pytest.raises(MCPError, match="mine") as raised:
            await client.call_tool("any")
    assert type(raised.value) is MCPError


# Exits.


async def test_an_exit_in_a_handler_ends_its_request_alone() -> None:
    async def leave(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise SystemExit(3)

    async with Client(calling(leave)) as client:
        for _ in range(2):
            with pytest.raises(MCPError, match="Internal server error"):
                await client.call_tool("any")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio counts cancellations since 3.11")
def test_a_handler_that_cancels_itself_does_not_cancel_its_caller() -> None:
    async def give_up(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        async with Client(calling(give_up)) as client:
            with pytest.raises(MCPError, match="Internal server error"):
                await client.call_tool("any")
            with pytest.raises(MCPError, match="Internal server error"):
                await client.call_tool("any", read_timeout_seconds=10)
            await asyncio.sleep(0)

    asyncio.run(main())


async def test_a_cancel_scope_of_a_handler_is_its_own() -> None:
    async def hurry(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        return types.CallToolResult(content=[types.TextContent(text="late")])

    async with Client(calling(hurry)) as client:
        result = await client.call_tool("any", read_timeout_seconds=30)
        assert result.content == [types.TextContent(text="late")]


async def test_a_handler_that_finishes_all_the_same_has_its_result_taken() -> None:
    async def stubborn(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)
        return types.CallToolResult(content=[types.TextContent(text="late")])

    async with Client(calling(stubborn)) as client:
        result = await client.call_tool("any", read_timeout_seconds=0.01)
        assert result.content == [types.TextContent(text="late")]


# Nothing is shared.


async def test_arguments_are_copies() -> None:
    async def scribble(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        assert params.arguments is not None
        params.arguments["list"].append("scribbled")

    arguments: dict[str, Any] = {"list": []}
    async with Client(calling(scribble)) as client:
        await client.call_tool("any", arguments)
    assert arguments == {"list": []}


async def test_results_are_copies() -> None:
    kept = types.CallToolResult(content=[types.TextContent(text="kept")], structured_content={"list": []})

    async def give(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return kept

    async with Client(calling(give)) as client:
        result = await client.call_tool("any")
        assert result.content == kept.content
        assert result.content[0] is not kept.content[0]
        result.structured_content["list"].append("scribbled")
    assert kept.structured_content == {"list": []}


async def test_data_of_errors_is_a_copy() -> None:
    data: dict[str, Any] = {"list": []}

    async def refuse(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise MCPError(-1, "no", data)

    async with Client(calling(refuse)) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("any")
    raised.value.data["list"].append("scribbled")
    assert data == {"list": []}


async def test_what_is_logged_and_reported_is_a_copy() -> None:
    data: dict[str, Any] = {"list": []}

    async def speak(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        message = types.LoggingMessageNotificationParams(level="info", data=data)
        await ctx.session.send_notification(types.LoggingMessageNotification(params=message))

    async def scribble(params: types.LoggingMessageNotificationParams) -> None:
        params.data["list"].append("scribbled")

    async with Client(calling(speak), logging_callback=scribble, log_level="info") as client:
        await client.call_tool("any")
    assert data == {"list": []}


# What a wire could not carry fails here too, and what it would turn into something else becomes that.


async def test_what_is_no_json_is_refused_before_it_is_sent(target: house.Target) -> None:
    async with Client(target) as client:
        for value in (object(), "\ud800", b"\xff"):
            with pytest.raises(ValueError, match="cannot be written as JSON"):
                await client.call_tool("look", {"value": value})
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_what_json_has_other_words_for_arrives_in_those() -> None:
    seen: list[Any] = []

    async def look(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        seen.append(params.arguments)

    async with Client(calling(look)) as client:
        await client.call_tool("any", {"tuple": (1, 2), "nan": float("nan"), "model": types.TextContent(text="t")})
    [arguments] = seen
    assert arguments["tuple"] == [1, 2]
    assert arguments["nan"] is None
    assert arguments["model"]["text"] == "t"


async def test_a_result_that_cannot_be_written_is_an_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def give(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content={"it": object()})

    async def refuse(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise MCPError(-1, "no", {"it": object()})

    for handler in (give, refuse):
        async with Client(calling(handler)) as client:
            with pytest.raises(MCPError, match="Internal server error") as raised:
                await client.call_tool("any")
        assert raised.value.code == types.INTERNAL_ERROR


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"in": value}
    return value


async def test_what_is_too_deep_to_be_read_is_an_error_everywhere(target: house.Target) -> None:
    async with Client(target) as client:
        with pytest.raises(MCPError, match="at most 200 levels of nesting") as raised:
            await client.call_tool("look", {"value": nested(210)})
        assert raised.value.code == types.PARSE_ERROR
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


async def test_an_answer_that_is_too_deep_to_be_read_is_a_malformed_one() -> None:
    async def give(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[], structured_content=nested(210))

    async def refuse(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        raise MCPError(-1, "no", nested(210))

    for handler in (give, refuse):
        async with Client(calling(handler)) as client:
            with pytest.raises(MalformedResultError, match="at most 200 levels of nesting"):
                await client.call_tool("any")


# A server that calls itself.


async def test_a_handler_may_be_a_client_of_its_own_server() -> None:
    depths: list[int] = []

    async def descend(ctx: house.Context, params: types.CallToolRequestParams) -> None:
        depth: int = (params.arguments or {})["depth"]
        depths.append(depth)
        if depth:
            async with Client(server) as client:
                await client.call_tool("any", {"depth": depth - 1})

    server = calling(descend)
    async with Client(server) as client:
        await client.call_tool("any", {"depth": 3})
    assert depths == [3, 2, 1, 0]


# Verbs of the handshake revisions.

REQUESTS: list[tuple[str, tuple[str, ...], str]] = [
    ("send_ping", (), "ping"),
    ("set_logging_level", ("info",), "logging/setLevel"),
    ("subscribe_resource", ("house://hall",), "resources/subscribe"),
    ("unsubscribe_resource", ("house://hall",), "resources/unsubscribe"),
]
NOTIFICATIONS: list[tuple[str, tuple[Any, ...]]] = [
    ("send_progress_notification", ("t", 1)),
    ("send_roots_list_changed", ()),
]


@pytest.mark.parametrize(("verb", "arguments", "method"), REQUESTS)
async def test_a_request_of_the_handshake_revisions_warns_and_is_refused(
    verb: str, arguments: tuple[str, ...], method: str
) -> None:
    async with Client(house.build()) as client:
        with pytest.warns(MCPDeprecationWarning, match="2026-07-28"), pytest.raises(MCPError) as raised:
            await getattr(client, verb)(*arguments)
    assert (raised.value.code, raised.value.message) == (types.METHOD_NOT_FOUND, "Method not found")
    assert raised.value.data == method


@pytest.mark.parametrize(("verb", "arguments", "method"), REQUESTS[1:])
async def test_a_session_warns_of_them_too(verb: str, arguments: tuple[str, ...], method: str) -> None:
    async with Client(house.build()) as client:
        with pytest.warns(MCPDeprecationWarning, match="2026-07-28"), pytest.raises(MCPError) as raised:
            await getattr(client.session, verb)(*arguments)
    assert raised.value.data == method


async def test_a_session_pings_without_a_warning_and_is_refused_all_the_same() -> None:
    async with Client(house.build()) as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.session.send_ping()


@pytest.mark.parametrize(("verb", "arguments"), NOTIFICATIONS)
async def test_a_notification_of_the_handshake_revisions_warns_and_goes_nowhere(
    verb: str, arguments: tuple[Any, ...]
) -> None:
    async with Client(house.build()) as client:
        with pytest.warns(MCPDeprecationWarning, match="2026-07-28"):
            await getattr(client, verb)(*arguments)
        with pytest.warns(MCPDeprecationWarning, match="2026-07-28"):
            await getattr(client.session, verb)(*arguments)
