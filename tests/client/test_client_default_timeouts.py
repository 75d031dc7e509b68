"""How long a client waits that was told nothing about it, and what progress has to do with it."""

import math
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import house
import pytest

from mcp import Client, ClientSession, StdioServerParameters, types
from mcp.client import limits
from mcp.client.limits import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS, default_bound
from mcp.engine.requester import CallOptions
from mcp.server import Server
from mcp.shared.exceptions import RequestTimeoutError

pytestmark = pytest.mark.anyio


class Recorder:
    """A connection that answers nothing, and notes what it was asked."""

    takes_handshake = True
    may_stay_silent = False
    carries_headers = False

    def __init__(self) -> None:
        self.asked: dict[str, CallOptions] = {}
        self.params: dict[str, dict[str, Any]] = {}

    async def request(self, id: Any, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        self.asked[method] = options
        self.params[method] = params
        return {"tools": [], "content": [], "prompts": []}

    async def notify(self, method: str, params: dict[str, Any] | None) -> None: ...

    async def established(self, version: str) -> None: ...

    async def aclose(self) -> None: ...


@asynccontextmanager
async def recorded(**options: Any) -> AsyncGenerator[tuple[ClientSession, Recorder], None]:
    recorder = Recorder()

    @asynccontextmanager
    async def connect(inbound: object) -> AsyncGenerator[Recorder, None]:
        yield recorder

    async with ClientSession(connector=connect, **options) as session:
        yield session, recorder


def test_the_bounds_are_those_of_the_documentation() -> None:
    assert DEFAULT_TIMEOUT_SECONDS == 300
    assert MAX_TIMEOUT_SECONDS == 3600
    assert default_bound("tools/call") == 3600
    assert default_bound("tools/list") == default_bound("initialize") == 300


async def test_b38_every_request_has_a_bound() -> None:
    """Without a default a wedged server meant for ever."""
    async with recorded() as (session, recorder):
        await session.list_tools()
        await session.call_tool("any")
    assert (recorder.asked["tools/list"].timeout, recorder.asked["tools/list"].limit) == (None, 300)
    assert (recorder.asked["tools/call"].timeout, recorder.asked["tools/call"].limit) == (None, 3600)


async def test_a_limit_of_the_session_or_the_call_takes_the_place_of_the_bound() -> None:
    async with recorded(read_timeout_seconds=7) as (session, recorder):
        await session.list_prompts()
        await session.call_tool("any", read_timeout_seconds=math.inf)
    assert recorder.asked["prompts/list"].limit == 7
    assert recorder.asked["tools/call"].limit == math.inf


SILENT = "import sys; sys.stdin.read()"


async def test_b38_a_server_that_accepts_and_never_answers_ends_in_a_timeout_that_names_the_method(
    monkeypatch: pytest.MonkeyPatch, house_url: str
) -> None:
    monkeypatch.setattr(limits, "DEFAULT_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(limits, "MAX_TIMEOUT_SECONDS", 0.3)
    wait = types.CallToolRequestParams(name="wait")
    silent = StdioServerParameters(command=sys.executable, args=["-c", SILENT])
    with anyio.fail_after(20):
        async with Client(silent, mode="2026-07-28") as client:
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.3s waiting for 'tools/list'"):
                await client.list_tools()
        async with Client(house_url, mode="2026-07-28") as client:
            with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.3s waiting for 'tools/call'"):
                await client.session.send_request(types.CallToolRequest(params=wait), types.CallToolResult)
            await client.call_tool("add", {"a": 1, "b": 1})


async def test_a_server_in_the_same_process_has_all_the_time_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_TIMEOUT_SECONDS", 0.05)

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await anyio.sleep(0.2)
        return house.text("done")

    async with Client(Server("slow", on_call_tool=call_tool)) as client:
        assert (await client.call_tool("any")).content == house.text("done").content


# Progress.


def reporting(*steps: float, then: float = 0.0) -> Server:
    """A server whose tool reports progress after each of these waits, and ends after another."""

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        for number, step in enumerate(steps):
            await anyio.sleep(step)
            await ctx.session.report_progress(number + 1)
        await anyio.sleep(then)
        return house.text("done")

    return Server("reporting", on_call_tool=call_tool)


Connect = Callable[[Server], Awaitable[Client]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_progress_does_not_extend_a_limit_unless_asked(mode: str) -> None:
    async with Client(reporting(*[0.1] * 10), mode=mode, validate_output="off") as client:
        with pytest.raises(RequestTimeoutError, match=r"0\.3s"):
            await client.call_tool("any", read_timeout_seconds=0.3)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_progress_extends_a_limit_where_asked(mode: str) -> None:
    reports: list[float] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    server = reporting(*[0.1] * 6)
    async with Client(server, mode=mode, validate_output="off", reset_timeout_on_progress=True) as client:
        assert (await client.call_tool("any", read_timeout_seconds=0.3)).content == house.text("done").content
        await client.call_tool("any", read_timeout_seconds=0.3, progress_callback=report)
    assert reports == [1, 2, 3, 4, 5, 6]


async def test_silence_after_progress_ends_a_call() -> None:
    async with Client(reporting(0.05, then=30), reset_timeout_on_progress=True) as client:
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.2s waiting for 'tools/call'"):
            await client.call_tool("any", read_timeout_seconds=0.2)


async def test_progress_extends_a_limit_up_to_the_cap_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_TIMEOUT_SECONDS", 0.5)
    async with Client(reporting(*[0.05] * 1000), reset_timeout_on_progress=True) as client:
        with pytest.raises(RequestTimeoutError, match=r"Timed out after 0\.5s waiting for 'tools/call'"):
            await client.call_tool("any", read_timeout_seconds=0.2)


async def test_a_limit_beyond_the_cap_is_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_TIMEOUT_SECONDS", 0.1)
    async with Client(reporting(0.05, then=0.3), reset_timeout_on_progress=True, validate_output="off") as client:
        await client.call_tool("any", read_timeout_seconds=30)


async def test_where_progress_extends_a_limit_the_connection_knows_how_long_in_all() -> None:
    """An HTTP client must not take silence for the end before that."""
    async with recorded(reset_timeout_on_progress=True) as (session, recorder):
        await session.call_tool("any", read_timeout_seconds=600)
        await session.list_tools()
    async with recorded(reset_timeout_on_progress=True, read_timeout_seconds=9000) as (session, recorder_of_long):
        await session.list_prompts()
    assert (recorder.asked["tools/call"].timeout, recorder.asked["tools/call"].bound) == (None, 3600)
    assert recorder.asked["tools/list"].bound == 3600
    assert recorder_of_long.asked["prompts/list"].bound == 9000


async def test_where_progress_extends_limits_the_server_is_asked_for_it() -> None:
    async with recorded(reset_timeout_on_progress=True) as (session, recorder):
        await session.list_prompts()
    assert "progressToken" in recorder.params["prompts/list"]["_meta"]
    async with recorded() as (session, recorder):
        await session.list_prompts()
    assert "progressToken" not in recorder.params["prompts/list"]["_meta"]
