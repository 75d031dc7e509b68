"""A server asks only what the client has declared that it answers, and tells it what is missing."""

import dataclasses
from typing import Any

import pytest
from wire import Context, connected, identity, refusal, send

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server import Server
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
FORM = types.ElicitRequest(params=types.ElicitRequestFormParams(message="?", requested_schema=SCHEMA))
PAGE = types.ElicitRequest(params=types.ElicitRequestURLParams(message="?", url="https://a.example"))
ROOTS = types.ListRootsRequest()


def sampling(**options: Any) -> types.CreateMessageRequest:
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[], max_tokens=1, **options))


SAMPLE = sampling()
TOOLS = sampling(tools=[])
CHOICE = sampling(tool_choice=types.ToolChoice(mode="none"))


def asking(*questions: types.InputRequest) -> Server[Any]:
    """A server whose three methods ask all of these at once."""
    result = types.InputRequiredResult(input_requests={f"q{number}": q for number, q in enumerate(questions)})

    async def ask(ctx: Context, params: Any) -> types.InputRequiredResult:
        return result

    return Server("srv", on_call_tool=ask, on_get_prompt=ask, on_read_resource=ask)


def declaring(server: Server[Any], capabilities: dict[str, Any]) -> Server[Any]:
    """The same server, as a client sees it that declares just these capabilities."""

    async def declare(ctx: Context, call_next: Any) -> Any:
        ctx.session.connection.facts.capabilities = types.ClientCapabilities.model_validate(capabilities)
        return await call_next(ctx)

    server.middleware.append(declare)
    return server


METHODS = [("tools/call", {"name": "t"}), ("prompts/get", {"name": "p"}), ("resources/read", {"uri": "r://a"})]


@pytest.mark.parametrize(("method", "params"), METHODS)
async def test_a_client_that_declares_nothing_is_asked_nothing(method: str, params: dict[str, Any]) -> None:
    async with connected(asking(FORM)) as client:
        error = await refusal(client, method, params)
    assert (error.code, error.message) == (-32021, "Elicitation not supported")
    assert error.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


Wire = dict[str, Any]
ELICITATION: Wire = {"elicitation": {}}
SAMPLING: Wire = {"sampling": {}}
UNDECLARED: list[tuple[Wire, types.InputRequest, Wire, str]] = [
    ({}, FORM, {"elicitation": {"form": {}}}, "Elicitation not supported"),
    ({}, PAGE, {"elicitation": {"url": {}}}, "Elicitation not supported"),
    (ELICITATION, PAGE, {"elicitation": {"url": {}}}, "Elicitation (url) not supported"),
    ({"elicitation": {"url": {}}}, FORM, {"elicitation": {"form": {}}}, "Elicitation (form) not supported"),
    ({}, SAMPLE, {"sampling": {}}, "Sampling not supported"),
    ({}, TOOLS, {"sampling": {"tools": {}}}, "Sampling not supported"),
    (SAMPLING, TOOLS, {"sampling": {"tools": {}}}, "Sampling (tools) not supported"),
    (SAMPLING, CHOICE, {"sampling": {"tools": {}}}, "Sampling (tools) not supported"),
    ({"elicitation": {}, "sampling": {}}, ROOTS, {"roots": {}}, "List roots not supported"),
]


@pytest.mark.parametrize(("declared", "question", "missing", "text"), UNDECLARED)
async def test_it_is_told_what_it_lacks(
    declared: dict[str, Any], question: types.InputRequest, missing: dict[str, Any], text: str
) -> None:
    async with connected(declaring(asking(question), declared)) as client:
        error = await refusal(client, "tools/call", {"name": "t"})
    assert (error.code, error.message, error.data) == (-32021, text, {"requiredCapabilities": missing})
    types.MissingRequiredClientCapabilityErrorData.model_validate(error.data)


async def test_of_several_questions_it_is_told_all_that_is_missing() -> None:
    server = declaring(asking(FORM, PAGE, TOOLS, SAMPLE, ROOTS), {"elicitation": {}})
    async with connected(server) as client:
        error = await refusal(client, "tools/call", {"name": "t"})
    assert error.message == "Elicitation (url) not supported"
    missing: Wire = {"elicitation": {"url": {}}, "sampling": {"tools": {}}, "roots": {}}
    assert error.data == {"requiredCapabilities": missing}


DECLARED: list[tuple[Wire, types.InputRequest]] = [
    (ELICITATION, FORM),
    ({"elicitation": {"form": {}}}, FORM),
    ({"elicitation": {"form": {}, "url": {}}}, PAGE),
    (SAMPLING, SAMPLE),
    (SAMPLING, sampling(include_context="allServers")),
    ({"sampling": {"tools": {}}}, TOOLS),
    ({"roots": {"listChanged": True}}, ROOTS),
]


@pytest.mark.parametrize(("declared", "question"), DECLARED)
async def test_what_it_declares_it_is_asked(declared: dict[str, Any], question: types.InputRequest) -> None:
    async with connected(declaring(asking(question), declared)) as client:
        result = await send(client, "tools/call", {"name": "t"})
    asked = {"q0": question.model_dump(by_alias=True, exclude_none=True)}
    assert result == {"resultType": "input_required", "inputRequests": asked, "_meta": identity()}


async def test_what_middleware_puts_in_the_sessions_place_counts() -> None:
    async def ask_nobody(ctx: Context, call_next: Any) -> Any:
        class Session:
            client_capabilities = types.ClientCapabilities()

            def __getattr__(self, name: str) -> Any:
                return getattr(ctx.session, name)

        session: Any = Session()
        return await call_next(dataclasses.replace(ctx, session=session))

    server = declaring(asking(FORM), ELICITATION)
    server.middleware.append(ask_nobody)
    async with connected(server) as client:
        error = await refusal(client, "tools/call", {"name": "t"})
    assert (error.code, error.message) == (-32021, "Elicitation not supported")


async def test_state_without_a_question_asks_for_nothing() -> None:
    async def wait(ctx: Context, params: Any) -> types.InputRequiredResult:
        return types.InputRequiredResult(request_state="later")

    async with connected(Server("srv", on_call_tool=wait)) as client:
        assert (await send(client, "tools/call", {"name": "t"}))["requestState"] == "later"


async def test_a_handler_that_returns_wire_form_asks_by_the_same_rule() -> None:
    asked: dict[str, Any] = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}

    async def ask(ctx: Context, params: Any) -> Any:
        return asked

    server = Server("srv", on_call_tool=ask)
    async with connected(server) as client:
        error = await refusal(client, "tools/call", {"name": "t"})
        assert error.data == {"requiredCapabilities": {"roots": {}}}
    async with connected(declaring(server, {"roots": {}})) as client:
        assert (await send(client, "tools/call", {"name": "t"}))["inputRequests"] == asked["inputRequests"]
        asked["inputRequests"] = {"q": {"method": "tools/list"}}
        error = await refusal(client, "tools/call", {"name": "t"})
    assert (error.code, error.message) == (-32603, "Handler returned an invalid result")


# At the client.


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


async def test_its_callbacks_are_what_a_client_declares() -> None:
    async with Client(asking(ROOTS), list_roots_callback=roots, input_required_max_rounds=0) as client:
        with pytest.raises(RuntimeError, match="more input after 0 rounds"):
            await client.call_tool("t")
    async with Client(asking(ROOTS)) as client:
        for verb in (client.call_tool("t"), client.get_prompt("p"), client.read_resource("r://a")):
            with pytest.raises(MCPError, match="List roots not supported") as raised:
                await verb
            assert raised.value.code == -32021


@pytest.mark.parametrize("question", [FORM, PAGE, SAMPLE, TOOLS, ROOTS])
async def test_a_caller_that_takes_the_questions_itself_declares_everything(question: types.InputRequest) -> None:
    async with Client(asking(question)) as client:
        for ask in (client.session.call_tool, client.session.get_prompt, client.session.read_resource):
            asked = await ask("r://a", allow_input_required=True)
            assert isinstance(asked, types.InputRequiredResult)
            assert asked.input_requests == {"q0": question}
        with pytest.raises(MCPError, match="not supported"):
            await client.session.call_tool("t")


async def test_beside_everything_it_declares_what_it_has() -> None:
    declared: list[Any] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        declared.append(ctx.session.client_capabilities)
        return types.CallToolResult(content=[])

    sampling = types.SamplingCapability(context=types.SamplingContextCapability())
    server = Server("srv", on_call_tool=call_tool)
    options: dict[str, Any] = {"list_roots_callback": roots, "sampling_capabilities": sampling, "mode": "2026-07-28"}
    async with Client(server, **options) as client:
        session = client.session
        await session.call_tool("t", allow_input_required=True)
        await session.call_tool("t", allow_input_required=True, by_callbacks=True)
        session.adopt(types.DiscoverResult(supported_versions=["2026-07-28"], capabilities=types.ServerCapabilities()))
        await session.call_tool("t", allow_input_required=True, meta={"acme/k": 1})
    wide, own, again = (caps.model_dump(by_alias=True, exclude_none=True) for caps in declared)
    assert own == {"sampling": {"context": {}}, "roots": {"listChanged": True}}
    assert (
        wide
        == again
        == {
            "sampling": {"context": {}, "tools": {}},
            "roots": {"listChanged": True},
            "elicitation": {"form": {}, "url": {}},
        }
    )


async def test_in_a_handshake_nothing_more_is_declared() -> None:
    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        assert ctx.session.client_capabilities == types.ClientCapabilities()
        return types.CallToolResult(content=[])

    async with Client(Server("srv", on_call_tool=call_tool), mode="legacy") as client:
        await client.session.call_tool("t", allow_input_required=True)
