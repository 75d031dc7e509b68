"""A client and a server in one process that speak a handshake revision: `mode="legacy"`."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import house
import pytest
from anyio import wait_all_tasks_blocked
from played_server import Peer

from mcp import Client, ClientSession, MCPDeprecationWarning, MCPError, types
from mcp.client import ClientRequestContext
from mcp.client.inbound import Inbound
from mcp.client.link_requester import LinkRequester
from mcp.client.negotiation import negotiate_auto
from mcp.client.role import ClientRole
from mcp.engine.backend import open_spawner
from mcp.engine.memorylink import memory_links
from mcp.server import Server
from mcp.shared.exceptions import ConnectionClosedError, RequestTimeoutError
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

LATEST = "2025-11-25"
Work = Callable[[house.Context], Awaitable[Any]]


def legacy(server: Server, **options: Any) -> Client:
    return Client(server, mode="legacy", **options)


def working(work: Work, **handlers: Any) -> Server:
    """A server whose one tool does this, and returns what comes of it as text."""

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return house.text(json.dumps(await work(ctx)))

    return Server("srv", on_call_tool=call_tool, **handlers)


async def outcome(client: Client, **options: Any) -> Any:
    """What the tool of `working` returned."""
    result = await client.call_tool("work", {}, **options)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return json.loads(block.text)


class Heard:
    """A message handler that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)

    @property
    def methods(self) -> list[str]:
        return [message.method for message in self.messages]


# Opening.


async def test_both_sides_know_each_other_after_the_handshake() -> None:
    async with legacy(house.build(), client_info=types.Implementation(name="me", version="9")) as client:
        assert client.protocol_version == LATEST
        assert client.server_info == types.Implementation(name="house", version="1.2", title="The House")
        assert client.instructions == "Wipe your feet."
        assert client.server_capabilities.tools is not None
        assert client.session.discover_result is None
        greeting = client.session.initialize_result
        assert greeting is not None
        assert greeting.server_info == client.server_info


async def test_a_session_may_shake_hands_a_second_time() -> None:
    async with legacy(house.build()) as client:
        assert await client.session.initialize() == client.session.initialize_result
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_a_client_speaks_the_revision_that_the_server_names(version: str) -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:
            group.start_soon(session.initialize)
            asked = await peer.request()
            assert (asked.params or {})["protocolVersion"] == LATEST
            await peer.answer(asked, greeting(version))
            assert (await peer.next()).method == "notifications/initialized"
            assert session.protocol_version == version


def greeting(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}


@pytest.mark.parametrize("version", ["2099-01-01", "2026-07-28", "1"])
async def test_a_revision_that_the_client_does_not_know_is_refused_and_both_are_named(version: str) -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:

            async def open_() -> None:
                with pytest.raises(RuntimeError) as raised:
                    await session.initialize()
                assert f"'{version}'" in str(raised.value)
                assert f"asked for '{LATEST}'" in str(raised.value)

            group.start_soon(open_)
            await peer.answer(await peer.request(), greeting(version))
        assert session.protocol_version is None


async def test_a_server_that_names_an_unknown_revision_when_asked_is_named_too() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session, anyio.create_task_group() as group:

            async def open_() -> None:
                with pytest.raises(RuntimeError, match=r"'2099-01-01'.*'2025-11-25'"):
                    await negotiate_auto(session, 30)

            group.start_soon(open_)
            await peer.refuse(await peer.request(), types.METHOD_NOT_FOUND)
            await peer.answer(await peer.request(), greeting("2099-01-01"))


async def test_a_handshake_is_never_cancelled_at_the_server() -> None:
    with Peer() as peer:
        async with ClientSession(peer.read, peer.write) as session:
            async with anyio.create_task_group() as group:
                group.start_soon(session.initialize)
                await peer.request()
                group.cancel_scope.cancel()
            await session.send_notification(types.RootsListChangedNotification())
            assert (await peer.next()).method == "notifications/roots/list_changed"


async def test_a_server_that_fails_before_it_serves_is_a_closed_connection(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Server):
        def create_initialization_options(self, *_: Any, **__: Any) -> Any:
            raise ValueError("who am I")

    with pytest.raises(ConnectionClosedError):
        async with legacy(Broken("srv"), read_timeout_seconds=10):
            pass
    assert "ValueError: who am I" in caplog.text


async def test_requests_of_a_handshake_connection_carry_nothing_of_the_other_era() -> None:
    async with legacy(house.build(), log_level="error") as client:
        result = await client.call_tool("look", {"a": 1}, meta={"k": "v"})
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert json.loads(block.text) == {"meta": {"k": "v"}, "version": LATEST, "arguments": {"a": 1}}


# Verbs.


async def test_every_listing() -> None:
    async with legacy(house.build()) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        assert (await client.list_tools(cursor="1")).tools[0].name == "miscount"
        assert [resource.uri for resource in (await client.list_resources()).resources] == ["house://first"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["house://first/{room}"]
        assert [prompt.name for prompt in (await client.list_prompts(cursor="second")).prompts] == ["second"]


async def test_every_other_verb() -> None:
    async with legacy(house.build()) as client:
        assert (await client.call_tool("add", {"a": 20, "b": 3})).structured_content == {"sum": 23}
        assert (await client.call_tool("break")).is_error
        contents = (await client.read_resource("house://hall")).contents
        assert contents == [types.TextResourceContents(uri="house://hall", text="four walls")]
        assert (await client.get_prompt("greet", {"whom": "Ada"})).description == "greet"
        completed = await client.complete(types.PromptReference(name="p"), {"name": "n", "value": "A"})
        assert completed.completion.values == ["p", "n", "Andy"]
        assert await client.session.send_ping() == types.EmptyResult()


async def test_errors_are_raised_as_they_were_sent_and_what_a_handler_raised_is_hidden() -> None:
    async with legacy(house.build()) as client:
        with pytest.raises(MCPError, match="Closed on Sundays") as raised:
            await client.call_tool("refuse")
        assert (raised.value.code, raised.value.data) == (-32055, {"open": ["Mon", "Tue"]})
        with pytest.raises(MCPError, match=r"^Internal server error$"):
            await client.call_tool("fail")
        request = types.Request[Any, str](method="server/discover", params=None)
        with pytest.raises(MCPError, match="Method not found") as raised:
            await client.session.send_request(request, types.EmptyResult)
        assert raised.value.code == types.METHOD_NOT_FOUND


async def test_a_result_that_breaks_its_schema_is_refused() -> None:
    async with legacy(house.build()) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content returned by tool miscount"):
            await client.call_tool("miscount")


async def test_tests_may_be_told_what_a_handler_raised_and_go_on() -> None:
    async with legacy(house.build(), raise_exceptions=True) as client:
        for _ in range(2):
            with pytest.raises(MCPError, match=r"^the secret is 42$") as raised:
                await client.call_tool("fail")
            assert raised.value.code == types.INTERNAL_ERROR


async def test_many_calls_at_once_get_their_own_answers() -> None:
    sums: dict[int, Any] = {}
    async with legacy(house.build()) as client:

        async def add(number: int) -> None:
            sums[number] = (await client.call_tool("add", {"a": number, "b": 1})).structured_content

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(add, number)
    assert sums == {number: {"sum": number + 1} for number in range(200)}


# Progress.


async def test_progress_reaches_the_callback_in_order_before_the_call_returns() -> None:
    reports: list[Any] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        reports.append((progress, total, message))

    async with legacy(house.build()) as client:
        await client.call_tool("climb", {"steps": 3}, progress_callback=report)
        assert reports == [(step, 3, f"step {step}") for step in (1, 2, 3)]


async def test_progress_that_nobody_asked_for_does_not_arrive() -> None:
    heard = Heard()
    async with legacy(house.build(), message_handler=heard) as client:
        await client.call_tool("climb", {"steps": 3})
        await wait_all_tasks_blocked()
    assert heard.messages == []


async def test_a_client_reports_progress_with_what_it_was_asked() -> None:
    reports: list[Any] = []
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def ask(ctx: house.Context) -> str:
        params = types.ElicitRequestFormParams(message="m", requested_schema={"type": "object"})
        answer = await ctx.session.send_request(
            types.ElicitRequest(params=params), types.ElicitResult, progress_callback=note
        )
        return answer.action

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        token: Any = (context.meta or {}).get("progress_token")
        await context.session.send_progress_notification(token, 1, 2, "half")  # pyright: ignore[reportDeprecated]
        return types.ElicitResult(action="decline")

    async def on_progress(ctx: house.Context, params: types.ProgressNotificationParams) -> None:
        seen.append(params.progress_token)

    async with legacy(working(ask, on_progress=on_progress), elicitation_callback=elicit) as client:
        assert await outcome(client) == "decline"
        await client.session.send_progress_notification("of nothing", 1)  # pyright: ignore[reportDeprecated]
        await wait_all_tasks_blocked()
    assert reports == [(1, 2, "half")]
    assert seen == ["of nothing"]


# Giving up, on either side.


class Patient:
    """Work that waits, and says that it began and that it was cancelled."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()

    async def __call__(self, *_: Any) -> Any:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


async def test_a_call_that_is_given_up_is_cancelled_at_the_server() -> None:
    patient = Patient()
    async with legacy(working(patient)) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "work")
            await patient.begun.wait()
            group.cancel_scope.cancel()
        await patient.cancelled.wait()
        await client.session.send_ping()


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server() -> None:
    patient = Patient()
    async with legacy(working(patient)) as client:
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.02s waiting for 'tools/call'"):
            await client.call_tool("work", read_timeout_seconds=0.02)
        await patient.cancelled.wait()
        await client.session.send_ping()


async def test_a_question_that_is_given_up_is_cancelled_at_the_client() -> None:
    patient = Patient()

    async def ask(ctx: house.Context) -> bool:
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.session.elicit, "m", {"type": "object"})
            await patient.begun.wait()
            group.cancel_scope.cancel()
        await patient.cancelled.wait()
        return True

    async with legacy(working(ask), elicitation_callback=patient) as client:
        assert await outcome(client) is True


async def test_leaving_a_client_ends_its_calls_and_their_handlers() -> None:
    patient = Patient()
    failures: list[Exception] = []

    async def call(client: Client) -> None:
        with pytest.raises(ConnectionClosedError) as raised:
            await client.call_tool("work")
        failures.append(raised.value)

    async with anyio.create_task_group() as group:
        async with legacy(working(patient)) as client:
            group.start_soon(call, client)
            await patient.begun.wait()
        assert patient.cancelled.is_set()
    assert len(failures) == 1


# Questions.


async def test_a_client_declares_what_it_has_callbacks_for() -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("never asked")

    async def look(ctx: house.Context) -> Any:
        capabilities = ctx.session.client_capabilities
        assert capabilities is not None
        return capabilities.model_dump(by_alias=True, exclude_none=True, mode="json")

    async with legacy(working(look)) as client:
        assert await outcome(client) == {}
    options: dict[str, Any] = {
        "elicitation_callback": never,
        "list_roots_callback": never,
        "sampling_callback": never,
        "sampling_capabilities": types.SamplingCapability(tools=types.SamplingToolsCapability()),
    }
    async with legacy(working(look), **options) as client:
        assert await outcome(client) == {
            "elicitation": {"form": {}, "url": {}},
            "roots": {"listChanged": True},
            "sampling": {"tools": {}},
        }


async def test_each_question_reaches_its_callback_with_what_it_says() -> None:
    asked: list[Any] = []
    message = types.SamplingMessage(role="user", content=types.TextContent(text="hello"))

    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        asked.append((context.request_id, params.max_tokens, params.messages))
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="hi"), model="m")

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append((context.request_id, params.message))
        return types.ElicitResult(action="accept", content={"age": 7})

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        asked.append(context.request_id)
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///tmp"}]})

    async def ask(ctx: house.Context) -> list[Any]:
        session = ctx.session
        sampled = await session.create_message([message], max_tokens=5)  # pyright: ignore[reportDeprecated]
        elicited = await session.elicit("How old?", {"type": "object"})
        roots = await session.list_roots()  # pyright: ignore[reportDeprecated]
        return [sampled.model, elicited.content, str(roots.roots[0].uri)]

    callbacks: dict[str, Any] = {
        "sampling_callback": sample,
        "elicitation_callback": elicit,
        "list_roots_callback": list_roots,
    }
    async with legacy(working(ask), **callbacks) as client:
        assert await outcome(client) == ["m", {"age": 7}, "file:///tmp"]
    assert asked == [(1, 5, [message]), (2, "How old?"), 3]


async def test_a_callback_may_call_the_server_it_is_asked_by() -> None:
    async def ask(ctx: house.Context) -> str:
        return (await ctx.session.elicit("m", {"type": "object"})).action

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        await context.session.send_ping()
        return types.ElicitResult(action="cancel")

    async with legacy(working(ask), elicitation_callback=elicit) as client:
        assert await outcome(client) == "cancel"


async def test_what_a_callback_raises_is_hidden_from_the_server_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(ctx: house.Context) -> list[Any]:
        with pytest.raises(MCPError) as raised:
            await ctx.session.elicit("m", {"type": "object"})
        return [raised.value.code, raised.value.message]

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise ValueError("the user's secret")

    async with legacy(working(ask), elicitation_callback=elicit) as client:
        assert await outcome(client) == [types.INTERNAL_ERROR, "Internal server error"]
    assert "the user's secret" in caplog.text


async def test_an_answer_that_does_not_fit_its_question_is_an_error_of_the_client() -> None:
    async def ask(ctx: house.Context) -> int:
        with pytest.raises(MCPError) as raised:
            await ctx.session.elicit("m", {"type": "object"})
        return raised.value.code

    async def elicit(*_: Any) -> Any:
        return 5

    async with legacy(working(ask), elicitation_callback=elicit) as client:
        assert await outcome(client) == types.INTERNAL_ERROR


@pytest.mark.parametrize(
    ("version", "method", "code"),
    [
        ("2025-11-25", "acme/unknown", types.METHOD_NOT_FOUND),
        ("2025-11-25", "tools/call", types.METHOD_NOT_FOUND),
        ("2025-03-26", "elicitation/create", types.METHOD_NOT_FOUND),
        ("2025-06-18", "elicitation/create", types.INVALID_PARAMS),
        ("2024-11-05", "ping", None),
    ],
)
async def test_a_client_answers_what_its_revision_has(version: str, method: str, code: int | None) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("never asked")

    with Peer() as peer:
        async with ClientSession(peer.read, peer.write, elicitation_callback=never) as session:
            async with anyio.create_task_group() as group:
                group.start_soon(session.initialize)
                await peer.answer(await peer.request(), greeting(version))
                await peer.next()
            await peer.say(types.JSONRPCRequest(jsonrpc="2.0", id="q", method=method))
            answer = await peer.reply()
            assert answer.id == "q"
            assert (answer.error.code if isinstance(answer, types.JSONRPCError) else None) == code


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "form.message: Field required (and 1 more)"),
        ({"mode": "url", "message": "?"}, "url.url: Field required"),
        ({"mode": "dance"}, "params: Input tag 'dance' found"),
    ],
)
async def test_what_is_wrong_with_a_question_is_told_of_its_own_kind(params: dict[str, Any], problem: str) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("never asked")

    with Peer() as peer:
        async with ClientSession(peer.read, peer.write, elicitation_callback=never) as session:
            async with anyio.create_task_group() as group:
                group.start_soon(session.initialize)
                await peer.answer(await peer.request(), greeting("2025-11-25"))
                await peer.next()
            await peer.say(types.JSONRPCRequest(jsonrpc="2.0", id=7, method="elicitation/create", params=params))
            answer = await peer.reply()
    assert isinstance(answer, types.JSONRPCError)
    assert answer.error.code == types.INVALID_PARAMS
    assert f"Invalid request parameters: {problem}" in answer.error.message


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
async def test_a_batch_of_questions_is_answered_with_a_batch_where_there_are_batches(version: str) -> None:
    ours, theirs = memory_links()
    inbound = Inbound(None, None)
    inbound.role = ClientRole(ClientSession(), sampling=None, elicitation=None, list_roots=None)
    inbound.version = version
    questions = [{"jsonrpc": "2.0", "id": id, "method": method} for id, method in [(1, "ping"), (2, "roots/list")]]
    async with open_spawner() as spawner:
        requester = LinkRequester(ours, spawner, inbound)
        theirs.send(json.dumps(questions).encode())
        theirs.send(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping"}).encode())
        answers: list[Any] = []
        while not any(isinstance(answer, dict) for answer in answers):
            answers += [json.loads(frame) for frame in await theirs.receive() if isinstance(frame, bytes)]
        await requester.aclose()
    batches: list[Any] = [answer for answer in answers if isinstance(answer, list)]
    if version == "2025-03-26":
        assert sorted((answer["id"], "result" in answer) for answer in batches[0]) == [(1, True), (2, False)]
    else:
        assert batches == []


# Notifications.


async def test_notifications_reach_the_message_handler_in_order() -> None:
    heard = Heard()

    async def change(ctx: house.Context) -> None:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_resource_updated("test://r")

    async with legacy(working(change), message_handler=heard) as client:
        await outcome(client)
        await wait_all_tasks_blocked()
    assert heard.methods == [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    ]
    assert heard.messages[3].params.uri == "test://r"


async def test_what_is_sent_after_the_call_arrives_too() -> None:
    heard = Heard()
    kept: list[house.Context] = []

    async def keep(ctx: house.Context) -> None:
        kept.append(ctx)

    async with legacy(working(keep), message_handler=heard) as client:
        await outcome(client)
        await kept[0].session.send_tool_list_changed()
        await wait_all_tasks_blocked()
        assert heard.methods == ["notifications/tools/list_changed"]
    await kept[0].session.send_tool_list_changed()
    assert heard.methods == ["notifications/tools/list_changed"]


async def test_a_message_handler_may_call_the_server() -> None:
    answers: list[Any] = []
    answered = anyio.Event()

    async def change(ctx: house.Context) -> None:
        await ctx.session.send_tool_list_changed()

    async def hear(message: Any) -> None:
        answers.append(await client.session.send_ping())
        answered.set()

    async with legacy(working(change), message_handler=hear) as client:
        await outcome(client)
        await answered.wait()
    assert answers == [types.EmptyResult()]


async def test_a_callback_for_notifications_that_raises_is_logged_and_the_next_is_delivered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(message.method)
        raise ValueError("deaf")

    async def change(ctx: house.Context) -> None:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_prompt_list_changed()

    async with legacy(working(change), message_handler=hear) as client:
        await outcome(client)
        await wait_all_tasks_blocked()
    assert heard == ["notifications/tools/list_changed", "notifications/prompts/list_changed"]
    assert caplog.text.count("ValueError: deaf") == 2


async def test_a_notification_of_the_servers_that_is_malformed_is_logged_and_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard = Heard()

    async def notify(ctx: house.Context) -> None:
        await ctx.session._exchange.notify("notifications/resources/updated", {"uri": 5})
        await ctx.session._exchange.notify("acme/unknown", None)
        await ctx.session.send_tool_list_changed()

    async with legacy(working(notify), message_handler=heard) as client:
        with caplog.at_level(logging.DEBUG, "client"):
            await outcome(client)
            await wait_all_tasks_blocked()
    assert heard.methods == ["notifications/tools/list_changed"]
    assert "dropped a malformed notifications/resources/updated" in caplog.text
    assert "dropped acme/unknown: the protocol has no such notification" in caplog.text


# Log messages.


async def test_log_messages_come_from_the_level_that_was_set() -> None:
    said: list[Any] = []

    async def take(params: types.LoggingMessageNotificationParams) -> None:
        said.append((params.level, params.logger, params.data))

    async with legacy(house.build(), logging_callback=take) as client:
        await client.call_tool("speak")
        await client.set_logging_level("error")  # pyright: ignore[reportDeprecated]
        await client.call_tool("speak")
        await wait_all_tasks_blocked()
    levels = ["debug", "info", "error", "error"]
    assert said == [(level, "house", {"said": level}) for level in levels]


# Watching resources.


async def test_a_client_watches_resources_and_stops() -> None:
    watched: set[str] = set()
    heard = Heard()

    async def subscribe(ctx: house.Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        watched.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(ctx: house.Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        watched.remove(params.uri)
        return types.EmptyResult()

    async def change(ctx: house.Context) -> list[str]:
        for uri in sorted(watched):
            await ctx.session.send_resource_updated(uri)
        return sorted(watched)

    server = working(change, on_subscribe_resource=subscribe, on_unsubscribe_resource=unsubscribe)
    async with legacy(server, message_handler=heard) as client:
        await client.session.subscribe_resource("a://1")  # pyright: ignore[reportDeprecated]
        await client.session.subscribe_resource("a://2")  # pyright: ignore[reportDeprecated]
        assert await outcome(client) == ["a://1", "a://2"]
        await client.session.unsubscribe_resource("a://1")  # pyright: ignore[reportDeprecated]
        assert await outcome(client) == ["a://2"]
        await wait_all_tasks_blocked()
    assert [message.params.uri for message in heard.messages] == ["a://1", "a://2", "a://2"]


async def test_a_server_is_told_that_the_roots_have_changed() -> None:
    told = anyio.Event()

    async def changed(ctx: house.Context, params: types.NotificationParams | None) -> None:
        told.set()

    async def nothing(ctx: house.Context) -> None:
        pass

    with pytest.warns(MCPDeprecationWarning):
        server = working(nothing, on_roots_list_changed=changed)
    async with legacy(server) as client:
        await client.session.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
        await told.wait()


async def test_a_handler_of_that_notification_may_ask_for_the_roots() -> None:
    roots = types.ListRootsResult.model_validate({"roots": [{"uri": "file:///new"}]})
    seen: list[Any] = []
    told = anyio.Event()

    async def changed(ctx: house.Context, params: types.NotificationParams | None) -> None:
        seen.append(await ctx.session.list_roots())  # pyright: ignore[reportDeprecated]
        told.set()

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        return roots

    async def nothing(ctx: house.Context) -> None:
        pass

    async with legacy(working(nothing, on_roots_list_changed=changed), list_roots_callback=list_roots) as client:
        await client.session.send_roots_list_changed()  # pyright: ignore[reportDeprecated]
        await told.wait()
    assert seen == [roots]
