"""`@mcp.completion()`: suggestions for the arguments of prompts and of resource templates."""

import threading
from typing import Literal

import pytest

from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.types import (
    METHOD_NOT_FOUND,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

Mode = Literal["auto", "legacy"]
Ref = PromptReference | ResourceTemplateReference

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Both eras."""
    return request.param


async def completed(mcp: MCPServer, mode: Mode, value: str = "", known: dict[str, str] | None = None) -> Completion:
    async with Client(mcp, mode=mode) as client:
        argument = {"name": "city", "value": value}
        result = await client.complete(PromptReference(name="plan"), argument, context_arguments=known)
        return result.completion


async def test_a_function_sees_what_is_completed_and_what_is_known_already(mode: Mode) -> None:
    mcp = MCPServer("guide")

    @mcp.completion()
    async def complete(ref: Ref, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        assert isinstance(ref, PromptReference)
        known = context.arguments if context is not None and context.arguments is not None else {}
        return Completion(values=[ref.name, argument.name, argument.value, known["country"]], total=7, has_more=True)

    found = await completed(mcp, mode, "Pa", {"country": "France"})
    assert found == Completion(values=["plan", "city", "Pa", "France"], total=7, has_more=True)


async def test_a_function_that_is_not_async_runs_in_a_thread(mode: Mode) -> None:
    mcp = MCPServer("guide")

    @mcp.completion()
    def complete(ref: Ref, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return Completion(values=[str(threading.current_thread() is threading.main_thread())])

    assert (await completed(mcp, mode)).values == ["False"]


async def test_none_is_no_suggestion(mode: Mode) -> None:
    mcp = MCPServer("guide")

    @mcp.completion()
    async def complete(ref: Ref, argument: CompletionArgument, context: CompletionContext | None) -> None:
        return None

    assert await completed(mcp, mode) == Completion(values=[])


@pytest.mark.parametrize(("total", "told"), [(None, 101), (5000, 5000)])
async def test_no_more_is_sent_than_the_protocol_allows(total: int | None, told: int, mode: Mode) -> None:
    mcp = MCPServer("guide")
    cities = [f"city {number}" for number in range(101)]

    @mcp.completion()
    async def complete(ref: Ref, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return Completion(values=[city for city in cities if city.startswith(argument.value)], total=total)

    assert await completed(mcp, mode) == Completion(values=cities[:100], total=told, has_more=True)
    assert await completed(mcp, mode, "city 100") == Completion(values=["city 100"], total=total)


async def test_without_a_function_nothing_is_declared_and_nothing_completed(mode: Mode) -> None:
    async with Client(MCPServer("guide"), mode=mode) as client:
        assert client.server_capabilities.completions is None
        with pytest.raises(MCPError) as refused:
            await client.complete(PromptReference(name="plan"), {"name": "city", "value": ""})
    assert refused.value.code == METHOD_NOT_FOUND
