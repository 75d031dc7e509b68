"""Two server processes behind a load balancer that knows nothing: what they must share, and that it is enough."""

import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from peer_programs import url_of
from round_robin import balanced

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext

pytestmark = [pytest.mark.e2e, pytest.mark.anyio]

CALLS = 200
CALLERS = 4
KEY = secrets.token_hex(32)
OTHER_KEY = secrets.token_hex(32)

Settings = tuple[str, str]


async def say_yes(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"word": "yes"})


@asynccontextmanager
async def fleet(*servers: Settings) -> AsyncGenerator[Client, None]:
    """A client of servers with these names and keys, each in a process of its own."""
    program = str(Path(__file__).with_name("fleet_server.py"))
    with ExitStack() as processes:
        urls = [processes.enter_context(url_of(sys.executable, program, name, key)) for name, key in servers]
        async with (
            balanced(urls) as url,
            Client(url, mode="2026-07-28", elicitation_callback=say_yes, validate_output="off") as client,
        ):
            yield client


async def words_of(client: Client, tool: str, word: str) -> list[str]:
    """Which process asked, which one answered, and with which word."""
    [content] = (await client.call_tool(tool, {"word": word})).content
    assert isinstance(content, types.TextContent)
    return content.text.split()


async def test_with_the_same_keys_and_name_any_process_may_serve_any_round() -> None:
    answers: list[tuple[str, list[str]]] = []

    async def call(client: Client, first: int) -> None:
        for number in range(first, CALLS, CALLERS):
            tool = "echo" if number % 3 else "ask"
            word = "yes" if tool == "ask" else f"word-{number}"
            answer = await words_of(client, tool, word)
            assert answer[2] == word
            answers.append((tool, answer))

    with anyio.fail_after(50):
        async with fleet(("billing", KEY), ("billing", KEY)) as client, anyio.create_task_group() as group:
            for first in range(CALLERS):
                group.start_soon(call, client, first)
    assert len(answers) == CALLS
    assert len({answer[1] for _, answer in answers}) == 2
    crossed = sum(asked != answered for tool, (asked, answered, _) in answers if tool == "ask")
    assert crossed > 0, "no call began at one process and ended at the other"


@pytest.mark.parametrize(
    "servers",
    [(("billing", KEY), ("billing", OTHER_KEY)), (("billing-1", KEY), ("billing-2", KEY))],
    ids=["different keys", "different names"],
)
async def test_otherwise_a_call_that_reaches_both_fails_every_time(servers: tuple[Settings, Settings]) -> None:
    with anyio.fail_after(50):
        async with fleet(*servers) as client:
            for _ in range(CALLS // 6):
                with pytest.raises(MCPError) as raised:
                    await client.call_tool("ask")
                error = raised.value.error
                assert (error.code, error.message) == (-32602, "Invalid or expired requestState")
                assert error.data == {"reason": "invalid_request_state"}
            # Whoever answers a call at once needs to share nothing.
            answers = [await words_of(client, "echo", "word") for _ in range(2)]
            assert answers[0][1] != answers[1][1]
