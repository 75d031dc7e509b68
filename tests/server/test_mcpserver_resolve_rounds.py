"""Rounds of 2026-07-28: what a call asks at once, what it remembers, and what it takes for an answer."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from resolving import (
    KEY,
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

from mcp import MCPError, types
from mcp.client import InputRequiredRoundsExceededError
from mcp.server.mcpserver.resolution.rounds import Rounds
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, ListRoots, Resolve, Sample

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


COPIES, WRAP, DELIVER, MODEL = (f"{__name__}:{fn.__name__}" for fn in (ask_copies, ask_wrapping, ask_delivery, ask_model))
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
        second = await answering(client, "buy", first.request_state, {COPIES: accept(count=2), WRAP: accept(ok=True)}, **DUNE)
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
    answers = Answers(
        **{"How many of Dune?": {"count": 2}, "Wrap Dune?": {"ok": True}, "Deliver all 2?": {"ok": True}}
    )
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
        second = await answering(client, "buy", first.request_state, {COPIES: accept(count=2), WRAP: accept(ok=True)}, **DUNE)
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


@contextmanager
def reworded(text: str, schema: Any = Copies) -> Iterator[None]:
    """Another version of the program is deployed meanwhile."""
    code = ask_copies.__code__

    def newer(title: str) -> Any:
        return Elicit(text, schema)

    globals().update(text=text, schema=schema)
    ask_copies.__code__ = (lambda title: Elicit(text, schema)).__code__  # type: ignore  # noqa: F821
    try:
        yield
    finally:
        ask_copies.__code__ = code
