"""Requests that a server answers in several rounds: it asks for input, gets it, and is asked again.

Specification: 2026-07-28, basic/patterns/mrtr.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, cast

import anyio
from pydantic import BaseModel

from mcp import types
from mcp.client.answers import CALLBACKS, checked_answer
from mcp.client.callbacks import ClientRequestContext
from mcp.engine.isolation import HandlerExit, contained
from mcp.protocol.results import InvalidResultError
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = [
    "MOST_ROUNDS",
    "InputRequiredRoundsExceededError",
    "Try",
    "driven_rounds",
    "further_rounds",
    "in_rounds",
]

ResultT_co = TypeVar("ResultT_co", bound=BaseModel, covariant=True)
ResultT = TypeVar("ResultT", bound=BaseModel)

FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 0.25
MOST_AT_ONCE: Final = 100
"""How many questions of one round are answered at a time: how many there are is up to the server."""


MOST_ROUNDS: Final = 10
"""How often a server may ask by default before it answers."""


class InputRequiredRoundsExceededError(RuntimeError):
    """A server went on asking for input instead of answering.

    Args:
        max_rounds: How often it may ask; see `Client.input_required_max_rounds`.
    """

    def __init__(self, max_rounds: int) -> None:
        super().__init__(f"the server asks for more input after {max_rounds} rounds of it")
        self.max_rounds = max_rounds


class Try(Protocol[ResultT_co]):
    """Makes a request once."""

    async def __call__(
        self, *, input_responses: types.InputResponses | None, request_state: str | None
    ) -> ResultT_co | types.InputRequiredResult:
        """Returns the result, or what the server needs for it.

        Args:
            input_responses: Answers to what it asked for in the last round.
            request_state: The state that it returned then.
        """
        ...


Again: TypeAlias = "Callable[[types.InputResponses | None, str | None], Awaitable[ResultT | types.InputRequiredResult]]"
Answer: TypeAlias = "Callable[[str, types.InputRequest], Awaitable[types.InputResponse | types.ErrorData]]"


async def in_rounds(
    session: ClientSession,
    once: Try[ResultT],
    input_responses: types.InputResponses | None,
    request_state: str | None,
    max_rounds: int,
) -> ResultT:
    """Makes a request, and makes it again with what the server asks for until there is a result.

    Args:
        session: Its callbacks answer what is asked.
        once: Makes the request.
        input_responses: Answers for the first round, if somebody has them already.
        request_state: The state that goes with them.
        max_rounds: How often the server may ask.

    Raises:
        InputRequiredRoundsExceededError: It asked more often.
        MCPError: It answered with an error, or a callback refused with one.
        RuntimeError: A callback ended with a cancellation that nobody had asked for.
    """
    result = await once(input_responses=input_responses, request_state=request_state)
    if isinstance(result, types.InputRequiredResult):
        return await further_rounds(session, once, result, max_rounds)
    return result


async def further_rounds(
    session: ClientSession, once: Try[ResultT], asked: types.InputRequiredResult, max_rounds: int
) -> ResultT:
    """Makes a request again, after the server has asked for input, until there is a result; see `in_rounds`.

    Args:
        session: Its callbacks answer what is asked.
        once: Makes the request.
        asked: What the server needs.
        max_rounds: How often it may ask, this time included.
    """

    async def again(
        input_responses: types.InputResponses | None, request_state: str | None
    ) -> ResultT | types.InputRequiredResult:
        return await once(input_responses=input_responses, request_state=request_state)

    return await _rounds(asked, partial(_answer, session), again, max_rounds)


async def driven_rounds(
    first: types.InputRequiredResult,
    *,
    dispatch: Answer,
    retry: Again[ResultT],
    max_rounds: int = MOST_ROUNDS,
) -> ResultT:
    """Makes a request again until there is a result, for whoever answers the questions without a session.

    Args:
        first: What the server asked for at first.
        dispatch: Answers a question, given its key and itself; an `ErrorData` ends the request.
        retry: Makes the request with the answers, if there were questions, and the server's state.
        max_rounds: How often the server may ask.

    Raises:
        InputRequiredRoundsExceededError: It asked more often.
        MCPError: An answer was an `ErrorData`.
    """

    async def answer(key: str, question: types.InputRequest) -> types.InputResponse:
        answer = await dispatch(key, question)
        if isinstance(answer, types.ErrorData):
            raise MCPError.from_error_data(answer)
        return answer

    return await _rounds(first, answer, retry, max_rounds)


async def _rounds(
    asked: types.InputRequiredResult,
    answer: Callable[[str, types.InputRequest], Awaitable[types.InputResponse]],
    again: Again[ResultT],
    max_rounds: int,
) -> ResultT:
    pause = FIRST_PAUSE_SECONDS
    for _ in range(max_rounds):
        input_responses = None
        if asked.input_requests:
            input_responses = await _answers(answer, asked.input_requests)
        else:
            # "Not yet": asked again at once, a server that waits for something would be asked without rest.
            await anyio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        result = await again(input_responses, asked.request_state)
        if not isinstance(result, types.InputRequiredResult):
            return result
        asked = result
    raise InputRequiredRoundsExceededError(max_rounds)


async def _answers(
    answer_one: Callable[[str, types.InputRequest], Awaitable[types.InputResponse]], questions: types.InputRequests
) -> types.InputResponses:
    """Answers the questions of a round at once; the first that fails ends the others, and is raised as it is."""
    if len(questions) == 1:
        [(key, question)] = questions.items()
        return {key: await answer_one(key, question)}
    answers: types.InputResponses = {}
    failures: list[Exception] = []
    waiting = iter(questions.items())

    async def answer() -> None:
        try:
            for key, question in waiting:
                answers[key] = await answer_one(key, question)
        except Exception as failure:
            failures.append(failure)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(min(len(questions), MOST_AT_ONCE)):
            group.start_soon(answer)
    if failures:
        raise failures[0]
    for key, question in questions.items():
        # Python 3.10 cannot tell such a callback from a task that somebody cancelled, so the group takes it for one.
        if key not in answers:
            raise _without_answer(key, question, "cancelled itself")
    return {key: answers[key] for key in questions}


async def _answer(session: ClientSession, key: str, question: types.InputRequest) -> types.InputResponse:
    meta = question.params.meta if question.params is not None else None
    context = ClientRequestContext(session=session, request_id=key, meta=meta)
    try:
        answer = await contained(session.dispatch_input_request, context, question)
        return cast("types.InputResponse", checked_answer(question.method, answer))
    except HandlerExit as exit_:
        cause = exit_.__cause__
        if isinstance(cause, SystemExit):
            # The callback runs within its own program's call, which may be left like that.
            raise cause from None
        deed = "cancelled itself" if isinstance(cause, anyio.get_cancelled_exc_class()) else f"raised {cause!r:.200}"
        raise _without_answer(key, question, deed) from cause
    except InvalidResultError as error:
        raise TypeError(str(error)) from None


def _without_answer(key: str, question: types.InputRequest, deed: str) -> RuntimeError:
    callback = CALLBACKS[question.method]
    return RuntimeError(f"no answer to the server's question {key!r} ({question.method}): {callback} {deed}")
