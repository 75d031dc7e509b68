"""What a handler does to its task, or to context variables, does not reach whoever awaits it."""

import asyncio
import builtins
import contextvars
import importlib
import sys
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import anyio
import pytest

from mcp.engine.isolation import HandlerExit, contained, in_own_context

needs_cancel_counts = pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio counts cancellations since 3.11")


def group(*errors: BaseException) -> BaseException:
    """An exception group; Python 3.10 has them from a package that anyio needs."""
    kind: Any = getattr(builtins, "BaseExceptionGroup", None)
    if kind is None:
        kind = importlib.import_module("exceptiongroup").BaseExceptionGroup
    return kind("several", errors)


async def raising(error: BaseException) -> None:
    raise error


# Exits.


@pytest.mark.anyio
async def test_a_result_and_an_ordinary_exception_pass_through() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    assert await contained(add, 1, 2) == 3
    with pytest.raises(ValueError, match="wrong"):
        await contained(raising, ValueError("wrong"))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "exit_",
    [
        SystemExit(3),
        group(ValueError(), SystemExit(3)),
        group(group(SystemExit(3))),
    ],
)
async def test_an_exit_ends_nothing_but_the_call(exit_: BaseException) -> None:
    with pytest.raises(HandlerExit, match=f"the handler raised {type(exit_).__name__}") as raised:
        await contained(raising, exit_)
    assert raised.value.__cause__ is exit_


@pytest.mark.anyio
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), group(ValueError(), KeyboardInterrupt())])
async def test_ctrl_c_goes_through(interrupt: BaseException) -> None:
    with pytest.raises(type(interrupt)):
        await contained(raising, interrupt)


@needs_cancel_counts
def test_a_cancellation_that_nobody_asked_for_is_the_handlers_own() -> None:
    async def main() -> None:
        for own in (asyncio.CancelledError(), group(asyncio.CancelledError())):
            with pytest.raises(HandlerExit) as raised:
                await contained(raising, own)
            assert raised.value.__cause__ is own

    asyncio.run(main())


@needs_cancel_counts
def test_awaiting_a_task_that_somebody_else_cancelled_is_the_handlers_own_cancellation() -> None:
    async def main() -> None:
        async def handler() -> None:
            task = asyncio.get_running_loop().create_task(asyncio.sleep(60))
            task.cancel()
            await task

        with pytest.raises(HandlerExit, match="the handler cancelled itself"):
            await contained(handler)

    asyncio.run(main())


@pytest.mark.anyio
async def test_a_cancellation_from_outside_goes_through() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await contained(anyio.sleep_forever)
    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_a_task_group_that_is_cancelled_from_outside_goes_through() -> None:
    async def handler() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        scope.cancel()
        await contained(handler)
    assert scope.cancelled_caught


@needs_cancel_counts
def test_a_group_that_holds_a_cancellation_from_outside_goes_through() -> None:
    async def main() -> None:
        raised: list[BaseException] = []

        async def handler() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError as cancelled:
                raised.append(group(cancelled, ValueError()))
                raise raised[0] from None

        task = asyncio.get_running_loop().create_task(contained(handler))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.exception() is raised[0]

    asyncio.run(main())


@pytest.mark.anyio
async def test_a_handler_that_exits_while_it_is_cancelled_does_not_end_the_process() -> None:
    async def handler() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise SystemExit(3)

    with anyio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(HandlerExit):
            await contained(handler)


@types.coroutine
def pause(value: object) -> Generator[object, Any, Any]:
    """Hands `value` to whoever drives the coroutine, and returns what comes back."""
    return (yield value)


def test_a_coroutine_that_is_closed_ends_quietly() -> None:
    ended: list[str] = []

    async def handler() -> None:
        try:
            await pause("waiting")
        finally:
            ended.append("closed")

    coroutine = contained(handler)
    assert coroutine.send(None) == "waiting"
    coroutine.close()
    assert ended == ["closed"]


# Context variables.

who = contextvars.ContextVar("who", default="nobody")


@pytest.mark.anyio
async def test_a_context_variable_set_inside_is_gone_outside() -> None:
    async def handler() -> str:
        seen = who.get()
        who.set("handler")
        await anyio.sleep(0)
        return f"{seen}, {who.get()}"

    who.set("caller")
    assert await in_own_context(handler()) == "caller, handler"
    assert who.get() == "caller"


@pytest.mark.anyio
async def test_a_task_started_inside_sees_what_was_set_inside() -> None:
    seen: list[str] = []

    async def look() -> None:
        seen.append(who.get())

    async def handler() -> None:
        who.set("handler")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)

    await in_own_context(handler())
    assert seen == ["handler"]


@pytest.mark.anyio
async def test_it_runs_in_the_callers_own_task() -> None:
    async def handler() -> int:
        await anyio.sleep(0)
        return anyio.get_current_task().id

    assert await in_own_context(handler()) == anyio.get_current_task().id


@pytest.mark.anyio
async def test_contexts_nest() -> None:
    async def inner() -> str:
        who.set("inner")
        await anyio.sleep(0)
        return who.get()

    async def outer() -> tuple[str, str]:
        who.set("outer")
        return await in_own_context(inner()), who.get()

    assert await in_own_context(outer()) == ("inner", "outer")


@pytest.mark.anyio
async def test_a_cancellation_reaches_inside_and_comes_back_out() -> None:
    log: list[str] = []

    async def handler() -> None:
        who.set("handler")
        try:
            await anyio.sleep_forever()
        finally:
            log.append(who.get())

    with anyio.move_on_after(0) as scope:
        await in_own_context(handler())
    assert scope.cancelled_caught
    assert log == ["handler"]


@pytest.mark.anyio
async def test_an_exception_comes_out() -> None:
    with pytest.raises(ValueError, match="wrong"):
        await in_own_context(raising(ValueError("wrong")))


def drive(make: Callable[[], Coroutine[Any, Any, Any]]) -> Generator[Any, Any, Any]:
    async def await_it(awaitable: Awaitable[Any]) -> Any:
        return await awaitable

    return await_it(in_own_context(make())).__await__()


def test_every_value_and_exception_passes_both_ways() -> None:
    async def handler() -> str:
        received = [await pause(1)]
        try:
            await pause(2)
        except KeyError as error:
            received.append(str(error))
        received.append(await pause(3))
        return ", ".join(received)

    driven = drive(handler)
    assert driven.send(None) == 1
    assert driven.send("a") == 2
    assert driven.throw(KeyError("b")) == 3
    with pytest.raises(StopIteration) as done:
        driven.send("c")
    assert done.value.value == "a, 'b', c"


def test_closing_it_closes_what_runs_inside_in_its_own_context() -> None:
    log: list[str] = []

    async def handler() -> None:
        who.set("handler")
        try:
            await pause(1)
        finally:
            log.append(who.get())

    driven = drive(handler)
    driven.send(None)
    driven.close()
    assert log == ["handler"]
