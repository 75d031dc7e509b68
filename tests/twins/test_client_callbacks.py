"""What a server asks and tells its client: the callbacks that answer, and the capabilities that they declare."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import anyio
import pytest
from serving_http import served
from shopfront import Context, Heard, said, shopfront

from mcp import Client, MCPDeprecationWarning, MCPError, types
from mcp.client import ClientRequestContext, ClientSession
from mcp.server import Server
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio

deprecated_calls = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

CARD: dict[str, Any] = {"type": "object", "properties": {"holder": {"type": "string"}}, "required": ["holder"]}


async def sign_up(ctx: Context, arguments: dict[str, Any]) -> str:
    """Asks whose card it is."""
    answer = await ctx.session.elicit_form("Whose card is it?", CARD)
    return f"card for {answer.content['holder']}" if answer.content else f"no card: {answer.action}"


async def abilities(ctx: Context, arguments: dict[str, Any]) -> str:
    """What the client has declared, of three things."""
    declared = {
        "elicitation": types.ClientCapabilities(elicitation=types.ElicitationCapability()),
        "sampling": types.ClientCapabilities(sampling=types.SamplingCapability()),
        "sampling.tools": types.ClientCapabilities(
            sampling=types.SamplingCapability(tools=types.SamplingToolsCapability())
        ),
        "roots": types.ClientCapabilities(roots=types.RootsCapability()),
    }
    return " ".join(name for name, one in declared.items() if ctx.session.check_client_capability(one))


async def declared_by(ctx: Context, arguments: dict[str, Any]) -> str:
    """The client's capabilities, as they are on the wire."""
    capabilities = ctx.session.client_capabilities
    assert capabilities is not None
    return capabilities.model_dump_json(by_alias=True, exclude_none=True)


async def consult(ctx: Context, arguments: dict[str, Any]) -> str:
    """Asks the client's model."""
    question = types.SamplingMessage(role="user", content=types.TextContent(text="How many owls?"))
    answer = await ctx.session.create_message([question], max_tokens=7)  # pyright: ignore[reportDeprecated]
    assert isinstance(answer.content, types.TextContent)
    return f"{answer.model}: {answer.content.text}"


async def survey(ctx: Context, arguments: dict[str, Any]) -> str:
    """Asks for the client's folders."""
    listed = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]
    return " ".join(f"{root.name}={root.uri}" for root in listed.roots)


async def call_back(ctx: Context, arguments: dict[str, Any]) -> str:
    """Asks whether the client is there."""
    await ctx.session.send_ping()
    return "there"


async def announce(ctx: Context, arguments: dict[str, Any]) -> str:
    """Logs at two levels, and says that the tools have changed."""
    await ctx.session.send_log_message("debug", "dusting", logger="desk")  # pyright: ignore[reportDeprecated]
    await ctx.session.send_log_message("warning", "closing", logger="desk")  # pyright: ignore[reportDeprecated]
    await ctx.session.send_tool_list_changed()
    return "announced"


async def give_up(ctx: Context, arguments: dict[str, Any]) -> str:
    """Withdraws a question that was never asked, and says that the prompts have changed."""
    await ctx.session.send_notification(
        types.CancelledNotification(params=types.CancelledNotificationParams(request_id="never"))
    )
    await ctx.session.send_prompt_list_changed()
    return "given up"


DESK = shopfront("Desk", sign_up, abilities, declared_by, consult, survey, call_back, announce, give_up)


class User:
    """Answers questions in the way it is told, and keeps them."""

    def __init__(self, answer: types.ElicitResult | types.ErrorData) -> None:
        self.asked: list[types.ElicitRequestParams] = []
        self.contexts: list[ClientRequestContext] = []
        self._answer = answer

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        self.contexts.append(context)
        return self._answer


ADA = types.ElicitResult(action="accept", content={"holder": "Ada"})


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    assert params.max_tokens == 7
    return types.CreateMessageResult(role="assistant", content=types.TextContent(text="three"), model="counter")


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root.model_validate({"uri": "file:///home/ada/owls", "name": "owls"})])


async def refuse(*asked: Any) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_PARAMS, message="not today")


def legacy(**callbacks: Any) -> Client:
    return Client(DESK, mode="legacy", **callbacks)


# A server that asks, and the elicitation callback.


async def test_a_question_is_answered_inside_the_call_that_asks_it() -> None:
    user = User(ADA)
    async with legacy(elicitation_callback=user) as client:
        assert said(await client.call_tool("sign_up")) == "card for Ada"
        (params,) = user.asked
        assert isinstance(params, types.ElicitRequestFormParams)
        assert (params.mode, params.message, params.requested_schema) == ("form", "Whose card is it?", CARD)
        (context,) = user.contexts
        assert isinstance(context.session, ClientSession)
        assert context.session is client.session
        assert context.request_id is not None


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_does_not_answer_is_no_error(action: Any) -> None:
    async with legacy(elicitation_callback=User(types.ElicitResult(action=action))) as client:
        assert said(await client.call_tool("sign_up")) == f"no card: {action}"


async def test_an_error_from_the_callback_fails_the_call() -> None:
    async with legacy(elicitation_callback=refuse) as client:
        with pytest.raises(MCPError, match=r"^not today$") as raised:
            await client.call_tool("sign_up")
        assert raised.value.error.code == types.INVALID_PARAMS


async def test_without_a_callback_the_call_fails_and_the_connection_does_not() -> None:
    async with legacy() as client:
        with pytest.raises(MCPError, match=r"^Elicitation not supported$") as raised:
            await client.call_tool("sign_up")
        assert raised.value.error.code == types.INVALID_REQUEST
        assert said(await client.call_tool("abilities")) == ""


@deprecated_calls
@pytest.mark.parametrize("tool", ["sign_up", "consult", "survey", "call_back"])
async def test_a_modern_connection_has_no_way_to_ask(tool: str) -> None:
    user = User(ADA)
    async with Client(DESK, elicitation_callback=user, sampling_callback=sample, list_roots_callback=roots) as client:
        with pytest.raises(MCPError, match="has no back-channel") as raised:
            await client.call_tool(tool)
        assert raised.value.error.code == types.INVALID_REQUEST
        assert said(await client.call_tool("abilities")) == "elicitation sampling roots"
    assert user.asked == []


async def test_the_server_can_tell_why_it_could_not_ask() -> None:
    async def careful(ctx: Context, arguments: dict[str, Any]) -> str:
        assert not ctx.session.can_send_request
        with pytest.raises(NoBackChannelError) as raised:
            await ctx.session.elicit_form("Whose?", CARD)
        return raised.value.method

    async with Client(shopfront("Careful", careful), elicitation_callback=User(ADA)) as client:
        assert said(await client.call_tool("careful")) == "elicitation/create"


@pytest.mark.parametrize("over", ["memory", "HTTP"])
async def test_the_revision_decides_whether_there_is_a_way_to_ask_and_not_the_transport(over: str) -> None:
    with served(DESK) if over == "HTTP" else nullcontext(DESK) as target:
        async with Client(target, mode="legacy", elicitation_callback=User(ADA)) as client:
            assert said(await client.call_tool("sign_up")) == "card for Ada"
        async with Client(target, elicitation_callback=User(ADA)) as client:
            with pytest.raises(MCPError, match="has no back-channel"):
                await client.call_tool("sign_up")


def questionnaire() -> Server[Any]:
    """A server whose tool returns a form, a prompt for a model and a request for folders as its questions."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
        if not params.input_responses:
            prompt = types.SamplingMessage(role="user", content=types.TextContent(text="How many owls?"))
            sampling = types.CreateMessageRequestParams(messages=[prompt], max_tokens=7)
            form = types.ElicitRequestFormParams(message="Whose card is it?", requested_schema=CARD)
            questions: types.InputRequests = {
                "card": types.ElicitRequest(params=form),
                "owls": types.CreateMessageRequest(params=sampling),
                "folders": types.ListRootsRequest(),
            }
            return types.InputRequiredResult(input_requests=questions, request_state="asked")
        card, owls, folders = (params.input_responses[key] for key in ("card", "owls", "folders"))
        assert isinstance(card, types.ElicitResult)
        assert isinstance(owls, types.CreateMessageResult)
        assert isinstance(folders, types.ListRootsResult)
        text = f"{params.request_state} {card.content} {owls.model} {len(folders.roots)}"
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("Questionnaire", on_call_tool=call_tool)


async def test_on_a_modern_connection_the_same_callbacks_answer_the_questions_in_a_result() -> None:
    user = User(ADA)
    callbacks: dict[str, Any] = {
        "elicitation_callback": user,
        "sampling_callback": sample,
        "list_roots_callback": roots,
    }
    async with Client(questionnaire(), **callbacks) as client:
        assert said(await client.call_tool("any")) == "asked {'holder': 'Ada'} counter 1"
    (params,) = user.asked
    assert params.message == "Whose card is it?"
    (context,) = user.contexts
    assert isinstance(context.session, ClientSession)


# A callback is a capability.


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("callbacks", "found", "wire"),
    [
        ({}, "", "{}"),
        ({"elicitation_callback": refuse}, "elicitation", '{"elicitation":{"form":{},"url":{}}}'),
        ({"sampling_callback": sample}, "sampling", '{"sampling":{}}'),
        ({"list_roots_callback": roots}, "roots", '{"roots":{"listChanged":true}}'),
        (
            {
                "sampling_callback": sample,
                "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
            },
            "sampling sampling.tools",
            '{"sampling":{"tools":{}}}',
        ),
        ({"logging_callback": refuse, "message_handler": refuse}, "", "{}"),
    ],
)
async def test_a_callback_declares_what_it_answers(mode: str, callbacks: dict[str, Any], found: str, wire: str) -> None:
    async with Client(DESK, mode=mode, **callbacks) as client:
        assert said(await client.call_tool("abilities")) == found
        assert said(await client.call_tool("declared_by")) == wire


async def test_three_callbacks_declare_three_capabilities() -> None:
    async with legacy(elicitation_callback=refuse, sampling_callback=sample, list_roots_callback=roots) as client:
        assert said(await client.call_tool("abilities")) == "elicitation sampling roots"


# The deprecated pair.


@deprecated_calls
async def test_the_clients_model_and_its_folders_are_asked() -> None:
    async with legacy(sampling_callback=sample, list_roots_callback=roots) as client:
        assert said(await client.call_tool("consult")) == "counter: three"
        assert said(await client.call_tool("survey")) == "owls=file:///home/ada/owls"


@deprecated_calls
async def test_either_of_them_may_refuse() -> None:
    async with legacy(sampling_callback=refuse, list_roots_callback=refuse) as client:
        for tool in ("consult", "survey"):
            with pytest.raises(MCPError, match=r"^not today$"):
                await client.call_tool(tool)


@deprecated_calls
@pytest.mark.parametrize("tool", ["consult", "survey"])
async def test_without_their_callbacks_the_call_fails(tool: str) -> None:
    async with legacy() as client:
        with pytest.raises(MCPError, match="not supported"):
            await client.call_tool(tool)


async def test_asking_them_warns_the_server() -> None:
    async with legacy(sampling_callback=sample, list_roots_callback=roots) as client:
        for tool in ("consult", "survey"):
            with pytest.warns(MCPDeprecationWarning, match="2026-07-28"):
                await client.call_tool(tool)


async def test_a_ping_needs_no_callback() -> None:
    async with legacy() as client:
        assert said(await client.call_tool("call_back")) == "there"


# The notification callbacks.


@deprecated_calls
async def test_log_messages_and_notifications_reach_their_callbacks() -> None:
    log, everything = Heard(), Heard()
    async with legacy(logging_callback=log, message_handler=everything) as client:
        assert said(await client.call_tool("announce")) == "announced"
        await everything.until(3)
    assert [(one.level, one.logger, one.data) for one in log.told] == [
        ("debug", "desk", "dusting"),
        ("warning", "desk", "closing"),
    ]
    methods = [one.method for one in everything.told]
    assert methods == ["notifications/message", "notifications/message", "notifications/tools/list_changed"]


@deprecated_calls
@pytest.mark.parametrize(
    ("level", "heard"), [(None, []), ("info", ["closing"]), ("debug", ["dusting", "closing"]), ("error", [])]
)
async def test_a_modern_server_logs_only_what_is_asked_for(level: Any, heard: list[str]) -> None:
    log = Heard()
    async with Client(DESK, logging_callback=log, log_level=level) as client:
        await client.call_tool("announce")
    assert [one.data for one in log.told] == heard


async def test_a_cancellation_is_no_message() -> None:
    everything = Heard()
    async with legacy(message_handler=everything) as client:
        assert said(await client.call_tool("give_up")) == "given up"
        await everything.until(1)
    assert [one.method for one in everything.told] == ["notifications/prompts/list_changed"]


@deprecated_calls
async def test_a_server_from_before_2026_logs_at_the_level_that_is_set_and_not_at_the_one_asked_for() -> None:
    log = Heard()
    async with legacy(logging_callback=log, log_level="error") as client:
        await client.call_tool("announce")
        await log.until(2)
        await client.set_logging_level("warning")  # pyright: ignore[reportDeprecated]
        await client.call_tool("announce")
        await log.until(3)
        await client.call_tool("call_back")
    assert [one.data for one in log.told] == ["dusting", "closing", "closing"]


async def test_what_a_transport_reports_in_the_place_of_a_message_reaches_the_catch_all() -> None:
    everything = Heard()
    broken = ValueError("noise on the line")

    @asynccontextmanager
    async def noisy() -> AsyncGenerator[Any, None]:
        to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        to_client, client_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(DESK.run, server_reads, to_client, DESK.create_initialization_options())
            await to_client.send(broken)
            async with to_server, client_reads:
                yield client_reads, to_server

    async with Client(noisy(), mode="legacy", message_handler=everything) as client:
        await everything.until(1)
        assert said(await client.call_tool("call_back")) == "there"
    assert everything.told == [broken]
