"""Keeps what a handler does to its task from reaching whoever awaits it."""

import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

import anyio

from mcp.engine.backend import asyncio_task, pending_cancels

__all__ = ["HandlerExit", "contained", "in_own_context"]

T = TypeVar("T")


class HandlerExit(Exception):
    """A handler raised something that would have ended its task or the process: it ended that one request instead.

    The original is the `__cause__`.
    """


async def contained(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Awaits `function(*args)`, and turns exits that are the handler's own doing into `HandlerExit`.

    A cancellation from outside goes through untouched, and so does `KeyboardInterrupt`. What is contained: a
    `CancelledError` that nobody asked for, `SystemExit`, `GeneratorExit`, and exception groups that hold them.
    """
    task = asyncio_task()
    before = pending_cancels(task)
    try:
        return await function(*args)
    except (Exception, KeyboardInterrupt):
        raise
    except anyio.get_cancelled_exc_class() as cancelled:
        if task is None or not hasattr(task, "cancelling") or pending_cancels(task) > before:
            raise
        raise HandlerExit("the handler cancelled itself") from cancelled
    except BaseException as exit_:
        if pending_cancels(task) > before or _holds_cancellation(exit_):
            raise
        raise HandlerExit(f"the handler raised {type(exit_).__name__}") from exit_


def _holds_cancellation(error: BaseException) -> bool:
    """On trio a cancelled nursery may answer with a group that has the cancellation among its failures."""
    if asyncio_task() is not None:
        return False
    cancelled = anyio.get_cancelled_exc_class()
    nested: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return isinstance(error, (cancelled, KeyboardInterrupt)) or any(_holds_cancellation(one) for one in nested)


class in_own_context(Generic[T]):
    """Awaits a coroutine in the same task, but in a copy of the caller's context.

    A context variable that the coroutine sets is gone when it ends, as if it had run in a task of its own, at a
    twentieth of a task's price. The coroutine is driven by delegation, as `await` itself does it: every future it
    yields goes up to the event loop untouched and every value or exception comes back down, so cancellation, timeouts
    and "the current task" mean what they always mean.
    """

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._context = contextvars.copy_context()

    def __await__(self) -> Generator[Any, Any, T]:
        run = self._context.run
        coroutine = self._coroutine
        step: Callable[[Any], Any] = coroutine.send
        argument: Any = None
        while True:
            try:
                awaited = run(step, argument)
            except StopIteration as done:
                return done.value
            try:
                argument = yield awaited
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as error:
                step, argument = coroutine.throw, error
            else:
                step = coroutine.send
