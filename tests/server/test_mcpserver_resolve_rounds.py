"""Rounds of 2026-07-28: what a call asks at once, what it remembers, and what it takes for an answer."""

import json
import logging
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, create_model
from resolving import (
    Answers,
    Confirm,
    Copies,
    accept,
    answering,
    asked_by,
    serving,
    shopping,
    text_of,
)
from serving_http import served

from mcp import Client, MCPError, types
from mcp.client import InputRequiredRoundsExceededError
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.resolution.rounds import Rounds

pytestmark = pytest.mark.anyio

REJECTION = (-32602, "Invalid or expired requestState")


def ask_copies(title: str) -> Elicit[Copies]:
    return Elicit(f"How many of {title}?", Copies)


def ask_wrapping(title: str) -> Elicit[Confirm]:
    return Elicit(f"Wrap {title}?", Confirm)


def ask_delivery(copies: Annotated[Copies, Resolve(ask_copies)]) -> Elicit[Confirm]:
    return Elicit(f"Deliver all {copies.count}?", Confirm)


def ask_model(title: str) -> Sample:
    hello = types.SamplingMessage(role="user", content=types.TextContent(text=title))
    return Sample([hello], max_tokens=9)


def buy(
    title: str,
    copies: Annotated[Copies, Resolve(ask_copies)],
    wrap: Annotated[Confirm, Resolve(ask_wrapping)],
    deliver: Annotated[Confirm, Resolve(ask_delivery)],
) -> str:
    return f"{copies.count} of {title}, {wrap.ok}, {deliver.ok}"


def simple(title: str, copies: Annotated[Copies, Resolve(ask_copies)]) -> str:
    return f"{copies.count} of {title}"


def blurb(title: str, words: Annotated[types.CreateMessageResult, Resolve(ask_model)]) -> str:
    assert isinstance(words.content, types.TextContent)
    return words.content.text


COPIES, WRAP, DELIVER, MODEL = (
    f"{__name__}:{fn.__name__}" for fn in (ask_copies, ask_wrapping, ask_delivery, ask_model)
)
DUNE = {"title": "Dune"}


def questions_of(result: Any) -> dict[str, str]:
    """The texts of what a round asks."""
    assert isinstance(result, types.InputRequiredResult)
    asked: dict[str, str] = {}
    for key, request in (result.input_requests or {}).items():
        assert isinstance(request, types.ElicitRequest)
        asked[key] = request.params.message
    return asked


def said(result: Any) -> str:
    assert isinstance(result, types.CallToolResult)
    return text_of(result)


# What is asked when.


async def test_a_round_asks_all_that_it_can() -> None:
    async with shopping(serving(buy), Answers()) as client:
        first = await asked_by(client, "buy", **DUNE)
        assert questions_of(first) == {COPIES: "How many of Dune?", WRAP: "Wrap Dune?"}
        second = await answering(
            client, "buy", first.request_state, {COPIES: accept(count=2), WRAP: accept(ok=True)}, **DUNE
        )
        assert questions_of(second) == {DELIVER: "Deliver all 2?"}
        assert isinstance(second, types.InputRequiredResult)
        last = await answering(client, "buy", second.request_state, {DELIVER: accept(ok=False)}, **DUNE)
        assert said(last) == "2 of Dune, True, False"


async def test_what_is_not_answered_is_asked_again_and_nothing_else_is() -> None:
    async with shopping(serving(buy), Answers()) as client:
        first = await asked_by(client, "buy", **DUNE)
        second = await answering(client, "buy", first.request_state, {WRAP: accept(ok=True)}, **DUNE)
        assert questions_of(second) == {COPIES: "How many of Dune?"}
        assert isinstance(second, types.InputRequiredResult)
        third = await answering(client, "buy", second.request_state, None, **DUNE)
        assert questions_of(third) == {COPIES: "How many of Dune?"}


async def test_each_question_is_asked_once_per_call() -> None:
    answers = Answers(**{"How many of Dune?": {"count": 2}, "Wrap Dune?": {"ok": True}, "Deliver all 2?": {"ok": True}})
    async with shopping(serving(buy), answers) as client:
        assert said(await client.call_tool("buy", DUNE)) == "2 of Dune, True, True"
    assert sorted(answers.asked) == ["Deliver all 2?", "How many of Dune?", "Wrap Dune?"]


async def test_the_clients_model_is_paid_for_once() -> None:
    def both(
        words: Annotated[types.CreateMessageResult, Resolve(ask_model)],
        title: str,
        deliver: Annotated[Confirm, Resolve(ask_delivery)],
    ) -> str:
        assert isinstance(words.content, types.TextContent)
        return words.content.text

    answers = Answers(**{"How many of Dune?": {"count": 2}, "Deliver all 2?": {"ok": True}})
    async with shopping(serving(both), answers) as client:
        assert said(await client.call_tool("both", DUNE)) == "answer 1"


async def test_a_tool_that_asks_nothing_takes_one_round_whatever_it_is_sent() -> None:
    def known(title: str) -> Copies:
        return Copies(count=1)

    def free(title: str, copies: Annotated[Copies, Resolve(known)]) -> str:
        return f"{copies.count} of {title}"

    async with shopping(serving(free, simple), Answers()) as client:
        result = await answering(client, "free", None, {COPIES: accept(count=9), "x": accept()}, **DUNE)
        assert said(result) == "1 of Dune"


async def test_a_question_that_is_worded_anew_in_each_round_reaches_the_clients_limit() -> None:
    numbers = iter(range(100))

    def ask() -> Elicit[Confirm]:
        return Elicit(f"Number {next(numbers)}?", Confirm)

    def restless(it: Annotated[Confirm, Resolve(ask)]) -> str:
        raise NotImplementedError

    answers = Answers(**{f"Number {n}?": {"ok": True} for n in range(100)})
    async with shopping(serving(restless), answers, input_required_max_rounds=3) as client:
        with pytest.raises(InputRequiredRoundsExceededError):
            await client.call_tool("restless", {})
    assert answers.asked == ["Number 0?", "Number 1?", "Number 2?"]


# What is taken for an answer.


async def test_an_answer_without_its_question_is_none() -> None:
    async with shopping(serving(simple), Answers()) as client:
        result = await answering(client, "simple", None, {COPIES: accept(count=9)}, **DUNE)
        assert questions_of(result) == {COPIES: "How many of Dune?"}


async def test_answers_to_nothing_are_ignored() -> None:
    async with shopping(serving(simple), Answers()) as client:
        first = await asked_by(client, "simple", **DUNE)
        responses = {COPIES: accept(count=2), "unheard of": accept(count=9)}
        assert said(await answering(client, "simple", first.request_state, responses, **DUNE)) == "2 of Dune"


async def test_an_answer_to_an_earlier_question_cannot_be_changed() -> None:
    async with shopping(serving(buy), Answers()) as client:
        first = await asked_by(client, "buy", **DUNE)
        second = await answering(
            client, "buy", first.request_state, {COPIES: accept(count=2), WRAP: accept(ok=True)}, **DUNE
        )
        assert isinstance(second, types.InputRequiredResult)
        responses = {COPIES: accept(count=9), WRAP: accept(ok=False), DELIVER: accept(ok=True)}
        last = await answering(client, "buy", second.request_state, responses, **DUNE)
        assert said(last) == "2 of Dune, True, True"


async def test_answers_that_are_swapped_do_not_fit() -> None:
    async with shopping(serving(buy), Answers()) as client:
        first = await asked_by(client, "buy", **DUNE)
        responses = {COPIES: accept(ok=True), WRAP: accept(count=2)}
        last = await answering(client, "buy", first.request_state, responses, **DUNE)
        assert said(last).endswith("content does not match the requested schema")


@pytest.mark.parametrize(
    ("tool", "key", "answer", "problem"),
    [
        ("simple", COPIES, types.ListRootsResult(roots=[]), "an answer to elicitation/create that is no ElicitResult"),
        ("blurb", MODEL, accept(count=2), "an answer to sampling/createMessage that is no CreateMessageResult"),
    ],
)
async def test_an_answer_of_another_kind_ends_the_call(tool: str, key: str, answer: Any, problem: str) -> None:
    async with shopping(serving(simple, blurb), Answers()) as client:
        first = await asked_by(client, tool, **DUNE)
        last = await answering(client, tool, first.request_state, {key: answer}, **DUNE)
        assert said(last) == f"Error executing tool {tool}: Resolver {key!r}: Received {problem}"


def version(question: str, schema: type[BaseModel] = Copies) -> MCPServer:
    """One version of a program, whose question changes from one to the next."""

    def ask(title: str) -> Elicit[Any]:
        return Elicit(question, schema)

    def tool(title: str, it: Annotated[Any, Resolve(ask)]) -> str:
        return str(it)

    return serving(tool)


@pytest.mark.parametrize(
    "newer", [version("How many books?"), version("How many?", Confirm), version("How many?", create_model("Copies"))]
)
async def test_an_answer_to_a_question_that_has_changed_is_asked_for_again(
    newer: MCPServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with shopping(version("How many?"), Answers()) as client:
        asked = await asked_by(client, "tool", **DUNE)
    caplog.set_level(logging.INFO, "mcp.server.mcpserver.resolve")
    responses = {key: accept(count=2) for key in asked.input_requests or {}}
    async with shopping(newer, Answers()) as client:
        again = await answering(client, "tool", asked.request_state, responses, **DUNE)
    assert isinstance(again, types.InputRequiredResult)
    assert again.input_requests is not None
    assert again.input_requests.keys() == responses.keys()
    assert "it asks something else now" in caplog.text


async def test_one_that_has_not_changed_goes_on_in_the_newer_version() -> None:
    async with shopping(version("How many?"), Answers()) as client:
        asked = await asked_by(client, "tool", **DUNE)
    responses = {key: accept(count=2) for key in asked.input_requests or {}}
    async with shopping(version("How many?"), Answers()) as client:
        assert said(await answering(client, "tool", asked.request_state, responses, **DUNE)) == "count=2"


# What a client does with the state.


async def test_two_servers_with_the_same_keys_share_a_call() -> None:
    servers = [serving(buy), serving(buy)]
    forms = {COPIES: accept(count=2), WRAP: accept(ok=True), DELIVER: accept(ok=True)}
    async with shopping(servers[0], Answers()) as one, shopping(servers[1], Answers()) as other:
        result = await asked_by(one, "buy", **DUNE)
        for client in (other, one):
            assert isinstance(result, types.InputRequiredResult)
            responses = {key: forms[key] for key in questions_of(result)}
            result = await answering(client, "buy", result.request_state, responses, **DUNE)
    assert said(result) == "2 of Dune, True, True"


async def test_the_state_is_sealed() -> None:
    async with shopping(serving(simple), Answers()) as client:
        asked = await asked_by(client, "simple", **DUNE)
    assert asked.request_state is not None
    assert asked.request_state.startswith("v1.")
    assert "ask_copies" not in asked.request_state


async def rejection(client: Client, tool: str, state: str | None, **arguments: Any) -> tuple[int, str]:
    """How a state is refused."""
    with pytest.raises(MCPError) as raised:
        await answering(client, tool, state, {COPIES: accept(count=2)}, **arguments)
    return raised.value.code, str(raised.value)


@pytest.mark.parametrize("state", ["", "{}", '{"v":1,"asked":{},"answers":{}}', "v1.", "v1.AAAA"])
async def test_a_state_that_was_made_up_is_refused(state: str) -> None:
    async with shopping(serving(simple), Answers()) as client:
        assert await rejection(client, "simple", state, **DUNE) == REJECTION


async def test_a_state_is_good_for_its_call_only() -> None:
    def other(title: str, copies: Annotated[Copies, Resolve(ask_copies)]) -> str:
        raise NotImplementedError

    async with shopping(serving(simple, other), Answers()) as client:
        state = (await asked_by(client, "simple", **DUNE)).request_state
        assert await rejection(client, "simple", f"{state}A", **DUNE) == REJECTION
        assert await rejection(client, "simple", state, title="Emma") == REJECTION
        assert await rejection(client, "other", state, **DUNE) == REJECTION
    async with shopping(serving(simple, keys=[b"another key, of thirty-two bytes."]), Answers()) as client:
        assert await rejection(client, "simple", state, **DUNE) == REJECTION


async def test_a_state_of_an_earlier_round_takes_the_call_back_there() -> None:
    async with shopping(serving(buy), Answers()) as client:
        first = await asked_by(client, "buy", **DUNE)
        for count in (2, 3):
            responses = {COPIES: accept(count=count), WRAP: accept(ok=True)}
            second = await answering(client, "buy", first.request_state, responses, **DUNE)
            assert questions_of(second) == {DELIVER: f"Deliver all {count}?"}


async def test_a_state_of_another_program_starts_the_call_over(caplog: pytest.LogCaptureFixture) -> None:
    """Such as one that the function itself has written, in a version before it had resolvers."""

    async def tool(title: str, ctx: Context) -> types.InputRequiredResult:
        return types.InputRequiredResult(request_state="round 1")

    def ask(title: str) -> Elicit[Copies]:
        return Elicit("How many?", Copies)

    def newer(title: str, copies: Annotated[Copies, Resolve(ask)]) -> str:
        raise NotImplementedError

    older, server = serving(tool), serving()
    server.add_tool(newer, name="tool")
    async with shopping(older, Answers()) as client:
        state = (await asked_by(client, "tool", **DUNE)).request_state
    caplog.set_level(logging.INFO, "mcp.server.mcpserver.resolve")
    async with shopping(server, Answers()) as client:
        assert list(questions_of(await answering(client, "tool", state, None, **DUNE)).values()) == ["How many?"]
    assert "started over: the request state was not written by resolvers" in caplog.text


@pytest.mark.parametrize(
    "state",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        '{"v": 2, "asked": {}, "answers": {}}',
        '{"v": 1, "asked": {}}',
        '{"v": 1, "asked": {"a": 1}, "answers": {}}',
        '{"v": 1, "asked": {}, "answers": {"a": ["digest", []]}}',
        '{"v": 1, "asked": {}, "answers": {"a": ["digest", {}, 1]}}',
        '{"v": 1, "asked": [], "answers": 7}',
    ],
)
def test_whatever_a_state_holds_nothing_breaks(state: str) -> None:
    rounds = Rounds(state, {"a": accept(count=2)})
    result = rounds.close()
    assert json.loads(result.request_state or "") == {"v": 1, "asked": {}, "answers": {}}


# Over HTTP.


async def test_over_http_each_round_is_a_request_of_its_own() -> None:
    answers = Answers(**{"How many of Dune?": {"count": 2}, "Wrap Dune?": {"ok": True}, "Deliver all 2?": {"ok": True}})
    with served(serving(buy)) as url:
        async with shopping(url, answers) as client:
            assert said(await client.call_tool("buy", DUNE)) == "2 of Dune, True, True"


@pytest.mark.parametrize("options", [{"json_response": True}, {"stateless_http": True}])
async def test_a_server_that_sends_no_requests_still_asks_a_modern_client(options: dict[str, bool]) -> None:
    answers = Answers(**{"How many of Dune?": {"count": 2}})
    with served(serving(simple), **options) as url:
        async with shopping(url, answers) as client:
            assert said(await client.call_tool("simple", DUNE)) == "2 of Dune"


@pytest.mark.parametrize("options", [{"json_response": True}, {"stateless_http": True}])
@pytest.mark.parametrize("answers", [Answers(), None])
async def test_but_has_no_way_to_ask_one_of_the_handshake_era(options: dict[str, bool], answers: Any) -> None:
    with served(serving(simple), **options) as url:
        async with shopping(url, answers, mode="legacy") as client:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("simple", DUNE)
    assert str(raised.value) == (
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    )


async def test_one_with_a_session_is_asked_during_the_call() -> None:
    answers = Answers(**{"How many of Dune?": {"count": 2}, "Wrap Dune?": {"ok": True}, "Deliver all 2?": {"ok": True}})
    with served(serving(buy)) as url:
        async with shopping(url, answers, mode="legacy") as client:
            assert said(await client.call_tool("buy", DUNE)) == "2 of Dune, True, True"
    assert answers.asked == ["How many of Dune?", "Wrap Dune?", "Deliver all 2?"]


# Resolvers or the function itself.


def test_a_tool_with_resolvers_cannot_say_that_it_asks_by_itself() -> None:
    def tool(title: str, copies: Annotated[Copies, Resolve(ask_copies)]) -> str | types.InputRequiredResult:
        raise NotImplementedError

    with pytest.raises(InvalidSignature, match="Tool 'tool' has Resolve"):
        serving(tool)


async def test_and_cannot_do_it_unsaid() -> None:
    def tool(title: str, copies: Annotated[Copies, Resolve(ask_copies)]) -> Any:
        return types.InputRequiredResult(request_state="round 1")

    async with shopping(serving(tool), Answers(**{"How many of Dune?": {"count": 2}})) as client:
        result = await client.call_tool("tool", DUNE)
    assert result.is_error
    assert "asked by its resolvers or by the function itself" in text_of(result)
