"""Reports about what servers ask their clients while a tool runs.

In the handshake era they send requests; on 2026-07-28 they return the questions, and are called again with the answers.
"""

from typing import Any

import anyio
import pytest
from connections import Transport, connected, over_http, text_of
from pitfall_server import server

from mcp import Client, MCPError, types
from mcp.client import ClientRequestContext

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Sampler:
    """Answers each question with itself, once as many as expected wait for an answer together."""

    def __init__(self, together: int = 1) -> None:
        self.peak = 0
        self._waiting = 0
        self._together = together
        self._all_here = anyio.Event()

    async def __call__(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        self._waiting += 1
        self.peak = max(self.peak, self._waiting)
        if self._waiting == self._together:
            self._all_here.set()
        await self._all_here.wait()
        self._waiting -= 1
        question = params.messages[0].content
        assert isinstance(question, types.TextContent)
        return types.CreateMessageResult(role="assistant", model="m", content=question)


ASKING = {"legacy": "sample", "auto": "sample_in_rounds"}
"""The tool that asks, by the `mode` of the client."""

# B40


async def test_b40_questions_are_answered_together(transport: Transport, mode: str) -> None:
    """A tool that asked four questions at once got its answers one at a time."""
    sampler = Sampler(together=4)
    async with connected(transport, mode=mode, sampling_callback=sampler) as client:
        said = await text_of(client, ASKING[mode], times=4)

    assert said == "question 0, question 1, question 2, question 3"
    assert sampler.peak == 4


@asyncio_only
async def test_b40_so_are_those_of_many_calls(transport: Transport, mode: str) -> None:
    """The same where each comes from a call of its own."""
    sampler = Sampler(together=20)
    said: list[str] = []

    async def call(client: Client) -> None:
        said.append(await text_of(client, ASKING[mode], times=1))

    options: dict[str, Any] = {"mode": mode, "sampling_callback": sampler}
    async with connected(transport, **options) as client, anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(call, client)

    assert said == ["question 0"] * 20
    assert sampler.peak == 20


# B41


async def test_b41_a_question_in_a_call_is_answered_and_the_call_returns(transport: Transport, mode: str) -> None:
    """The answer went the way on which the client waited for the call, so both waited for ever."""
    async with connected(transport, mode=mode, sampling_callback=Sampler()) as client:
        for _ in range(3):
            assert await text_of(client, ASKING[mode], times=1) == "question 0"
        assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
async def test_b41_an_answer_may_take_a_call_of_its_own(transport: Transport, mode: str) -> None:
    """The same where the client has to call the server to know the answer."""

    async def look_up(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        result = await context.session.call_tool("echo", {"text": "looked up"})
        [found] = result.content
        assert isinstance(found, types.TextContent)
        return types.CreateMessageResult(role="assistant", model="m", content=found)

    async with connected(transport, mode=mode, sampling_callback=look_up) as client:
        assert await text_of(client, ASKING[mode], times=1) == "looked up"


@asyncio_only
async def test_b41_an_answer_that_fails_ends_the_question_and_not_the_connection(
    transport: Transport, mode: str
) -> None:
    """The same where there is no answer to be had: nobody may wait for it."""

    async def fail(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        return types.ErrorData(code=1, message="no model today")

    async with connected(transport, mode=mode, sampling_callback=fail) as client:
        with pytest.raises(MCPError, match="no model today"):
            await text_of(client, ASKING[mode], times=1)
        assert await text_of(client, "echo", text="next") == "next"


@asyncio_only
@pytest.mark.parametrize("options", [{"json_response": True}, {"stateless_http": True}])
async def test_b41_where_there_is_no_way_to_ask_a_question_fails_at_once(options: dict[str, Any]) -> None:
    """The same over connections that cannot carry a question."""
    with over_http(server.streamable_http_app(**options)) as url:
        async with Client(url, mode="legacy", sampling_callback=Sampler()) as client:
            with pytest.raises(MCPError, match="no back-channel"):
                await text_of(client, "sample", times=1)


async def test_b41_a_server_that_asks_as_it_used_to_fails_at_once(transport: Transport) -> None:
    """The same on 2026-07-28, where no connection carries a question."""
    async with connected(transport, sampling_callback=Sampler()) as client:
        with pytest.raises(MCPError, match="no back-channel"):
            await text_of(client, "sample", times=1)
        assert await text_of(client, "echo", text="next") == "next"
