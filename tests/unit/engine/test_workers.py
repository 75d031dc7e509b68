"""Worker threads."""

import asyncio
import contextvars
import functools
import gc
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from mcp.engine import workers
from mcp.engine.workers import run_in_worker, worker_threads

pytestmark = pytest.mark.anyio

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])
PATIENCE = 20.0

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")


async def eventually(condition: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.005)


async def test_which_threads_are_in_use(anyio_backend: str) -> None:
    """A new anyio may take our own away without a sign; this is the sign."""
    assert worker_threads() == ("own" if anyio_backend == "asyncio" else "anyio")
    name = await run_in_worker(lambda: threading.current_thread().name)
    assert (name == "mcp-worker") == (anyio_backend == "asyncio")


async def test_a_call_runs_elsewhere_and_returns() -> None:
    assert await run_in_worker(threading.get_ident) != threading.get_ident()
    assert await run_in_worker(lambda: None) is None


@pytest.mark.parametrize("error", [LookupError("a"), SystemExit(3), KeyboardInterrupt(), StopIteration(1)])
async def test_what_it_raises_comes_through(error: BaseException) -> None:
    def fail() -> None:
        raise error

    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    with pytest.raises(expected) as caught:
        await run_in_worker(fail)
    assert caught.value is error or caught.value.__cause__ is error or isinstance(error, StopIteration)
    assert await run_in_worker(lambda: 1) == 1


async def test_a_coroutine_is_returned_as_any_other_value() -> None:
    async def later() -> int:
        return 1

    assert await (await run_in_worker(later)) == 1


async def test_the_context_goes_along_and_what_is_set_there_stays_there() -> None:
    def look() -> str:
        seen = variable.get()
        variable.set("changed")
        return seen

    variable.set("mine")
    assert await run_in_worker(look) == "mine"
    assert variable.get() == "mine"


async def test_the_event_loop_can_be_reached_from_inside() -> None:
    async def on_the_loop(value: int) -> tuple[int, int]:
        await anyio.sleep(0)
        return value, threading.get_ident()

    def blocking() -> tuple[Any, ...]:
        anyio.from_thread.check_cancelled()
        return anyio.from_thread.run(on_the_loop, 1), anyio.from_thread.run_sync(threading.get_ident)

    home = threading.get_ident()
    assert await run_in_worker(blocking) == ((1, home), home)


async def test_another_event_loop_can_run_inside() -> None:
    async def elsewhere() -> int:
        await anyio.sleep(0)
        return threading.get_ident()

    assert await run_in_worker(lambda: anyio.run(elsewhere)) != threading.get_ident()
    assert await run_in_worker(lambda: asyncio.run(elsewhere())) != threading.get_ident()


async def test_calls_run_at_the_same_time() -> None:
    barrier = threading.Barrier(10, timeout=PATIENCE)

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(run_in_worker, barrier.wait)


async def test_no_more_run_at_once_than_the_limiter_allows() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    before, limiter.total_tokens = limiter.total_tokens, 2
    running: list[int] = []
    most: list[int] = []

    def count() -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    try:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(run_in_worker, count)
    finally:
        limiter.total_tokens = before
    assert len(most) == 8
    assert max(most) <= 2


async def test_a_cancelled_call_is_abandoned_at_once_and_is_told() -> None:
    release, told = threading.Event(), threading.Event()

    def hang() -> None:
        release.wait(PATIENCE)
        try:
            anyio.from_thread.check_cancelled()
        except BaseException:
            told.set()
            raise

    began = time.monotonic()
    with anyio.move_on_after(0.05) as scope:
        await run_in_worker(hang)
    assert scope.cancelled_caught
    assert time.monotonic() - began < PATIENCE / 2
    release.set()
    await eventually(told.is_set)


@asyncio_only
async def test_only_so_many_threads_are_left_to_abandoned_calls(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_LEFT", 2)
    monkeypatch.setattr(anyio.to_thread.current_default_thread_limiter(), "total_tokens", 3)
    release = threading.Event()
    running: list[int] = []

    def block() -> None:
        running.append(threading.get_ident())
        release.wait(PATIENCE)

    async def give_up() -> None:
        before = len(running)
        task = asyncio.create_task(run_in_worker(block))
        await eventually(lambda: len(running) > before)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    for _ in range(4):
        await give_up()
    # Two of them have a thread to themselves, two hold one of the three that there are; one is free.
    assert await run_in_worker(lambda: 1) == 1
    await give_up()
    late = asyncio.create_task(run_in_worker(lambda: 2))
    await asyncio.sleep(0.05)
    assert not late.done()
    release.set()
    assert await late == 2
    assert [await run_in_worker(lambda: 3) for _ in range(5)] == [3] * 5


@asyncio_only
async def test_abandoned_calls_do_not_count_and_those_that_wait_go_on() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    before, limiter.total_tokens = limiter.total_tokens, 1
    release, started = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait(PATIENCE)

    try:
        hanging = asyncio.ensure_future(run_in_worker(hang))
        await eventually(started.is_set)
        never_began = asyncio.ensure_future(run_in_worker(lambda: pytest.fail("ran although nobody waits")))
        waiting = asyncio.ensure_future(run_in_worker(lambda: "next"))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        never_began.cancel()
        hanging.cancel()
        assert await asyncio.wait_for(waiting, PATIENCE) == "next"
        assert await asyncio.wait_for(run_in_worker(lambda: "more"), PATIENCE) == "more"
    finally:
        release.set()
        limiter.total_tokens = before


@asyncio_only
async def test_a_cancellation_that_comes_after_the_end_changes_nothing() -> None:
    task = asyncio.ensure_future(run_in_worker(lambda: 1))
    await asyncio.sleep(0)
    time.sleep(0.02)  # the thread has ended; the event loop does not know yet
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [await run_in_worker(lambda: 2) for _ in range(3)] == [2, 2, 2]


@asyncio_only
async def test_nothing_of_a_call_stays_behind_to_be_collected() -> None:
    class Large: ...

    def fail(large: Large) -> None:
        raise LookupError

    gc.collect()
    gc.disable()
    try:
        large = Large()
        left = weakref.ref(large)
        with suppress(LookupError):
            await run_in_worker(functools.partial(fail, large))
        del large
        await eventually(lambda: left() is None)
    finally:
        gc.enable()


@asyncio_only
async def test_idle_threads_are_used_again_and_end_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    threads = [await run_in_worker(threading.current_thread) for _ in range(5)]

    assert len(set(threads)) == 1
    await eventually(lambda: not threads[0].is_alive())
    assert await run_in_worker(lambda: "again") == "again"


def test_an_event_loop_is_not_kept_by_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def work() -> threading.Thread:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        return await run_in_worker(threading.current_thread)

    for _ in range(3):
        asyncio.run(work()).join(PATIENCE)
    gc.collect()
    assert [loop() for loop in loops] == [None, None, None]


def test_a_call_that_ends_after_its_event_loop_is_dropped() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def hang() -> None:
        threads.append(threading.current_thread())
        release.wait(PATIENCE)

    async def leave() -> None:
        task = asyncio.ensure_future(run_in_worker(hang))
        await eventually(lambda: threads)
        task.cancel()

    asyncio.run(leave())
    release.set()
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()


@pytest.mark.parametrize("exits", ["", "raise SystemExit(0)"])
def test_a_call_that_hangs_does_not_hold_up_the_end_of_the_process(exits: str) -> None:
    code = f"""
import asyncio, threading
from mcp.engine.workers import run_in_worker
async def main():
    started = threading.Event()
    task = asyncio.ensure_future(run_in_worker(lambda: (started.set(), threading.Event().wait())))
    while not started.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
    {exits}
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert ended.stderr == ""


async def test_many_calls_at_once_all_return() -> None:
    results: list[int] = []

    async def one(number: int) -> None:
        results.append(await run_in_worker(lambda: number))

    async with anyio.create_task_group() as group:
        for number in range(500):
            group.start_soon(one, number)
    assert sorted(results) == list(range(500))
