"""Results that are not what the client expected: kinds it does not know, requests for input, and what does not fit."""

from functools import partial
from typing import Any, Literal

import house
import pytest
from pydantic import TypeAdapter, ValidationError

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.shared.exceptions import MalformedResultError

pytestmark = pytest.mark.anyio


def saying(method: str, result: Any) -> Server:
    """A server that says just this to a method: the result of a middleware is sent as it is."""
    server = house.build()

    async def say(ctx: house.Context, call_next: Any) -> Any:
        return result if ctx.method == method else await call_next(ctx)

    server.middleware.append(say)
    return server


MISFITS: list[dict[str, Any]] = [
    {},
    {"content": 5},
    {"content": [{"type": "text"}]},
    {"content": [{"type": "smell"}]},
    {"resultType": "complete"},
]


@pytest.mark.parametrize("result", MISFITS, ids=str)
async def test_a_result_that_does_not_fit_is_a_validation_error(result: dict[str, Any]) -> None:
    async with Client(saying("tools/call", result)) as client:
        with pytest.raises(ValidationError, match="content"):
            await client.call_tool("add")


async def test_a_listing_that_does_not_fit_is_a_validation_error() -> None:
    async with Client(saying("prompts/list", {"prompts": [{"title": "nameless"}]})) as client:
        with pytest.raises(ValidationError, match=r"prompts\.0\.name"):
            await client.list_prompts()


async def test_a_result_without_a_kind_counts_as_complete() -> None:
    async with Client(saying("tools/call", {"content": [], "structuredContent": {"sum": 1}})) as client:
        assert (await client.call_tool("add")).structured_content == {"sum": 1}


async def test_fields_that_nobody_knows_are_dropped() -> None:
    result: dict[str, Any] = {"content": [], "smell": "roses", "_meta": {"acme/k": 1}}
    async with Client(saying("tools/call", result), validate_output="off") as client:
        assert await client.call_tool("add") == types.CallToolResult(content=[], _meta={"acme/k": 1})


@pytest.mark.parametrize("kind", ["task", "", None, 5, {}], ids=str)
async def test_an_unknown_kind_of_result_is_an_error_that_names_it(kind: Any) -> None:
    async with Client(saying("tools/call", {"content": [], "resultType": kind})) as client:
        with pytest.raises(MalformedResultError) as raised:
            await client.call_tool("add")
    assert raised.value.code == types.INTERNAL_ERROR
    assert raised.value.method == "tools/call"
    assert str(raised.value) == (
        f"The server's result for 'tools/call' does not fit: resultType {kind!r} is not one that this client knows"
    )


# Requests for input.

ASK: dict[str, Any] = {
    "resultType": "input_required",
    "requestState": "s1",
    "inputRequests": {
        "name": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Your name?",
                "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        }
    },
}


async def test_a_request_for_input_says_where_to_see_it() -> None:
    async with Client(saying("tools/call", ASK)) as client:
        with pytest.raises(RuntimeError) as raised:
            await client.session.call_tool("add")
    assert str(raised.value) == (
        "the server needs input to go on with 'tools/call': the methods of Client give it what the callbacks answer, "
        "and allow_input_required=True returns what it asks for"
    )


async def test_no_other_method_may_ask_for_input() -> None:
    async with Client(saying("tools/list", ASK)) as client:
        with pytest.raises(MalformedResultError, match="may not ask for input to answer this method"):
            await client.list_tools()


async def test_a_request_for_input_is_shown_to_who_asks_for_it() -> None:
    async with Client(saying("tools/call", ASK)) as client:
        asked = await client.session.call_tool("add", allow_input_required=True)
    assert isinstance(asked, types.InputRequiredResult)
    assert asked.request_state == "s1"
    assert asked.input_requests is not None
    question = asked.input_requests["name"]
    assert isinstance(question, types.ElicitRequest)
    assert question.params.message == "Your name?"


async def test_who_allows_a_request_for_input_may_get_a_result() -> None:
    async with Client(house.build()) as client:
        result = await client.session.call_tool("add", {"a": 1, "b": 1}, allow_input_required=True)
        assert isinstance(result, types.CallToolResult)
        read = await client.session.read_resource("house://hall", allow_input_required=True)
        assert isinstance(read, types.ReadResourceResult)


async def test_prompts_and_resources_may_ask_too() -> None:
    async with Client(saying("prompts/get", ASK)) as client:
        assert isinstance(await client.session.get_prompt("p", allow_input_required=True), types.InputRequiredResult)
        with pytest.raises(RuntimeError, match="needs input to go on with 'prompts/get'"):
            await client.session.get_prompt("p")
    async with Client(saying("resources/read", ASK)) as client:
        with pytest.raises(RuntimeError, match="needs input to go on with 'resources/read'"):
            await client.session.read_resource("house://hall")
        asked = await client.session.read_resource("house://hall", allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)


async def test_a_malformed_request_for_input_is_a_validation_error() -> None:
    broken = {"resultType": "input_required", "inputRequests": {"name": {"method": "tools/call"}}}
    async with Client(saying("tools/call", broken)) as client:
        with pytest.raises(ValidationError):
            await client.session.call_tool("add", allow_input_required=True)


async def test_a_request_for_input_that_asks_for_nothing_is_malformed() -> None:
    server = saying("tools/call", {"resultType": "input_required"})
    async with Client(server) as client:
        for call in (client.call_tool, partial(client.session.call_tool, allow_input_required=True)):
            with pytest.raises(MalformedResultError, match="must hold inputRequests or requestState"):
                await call("add")


async def test_answers_and_state_travel_with_the_next_try() -> None:
    seen: list[Any] = []
    server = Server("house")

    async def keep(ctx: house.Context, call_next: Any) -> Any:
        if ctx.method != "server/discover":
            seen.append({key: value for key, value in (ctx.params or {}).items() if key != "_meta"})
            return {"content": [], "messages": [], "contents": []}
        return await call_next(ctx)

    server.middleware.append(keep)
    answers: types.InputResponses = {"name": types.ElicitResult(action="accept", content={"name": "Ada"})}
    wire = {"name": {"action": "accept", "content": {"name": "Ada"}}}
    async with Client(server, validate_output="off") as client:
        await client.call_tool("add", {"a": 1}, input_responses=answers, request_state="s1")
        await client.get_prompt("p", input_responses=answers)
        await client.read_resource("house://hall", request_state="s2")
    assert seen == [
        {"name": "add", "arguments": {"a": 1}, "inputResponses": wire, "requestState": "s1"},
        {"name": "p", "inputResponses": wire},
        {"uri": "house://hall", "requestState": "s2"},
    ]


# Results of requests that are sent as messages.


class Own(types.Request[types.RequestParams | None, Literal["acme/own"]]):
    method: Literal["acme/own"] = "acme/own"
    params: types.RequestParams | None = None


class OwnResult(types.Result):
    size: int


class Receipt(types.Result):
    result_type: Literal["receipt"]
    token: str


async def test_a_message_may_have_a_result_of_a_kind_that_its_model_knows() -> None:
    async with Client(saying("acme/own", {"resultType": "receipt", "token": "t1"})) as client:
        assert (await client.session.send_request(Own(), Receipt)).token == "t1"
        with pytest.raises(MalformedResultError, match="resultType 'receipt' is not one that this client knows"):
            await client.session.send_request(Own(), OwnResult)


async def test_a_message_may_be_answered_with_a_request_for_input() -> None:
    request = types.CallToolRequest(params=types.CallToolRequestParams(name="add"))
    either: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
    async with Client(saying("tools/call", ASK)) as client:
        assert (await client.session.send_request(request, types.InputRequiredResult)).request_state == "s1"
        assert isinstance(await client.session.send_request(request, either), types.InputRequiredResult)
        with pytest.raises(RuntimeError, match="needs input to go on with 'tools/call'"):
            await client.session.send_request(request, types.CallToolResult)


@pytest.mark.parametrize("result", [{}, {"size": "big"}], ids=str)
async def test_a_result_of_a_vendor_that_does_not_fit_is_a_validation_error(result: dict[str, Any]) -> None:
    async with Client(saying("acme/own", result)) as client:
        with pytest.raises(ValidationError, match="size"):
            await client.session.send_request(Own(), OwnResult)


async def test_an_empty_result_may_say_more_than_nothing() -> None:
    async with Client(saying("acme/own", {"size": 5, "_meta": {"acme/k": 1}})) as client:
        assert await client.session.send_request(Own(), types.EmptyResult) == types.EmptyResult(_meta={"acme/k": 1})


KINDS: list[Any] = [None, 0, "", [], {"a": [1, {"b": None}]}]


@pytest.mark.parametrize("data", KINDS, ids=str)
async def test_an_error_keeps_its_data_whatever_that_is(data: Any) -> None:
    async def refuse(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        raise MCPError(-1, "no", data)

    async with Client(Server("house", on_call_tool=refuse)) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("any")
    assert raised.value.data == data
