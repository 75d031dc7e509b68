"""Calls that the server answers in several rounds: `Client` gives it what the callbacks answer, and asks again."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext, InputRequiredRoundsExceededError
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

pytestmark = pytest.mark.anyio

PATIENCE = 10

Answers = types.InputResponses | None
Reply = Callable[[Answers, str | None], types.InputRequiredResult | None]


def question(message: str) -> types.ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=9))


class Clerk:
    """A server whose every method asks what `reply` says, until that says nothing more; it notes each round."""

    def __init__(self, reply: Reply) -> None:
        self.rounds: list[tuple[dict[str, Any] | None, str | None]] = []
        self._reply = reply
        self.server = Server(
            "clerk", on_call_tool=self._call, on_get_prompt=self._prompt, on_read_resource=self._resource
        )

    def _asked(self, params: Any) -> types.InputRequiredResult | None:
        answers: Answers = params.input_responses
        plain = (
            None if answers is None else {key: answer.model_dump(exclude_none=True) for key, answer in answers.items()}
        )
        self.rounds.append((plain, params.request_state))
        return self._reply(answers, params.request_state)

    async def _call(
        self, ctx: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        done = types.CallToolResult(content=[types.TextContent(text="done")])
        return self._asked(params) or done

    async def _prompt(
        self, ctx: ServerRequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        return self._asked(params) or types.GetPromptResult(messages=[])

    async def _resource(
        self, ctx: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        return self._asked(params) or types.ReadResourceResult(contents=[])


def until_answered(questions: types.InputRequests, state: str | None = None) -> Reply:
    def reply(answers: Answers, echoed: str | None) -> types.InputRequiredResult | None:
        return None if answers else types.InputRequiredResult(input_requests=questions, request_state=state)

    return reply


async def accept(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": params.message.upper()})


ACCEPTED = {"action": "accept", "content": {"answer": "NAME?"}}


async def test_a_tool_gets_what_it_asks_for() -> None:
    clerk = Clerk(until_answered({"name": question("name?")}, state="opaque"))
    async with Client(clerk.server, elicitation_callback=accept) as client:
        result = await client.call_tool("register", {"id": 1})
    assert result.content == [types.TextContent(text="done")]
    assert clerk.rounds == [(None, None), ({"name": ACCEPTED}, "opaque")]


async def test_prompts_and_resources_get_it_too() -> None:
    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=accept) as client:
        assert (await client.get_prompt("greeting")).messages == []
        assert (await client.read_resource("clerk://desk")).contents == []
    # Where the server gave no state, none goes back.
    assert clerk.rounds == [(None, None), ({"name": ACCEPTED}, None)] * 2


async def test_every_kind_of_question_goes_to_its_callback() -> None:
    async def sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="Paris"), model="m")

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[])

    asked: types.InputRequests = {"who": question("name?"), "what": sampling("?"), "where": types.ListRootsRequest()}
    clerk = Clerk(until_answered(asked))
    client = Client(clerk.server, elicitation_callback=accept, sampling_callback=sample, list_roots_callback=roots)
    async with client:
        await client.call_tool("register")
    answers = clerk.rounds[1][0]
    assert answers is not None
    assert list(answers) == ["who", "what", "where"]
    assert answers["who"] == ACCEPTED
    assert answers["what"]["content"]["text"] == "Paris"
    assert answers["where"] == {"roots": []}


async def test_the_questions_of_a_round_are_answered_at_the_same_time() -> None:
    arrived = 0
    both = anyio.Event()

    async def wait_for_the_other(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        nonlocal arrived
        arrived += 1
        if arrived == 2:
            both.set()
        await both.wait()
        return types.ElicitResult(action="decline")

    clerk = Clerk(until_answered({"a": question("a"), "b": question("b")}))
    async with Client(clerk.server, elicitation_callback=wait_for_the_other) as client:
        with anyio.fail_after(PATIENCE):
            await client.call_tool("register")
    assert clerk.rounds[1][0] == {"a": {"action": "decline"}, "b": {"action": "decline"}}


async def test_of_very_many_questions_a_hundred_are_answered_at_a_time() -> None:
    open_now = most = 0

    async def count(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await anyio.sleep(0)
        open_now -= 1
        return types.ElicitResult(action="accept", content={"answer": params.message})

    clerk = Clerk(until_answered({f"k{number}": question(f"q{number}") for number in range(250)}))
    async with Client(clerk.server, elicitation_callback=count) as client:
        with anyio.fail_after(PATIENCE):
            await client.call_tool("register")
    answers = clerk.rounds[1][0]
    assert answers == {f"k{n}": {"action": "accept", "content": {"answer": f"q{n}"}} for n in range(250)}
    assert most == 100


async def test_a_callback_learns_which_question_it_answers() -> None:
    seen: list[ClientRequestContext] = []

    async def note(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        seen.append(context)
        return types.ElicitResult(action="cancel")

    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=note) as client:
        await client.call_tool("register")
        assert seen[0].session is client.session
        assert seen[0].request_id == "name"


async def test_each_round_answers_what_was_asked_last() -> None:
    def reply(answers: Answers, state: str | None) -> types.InputRequiredResult | None:
        if state is None:
            return types.InputRequiredResult(input_requests={"a": question("a")}, request_state="1")
        if state == "1":
            return types.InputRequiredResult(input_requests={"b": question("b")}, request_state="2")
        return None

    clerk = Clerk(reply)
    async with Client(clerk.server, elicitation_callback=accept) as client:
        await client.call_tool("register")
    assert [(sorted(answers or ()), state) for answers, state in clerk.rounds] == [
        ([], None),
        (["a"], "1"),
        (["b"], "2"),
    ]


async def test_answers_from_elsewhere_open_the_first_round() -> None:
    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server) as client:
        answers: types.InputResponses = {"name": types.ElicitResult(action="decline")}
        await client.call_tool("register", input_responses=answers, request_state="kept")
    assert clerk.rounds == [({"name": {"action": "decline"}}, "kept")]


# Not yet.


async def test_a_server_that_needs_time_is_asked_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    def reply(answers: Answers, state: str | None) -> types.InputRequiredResult | None:
        done = state == "5"
        return None if done else types.InputRequiredResult(request_state=str(int(state or "0") + 1))

    monkeypatch.setattr("mcp.client.input_rounds.anyio.sleep", sleep)
    clerk = Clerk(reply)
    async with Client(clerk.server) as client:
        await client.call_tool("register")
    assert pauses == [0.05, 0.1, 0.2, 0.25, 0.25]
    assert [state for _, state in clerk.rounds] == [None, "1", "2", "3", "4", "5"]


async def test_rounds_have_an_end() -> None:
    def reply(answers: Answers, state: str | None) -> types.InputRequiredResult:
        return types.InputRequiredResult(input_requests={"name": question("name?")})

    clerk = Clerk(reply)
    async with Client(clerk.server, elicitation_callback=accept, input_required_max_rounds=3) as client:
        with pytest.raises(InputRequiredRoundsExceededError, match="more input after 3 rounds") as raised:
            await client.call_tool("register")
    assert raised.value.max_rounds == 3
    assert len(clerk.rounds) == 4


async def test_a_client_that_allows_no_rounds_raises_at_the_first_question() -> None:
    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=accept, input_required_max_rounds=0) as client:
        with pytest.raises(InputRequiredRoundsExceededError):
            await client.call_tool("register")
    assert len(clerk.rounds) == 1


@pytest.mark.parametrize(
    ("rounds", "error", "complaint"),
    [
        (-1, ValueError, "must be >= 0, got -1"),
        (1.5, TypeError, "must be a whole number, got 1.5"),
        ("x", TypeError, "must be a whole number, got 'x'"),
        (None, TypeError, "must be a whole number, got None"),
        (True, TypeError, "must be a whole number, got True"),
    ],
)
def test_rounds_are_counted_from_nothing_on(rounds: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=f"^input_required_max_rounds {complaint}$"):
        Client(Server("clerk"), input_required_max_rounds=rounds)


# Refusals and failures.


@pytest.mark.parametrize("others", [0, 2])
async def test_a_question_without_a_callback_fails_the_call(others: int) -> None:
    asked: types.InputRequests = {f"q{number}": question("q") for number in range(others)}
    clerk = Clerk(until_answered({**asked, "roots": types.ListRootsRequest()}))
    async with Client(clerk.server, elicitation_callback=accept) as client:
        with pytest.raises(MCPError, match="List roots not supported") as raised:
            await client.call_tool("register")
    # The server does not even ask.
    assert raised.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert len(clerk.rounds) == 1


@pytest.mark.parametrize("others", [0, 2])
async def test_and_so_it_does_if_the_server_asks_what_the_client_has_not_declared(others: int) -> None:
    asked: types.InputRequests = {f"q{number}": question("q") for number in range(others)}
    rounds = 0

    async def ask(ctx: ServerRequestContext, call_next: CallNext) -> HandlerResult:
        nonlocal rounds
        if ctx.method != "tools/call":
            return await call_next(ctx)
        rounds += 1
        return types.InputRequiredResult(input_requests={**asked, "roots": types.ListRootsRequest()})

    server = Clerk(lambda answers, state: None).server
    server.middleware.append(ask)  # what middleware answers goes out as it is
    async with Client(server, elicitation_callback=accept) as client:
        with pytest.raises(MCPError, match="List roots not supported") as raised:
            await client.call_tool("register")
    assert raised.value.error.code == types.INVALID_REQUEST
    assert rounds == 1


@pytest.mark.parametrize("questions", [1, 3])
async def test_what_a_callback_raises_reaches_the_caller_as_it_is(questions: int) -> None:
    async def fail(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        if params.message == "q0":
            raise LookupError("no such user")
        await anyio.sleep_forever()
        raise AssertionError

    clerk = Clerk(until_answered({f"q{number}": question(f"q{number}") for number in range(questions)}))
    async with Client(clerk.server, elicitation_callback=fail) as client:
        with anyio.fail_after(PATIENCE), pytest.raises(LookupError, match="no such user"):
            await client.call_tool("register")


ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def await_a_cancelled_task() -> None:
    task = asyncio.create_task(asyncio.sleep(PATIENCE))
    task.cancel()
    await task


@ON_ASYNCIO
@pytest.mark.parametrize(
    "questions",
    [
        pytest.param(1, marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 cannot tell who cancelled")),
        2,
        3,
    ],
)
async def test_a_callback_that_cancels_itself_is_named_and_so_is_its_question(questions: int) -> None:
    async def fail(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        if params.message == "q0":
            await await_a_cancelled_task()
        return types.ElicitResult(action="decline")

    clerk = Clerk(until_answered({f"k{number}": question(f"q{number}") for number in range(questions)}))
    async with Client(clerk.server, elicitation_callback=fail) as client:
        with anyio.fail_after(PATIENCE), pytest.raises(RuntimeError) as raised:
            await client.call_tool("register")
        assert str(raised.value) == (
            "no answer to the server's question 'k0' (elicitation/create): elicitation_callback cancelled itself"
        )
        assert len(clerk.rounds) == 1


async def test_and_so_it_is_if_it_raises_what_is_no_exception() -> None:
    class Exit(BaseException):
        pass

    async def fail(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise Exit("enough")

    clerk = Clerk(until_answered({"name": question("name?"), "age": question("age?")}))
    async with Client(clerk.server, elicitation_callback=fail) as client:
        with pytest.raises(RuntimeError, match=r"question 'name' .*: elicitation_callback raised Exit\('enough'"):
            await client.call_tool("register")


async def test_a_callback_may_leave_the_program() -> None:
    async def leave(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise SystemExit(3)

    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=leave) as client:
        with pytest.raises(SystemExit) as raised:
            await client.call_tool("register")
    assert raised.value.code == 3


@ON_ASYNCIO
@pytest.mark.parametrize("questions", [1, 2])
async def test_a_cancellation_from_outside_goes_through(questions: int) -> None:
    asked = anyio.Event()

    async def never(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    clerk = Clerk(until_answered({f"k{number}": question("q") for number in range(questions)}))
    async with Client(clerk.server, elicitation_callback=never) as client:
        call = asyncio.create_task(client.call_tool("register"))
        with anyio.fail_after(PATIENCE):
            await asked.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("yes", "'yes'"),
        (None, "None"),
        ({"foo": 1}, "{'foo': 1}"),
        (types.ListRootsResult(roots=[]), "ListRootsResult("),
        (types.EmptyResult(), "EmptyResult("),
    ],
    ids=["text", "nothing", "dict", "another result", "empty result"],
)
async def test_a_callback_that_returns_no_result_is_named(answer: object, shown: str) -> None:
    async def wrong(context: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return answer

    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=wrong) as client:
        with pytest.raises(TypeError) as raised:
            await client.call_tool("register")
    assert str(raised.value).startswith(f"elicitation_callback must return ElicitResult or ErrorData, got {shown}")


async def test_a_question_for_a_model_is_not_answered_with_what_the_user_said() -> None:
    async def wrong(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return types.ElicitResult(action="accept")

    ask = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[], max_tokens=1))
    async with Client(Clerk(until_answered({"q": ask})).server, sampling_callback=wrong) as client:
        with pytest.raises(
            TypeError, match="sampling_callback must return CreateMessageResult, CreateMessageResultWit"
        ):
            await client.call_tool("register")


async def test_a_callback_may_return_the_wire_form() -> None:
    async def accept_as_dict(context: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return {"action": "accept", "content": {"value": "Ada"}}

    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=accept_as_dict) as client:
        await client.call_tool("register")
    answers, _ = clerk.rounds[-1]
    assert answers == {"name": {"action": "accept", "content": {"value": "Ada"}}}


async def test_a_callback_may_refuse() -> None:
    async def refuse(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-32042, message="not now")

    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=refuse) as client:
        with pytest.raises(MCPError, match="not now"):
            await client.call_tool("register")


async def test_a_caller_that_gives_up_ends_the_question() -> None:
    ended = anyio.Event()

    async def never(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    clerk = Clerk(until_answered({"a": question("a"), "b": question("b")}))
    async with Client(clerk.server, elicitation_callback=never) as client:
        with anyio.move_on_after(0.05):
            await client.call_tool("register")
        assert ended.is_set()


async def test_on_an_older_revision_asking_for_input_is_an_invalid_result() -> None:
    clerk = Clerk(until_answered({"name": question("name?")}))
    async with Client(clerk.server, elicitation_callback=accept, mode="legacy") as client:
        with pytest.raises(MCPError, match="Handler returned an invalid result") as raised:
            await client.call_tool("register")
    assert raised.value.error.code == types.INTERNAL_ERROR
