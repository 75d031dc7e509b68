"""Parameters that functions of the server fill in, and the questions that such functions ask, in both eras."""

import functools
import threading
from collections.abc import Awaitable
from typing import Annotated, Any

import pytest
from link_wire import on_a_link
from resolving import Answers, Confirm, Copies, serving, shopping, text_of

from mcp import MCPError, types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
    ListRoots,
    Resolve,
    Sample,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """2026-07-28, and the era before."""
    return request.param


async def outcome(mode: str, tool: Any, answers: Answers | None = None, **arguments: Any) -> str:
    """What a tool says."""
    async with shopping(serving(tool), answers, mode=mode) as client:
        return text_of(await client.call_tool(tool.__name__, arguments))


async def error_of(mode: str, tool: Any, answers: Answers | None = None, **arguments: Any) -> MCPError:
    """The error that calling a tool ends with."""
    with pytest.raises(MCPError) as raised:
        await outcome(mode, tool, answers, **arguments)
    return raised.value


HELLO = [types.SamplingMessage(role="user", content=types.TextContent(text="hello"))]


# Resolvers that ask nobody.


class Till:
    """Counts how often it is asked for a price."""

    def __init__(self) -> None:
        self.calls = 0

    async def price(self, title: str) -> int:
        self.calls += 1
        return len(title)


async def test_a_resolver_takes_the_tools_argument_and_fills_in_the_parameter(mode: str) -> None:
    till = Till()

    def buy(title: str, cost: Annotated[int, Resolve(till.price)]) -> str:
        return f"{title} for {cost}"

    assert await outcome(mode, buy, title="Dune") == "Dune for 4"


async def test_neither_schema_nor_client_has_a_say(mode: str) -> None:
    till = Till()

    def buy(title: str, cost: Annotated[int, Resolve(till.price)]) -> str:
        return f"{title} for {cost}"

    async with shopping(serving(buy), mode=mode) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.input_schema["properties"].keys() == {"title"}
        assert text_of(await client.call_tool("buy", {"title": "Dune", "cost": 0})) == "Dune for 4"


async def test_it_runs_once_per_call_however_many_need_it(mode: str) -> None:
    till = Till()

    def with_tax(cost: Annotated[int, Resolve(till.price)]) -> int:
        return cost + 1

    def buy(
        title: str,
        gross: Annotated[int, Resolve(with_tax)],
        cost: Annotated[int, Resolve(till.price)],
        again: Annotated[int, Resolve(till.price)],
    ) -> str:
        return f"{cost}, {again}, {gross}"

    async with shopping(serving(buy), mode=mode) as client:
        assert text_of(await client.call_tool("buy", {"title": "Dune"})) == "4, 4, 5"
        assert till.calls == 1
        await client.call_tool("buy", {"title": "Dune"})
        assert till.calls == 2


async def test_it_sees_arguments_as_the_tool_does(mode: str) -> None:
    def kind(day: Any, count: Any) -> str:
        return f"{type(day).__name__} {count!r}"

    def buy(day: Confirm, kinds: Annotated[str, Resolve(kind)], count: int = 3) -> str:
        return kinds

    assert await outcome(mode, buy, day={"ok": True}) == "Confirm 3"


async def test_it_may_take_the_context(mode: str) -> None:
    def who(request: Context) -> str:
        return request.request_context.method

    def buy(method: Annotated[str, Resolve(who)]) -> str:
        return method

    assert await outcome(mode, buy) == "tools/call"


def doubled(title: str, /, times: int = 2) -> str:
    return title * times


class Doubler:
    def __call__(self, title: str) -> str:
        return title * 2


class AsyncDoubler:
    async def __call__(self, title: str) -> str:
        return title * 2


async def later(title: str) -> str:
    return title * 2


def returning_an_awaitable(title: str) -> Awaitable[str]:
    return later(title)


@pytest.mark.parametrize(
    "resolver",
    [
        functools.partial(doubled, times=2),
        Doubler(),
        AsyncDoubler(),
        functools.partial(later),
        returning_an_awaitable,
    ],
)
async def test_it_may_be_any_callable(mode: str, resolver: Any) -> None:
    def buy(title: str, twice: Any) -> str:
        return twice

    buy.__annotations__["twice"] = Annotated[str, Resolve(resolver)]
    assert await outcome(mode, buy, title="ab") == "abab"


async def test_sync_functions_run_in_a_worker_thread_and_async_ones_do_not(mode: str) -> None:
    threads: list[threading.Thread] = []

    def blocking() -> None:
        threads.append(threading.current_thread())

    async def waiting() -> None:
        threads.append(threading.current_thread())

    def buy(a: Annotated[None, Resolve(blocking)], b: Annotated[None, Resolve(waiting)]) -> str:
        return "bought"

    await outcome(mode, buy)
    assert [thread is threading.current_thread() for thread in threads] == [False, True]


async def test_the_error_of_a_resolver_is_that_of_the_call(mode: str) -> None:
    def closed() -> int:
        raise MCPError(-32001, "closed")

    def buy(cost: Annotated[int, Resolve(closed)]) -> str:
        raise NotImplementedError

    assert (await error_of(mode, buy)).code == -32001


# Elicitation.


def ask_copies(title: str) -> Elicit[Copies]:
    return Elicit(f"How many of {title}?", Copies)


def buy(title: str, copies: Annotated[Copies, Resolve(ask_copies)]) -> str:
    return f"{copies.count} of {title}"


def buy_or_not(title: str, copies: Annotated[ElicitationResult[Copies], Resolve(ask_copies)]) -> str:
    match copies:
        case AcceptedElicitation(data=Copies(count=count)):
            return f"{count} of {title}"
        case DeclinedElicitation():
            return "declined"
        case CancelledElicitation():
            return "cancelled"
        case _:
            raise NotImplementedError


HOW_MANY = "How many of Dune?"


@pytest.mark.parametrize("tool", [buy, buy_or_not])
async def test_the_user_is_asked_and_the_tool_gets_the_model(mode: str, tool: Any) -> None:
    answers = Answers(**{HOW_MANY: {"count": 3}})
    assert await outcome(mode, tool, answers, title="Dune") == "3 of Dune"
    assert answers.asked == [HOW_MANY]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_does_not_answer_ends_the_call(mode: str, action: str) -> None:
    async with shopping(serving(buy), Answers(**{HOW_MANY: action}), mode=mode) as client:
        result = await client.call_tool("buy", {"title": "Dune"})
    assert result.is_error
    assert text_of(result) == (
        f"Error executing tool buy: Resolver for parameter 'copies' could not resolve: elicitation was {action}"
    )


@pytest.mark.parametrize(("action", "said"), [("decline", "declined"), ("cancel", "cancelled")])
async def test_unless_the_tool_takes_every_outcome(mode: str, action: str, said: str) -> None:
    assert await outcome(mode, buy_or_not, Answers(**{HOW_MANY: action}), title="Dune") == said


async def test_what_a_resolver_knows_by_itself_is_an_accepted_answer(mode: str) -> None:
    def known() -> Copies:
        return Copies(count=1)

    def free(title: str, copies: Annotated[ElicitationResult[Copies], Resolve(known)]) -> str:
        return f"{copies.action} {copies.data if isinstance(copies, AcceptedElicitation) else None!r}"

    assert await outcome(mode, free, title="Dune") == "accept Copies(count=1)"


async def test_a_resolver_may_pass_an_outcome_on(mode: str) -> None:
    def passed_on(
        copies: Annotated[ElicitationResult[Copies], Resolve(ask_copies)],
    ) -> ElicitationResult[Copies]:
        return copies

    def both(
        title: str,
        outcome: Annotated[ElicitationResult[Copies], Resolve(passed_on)],
        copies: Annotated[Copies, Resolve(passed_on)],
    ) -> str:
        return f"{outcome.action} {copies.count}"

    assert await outcome(mode, both, Answers(**{HOW_MANY: {"count": 3}}), title="Dune") == "accept 3"


@pytest.mark.parametrize("content", [{"count": "many"}, {"ok": True}, {}])
async def test_an_answer_that_does_not_fit_ends_the_call(mode: str, content: Any) -> None:
    async with shopping(serving(buy), Answers(**{HOW_MANY: content}), mode=mode) as client:
        result = await client.call_tool("buy", {"title": "Dune"})
    assert result.is_error
    assert text_of(result) == (
        f"Error executing tool buy: Resolver '{__name__}:ask_copies': Received an accepted elicitation whose content "
        "does not match the requested schema"
    )


async def test_a_question_may_depend_on_an_answer(mode: str) -> None:
    calls: list[str] = []

    def ask_first() -> Elicit[Confirm]:
        calls.append("first")
        return Elicit("First?", Confirm)

    def ask_second(first: Annotated[Confirm, Resolve(ask_first)]) -> Elicit[Copies]:
        calls.append("second")
        return Elicit(f"Second after {first.ok}?", Copies)

    def both(
        second: Annotated[Copies, Resolve(ask_second)],
        first: Annotated[Confirm, Resolve(ask_first)],
    ) -> str:
        return f"{first.ok} {second.count}"

    answers = Answers(**{"First?": {"ok": True}, "Second after True?": {"count": 2}})
    assert await outcome(mode, both, answers) == "True 2"
    assert answers.asked == ["First?", "Second after True?"]
    again = ["first", "first", "second", "first", "second"]
    assert calls == (["first", "second"] if mode == "legacy" else again)


async def test_nobody_is_asked_what_depends_on_a_refusal(mode: str) -> None:
    def ask_first() -> Elicit[Confirm]:
        return Elicit("First?", Confirm)

    def ask_second(first: Annotated[Confirm, Resolve(ask_first)]) -> Elicit[Copies]:
        raise NotImplementedError

    def both(second: Annotated[Copies, Resolve(ask_second)]) -> str:
        raise NotImplementedError

    text = await outcome(mode, both, Answers(**{"First?": "decline"}))
    assert text.endswith("Resolver for parameter 'first' could not resolve: elicitation was decline")


# Sampling and roots.


def ask_model() -> Sample:
    return Sample(HELLO, max_tokens=9)


def ask_model_with_tools() -> Sample:
    tool = types.Tool(name="look", input_schema={"type": "object"})
    return Sample(HELLO, max_tokens=9, tools=[tool], tool_choice=types.ToolChoice(mode="none"))


def ask_roots() -> ListRoots:
    return ListRoots()


def talk(answer: Annotated[types.CreateMessageResult, Resolve(ask_model)]) -> str:
    assert isinstance(answer.content, types.TextContent)
    return answer.content.text


def look(roots: Annotated[types.ListRootsResult, Resolve(ask_roots)]) -> str:
    return str(roots.roots[0].uri)


async def test_the_clients_model_is_asked(mode: str) -> None:
    answers = Answers()
    assert await outcome(mode, talk, answers) == "answer 1"
    assert answers.asked == ["sample"]


async def test_also_with_tools(mode: str) -> None:
    def talk(answer: Annotated[types.CreateMessageResultWithTools, Resolve(ask_model_with_tools)]) -> str:
        return type(answer).__name__

    assert await outcome(mode, talk, Answers()) == "CreateMessageResultWithTools"


async def test_the_client_is_asked_for_its_roots(mode: str) -> None:
    assert await outcome(mode, look, Answers()) == "file:///home"


async def test_all_kinds_may_be_asked_in_one_call(mode: str) -> None:
    def everything(
        title: str,
        copies: Annotated[Copies, Resolve(ask_copies)],
        answer: Annotated[types.CreateMessageResult, Resolve(ask_model)],
        roots: Annotated[types.ListRootsResult, Resolve(ask_roots)],
    ) -> str:
        return f"{copies.count} {answer.model} {len(roots.roots)}"

    answers = Answers(**{HOW_MANY: {"count": 3}})
    assert await outcome(mode, everything, answers, title="Dune") == "3 m 1"
    assert sorted(answers.asked) == [HOW_MANY, "roots", "sample"]


def test_a_sampling_request_is_checked_where_it_is_made() -> None:
    result = types.ToolResultContent(tool_use_id="1", content=[])
    with pytest.raises(ValueError, match="tool_result requires a previous message"):
        Sample([types.SamplingMessage(role="user", content=result)], max_tokens=1)


# Clients that cannot be asked.


@pytest.mark.parametrize(
    ("resolver", "needed", "capabilities"),
    [
        (ask_copies, "form elicitation", {"elicitation": {"form": {}}}),
        (ask_model, "sampling", {"sampling": {}}),
        (ask_model_with_tools, "sampling.tools", {"sampling": {"tools": {}}}),
        (ask_roots, "roots", {"roots": {}}),
    ],
)
async def test_a_client_is_asked_only_what_it_declares(
    mode: str, resolver: Any, needed: str, capabilities: Any
) -> None:
    def tool(title: str, it: Any) -> str:
        raise NotImplementedError

    tool.__annotations__["it"] = Annotated[Any, Resolve(resolver)]
    error = await error_of(mode, tool, title="Dune")
    assert (error.code, error.data) == (-32021, {"requiredCapabilities": capabilities})
    assert str(error) == (
        f"Client did not declare the {needed} capability required by resolver '{__name__}:{resolver.__name__}'"
    )


async def test_tools_for_the_model_are_a_capability_of_their_own(mode: str) -> None:
    def talk(answer: Annotated[types.CreateMessageResultWithTools, Resolve(ask_model_with_tools)]) -> str:
        raise NotImplementedError

    async with shopping(serving(talk), mode=mode, sampling_callback=Answers().sample) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("talk", {})
    assert raised.value.data == {"requiredCapabilities": {"sampling": {"tools": {}}}}


async def test_a_client_that_need_not_be_asked_need_not_declare_anything(mode: str) -> None:
    def known() -> Copies | Elicit[Copies]:
        return Copies(count=1)

    def free(copies: Annotated[Copies, Resolve(known)]) -> str:
        return str(copies.count)

    assert await outcome(mode, free) == "1"


async def test_the_error_of_a_client_ends_the_call(mode: str) -> None:
    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-32001, message="Not now")

    async with shopping(serving(buy), mode=mode, elicitation_callback=refuse) as client:
        with pytest.raises(MCPError, match="Not now"):
            await client.call_tool("buy", {"title": "Dune"})


@pytest.mark.parametrize(
    ("tool", "answer", "asked", "expected"),
    [
        (buy, {"roots": []}, "elicitation/create", "ElicitResult"),
        (buy, {"action": "agree"}, "elicitation/create", "ElicitResult"),
        (talk, {"role": "assistant"}, "sampling/createMessage", "CreateMessageResult"),
        (look, {"roots": "/home"}, "roots/list", "ListRootsResult"),
    ],
)
async def test_a_client_of_the_handshake_era_that_answers_something_else(
    tool: Any, answer: Any, asked: str, expected: str
) -> None:
    async with on_a_link(serving(tool)._lowlevel_server) as wire:
        await wire.initialize(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
        wire.say("tools/call", {"name": tool.__name__, "arguments": {"title": "Dune"}}, id=1)
        question = await wire.next()
        assert question["method"] == asked
        wire.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        result = (await wire.next())["result"]
    assert result["isError"]
    assert result["content"][0]["text"].endswith(f": Received an answer to {asked} that is no {expected}")


# Calls from within the program.


async def test_without_a_request_resolvers_work_as_long_as_they_ask_nobody() -> None:
    till = Till()

    def cost_of(title: str, cost: Annotated[int, Resolve(till.price)]) -> str:
        return f"{title} for {cost}"

    server = serving(cost_of, buy)
    result = await server.call_tool("cost_of", {"title": "Dune"})
    assert isinstance(result, types.CallToolResult)
    assert text_of(result) == "Dune for 4"
    with pytest.raises(ToolError, match="outside of a request"):
        await server.call_tool("buy", {"title": "Dune"})
