"""Progress reports of a call: in order, before the call returns, and harmless when their callback is not."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import house
import pytest
from house import Target

from mcp import Client, MCPError, types
from mcp.server import Server

pytestmark = pytest.mark.anyio

Report = tuple[float, float | None, str | None]


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
async def client(target: Target) -> AsyncGenerator[Client, None]:
    async with Client(target) as client:
        yield client


async def test_reports_arrive_in_order_before_the_call_returns(client: Client) -> None:
    reports: list[Report] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    await client.call_tool("climb", {"steps": 50}, progress_callback=take)
    assert reports == [(step, 50, f"step {step}") for step in range(1, 51)]


async def test_a_slow_callback_holds_up_its_own_call_alone(client: Client) -> None:
    reports: list[float] = []
    finished = anyio.Event()

    async def take(progress: float, total: float | None, message: str | None) -> None:
        if progress == 1:
            await client.call_tool("add", {"a": 1, "b": 1})
            await finished.wait()
        reports.append(progress)

    async def climb() -> None:
        await client.call_tool("climb", {"steps": 3}, progress_callback=take)

    async with anyio.create_task_group() as group:
        group.start_soon(climb)
        await client.call_tool("climb", {"steps": 3})
        assert reports == []
        finished.set()
    assert reports == [1, 2, 3]


async def test_calls_at_the_same_time_have_their_own_reports(client: Client) -> None:
    totals: dict[int, set[float | None]] = {}

    async def climb(steps: int) -> None:
        seen = totals[steps] = set()

        async def take(progress: float, total: float | None, message: str | None) -> None:
            seen.add(total)

        await client.call_tool("climb", {"steps": steps}, progress_callback=take)

    async with anyio.create_task_group() as group:
        for steps in range(1, 11):
            group.start_soon(climb, steps)
    assert totals == {steps: {steps} for steps in range(1, 11)}


async def test_a_callback_that_raises_is_logged_and_the_call_goes_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[float] = []

    async def trip(progress: float, total: float | None, message: str | None) -> None:
        calls.append(progress)
        raise ValueError("tripped")

    result = await client.call_tool("climb", {"steps": 2}, progress_callback=trip)
    assert result.content == [types.TextContent(text="at the top")]
    assert calls == [1, 2]
    assert caplog.text.count("the callback for notifications/progress raised") == 2
    assert "ValueError: tripped" in caplog.text


async def test_without_a_callback_a_call_is_not_asked_to_report(client: Client) -> None:
    assert (await client.call_tool("climb", {"steps": 2})).is_error is False


async def test_total_and_message_are_optional() -> None:
    reports: list[Report] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(0.5)
        await ctx.session.report_progress(1.5, total=2)
        await ctx.session.report_progress(2, message="done")
        return types.CallToolResult(content=[])

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        await client.call_tool("any", progress_callback=take)
    assert reports == [(0.5, None, None), (1.5, 2, None), (2, None, "done")]


async def test_a_report_without_a_number_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    reports: list[float] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        many: Any = "many"
        await ctx.session.report_progress(many)
        await ctx.session.report_progress(1)
        return types.CallToolResult(content=[])

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        with caplog.at_level(logging.WARNING, "client"):
            await client.call_tool("any", progress_callback=take)
    assert reports == [1]
    assert "dropped a progress notification without a number" in caplog.text


async def test_a_report_without_anything_is_dropped() -> None:
    reports: list[float] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        nothing: Any = types.Notification[dict[str, Any] | None, str](method="notifications/progress", params=None)
        await ctx.session.send_notification(nothing, related_request_id=ctx.request_id)
        return types.CallToolResult(content=[])

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        await client.call_tool("any", progress_callback=take)
    assert reports == []


async def test_reports_after_the_answer_are_dropped() -> None:
    reports: list[float] = []
    kept: list[house.Context] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        kept.append(ctx)
        await ctx.session.report_progress(1)
        return types.CallToolResult(content=[])

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        await client.call_tool("any", progress_callback=take)
        await kept[0].session.report_progress(2)
    assert reports == [1]


async def test_a_call_that_fails_has_reported_before(client: Client) -> None:
    reports: list[float] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async def climb_and_fall(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await ctx.session.report_progress(1)
        raise MCPError(-1, "fell")

    async with Client(Server("house", on_call_tool=climb_and_fall)) as client:
        with pytest.raises(MCPError, match="fell"):
            await client.call_tool("any", progress_callback=take)
    assert reports == [1]


# Callbacks that end more than themselves.


class Exit(BaseException):
    """Like `SystemExit`, which ends an event loop wherever it is raised in a task that nobody awaits."""


EXITS: list[BaseException] = [SystemExit(3), Exit(), KeyboardInterrupt()]


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("exit_", EXITS, ids=[type(exit_).__name__ for exit_ in EXITS])
async def test_what_ends_more_than_a_callback_reaches_the_caller(
    exit_: BaseException, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave(progress: float, total: float | None, message: str | None) -> None:
        raise exit_

    async with Client(house.build(), mode=mode) as client:
        with pytest.raises(type(exit_)) as raised:
            await client.call_tool("climb", {"steps": 2}, progress_callback=leave)
        assert raised.value is exit_
        assert (await client.call_tool("climb", {"steps": 2})).is_error is False
    assert caplog.text == ""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tasks do not count their cancellations")
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"], scope="function")
async def test_a_callback_that_cancels_itself_cancels_its_caller(
    anyio_backend: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave(progress: float, total: float | None, message: str | None) -> None:
        raise asyncio.CancelledError("of the callback's own")

    async with Client(house.build(), mode=mode) as client:
        with pytest.raises(asyncio.CancelledError, match="of the callback's own"):
            await client.call_tool("climb", {"steps": 2}, progress_callback=leave)
    assert caplog.text == ""


async def test_what_ends_more_than_a_callback_reaches_the_caller_from_a_task_of_the_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def leave(progress: float, total: float | None, message: str | None) -> None:
        raise Exit

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.session.report_progress, 1)
            await anyio.sleep_forever()
        raise AssertionError

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        with pytest.raises(Exit):
            await client.call_tool("any", progress_callback=leave)
    assert caplog.text == ""


async def test_a_handler_that_goes_on_does_not_keep_it_from_the_caller() -> None:
    async def leave(*args: Any) -> None:
        raise Exit

    async def call_tool(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            await ctx.session.report_progress(1)
        except Exit:
            if params.name == "refuse":
                raise MCPError(-1, "no") from None
        return types.CallToolResult(content=[])

    async with Client(Server("house", on_call_tool=call_tool)) as client:
        for tool in ("refuse", "go on"):
            with pytest.raises(Exit):
                await client.call_tool(tool, progress_callback=leave)


async def test_a_message_handler_that_ends_more_than_itself_reaches_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def leave(message: object) -> None:
        raise Exit

    async with Client(house.build(), mode="2026-07-28", log_level="debug", message_handler=leave) as client:
        with pytest.raises(Exit):
            await client.call_tool("speak")
    assert caplog.text == ""


async def test_a_caller_that_is_cancelled_during_a_report_is_cancelled() -> None:
    began = anyio.Event()

    async def wait(*args: Any) -> None:
        began.set()
        await anyio.sleep_forever()

    async with Client(house.build(), mode="2026-07-28") as client, anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:

            async def cancel() -> None:
                await began.wait()
                scope.cancel()

            group.start_soon(cancel)
            await client.call_tool("climb", {"steps": 2}, progress_callback=wait)
        assert scope.cancelled_caught
        assert (await client.call_tool("climb", {"steps": 2})).is_error is False
