"""Sampling: what a handler may ask a client's model, and what is refused before it is sent."""

from typing import Any

import pytest
from asking import ANSWER, HELLO, Sampler, answer_to, failure_of, sample

from mcp import MCPDeprecationWarning, types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")]

TOOL = types.Tool(name="look", input_schema={"type": "object"})
TAKES_TOOLS = types.SamplingCapability(tools=types.SamplingToolsCapability())


def user(*content: Any) -> types.SamplingMessage:
    return types.SamplingMessage(role="user", content=list(content))


def assistant(*content: Any) -> types.SamplingMessage:
    return types.SamplingMessage(role="assistant", content=list(content))


def use(id: str) -> types.ToolUseContent:
    return types.ToolUseContent(id=id, name="look", input={})


def result(id: str) -> types.ToolResultContent:
    return types.ToolResultContent(tool_use_id=id, content=[])


async def test_a_model_is_asked_with_everything_that_was_given() -> None:
    sampler = Sampler()
    options: dict[str, Any] = {
        "system_prompt": "Be brief",
        "include_context": "thisServer",
        "temperature": 0.5,
        "stop_sequences": ["."],
        "metadata": {"k": None},
        "model_preferences": types.ModelPreferences(hints=[types.ModelHint(name="small")], cost_priority=1),
    }
    answer = await answer_to(lambda session: sample(session, **options), sampling_callback=sampler)
    assert type(answer) is types.CreateMessageResult
    assert answer == ANSWER
    assert sampler.asked == [types.CreateMessageRequestParams(messages=[HELLO], max_tokens=9, **options)]


@pytest.mark.parametrize(
    "options", [{"tools": [TOOL]}, {"tools": []}, {"tool_choice": types.ToolChoice(mode="required")}]
)
async def test_tools_are_sent_to_a_client_that_takes_them(options: dict[str, Any]) -> None:
    wanted = types.CreateMessageResultWithTools(role="assistant", content=[use("1")], model="m", stop_reason="toolUse")
    sampler = Sampler(wanted)
    answer = await answer_to(
        lambda session: sample(session, **options), sampling_callback=sampler, sampling_capabilities=TAKES_TOOLS
    )
    assert type(answer) is types.CreateMessageResultWithTools
    assert answer == wanted
    (asked,) = sampler.asked
    assert {"tools": asked.tools, "tool_choice": asked.tool_choice} == {"tools": None, "tool_choice": None, **options}


@pytest.mark.parametrize("options", [{"tools": [TOOL]}, {"tools": []}, {"tool_choice": types.ToolChoice()}])
async def test_tools_are_not_sent_to_a_client_that_does_not_take_them(options: dict[str, Any]) -> None:
    sampler = Sampler()
    failure = await failure_of(lambda session: sample(session, **options), sampling_callback=sampler)
    assert isinstance(failure, MCPError)
    assert (failure.code, failure.message) == (
        types.INVALID_PARAMS,
        "Client does not support sampling tools capability",
    )
    assert sampler.asked == []


@pytest.mark.parametrize(
    "messages",
    [
        [HELLO, assistant(use("1")), user(result("1"))],
        [HELLO, assistant(use("1"), use("2")), user(result("2"), result("1"))],
        [HELLO, assistant(use("1"))],
        [],
    ],
)
async def test_tool_results_that_answer_the_uses_before_them_are_sent(messages: list[types.SamplingMessage]) -> None:
    sampler = Sampler()
    await answer_to(lambda session: sample(session, messages=messages), sampling_callback=sampler)
    assert sampler.asked[0].messages == messages


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([user(result("1"))], "tool_result requires a previous message containing tool_use"),
        ([HELLO, user(result("1"))], "tool_result blocks do not match any tool_use in the previous message"),
        (
            [assistant(use("1")), user(result("1"), types.TextContent(text="and"))],
            "The last message must contain only tool_result content if any is present",
        ),
        ([assistant(use("1")), user(result("2"))], "ids of tool_result blocks and tool_use blocks from previous"),
        ([assistant(use("1"), use("2")), user(result("1"))], "ids of tool_result blocks and tool_use blocks"),
        ([assistant(use("1")), HELLO], "ids of tool_result blocks and tool_use blocks from previous message"),
    ],
)
async def test_tool_results_that_do_not_are_refused(messages: list[types.SamplingMessage], problem: str) -> None:
    sampler = Sampler()
    failure = await failure_of(lambda session: sample(session, messages=messages), sampling_callback=sampler)
    assert isinstance(failure, ValueError)
    assert problem in str(failure)
    assert sampler.asked == []


async def test_sampling_warns_that_it_is_deprecated() -> None:
    async def ask(session: ServerSession) -> None:
        with pytest.warns(MCPDeprecationWarning, match="The sampling capability is deprecated as of 2026-07-28"):
            await sample(session)

    await answer_to(ask, sampling_callback=Sampler())
