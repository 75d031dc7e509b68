"""B99: log messages of levels that the client did not ask for."""

import pytest
from connections import Transport, connected, eventually, over_http, text_of
from pitfall_server import server

from mcp import Client, types

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:The logging capability is deprecated")]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])

LEVELS: list[types.LoggingLevel] = ["debug", "info", "error", "warning", "critical"]


SERVERS = pytest.mark.parametrize("name", ["server", "typed"])
"""A tool logs through the session, or through the `Context` of a typed function."""


class Log:
    """Keeps the levels of what is logged. They come in order, so what has not come before the last never will."""

    def __init__(self) -> None:
        self.levels: list[str] = []

    async def __call__(self, params: types.LoggingMessageNotificationParams) -> None:
        self.levels.append(params.level)

    async def of_a_call(self, client: Client) -> list[str]:
        """What a call logs that logs once on each of the levels."""
        self.levels.clear()
        await text_of(client, "log", levels=LEVELS)

        async def all_here() -> bool:
            return self.levels[-1:] == LEVELS[-1:]

        await eventually(all_here)
        return list(self.levels)


async def set_level(client: Client, level: types.LoggingLevel) -> None:
    await client.set_logging_level(level)  # pyright: ignore[reportDeprecated]


@SERVERS
async def test_b99_the_level_that_a_session_sets_is_kept(transport: Transport, name: str) -> None:
    """Setting it was refused, and every message was delivered."""
    log = Log()
    async with connected(transport, name, mode="legacy", logging_callback=log) as client:
        assert await log.of_a_call(client) == LEVELS
        await set_level(client, "error")
        assert await log.of_a_call(client) == ["error", "critical"]
        await set_level(client, "info")
        assert await log.of_a_call(client) == ["info", "error", "warning", "critical"]


@SERVERS
async def test_b99_the_level_that_a_request_asks_for_is_kept(transport: Transport, name: str) -> None:
    """The same on 2026-07-28, where each request says its level."""
    log = Log()
    async with connected(transport, name, logging_callback=log, log_level="error") as client:
        assert await log.of_a_call(client) == ["error", "critical"]


@asyncio_only
async def test_b99_the_level_of_one_session_is_not_that_of_another() -> None:
    """The same with two clients of one server."""
    quiet, loud = Log(), Log()
    with over_http(server.streamable_http_app()) as url:
        async with (
            Client(url, mode="legacy", logging_callback=quiet) as one,
            Client(url, mode="legacy", logging_callback=loud) as other,
        ):
            await set_level(one, "critical")
            assert await loud.of_a_call(other) == LEVELS
            assert await quiet.of_a_call(one) == ["critical"]
