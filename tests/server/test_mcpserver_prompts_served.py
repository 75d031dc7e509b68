"""Prompts of an `MCPServer`, as its clients see them in both eras."""

import gc
from typing import Annotated, Any

import anyio
import pytest
from pydantic import Field

from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import AssistantMessage, Context, Image, Message, UserMessage
from mcp.server.mcpserver.prompts import Prompt as ServedPrompt
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    EmbeddedResource,
    Icon,
    ImageContent,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]


async def get(server: MCPServer[Any], mode: str, name: str, **arguments: str) -> list[PromptMessage]:
    async with Client(server, mode=mode) as client:
        return (await client.get_prompt(name, arguments)).messages


async def refusal(server: MCPServer[Any], mode: str, name: str, **arguments: str) -> tuple[int, str]:
    with pytest.raises(MCPError) as caught:
        await get(server, mode, name, **arguments)
    return caught.value.code, caught.value.message


def text(text: str, role: Any = "user") -> PromptMessage:
    return PromptMessage(role=role, content=TextContent(text=text))


async def test_the_menu_says_what_users_fill_in(mode: str) -> None:
    server = MCPServer("helper")
    icon = Icon(src="https://example.com/i.png")

    @server.prompt(title="Code review", icons=[icon])
    def review_code(code: Annotated[str, Field(description="The code.")], language: str = "python") -> str:
        """Review a piece of code."""
        raise AssertionError("not called")

    async with Client(server, mode=mode) as client:
        [listed] = (await client.list_prompts()).prompts
    assert listed == Prompt(
        name="review_code",
        title="Code review",
        description="Review a piece of code.",
        arguments=[
            PromptArgument(name="code", description="The code.", required=True),
            PromptArgument(name="language", required=False),
        ],
        icons=[icon],
    )


async def test_a_text_is_one_message_of_the_user(mode: str) -> None:
    server = MCPServer("helper")

    @server.prompt()
    def review_code(code: str) -> str:
        """Review a piece of code."""
        return f"Please review: {code}"

    async with Client(server, mode=mode) as client:
        result = await client.get_prompt("review_code", {"code": "x = 1"})
    assert result.description == "Review a piece of code."
    assert result.messages == [text("Please review: x = 1")]


async def test_a_conversation_with_attachments(mode: str) -> None:
    server = MCPServer("helper")
    guide = EmbeddedResource(resource=TextResourceContents(uri="style://python", text="Return early."))

    @server.prompt()
    def explain(error: str) -> list[Message | str]:
        return ["Why?", UserMessage(guide), UserMessage(Image(data=b"png")), AssistantMessage(f"About {error}:")]

    first, second, third, last = await get(server, mode, "explain", error="E1")
    assert (first, last) == (text("Why?"), text("About E1:", "assistant"))
    assert second.content == guide
    assert third.content == ImageContent(data="cG5n", mime_type="image/png")


async def test_the_context_is_that_of_the_request(mode: str) -> None:
    server = MCPServer("helper")

    @server.prompt()
    async def about(topic: str, ctx: Context[dict[str, Any], Any]) -> str:
        return f"{topic} {ctx.request_context.lifespan_context} {ctx.mcp_server.name}"

    assert await get(server, mode, "about", topic="trains") == [text("trains {} helper")]


async def test_what_is_wrong_with_a_request_is_told_by_name(mode: str) -> None:
    server = MCPServer("helper")

    @server.prompt()
    def plan(days: int) -> str:
        return f"{days} days"

    assert await get(server, mode, "plan", days="4") == [text("4 days")]
    about = "Invalid arguments for prompt 'plan'"
    assert await refusal(server, mode, "plan") == (INVALID_PARAMS, f"{about}: missing required argument 'days'")
    code, message = await refusal(server, mode, "plan", days="few")
    assert code == INVALID_PARAMS
    assert message.startswith(f"{about}: argument 'days': Input should be a valid integer")
    assert await refusal(server, mode, "plan", days="4", hours="1") == (
        INVALID_PARAMS,
        f"{about}: unknown argument 'hours', expected 'days'",
    )
    assert await refusal(server, mode, "plans") == (INVALID_PARAMS, "Unknown prompt: plans")


async def test_failures_of_the_function(mode: str) -> None:
    server = MCPServer("helper")

    @server.prompt()
    def fail(how: str) -> str:
        raise MCPError(-32001, "busy") if how == "mcp" else KeyError("secret")

    assert await refusal(server, mode, "fail", how="mcp") == (-32001, "busy")
    assert await refusal(server, mode, "fail", how="key") == (INTERNAL_ERROR, "Internal server error")


async def test_prompts_come_and_go_while_clients_are_connected(mode: str) -> None:
    server = MCPServer("helper")
    async with Client(server, mode=mode, cache=False) as client:

        async def names() -> list[str]:
            return [prompt.name for prompt in (await client.list_prompts()).prompts]

        assert await names() == []
        prompt = ServedPrompt.from_function(lambda: "hello", name="greet")
        server.add_prompt(prompt)
        assert await names() == ["greet"]
        prompt.title = "Greeting"
        assert [entry.title for entry in (await client.list_prompts()).prompts] == ["Greeting"]
        server.remove_prompt("greet")
        assert await names() == []
        with pytest.raises(MCPError, match="Unknown prompt: greet"):
            await client.get_prompt("greet")
    with pytest.raises(ValueError, match="Unknown prompt: greet"):
        server.remove_prompt("greet")


async def test_a_change_just_before_the_end_is_told_to_nobody(mode: str) -> None:
    server = MCPServer("helper")
    async with Client(server, mode=mode) as client:
        await client.list_prompts()
        server.add_prompt(ServedPrompt.from_function(lambda: "hello", name="greet"))
    await anyio.wait_all_tasks_blocked()
    gc.collect()
