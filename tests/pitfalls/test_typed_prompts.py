"""Reports about prompts, as clients of an `MCPServer` meet them."""

from datetime import date
from enum import Enum

import pytest
from connections import only_message

from mcp import Client, MCPError
from mcp.server.mcpserver import MCPServer

pytestmark = pytest.mark.anyio

INVALID_PARAMS = -32602


class Tone(Enum):
    DRY = "dry"


def library() -> MCPServer:
    mcp = MCPServer("library")

    @mcp.prompt()
    def repeat(n: int, word: str = "go") -> str:
        return " ".join([word] * n)

    @mcp.prompt()
    async def plan(day: date, tone: Tone = Tone.DRY, guests: list[str] = []) -> str:  # noqa: B006
        return f"{day:%d.%m.} {tone.value} {guests}"

    @mcp.prompt()
    def broken() -> str:
        raise RuntimeError("the shelf is empty")

    _ = repeat, plan, broken
    return mcp


# B88


async def test_b88_arguments_are_text_and_become_what_the_function_takes(mode: str) -> None:
    """They came as text, whatever the function said."""
    async with Client(library(), mode=mode) as client:
        assert only_message(await client.get_prompt("repeat", {"n": "4"})) == "go go go go"
        assert only_message(await client.get_prompt("plan", {"day": "2026-07-28"})) == "28.07. dry []"
        guests = {"day": "2026-07-28", "guests": '["Ann"]'}
        assert only_message(await client.get_prompt("plan", guests)) == "28.07. dry ['Ann']"


async def test_b88_what_is_wrong_with_the_arguments_is_told(mode: str) -> None:
    """A missing argument, a bad value and an unknown prompt were all an internal error."""
    wrong: list[tuple[str, dict[str, str] | None, str]] = [
        ("repeat", None, "missing required argument 'n'"),
        ("repeat", {}, "missing required argument 'n'"),
        ("repeat", {"n": "many"}, "argument 'n': Input should be a valid integer"),
        ("repeat", {"n": "1", "wrod": "x"}, "did you mean 'word'?"),
        ("plan", {"day": "soon"}, "argument 'day'"),
        ("plan", {"day": "2026-07-28", "tone": "warm"}, "argument 'tone'"),
        ("nowhere", {}, "Unknown prompt: nowhere"),
    ]
    async with Client(library(), mode=mode) as client:
        for name, arguments, text in wrong:
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name, arguments)
            assert caught.value.code == INVALID_PARAMS
            assert text in caught.value.message


async def test_b88_a_prompt_that_fails_is_another_matter(mode: str) -> None:
    """It is not the caller's fault, and what it says is not for the caller."""
    async with Client(library(), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("broken")
        assert caught.value.code == -32603
        assert "shelf" not in caught.value.message
        assert only_message(await client.get_prompt("repeat", {"n": "1"})) == "go"
