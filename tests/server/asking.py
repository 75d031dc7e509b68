"""Servers of the handshake era that ask their client something, and what comes of it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from doing import server_that
from wire import Context, send

from mcp import Client, types
from mcp.client import ClientRequestContext
from mcp.server.session import ServerSession

Asker = Callable[[ServerSession], Awaitable[Any]]

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer", "default": None}}}
ANSWER = types.CreateMessageResult(role="assistant", content=types.TextContent(text="an answer"), model="m")


HELLO = types.SamplingMessage(role="user", content=[types.TextContent(text="Hello")])


@asynccontextmanager
async def asking(ask: Asker, **callbacks: Any) -> AsyncGenerator[Client, None]:
    """A client whose requests make the server ask."""

    async def work(ctx: Context) -> None:
        await ask(ctx.session)

    async with Client(server_that(work), mode="legacy", **callbacks) as client:
        yield client


async def answer_to(ask: Asker, **callbacks: Any) -> Any:
    """What `ask` returns in a handler."""
    answers: list[Any] = []

    async def keep(session: ServerSession) -> None:
        answers.append(await ask(session))

    async with asking(keep, **callbacks) as client:
        await send(client, "acme/do")
        # Notifications are delivered beside the answer, not before it.
        await anyio.wait_all_tasks_blocked()
    return answers[0]


async def failure_of(ask: Asker, **callbacks: Any) -> Exception:
    """What `ask` raises in a handler."""
    failures: list[Exception] = []

    async def keep(session: ServerSession) -> None:
        with pytest.raises(Exception) as raised:
            await ask(session)
        failures.append(raised.value)

    async with asking(keep, **callbacks) as client:
        await send(client, "acme/do")
    return failures[0]


class Sampler:
    """Answers sampling requests, and keeps what it was asked."""

    def __init__(self, answer: Any = ANSWER) -> None:
        self.asked: list[types.CreateMessageRequestParams] = []
        self._answer = answer

    async def __call__(self, context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        self.asked.append(params)
        return self._answer


async def sample(session: ServerSession, **options: Any) -> Any:
    ask: Any = session.create_message  # pyright: ignore[reportDeprecated]
    return await ask(**{"messages": [HELLO], "max_tokens": 9, **options})


async def interview(session: ServerSession) -> Any:
    return await session.elicit("How old?", SCHEMA)


async def list_roots(session: ServerSession) -> Any:
    return await session.list_roots()  # pyright: ignore[reportDeprecated]
