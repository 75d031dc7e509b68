"""B05: a client that is cancelled ends its server all the same."""

import asyncio
import sys
from pathlib import Path

import anyio
import pytest
from connections import SECONDS_OF_PATIENCE, eventually, exists, python, subprocess_server, text_of

from mcp import Client
from mcp.client.stdio import stdio_client

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asks for processes by their ids"),
]

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def test_b05_a_call_that_is_cancelled_from_outside_leaves_no_process(mode: str) -> None:
    """A time limit round the whole client ended the client in mid-call, and the server ran on."""
    pids: list[int] = []

    with anyio.move_on_after(SECONDS_OF_PATIENCE) as scope:

        async def cancel(progress: float, total: float | None, message: str | None) -> None:
            pids.append(int(message or 0))
            scope.cancel()

        async with Client(subprocess_server(), mode=mode) as client:
            await client.call_tool("nap", progress_callback=cancel)

    assert scope.cancelled_caught
    assert pids
    assert not exists(pids[0])


@asyncio_only
async def test_b05_a_deadline_in_mid_call_leaves_no_process(mode: str) -> None:
    """The same with a deadline, which comes at any point of a call."""
    pid = 0

    with anyio.move_on_after(3) as scope:
        async with Client(subprocess_server(), mode=mode) as client:
            pid = int(await text_of(client, "pid"))
            await client.call_tool("nap")

    assert scope.cancelled_caught
    assert not pid or not exists(pid)


@asyncio_only
async def test_b05_a_cancelled_task_leaves_no_process(mode: str) -> None:
    """The same as asyncio programs do it: by the cancellation of a task, and of one that is cancelled twice."""
    pids: list[int] = []

    async def use() -> None:
        async with Client(subprocess_server(), mode=mode) as client:
            pids.append(int(await text_of(client, "pid")))
            await client.call_tool("nap")

    for cancels in (1, 2):
        task = asyncio.create_task(use())

        async def is_in_call(started: int = cancels) -> bool:
            return len(pids) == started

        await eventually(is_in_call)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [pid for pid in pids if exists(pid)] == []


@asyncio_only
async def test_b05_a_cancelled_connect_leaves_no_process(mode: str, tmp_path: Path) -> None:
    """A server that never answers was left alone when its client gave up waiting."""
    mark = tmp_path / "pid"
    silent = python("import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)", str(mark))

    async def has_started() -> bool:
        return mark.exists() and bool(mark.read_text())

    async with anyio.create_task_group() as group:

        async def connect() -> None:
            async with Client(stdio_client(silent, shutdown_grace=0), mode=mode):
                pytest.fail("nothing answered")

        group.start_soon(connect)
        await eventually(has_started)
        group.cancel_scope.cancel()

    assert not exists(int(mark.read_text()))
