"""What a caller sees when a handler fails, and what only the log sees."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from wire import Context, connected, refusal, send

from mcp import types
from mcp.engine.isolation import HandlerExit
from mcp.server import Server
from mcp.shared.exceptions import MCPError, NoBackChannelError, UrlElicitationRequiredError

pytestmark = pytest.mark.anyio

Answer = Callable[[], Awaitable[Any]]


def server_that(answer: Answer) -> Server[Any]:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        return await answer()

    return Server("srv", on_call_tool=call_tool)


def server_raising(error: BaseException) -> Server[Any]:
    async def answer() -> None:
        raise error

    return server_that(answer)


def server_returning(result: Any) -> Server[Any]:
    async def answer() -> Any:
        return result

    return server_that(answer)


CALL = {"name": "t"}


async def test_an_mcp_error_arrives_as_it_was_raised() -> None:
    async with connected(server_raising(MCPError(1234, "custom", [1, {"k": "v"}]))) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message, error.data) == (1234, "custom", [1, {"k": "v"}])


async def test_an_mcp_error_of_a_subclass_arrives_with_its_data() -> None:
    asked = types.ElicitRequestURLParams(message="m", url="https://example.com/u", elicitation_id="e")
    async with connected(server_raising(UrlElicitationRequiredError([asked]))) as client:
        error = await refusal(client, "tools/call", CALL)
    assert error.code == -32042
    again = UrlElicitationRequiredError.from_error(error.error)
    assert [elicitation.url for elicitation in again.elicitations] == ["https://example.com/u"]


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), SystemExit("secret")])
async def test_any_other_exception_is_told_to_the_log_alone(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(server_raising(error)) as client:
        seen = await refusal(client, "tools/call", CALL)
    assert (seen.code, seen.message, seen.data) == (-32603, "Internal server error", None)
    assert "secret" in caplog.text
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (logging.ERROR, "handling 'tools/call' raised")
    ]


async def test_raise_exceptions_tells_what_was_raised() -> None:
    original = ValueError("the real reason")
    async with connected(server_raising(original), raise_exceptions=True) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message) == (-32603, "the real reason")
    assert error.__cause__ is original


async def test_raise_exceptions_leaves_mcp_errors_as_they_are() -> None:
    async with connected(server_raising(MCPError(7, "mine")), raise_exceptions=True) as client:
        assert (await refusal(client, "tools/call", CALL)).code == 7


async def test_raise_exceptions_tells_of_exits_too() -> None:
    exit_ = SystemExit(3)
    async with connected(server_raising(exit_), raise_exceptions=True) as client:
        error = await refusal(client, "tools/call", CALL)
    assert isinstance(error.__cause__, HandlerExit)
    assert error.__cause__.__cause__ is exit_


@pytest.mark.parametrize(
    "result",
    [None, {}, {"content": 5}, [1], "text", types.ListToolsResult(tools=[]), {"content": [{"type": "text"}]}],
)
async def test_what_is_no_result_of_the_method_is_an_error_of_the_servers(
    result: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(server_returning(result)) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message, error.data) == (-32603, "Handler returned an invalid result", None)
    assert "handler for 'tools/call' returned an invalid result" in caplog.text


async def test_a_listed_tool_needs_an_input_schema_of_an_object(caplog: pytest.LogCaptureFixture) -> None:
    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="bare", input_schema={})])

    async with connected(Server("srv", on_list_tools=list_tools)) as client:
        error = await refusal(client, "tools/list")
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")
    assert "handler for 'tools/list' returned an invalid result: the inputSchema of tool 'bare'" in caplog.text


def endless() -> dict[str, Any]:
    holder: dict[str, Any] = {}
    holder["self"] = holder
    return holder


@pytest.mark.parametrize(
    "unsendable",
    [
        types.CallToolResult(content=[types.TextContent(text="\ud800")]),
        types.CallToolResult(content=[], structured_content={"a": object()}),
        types.CallToolResult.model_construct(content=[], structured_content=endless()),
        {"content": [], "structuredContent": {"a": object()}},
    ],
)
async def test_a_result_that_has_no_json_form_is_an_error_of_the_servers(unsendable: Any) -> None:
    async with connected(server_returning(unsendable)) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message) == (-32603, "Internal server error")


def nested(levels: int) -> dict[str, Any]:
    holder: dict[str, Any] = {}
    for _ in range(levels):
        holder = {"in": holder}
    return holder


@pytest.mark.parametrize("levels", [220, 300])
async def test_a_result_that_is_nested_too_deeply_to_be_read_is_an_error(levels: int) -> None:
    async with connected(server_returning({"content": [], "structuredContent": nested(levels)})) as client:
        assert (await refusal(client, "tools/call", CALL)).code == -32603


async def test_an_error_whose_data_is_nested_too_deeply_to_be_read_is_an_error_too() -> None:
    async with connected(server_raising(MCPError(7, "m", nested(220)))) as client:
        assert (await refusal(client, "tools/call", CALL)).code == -32603


async def test_params_that_are_nested_too_deeply_to_be_read_are_refused() -> None:
    async with connected(server_returning({"content": []})) as client:
        assert (await refusal(client, "tools/call", {**CALL, "arguments": nested(220)})).code == -32700


@pytest.mark.parametrize("unsendable", [object(), {"a": "\ud800"}, endless()])
async def test_an_error_whose_data_has_no_json_form_is_an_internal_error(unsendable: Any) -> None:
    async with connected(server_raising(MCPError(7, "m", unsendable))) as client:
        error = await refusal(client, "tools/call", CALL)
    assert (error.code, error.message, error.data) == (-32603, "Internal server error", None)


async def test_asking_the_client_is_refused_with_a_reason() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.elicit_form("Name?", {"type": "object", "properties": {}})
        raise AssertionError("unreachable")

    async with connected(Server("srv", on_call_tool=call_tool)) as client:
        error = await refusal(client, "tools/call", CALL)
    assert error.code == -32600
    assert error.message == (
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    )


async def test_one_failure_leaves_the_connection_as_it_was() -> None:
    calls: list[str] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        calls.append(params.name)
        if params.name == "fails":
            raise NoBackChannelError("x")
        return types.CallToolResult(content=[])

    async with connected(Server("srv", on_call_tool=call_tool)) as client:
        await refusal(client, "tools/call", {"name": "fails"})
        await send(client, "tools/call", {"name": "works"})
    assert calls == ["fails", "works"]
