"""What a handler can ask a client of the handshake era: how it is asked, answered, timed out and cancelled."""

from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import anyio
import pytest
from asking import (
    ANSWER,
    HELLO,
    SCHEMA,
    Asker,
    Sampler,
    answer_to,
    asking,
    failure_of,
    interview,
    list_roots,
    sample,
)
from doing import Received, server_that
from link_wire import on_a_link
from wire import Context, send

from mcp import types
from mcp.client import ClientRequestContext, ClientSession
from mcp.server.session import ServerSession
from mcp.server.validation import declares
from mcp.shared.exceptions import ConnectionClosedError, MCPError, RequestTimeoutError
from mcp.shared.memory import create_client_server_memory_streams

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:The (sampling|roots) capability is deprecated"),
    pytest.mark.filterwarnings("ignore:Client-to-server progress is deprecated"),
]


# Elicitation.


class Interviewer:
    """Answers elicitations, and keeps what it was asked."""

    def __init__(self, answer: types.ElicitResult) -> None:
        self.asked: list[types.ElicitRequestParams] = []
        self._answer = answer

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params)
        return self._answer


@pytest.mark.parametrize("verb", ["elicit", "elicit_form"])
async def test_a_user_is_asked_to_fill_in_a_form(verb: str) -> None:
    filled = types.ElicitResult(action="accept", content={"age": 7})
    interviewer = Interviewer(filled)
    answer = await answer_to(
        lambda session: getattr(session, verb)("How old?", SCHEMA, related_request_id=1),
        elicitation_callback=interviewer,
    )
    assert answer == filled
    assert interviewer.asked == [types.ElicitRequestFormParams(message="How old?", requested_schema=SCHEMA)]


async def test_a_user_is_sent_to_a_url_and_told_when_that_is_done() -> None:
    interviewer = Interviewer(types.ElicitResult(action="accept"))
    received = Received()

    async def ask(session: ServerSession) -> None:
        answer = await session.elicit_url("Please pay", "https://example.com/pay", "payment-1")
        assert answer.action == "accept"
        await session.send_elicit_complete("payment-1")
        await session.send_elicit_complete("payment-2", related_request_id=1)

    await answer_to(ask, elicitation_callback=interviewer, message_handler=received)
    assert interviewer.asked == [
        types.ElicitRequestURLParams(message="Please pay", url="https://example.com/pay", elicitation_id="payment-1")
    ]
    assert received.messages == [
        ("notifications/elicitation/complete", {"elicitationId": "payment-1"}),
        ("notifications/elicitation/complete", {"elicitationId": "payment-2"}),
    ]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
async def test_a_client_is_not_asked_what_its_revision_does_not_have(version: str) -> None:
    failures: list[MCPError] = []

    async def ask(ctx: Context) -> None:
        for attempt in (ctx.session.elicit_form("?", SCHEMA), ctx.session.elicit_url("?", "https://a.example", "1")):
            with pytest.raises(MCPError) as raised:
                await attempt
            failures.append(raised.value)
        request = types.ElicitRequest(params=types.ElicitRequestFormParams(message="?", requested_schema=SCHEMA))
        with pytest.raises(MCPError) as raised:
            await ctx.session.send_request(request, types.ElicitResult)
        failures.append(raised.value)

    async with on_a_link(server_that(ask)) as wire:
        await wire.initialize(version)
        answer = await wire.ask(1, "acme/do", {})
        assert "result" in answer
    expected = (-32601, f"Revision {version}, which the client speaks, has no elicitation/create")
    assert [(failure.code, failure.message) for failure in failures] == [expected] * 3


async def test_unless_it_says_that_it_can_be_asked() -> None:
    async def ask(ctx: Context) -> None:
        await ctx.session.elicit_form("?", SCHEMA)

    async with on_a_link(server_that(ask)) as wire:
        await wire.initialize("2025-03-26", {"elicitation": {}})
        wire.say("acme/do", {}, id=1)
        assert (await wire.next())["method"] == "elicitation/create"


# Roots, ping, and requests of any kind.


async def test_a_client_lists_its_roots() -> None:
    roots = types.ListRootsResult.model_validate({"roots": [{"uri": "file:///tmp", "name": "tmp"}]})

    async def list_them(context: ClientRequestContext) -> types.ListRootsResult:
        return roots

    assert await answer_to(list_roots, list_roots_callback=list_them) == roots


async def test_every_client_answers_a_ping() -> None:
    assert await answer_to(lambda session: session.send_ping()) == types.EmptyResult()
    assert await answer_to(lambda session: session.send_request(types.PingRequest(), types.EmptyResult)) is not None


@pytest.mark.parametrize(
    ("ask", "refusal"),
    [
        (sample, "Sampling not supported"),
        (interview, "Elicitation not supported"),
        (list_roots, "List roots not supported"),
    ],
)
async def test_a_client_without_the_callback_refuses(ask: Asker, refusal: str) -> None:
    failure = await failure_of(ask)
    assert isinstance(failure, MCPError)
    assert (failure.code, failure.message) == (types.INVALID_REQUEST, refusal)


async def test_a_callbacks_error_reaches_the_handler_as_it_is() -> None:
    sampler = Sampler(types.ErrorData(code=-32050, message="the model sleeps", data={"until": 8}))
    failure = await failure_of(sample, sampling_callback=sampler)
    assert isinstance(failure, MCPError)
    assert (failure.code, failure.message, failure.data) == (-32050, "the model sleeps", {"until": 8})


async def test_a_question_may_report_progress() -> None:
    reports: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def sampling(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        token = (context.meta or {}).get("progress_token")
        assert token is not None
        await context.session.send_progress_notification(token, 1, 2, "half")  # pyright: ignore[reportDeprecated]
        return ANSWER

    async def ask(session: ServerSession) -> Any:
        params = types.CreateMessageRequestParams(messages=[HELLO], max_tokens=9)
        request = types.CreateMessageRequest(params=params)
        return await session.send_request(request, types.CreateMessageResult, progress_callback=note)

    assert await answer_to(ask, sampling_callback=sampling) == ANSWER
    assert reports == [(1, 2, "half")]


# Many at once, time limits, cancellation.


async def test_questions_are_answered_at_once_and_not_one_after_the_other() -> None:
    asked = 0
    all_asked = anyio.Event()

    async def sampling(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        nonlocal asked
        asked += 1
        if asked == 4:
            all_asked.set()
        await all_asked.wait()
        return ANSWER

    async def ask(session: ServerSession) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(sample, session)

    with anyio.fail_after(5):
        await answer_to(ask, sampling_callback=sampling)
    assert asked == 4


class Waiting:
    """A callback that never answers, and says when it is cancelled."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.cancelled = anyio.Event()

    async def __call__(self, context: ClientRequestContext, params: Any) -> Any:
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


async def test_each_question_has_a_time_limit_of_its_own() -> None:
    waiting = Waiting()
    release = anyio.Event()

    async def sampling(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        await release.wait()
        return ANSWER

    async def ask_for_long(session: ServerSession) -> None:
        await sample(session)

    async def ask(session: ServerSession) -> None:
        params = types.ElicitRequestFormParams(message="m", requested_schema=SCHEMA)
        async with anyio.create_task_group() as group:
            group.start_soon(ask_for_long, session)
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.05s waiting for 'elicitation/create'"):
                await session.send_request(types.ElicitRequest(params=params), types.ElicitResult, 0.05)
            await waiting.cancelled.wait()
            release.set()

    await answer_to(ask, sampling_callback=sampling, elicitation_callback=waiting)


async def test_a_time_limit_must_be_a_number() -> None:
    def ask(session: ServerSession) -> Awaitable[Any]:
        limit: Any = timedelta(seconds=1)
        return session.send_request(types.PingRequest(), types.EmptyResult, limit)

    failure = await failure_of(ask)
    assert isinstance(failure, TypeError)
    assert str(failure) == "a time limit is a number of seconds, got timedelta"


async def test_cancelling_the_call_cancels_what_its_handler_asks() -> None:
    waiting = Waiting()
    async with asking(sample, sampling_callback=waiting) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(send, client, "acme/do")
            await waiting.started.wait()
            group.cancel_scope.cancel()
        await waiting.cancelled.wait()
        await client.session.send_ping()


async def test_a_handler_that_stops_waiting_cancels_its_question() -> None:
    waiting = Waiting()

    async def ask(session: ServerSession) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sample, session)
            await waiting.started.wait()
            group.cancel_scope.cancel()
        await waiting.cancelled.wait()

    await answer_to(ask, sampling_callback=waiting)


# Sessions that outlive their handler.


async def test_a_session_that_was_kept_can_still_ask_until_the_client_leaves() -> None:
    kept: list[ServerSession] = []

    async def keep(ctx: Context) -> None:
        kept.append(ctx.session)

    server = server_that(keep)
    async with create_client_server_memory_streams() as (client_streams, server_streams):
        async with anyio.create_task_group() as group:
            group.start_soon(server.run, *server_streams, server.create_initialization_options())
            async with ClientSession(*client_streams, sampling_callback=Sampler()) as client:
                await client.initialize()
                await client.send_request(types.Request(method="acme/do", params=None), types.EmptyResult)
                assert kept[0].can_send_request
                assert await kept[0].send_ping() == types.EmptyResult()
                assert await sample(kept[0]) == ANSWER
        with pytest.raises(ConnectionClosedError):
            await kept[0].send_ping()
        await kept[0].send_tool_list_changed()
        await kept[0].report_progress(1)


# What a client declared.


@pytest.mark.parametrize(
    ("declared", "wanted", "found"),
    [
        ({}, {}, True),
        ({}, {"roots": {}}, False),
        ({"roots": {}}, {"roots": {}}, True),
        ({"roots": {}}, {"roots": {"listChanged": True}}, False),
        ({"roots": {}}, {"roots": {"listChanged": False}}, True),
        ({"roots": {"listChanged": True}}, {"roots": {"listChanged": False}}, True),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, False),
        ({"sampling": {"tools": {}, "context": {}}}, {"sampling": {"tools": {}}}, True),
        ({"elicitation": {}}, {"elicitation": {}}, True),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}, True),
        ({"elicitation": {}}, {"elicitation": {"url": {}}}, False),
        ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}, False),
        ({"elicitation": {"url": {}}}, {"elicitation": {}}, True),
        ({"experimental": {"a": {"x": 1}}}, {"experimental": {"a": {"x": 1}}}, True),
        ({"experimental": {"a": {"x": 1}}}, {"experimental": {"a": {"x": 2}}}, False),
        ({"experimental": {"a": {}}}, {"experimental": {"b": {}}}, False),
        ({"extensions": {"e/x": {"k": 1}}}, {"extensions": {"e/x": {"k": 2}}}, True),
        ({"extensions": {"e/x": {}}}, {"extensions": {"f/x": {}}}, False),
        ({"roots": {}, "sampling": {}}, {"roots": {}, "sampling": {}}, True),
        ({"roots": {}}, {"roots": {}, "sampling": {}}, False),
    ],
)
def test_a_capability_is_looked_for_in_what_the_client_declared(
    declared: dict[str, Any], wanted: dict[str, Any], found: bool
) -> None:
    capabilities = types.ClientCapabilities.model_validate
    assert declares(capabilities(declared), capabilities(wanted)) is found


async def test_a_handler_can_look_at_what_its_client_declared() -> None:
    async def look(session: ServerSession) -> list[bool]:
        wanted = [
            types.ClientCapabilities(sampling=types.SamplingCapability()),
            types.ClientCapabilities(elicitation=types.ElicitationCapability(url=types.UrlElicitationCapability())),
            types.ClientCapabilities(roots=types.RootsCapability(list_changed=True)),
        ]
        return [session.check_client_capability(one) for one in wanted]

    interviewer = Interviewer(types.ElicitResult(action="cancel"))
    assert await answer_to(look, elicitation_callback=interviewer) == [False, True, False]
    assert await answer_to(look, sampling_callback=Sampler()) == [True, False, False]
