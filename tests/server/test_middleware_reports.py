"""The ready-made middleware that looks on: a log of requests, their timing, and reports of exceptions."""

import asyncio
import logging
import sys
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from link_wire import on_a_link
from wire import Context

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.middleware import ErrorReports, RequestLog, Timing

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])
OPENINGS = {"auto": ["server/discover"], "legacy": ["initialize", "notifications/initialized"]}


class Mishap(Exception):
    pass


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == "raises":
        raise Mishap("a secret")
    if params.name == "refuses":
        raise MCPError(-31000, "no")
    if params.name == "leaves":
        raise SystemExit(3)
    if params.name == "waits":
        await anyio.sleep_forever()
    return types.CallToolResult(content=[], is_error=params.name == "fails")


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[])


def server_with(*middleware: Any) -> Server[Any]:
    server = Server("srv", on_call_tool=call_tool, on_read_resource=read_resource)
    server.middleware.extend(middleware)
    return server


async def use(server: Server[Any], mode: str, *tools: str) -> None:
    """Calls tools, and is content with any answer."""
    async with Client(server, mode=mode, validate_output="off") as client:
        for tool in tools:
            with anyio.move_on_after(0.1 if tool == "waits" else 5):
                try:
                    await client.call_tool(tool)
                except MCPError:
                    pass


class Ticking:
    """A clock that is a quarter of a second later whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


@both_eras
async def test_timing_tells_how_long_each_message_took_and_how_it_ended(mode: str) -> None:
    told: list[tuple[str, float, str]] = []
    timing = Timing(lambda ctx, seconds, outcome: told.append((ctx.method, seconds, outcome)), clock=Ticking())

    await use(server_with(timing), mode, "works", "fails", "refuses", "raises", "waits")

    outcomes = ["ok", "tool_error", "-31000", "Mishap", "cancelled"]
    expected = [*((method, "ok") for method in OPENINGS[mode]), *(("tools/call", outcome) for outcome in outcomes)]
    # Nothing is promised about the order of a notification and what is asked after it.
    seen = [(method, outcome) for method, _, outcome in told if method != "notifications/cancelled"]
    assert sorted(seen) == sorted(expected)
    assert next(seconds for _, seconds, outcome in told if outcome == "ok") == 0.25


@both_eras
async def test_a_report_that_fails_harms_no_request(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*args: Any) -> None:
        raise ZeroDivisionError("metrics")

    server = server_with(Timing(fail), ErrorReports(fail))
    async with Client(server, mode=mode, validate_output="off") as client:
        assert not (await client.call_tool("works")).is_error
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("raises")

    assert "the report on 'tools/call' failed" in caplog.text
    assert "the report on an exception of 'tools/call' failed" in caplog.text
    assert "Mishap: a secret" in caplog.text


@both_eras
async def test_the_log_has_a_line_for_each_message(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp.server.requests")

    await use(server_with(RequestLog(clock=Ticking())), mode, "works", "refuses")

    lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name.endswith("requests")]
    # A notification's line may come at any place: nothing is promised between messages.
    assert [line for line in lines if "tools/call" in line[1]] == [
        ("INFO", "tools/call works took 250.0 ms"),
        ("WARNING", "tools/call refuses took 250.0 ms: -31000"),
    ]
    assert len(lines) == 2 + len(OPENINGS[mode])


async def test_logger_and_levels_are_a_choice(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "acme")
    log = RequestLog(logging.getLogger("acme"), level=logging.DEBUG, failure_level=logging.ERROR)

    await use(server_with(log), "2026-07-28", "works", "fails")

    assert [record.levelname for record in caplog.records if record.name == "acme"] == ["DEBUG", "ERROR"]


async def test_nothing_is_written_below_the_level_of_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "mcp.server.requests")

    await use(server_with(RequestLog()), "2026-07-28", "works")

    assert [record for record in caplog.records if record.name.endswith("requests")] == []


async def test_a_resource_is_named_and_what_a_peer_chose_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp.server.requests")
    async with Client(server_with(RequestLog(clock=Ticking())), mode="2026-07-28", validate_output="off") as client:
        await client.read_resource("shop://till")
        await client.call_tool("evil\nERROR root: all is lost")
        await client.call_tool("x" * 5000)

    lines = [record.getMessage() for record in caplog.records if record.name.endswith("requests")]
    assert lines == [
        "resources/read shop://till took 250.0 ms",
        "tools/call 'evil\\nERROR root: all is lost' took 250.0 ms",
        f"tools/call {'x' * 100}... took 250.0 ms",
    ]


@both_eras
async def test_an_exception_is_reported_and_an_answer_is_none(mode: str) -> None:
    reported: list[tuple[str, Exception]] = []

    def report(ctx: Context, failure: Exception) -> None:
        reported.append((ctx.method, failure))

    await use(server_with(ErrorReports(report)), mode, "works", "fails", "refuses", "raises", "unknown")

    [(method, failure)] = reported
    assert (method, type(failure), str(failure)) == ("tools/call", Mishap, "a secret")
    assert failure.__traceback__ is not None


@both_eras
async def test_a_report_may_be_awaited(mode: str) -> None:
    reported: list[Exception] = []

    async def report(ctx: Context, failure: Exception) -> None:
        await anyio.sleep(0)
        reported.append(failure)

    await use(server_with(ErrorReports(report)), mode, "raises")

    assert [type(failure) for failure in reported] == [Mishap]


async def test_a_result_that_is_none_of_its_method_is_reported_too() -> None:
    reported: list[Exception] = []
    server: Server[Any] = Server("srv")

    async def nonsense(ctx: Context, params: Any) -> Any:
        return ["no", "result"]

    server.add_request_handler("tools/call", types.CallToolRequestParams, nonsense)
    server.middleware.append(ErrorReports(lambda ctx, failure: reported.append(failure)))
    await use(server, "2026-07-28", "any")

    assert "expected a pydantic model, a dict or None, got list" in str(reported[0])


async def test_an_exception_of_a_notification_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    reported = anyio.Event()

    async def fail(ctx: Context, params: Any) -> None:
        raise Mishap

    server = server_with(ErrorReports(lambda ctx, failure: reported.set()))
    server.add_notification_handler("acme/fail", types.NotificationParams, fail)
    async with on_a_link(server) as wire:
        await wire.initialize()
        wire.say("acme/fail")
        with anyio.fail_after(5):
            await reported.wait()


@both_eras
async def test_timing_may_be_awaited(mode: str) -> None:
    outcomes: list[str] = []

    async def report(ctx: Context, seconds: float, outcome: str) -> None:
        await anyio.sleep(0)
        if ctx.method == "tools/call":
            outcomes.append(outcome)

    server = server_with(Timing(report))
    await use(server, mode, "works", "raises")
    async with Client(server, mode=mode, validate_output="off") as client:
        with anyio.move_on_after(0.1):
            await client.call_tool("waits")
        with anyio.fail_after(5):
            while len(outcomes) < 3:
                await anyio.sleep(0.001)
    assert outcomes == ["ok", "Mishap", "cancelled"]


@both_eras
async def test_an_exit_of_a_handler_is_an_exception(mode: str) -> None:
    reported: list[BaseException | None] = []
    outcomes: list[str] = []

    def report(ctx: Context, failure: Exception) -> None:
        reported.append(failure.__cause__)

    def note(ctx: Context, seconds: float, outcome: str) -> None:
        if ctx.method == "tools/call":
            outcomes.append(outcome)

    await use(server_with(Timing(note), ErrorReports(report)), mode, "leaves")

    assert [type(failure) for failure in reported] == [SystemExit]
    assert outcomes == ["SystemExit"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="nobody can tell such a cancellation from others")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_nobody_asked_for_is_an_exception() -> None:
    reported: list[BaseException | None] = []
    outcomes: list[str] = []

    async def cancel_oneself(ctx: Context, params: Any) -> Any:
        raise asyncio.CancelledError

    server = server_with(
        Timing(lambda ctx, seconds, outcome: outcomes.append(outcome)),
        ErrorReports(lambda ctx, failure: reported.append(failure.__cause__)),
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, cancel_oneself)
    await use(server, "2026-07-28", "any")

    assert [type(failure) for failure in reported] == [asyncio.CancelledError]
    assert outcomes == ["CancelledError"]


async def test_a_report_on_a_message_that_is_closed_goes_as_far_as_it_can() -> None:
    steps: list[str] = []

    async def report(ctx: Context, seconds: float, outcome: str) -> None:
        steps.append(outcome)
        await Waiting()
        steps.append("too far")

    timing: Any = Timing(report)
    message: Any = timing(SimpleNamespace(method="tools/call"), wait_for_ever)
    message.send(None)
    message.close()

    assert steps == ["cancelled"]


class Waiting:
    """Waits for nothing in particular, without an event loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield


async def wait_for_ever(ctx: Any) -> Any:
    await Waiting()


async def test_a_message_whose_coroutine_is_closed_was_cancelled() -> None:
    outcomes: list[str] = []
    timing = Timing(lambda ctx, seconds, outcome: outcomes.append(outcome))

    async def wait_a_little(ctx: Context, params: Any) -> Any:
        await anyio.lowlevel.checkpoint()

    async def close_inner(ctx: Context, call_next: CallNext) -> Any:
        handling = timing(ctx, call_next)
        coroutine: Any = handling
        coroutine.send(None)
        # Elsewhere, as when an event loop is gone.
        await anyio.to_thread.run_sync(coroutine.close)
        return {}

    server = server_with(close_inner)
    server.add_request_handler("tools/call", types.CallToolRequestParams, wait_a_little)
    async with Client(server, mode="2026-07-28", validate_output="off") as client:
        await client.session.send_request(
            types.CallToolRequest(params=types.CallToolRequestParams(name="waits")), types.Result
        )

    assert outcomes == ["cancelled"]
