"""What a handler can send to the client besides its answer, and what it can ask."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from doing import Received, Work, context_of, received_when, server_that
from wire import Context, connected, send

from mcp import types
from mcp.engine.exchange import FrameWriter, OneWayExchange, Origin
from mcp.server import context as server_context
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPDeprecationWarning, NoBackChannelError
from mcp.types import LOG_LEVEL_META_KEY

pytestmark = pytest.mark.anyio


# Progress.


async def test_progress_reaches_the_callback_before_the_call_returns() -> None:
    reports: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def work(ctx: Context) -> None:
        await ctx.session.report_progress(0.5, 1, "half")
        await ctx.session.report_progress(1)
        token: Any = (ctx.meta or {}).get("progress_token")
        await ctx.session.send_progress_notification(token, 2, message="more")

    async with connected(server_that(work)) as client:
        await send(client, "acme/do", progress_callback=report)
    assert reports == [(0.5, 1, "half"), (1, None, None), (2, None, "more")]


async def test_progress_that_nobody_asked_for_is_not_sent() -> None:
    async def work(ctx: Context) -> None:
        await ctx.session.report_progress(1)
        await ctx.session.send_progress_notification("a token of nobody's", 1)

    assert await received_when(work) == []


# Log messages.


def logging_at(level: Any, data: Any = "d", logger: str | None = None) -> Work:
    async def work(ctx: Context) -> None:
        with pytest.warns(MCPDeprecationWarning, match="The logging capability is deprecated"):
            await ctx.session.send_log_message(level, data, logger)  # pyright: ignore[reportDeprecated]

    return work


async def test_a_log_message_is_sent_if_the_client_asked_for_its_level() -> None:
    assert await received_when(logging_at("info", {"a": 1}, "lg"), log_level="info") == [
        ("notifications/message", {"level": "info", "data": {"a": 1}, "logger": "lg"})
    ]
    assert await received_when(logging_at("error"), {LOG_LEVEL_META_KEY: "warning"}) == [
        ("notifications/message", {"level": "error", "data": "d"})
    ]


async def test_a_log_message_is_not_sent_otherwise() -> None:
    assert await received_when(logging_at("emergency")) == []
    assert await received_when(logging_at("notice"), log_level="warning") == []


async def test_one_request_may_ask_for_another_level_than_its_client() -> None:
    assert await received_when(logging_at("info"), {LOG_LEVEL_META_KEY: "error"}, log_level="debug") == []
    assert len(await received_when(logging_at("info"), {LOG_LEVEL_META_KEY: "debug"}, log_level="error")) == 1


async def test_a_log_message_sent_as_a_notification_needs_to_be_asked_for_too() -> None:
    async def work(ctx: Context) -> None:
        params = types.LoggingMessageNotificationParams(level="info", data="d")
        await ctx.session.send_notification(types.LoggingMessageNotification(params=params))

    assert await received_when(work) == []
    assert await received_when(work, log_level="error") == []
    assert len(await received_when(work, log_level="info")) == 1


# Other notifications.


async def test_changes_are_not_announced_on_requests() -> None:
    async def work(ctx: Context) -> None:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_resource_updated("test://r")
        await ctx.session.send_elicit_complete("e")
        await ctx.session.send_notification(types.ToolListChangedNotification())

    assert await received_when(work) == []


async def test_a_notification_that_names_its_request_travels_with_it() -> None:
    async def work(ctx: Context) -> None:
        await ctx.session.send_notification(types.ToolListChangedNotification(), related_request_id=ctx.request_id)
        await ctx.session.send_elicit_complete("e", related_request_id=ctx.request_id)

    assert await received_when(work) == [
        ("notifications/tools/list_changed", None),
        ("notifications/elicitation/complete", {"elicitationId": "e"}),
    ]


async def test_what_is_sent_once_the_request_is_answered_is_dropped() -> None:
    kept: list[Context] = []
    received = Received()

    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    async with connected(server_that(keep), message_handler=received, log_level="debug") as client:
        await send(client, "acme/do", {"_meta": {"progressToken": "p"}})
        await kept[0].session.report_progress(1)
        await logging_at("error")(kept[0])
        await kept[0].session.send_tool_list_changed()
    assert received.messages == []


async def test_a_connection_with_a_channel_of_its_own_takes_what_belongs_to_no_request() -> None:
    sent: list[tuple[str, Any]] = []

    async def standalone(method: str, params: dict[str, Any] | None) -> None:
        sent.append((method, params))

    ctx = await context_of({})
    ctx.session._connection.standalone = standalone
    await ctx.session.send_resource_updated("test://r")
    await ctx.session.send_tool_list_changed()
    assert sent == [
        ("notifications/resources/updated", {"uri": "test://r"}),
        ("notifications/tools/list_changed", None),
    ]


# Questions to the client.


Ask = Callable[[ServerSession], Awaitable[Any]]

QUESTIONS: list[tuple[str, Ask]] = [
    ("elicitation/create", lambda session: session.elicit("m", {"type": "object"})),
    ("elicitation/create", lambda session: session.elicit_form("m", {"type": "object"})),
    ("elicitation/create", lambda session: session.elicit_url("m", "https://example.com", "e")),
    ("roots/list", lambda session: session.list_roots()),  # pyright: ignore[reportDeprecated]
    ("ping", lambda session: session.send_ping()),
    ("sampling/createMessage", lambda session: session.create_message([], max_tokens=1)),  # pyright: ignore[reportDeprecated]
    ("roots/list", lambda session: session.send_request(types.ListRootsRequest(), types.ListRootsResult)),
]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize(("method", "ask"), QUESTIONS)
async def test_the_client_cannot_be_asked(method: str, ask: Ask) -> None:
    ctx = await context_of({})
    with pytest.raises(NoBackChannelError) as raised:
        await ask(ctx.session)
    assert raised.value.code == -32600
    assert raised.value.message.startswith(f"Cannot send '{method}': this transport context has no back-channel")


async def test_questions_about_deprecated_features_warn() -> None:
    ctx = await context_of({})
    with (
        pytest.warns(MCPDeprecationWarning, match="The sampling capability is deprecated as of 2026-07-28"),
        pytest.raises(NoBackChannelError),
    ):
        await ctx.session.create_message([], max_tokens=1)  # pyright: ignore[reportDeprecated]
    with (
        pytest.warns(MCPDeprecationWarning, match="The roots capability is deprecated as of 2026-07-28"),
        pytest.raises(NoBackChannelError),
    ):
        await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]


class HeaderOrigin(Origin):
    """A message that came over HTTP."""

    @property
    def headers(self) -> Mapping[str, str]:
        return {"x": "y"}


class AskingExchange(OneWayExchange):
    """A request of a revision whose client can be asked: it answers as the test says."""

    can_ask = True

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(HeaderOrigin())
        self.answer = answer
        self.asked: list[tuple[str, Any, Any]] = []
        self.notified: list[tuple[str, Any]] = []

    async def ask(
        self, method: str, params: dict[str, Any] | None, timeout: float | None = None, on_progress: Any = None
    ) -> dict[str, Any]:
        self.asked.append((method, params, timeout))
        return self.answer

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        self.notified.append((method, params))

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        raise AssertionError("nothing here is a stream")


async def session_over(exchange: AskingExchange) -> Any:
    async def sample(*_: Any) -> Any:
        raise AssertionError("the exchange answers")

    takes_tools = types.SamplingCapability(tools=types.SamplingToolsCapability())
    ctx = await context_of({}, sampling_callback=sample, sampling_capabilities=takes_tools)
    ctx.session._exchange = exchange
    ctx.session.connection.protocol_version = "2025-11-25"
    return ctx.session


MESSAGE = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_where_the_client_can_be_asked_it_is_asked_in_wire_form() -> None:
    exchange = AskingExchange({"action": "accept", "content": {"name": "x"}})
    session = await session_over(exchange)
    assert session.can_send_request
    accepted = await session.elicit("Name?", {"type": "object", "properties": {}})
    assert (accepted.action, accepted.content) == ("accept", {"name": "x"})
    await session.elicit_url("Visit", "https://example.com", "e")
    roots = types.ListRootsRequest()
    exchange.answer = {"roots": [{"uri": "file:///a"}]}
    assert str((await session.list_roots()).roots[0].uri) == "file:///a"
    assert str((await session.send_request(roots, types.ListRootsResult, 5)).roots[0].uri) == "file:///a"
    exchange.answer = {}
    assert await session.send_ping() == types.EmptyResult()
    assert exchange.asked == [
        (
            "elicitation/create",
            {"mode": "form", "message": "Name?", "requestedSchema": {"type": "object", "properties": {}}},
            None,
        ),
        (
            "elicitation/create",
            {"mode": "url", "message": "Visit", "url": "https://example.com", "elicitationId": "e"},
            None,
        ),
        ("roots/list", None, None),
        ("roots/list", None, 5),
        ("ping", None, None),
    ]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_the_clients_model_is_asked_for_a_message() -> None:
    exchange = AskingExchange(MESSAGE)
    session = await session_over(exchange)
    said = types.SamplingMessage(role="user", content=types.TextContent(text="hello"))
    result = await session.create_message([said], max_tokens=5, system_prompt="s", temperature=0.5)
    assert isinstance(result, types.CreateMessageResult)
    tool = types.Tool(name="t", input_schema={"type": "object"})
    assert isinstance(
        await session.create_message([said], max_tokens=5, tools=[tool]), types.CreateMessageResultWithTools
    )
    wire = {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}], "maxTokens": 5}
    assert exchange.asked[0] == (
        "sampling/createMessage",
        {**wire, "systemPrompt": "s", "temperature": 0.5},
        None,
    )
    assert exchange.asked[1][1] == {**wire, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}


# The context for code built on exchanges.


async def test_a_context_over_an_exchange_reports_logs_and_asks() -> None:
    ctx = await context_of({})
    connection = ctx.session._connection
    exchange = AskingExchange({"pong": True})
    context = server_context.Context(exchange, lifespan={"db": 1}, connection=connection, meta={"progress_token": "p"})
    assert (context.lifespan, context.connection, context.session_id) == ({"db": 1}, connection, None)
    assert (context.headers, context.transport, context.meta) == ({"x": "y"}, exchange.origin, {"progress_token": "p"})
    assert context.can_send_request
    assert await context.send_raw_request("ping", None, 3) == {"pong": True}
    await context.report_progress(1, 2, "m")
    await context.report_progress(2)
    await context.notify("acme/x", {})
    connection.log_level = "warning"
    with pytest.warns(MCPDeprecationWarning):
        await context.log("info", "dropped")  # pyright: ignore[reportDeprecated]
    with pytest.warns(MCPDeprecationWarning):
        await context.log("error", "sent", "lg", meta={"a": 1})  # pyright: ignore[reportDeprecated]
    with pytest.warns(MCPDeprecationWarning):
        await context.log("error", "bare")  # pyright: ignore[reportDeprecated]
    assert exchange.notified == [
        ("notifications/progress", {"progressToken": "p", "progress": 1, "total": 2, "message": "m"}),
        ("notifications/progress", {"progressToken": "p", "progress": 2}),
        ("acme/x", {}),
        ("notifications/message", {"level": "error", "data": "sent", "logger": "lg", "_meta": {"a": 1}}),
        ("notifications/message", {"level": "error", "data": "bare"}),
    ]
    assert not context.cancel_requested.is_set()
    exchange.cancelled()
    assert context.cancel_requested.is_set()


async def test_a_context_without_a_progress_token_reports_nothing() -> None:
    ctx = await context_of({})
    exchange = AskingExchange({})
    context = server_context.Context(exchange, lifespan=None, connection=ctx.session._connection)
    await context.report_progress(1)
    assert exchange.notified == []
