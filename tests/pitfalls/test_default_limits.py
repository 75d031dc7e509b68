"""B38: servers that accept a request and never answer it, and clients that were given no time limit."""

import math
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE
from eras import Era
from raw_peers import stdio_server_that_sends
from scripted_handshake_server import Script, text
from scripted_http_server import Posted, Reply, serve
from trio.testing import MockClock

from mcp import Client, types
from mcp.client import limits
from mcp.client.limits import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS
from mcp.shared.exceptions import RequestTimeoutError

pytestmark = pytest.mark.anyio

QUIET_SECONDS = 0.2

clock = MockClock(rate=1)

with_a_clock_of_its_own = pytest.mark.parametrize(
    "anyio_backend", [pytest.param(("trio", {"clock": clock}), id="trio")]
)


@contextmanager
def hurried() -> Generator[None, None, None]:
    """Skips the time in which nothing happens: an hour of silence passes in an instant."""
    clock.autojump_threshold = QUIET_SECONDS
    try:
        with anyio.fail_after(3 * MAX_TIMEOUT_SECONDS):
            yield
    finally:
        clock.autojump_threshold = math.inf


async def silence(request: Posted, reply: Reply) -> None:
    await reply.disconnected()


@asynccontextmanager
async def silent(transport: str, era: Era) -> AsyncGenerator[Client, None]:
    """A client of a server that answers nothing but what opens the connection."""
    if transport == "stdio":
        async with Client(stdio_server_that_sends([]), mode=era.mode) as client:
            yield client
        return
    script = Script(answers={"tools/list": silence, "tools/call": silence, "server/discover": discovered})
    async with serve(script) as script.server, Client(script.server.url, mode=era.mode) as client:
        yield client


async def discovered(request: Posted, reply: Reply) -> None:
    await reply.result(request, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})


@with_a_clock_of_its_own
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_b38_a_server_that_never_answers_is_given_up_within_the_documented_time(transport: str, era: Era) -> None:
    """A client without a time limit waited for ever."""
    async with silent(transport, era) as client:
        with hurried():
            started = anyio.current_time()
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 300s waiting for 'tools/list'"):
                await client.list_tools()
            assert 300 <= anyio.current_time() - started < 330

            started = anyio.current_time()
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 3600s waiting for 'tools/call'"):
                await client.call_tool("any")
            assert 3600 <= anyio.current_time() - started < 3630


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_b38_so_it_is_on_every_event_loop(transport: str, era: Era, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in real time, with smaller bounds."""
    assert (DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS) == (300, 3600)
    with anyio.fail_after(SECONDS_OF_PATIENCE):
        async with silent(transport, era) as client:
            monkeypatch.setattr(limits, "DEFAULT_TIMEOUT_SECONDS", 0.2)
            monkeypatch.setattr(limits, "MAX_TIMEOUT_SECONDS", 0.3)
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.2s waiting for 'tools/list'"):
                await client.list_tools()
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.3s waiting for 'tools/call'"):
                await client.call_tool("any")


@asynccontextmanager
async def reporting(era: Era, **options: Any) -> AsyncGenerator[Client, None]:
    """A client of a server that lists its tools after a quarter of an hour, and reports progress every 200 seconds."""
    script = Script(answers={"server/discover": discovered})

    @script.on("tools/list")
    async def list_tools(request: Posted, reply: Reply) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        await reply.open_events()
        for number in range(5):
            await anyio.sleep(200)
            params = {"progressToken": token, "progress": number}
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await reply.event({**text(request, ""), "result": {"tools": []}})
        await reply.end()

    async with serve(script) as script.server, Client(script.server.url, mode=era.mode, **options) as client:
        yield client


async def ignore(progress: float, total: float | None, message: str | None) -> None: ...


async def list_with_progress(client: Client) -> types.ListToolsResult:
    request = types.ListToolsRequest()
    return await client.session.send_request(request, types.ListToolsResult, progress_callback=ignore)


@with_a_clock_of_its_own
async def test_b38_progress_does_not_extend_the_time_unasked(era: Era) -> None:
    """A server that reported progress for ever would be waited for as long."""
    async with reporting(era) as client:
        with hurried(), pytest.raises(RequestTimeoutError, match=r"Timed out after 300s waiting for 'tools/list'"):
            await list_with_progress(client)


@with_a_clock_of_its_own
async def test_b38_progress_extends_the_time_where_asked(era: Era) -> None:
    """The way to wait for a server that is slow, and says that it is at work."""
    async with reporting(era, reset_timeout_on_progress=True) as client:
        with hurried():
            started = anyio.current_time()
            assert (await list_with_progress(client)).tools == []
            assert anyio.current_time() - started >= 1000
