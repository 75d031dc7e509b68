"""Prompts: what a function says of its arguments, what users fill in, and what messages come out."""

import copy
import functools
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from enum import Enum
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel, Field

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.duplicates import DuplicatePolicy
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.prompts import Prompt, PromptManager
from mcp.server.mcpserver.prompts.base import Message, PromptArgument
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, Icon, InputRequiredResult

pytestmark = pytest.mark.anyio

CONTEXT = Context[Any, Any]()


async def rendered(fn: Callable[..., Any], **arguments: Any) -> list[tuple[str, Any]]:
    """Who says what in the messages of a prompt."""
    messages = await Prompt.from_function(fn, name="it").render(arguments, CONTEXT)
    assert not isinstance(messages, InputRequiredResult)
    return [(message.role, getattr(message.content, "text", message.content)) for message in messages]


async def refusal(fn: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(MCPError) as caught:
        await Prompt.from_function(fn).render(arguments, CONTEXT)
    assert caught.value.code == INVALID_PARAMS
    return caught.value.message


def review(
    code: Annotated[str, Field(description="The code to review.")], language: str = "python", strict: bool = False
) -> str:
    """Reviews code.

    Args:
        code: Not this.
        language: What it is written in.
    """
    return f"{language} {strict}: {code}"


def test_the_function_says_what_users_fill_in() -> None:
    prompt = Prompt.from_function(review)
    assert prompt.name == "review"
    assert prompt.description is not None
    assert prompt.description.startswith("Reviews code.\n\nArgs:\n    code")
    assert prompt.arguments == [
        PromptArgument(name="code", description="The code to review.", required=True),
        PromptArgument(name="language", description="What it is written in.", required=False),
        PromptArgument(name="strict", description=None, required=False),
    ]


def test_what_is_given_wins() -> None:
    icon = Icon(src="https://example.com/i.png")
    prompt = Prompt.from_function(review, name="code_review", title="Code review", description="", icons=[icon])
    assert (prompt.name, prompt.title, prompt.description, prompt.icons) == ("code_review", "Code review", "", [icon])


def test_a_partial_is_described_like_its_function() -> None:
    prompt = Prompt.from_function(functools.partial(review, language="go"))
    assert prompt.name == "review"
    assert prompt.description is not None
    assert prompt.description.startswith("Reviews code.")


def test_arguments_are_there_wherever_somebody_looks() -> None:
    assert "The code to review." in repr(Prompt.from_function(review))
    assert Prompt.from_function(review).model_dump()["arguments"][0]["name"] == "code"
    assert "fn" not in Prompt.from_function(review).model_dump()
    assert [argument.name for argument in copy.copy(Prompt.from_function(review)).arguments or ()] == [
        "code",
        "language",
        "strict",
    ]
    prompt: Any = Prompt.from_function(review)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = prompt.nonsense


def test_an_alias_is_what_users_see() -> None:
    def greet(from_: Annotated[str, Field(alias="from")]) -> str:
        return from_

    assert [argument.name for argument in Prompt.from_function(greet).arguments or ()] == ["from"]


async def test_a_prompt_made_by_hand_works_too() -> None:
    prompt = Prompt(name="review", fn=review)
    assert prompt.arguments is None
    assert isinstance(await prompt.render({"code": "x"}, CONTEXT), list)


def test_what_cannot_be_a_prompt_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"^You must provide a name for lambda functions$"):
        Prompt.from_function(lambda: "")
    with pytest.raises(InvalidSignature, match=r"\*lines"):
        Prompt.from_function(lambda *lines: "", name="it")


class Level(Enum):
    HIGH = "high"


async def test_texts_become_what_the_parameters_take() -> None:
    def plan(days: int, exact: bool, level: Level, stops: list[str], note: str | None = None) -> str:
        return repr((days, exact, level, stops, note))

    values = {"days": "4", "exact": "true", "level": "high", "stops": '["a", "b"]', "note": "null"}
    assert await rendered(plan, **values) == [("user", "(4, True, <Level.HIGH: 'high'>, ['a', 'b'], 'null')")]


async def test_text_stays_text_where_text_is_meant() -> None:
    def say(code: str, more: str | list[str] = "") -> str:
        return f"{code} {more}"

    assert await rendered(say, code='{"a": 1}', more="[1]") == [("user", '{"a": 1} [1]')]


async def test_defaults_stand_in_for_what_is_left_out() -> None:
    assert await rendered(review, code="x") == [("user", "python False: x")]
    messages = await Prompt.from_function(lambda: "hello", name="it").render(None, CONTEXT)
    assert isinstance(messages, list)


async def test_what_is_wrong_with_arguments_is_told_by_their_names() -> None:
    assert await refusal(review) == "Invalid arguments for prompt 'review': missing required argument 'code'"
    assert await refusal(review, code="x", strict="maybe") == (
        "Invalid arguments for prompt 'review': argument 'strict': Input should be a valid boolean, unable to "
        "interpret input"
    )
    assert await refusal(review, code="x", colour="red") == (
        "Invalid arguments for prompt 'review': unknown argument 'colour', expected 'code', 'language', 'strict'"
    )
    assert await refusal(review, cod="x") == (
        "Invalid arguments for prompt 'review': unknown argument 'cod', did you mean 'code'?"
    )


async def test_a_wrong_value_is_not_repeated() -> None:
    def login(pin: int) -> str:
        raise AssertionError("not reached")

    assert "hunter2" not in await refusal(login, pin="hunter2")


async def test_keyword_arguments_take_all_others() -> None:
    def fill(form: str, **fields: str) -> str:
        return f"{form} {fields}"

    assert await rendered(fill, form="a", city="Rome") == [("user", "a {'city': 'Rome'}")]
    assert [argument.name for argument in Prompt.from_function(fill).arguments or ()] == ["form"]


@pytest.mark.parametrize("kind", [Context, Context[int, Any], "Context[int, Any]", "Context[int, Any] | None"])
async def test_the_context_is_handed_through_as_it_is(kind: Any) -> None:
    def told(ctx: Any, word: str = "") -> str:
        return str(ctx is CONTEXT)

    told.__annotations__["ctx"] = kind
    assert await rendered(told) == [("user", "True")]
    assert [argument.name for argument in Prompt.from_function(told).arguments or ()] == ["word"]
    assert "'ctx'" in await refusal(told, ctx="mine")


async def test_the_parameter_of_the_context_can_be_named() -> None:
    def told(it: Any) -> str:
        return str(it is CONTEXT)

    prompt = Prompt.from_function(told, context_kwarg="it")
    assert prompt.arguments == []
    [message] = _messages(await prompt.render({}, CONTEXT))
    assert message.content.model_dump()["text"] == "True"


def _messages(result: list[Message] | InputRequiredResult) -> list[Message]:
    assert isinstance(result, list)
    return result


async def test_synchronous_functions_run_in_a_worker_thread() -> None:
    here = threading.get_ident()

    def where() -> str:
        return str(threading.get_ident() == here)

    async def there() -> str:
        return where()

    assert await rendered(where) == [("user", "False")]
    assert await rendered(there) == [("user", "True")]


async def test_generators_are_read_to_their_end() -> None:
    def count() -> Iterator[str]:
        yield from ("one", "two")

    async def count_slowly() -> AsyncIterator[str]:
        for word in ("one", "two"):
            await anyio.lowlevel.checkpoint()
            yield word

    assert await rendered(count) == await rendered(count_slowly) == [("user", "one"), ("user", "two")]


async def test_the_questions_of_a_function_pass_through() -> None:
    questions = InputRequiredResult(request_state="s")
    assert await Prompt.from_function(lambda: questions, name="ask").render({}, CONTEXT) is questions


async def test_an_mcp_error_passes_as_it_is_also_out_of_a_task_group() -> None:
    error = MCPError(-32000, "busy", {"wait": 5})

    async def fail() -> None:
        raise error

    async def grouped() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(fail)
        return ""

    for fn in (fail, grouped):
        with pytest.raises(MCPError) as caught:
            await rendered(fn)
        assert caught.value is error


class Strict(BaseModel):
    number: int


@pytest.mark.parametrize(
    "fail",
    [
        lambda: Strict.model_validate({"number": "x"}),
        lambda: (_ for _ in ()).throw(KeyError("secret")),
        lambda: exit(3),
        lambda: {"speaker": "me"},
        lambda: [InputRequiredResult(request_state="s")],
        lambda: "file-\udcff",
    ],
)
async def test_other_errors_keep_their_reason_to_themselves(fail: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"^Error rendering prompt it$") as caught:
        await rendered(fail)
    assert caught.value.__cause__ is not None


def test_prompts_are_found_by_their_names() -> None:
    manager = PromptManager()
    prompt = manager.add_prompt(Prompt.from_function(review))
    assert manager.get_prompt("review") is prompt
    assert manager.get_prompt("other") is None
    assert manager.list_prompts() == [prompt]


async def test_the_manager_renders_by_name() -> None:
    manager = PromptManager()
    manager.add_prompt(Prompt.from_function(review))
    [message] = _messages(await manager.render_prompt("review", {"code": "x"}, CONTEXT))
    assert message.content.model_dump()["text"] == "python False: x"
    with pytest.raises(MCPError, match=r"^Unknown prompt: other$") as caught:
        await manager.render_prompt("other", None, CONTEXT)
    assert caught.value.code == INVALID_PARAMS


def add_twice(manager: PromptManager) -> Prompt:
    manager.add_prompt(Prompt.from_function(review, description="first"))
    return manager.add_prompt(Prompt.from_function(review, description="second"))


@pytest.mark.parametrize("warn", [True, False])
def test_the_first_of_two_stays_and_the_second_is_warned_about(warn: bool, caplog: pytest.LogCaptureFixture) -> None:
    assert add_twice(PromptManager(warn)).description == "first"
    logged = [(record.name, record.getMessage()) for record in caplog.records if record.levelno == logging.WARNING]
    assert logged == ([("mcp.server.mcpserver.prompts.manager", "Prompt already exists: review")] if warn else [])


@pytest.mark.parametrize(("policy", "stays"), [("warn", "first"), ("ignore", "first"), ("replace", "second")])
def test_what_happens_to_a_second_one_can_be_chosen(policy: DuplicatePolicy, stays: str) -> None:
    manager = PromptManager(on_duplicate=policy)
    assert add_twice(manager).description == stays
    assert [prompt.description for prompt in manager.list_prompts()] == [stays]


def test_a_second_one_can_be_an_error() -> None:
    with pytest.raises(ValueError, match=r"^Prompt already exists: review$"):
        add_twice(PromptManager(on_duplicate="error"))


def test_whoever_wants_to_know_is_told_of_each_change() -> None:
    told: list[str] = []
    manager = PromptManager()
    manager.changed = lambda: told.append("changed")
    add_twice(manager)
    assert len(told) == 1
    manager.remove_prompt("review")
    assert len(told) == 2
    with pytest.raises(ValueError, match=r"^Unknown prompt: review$"):
        manager.remove_prompt("review")
    assert len(told) == 2
