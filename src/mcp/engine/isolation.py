"""Keeps what a handler does to its task from reaching whoever awaits it."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

import anyio

from mcp.engine.backend import asyncio_task, cancelled_itself, delivered_cancels, pending_cancels

__all__ = ["HandlerExit", "contained", "in_own_context", "original"]

T = TypeVar("T")


class HandlerExit(Exception):
    """A handler raised something that would have ended its task or the process: it ended that one request instead.

    The original is the `__cause__`.
    """


def original(failure: BaseException) -> BaseException:
    """What a handler raised: the cause of a `HandlerExit`, else the failure itself."""
    return failure.__cause__ or failure if isinstance(failure, HandlerExit) else failure


async def contained(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Awaits `function(*args)`, and turns exits that are the handler's own doing into `HandlerExit`.

    What is contained: a `CancelledError` that nobody asked for, `SystemExit`, and exception groups that hold them. A
    cancellation from outside goes through untouched, and so do `KeyboardInterrupt` and the end of the coroutine itself.
    """
    task = asyncio_task()
    before = delivered_cancels(task)
    try:
        awaitable = function(*args)
        args = ()
        return await awaitable
    except (Exception, KeyboardInterrupt):
        raise
    except GeneratorExit as exit_:
        if _is_being_closed(task):
            raise
        raise HandlerExit("the handler raised GeneratorExit") from exit_
    except anyio.get_cancelled_exc_class() as cancelled:
        if not cancelled_itself(task, before):
            raise
        raise HandlerExit("the handler cancelled itself") from cancelled
    except BaseException as exit_:
        from_outside: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
        if task is None or pending_cancels(task) > before:
            # A cancelled task group may answer with a group that has the cancellation among its failures.
            from_outside += (anyio.get_cancelled_exc_class(),)
        if _holds(exit_, from_outside):
            raise
        raise HandlerExit(f"the handler raised {type(exit_).__name__}") from exit_


def _is_being_closed(task: "asyncio.Task[Any] | None") -> bool:
    """Whether a coroutine that began in `task` is not run by its event loop any more, but closed by whoever drops it.

    asyncio knows no task then, or another; trio closes only what no event loop runs.
    """
    try:
        anyio.get_current_task()
    except RuntimeError:
        return True
    return asyncio_task() is not task


def _holds(error: BaseException, kinds: tuple[type[BaseException], ...]) -> bool:
    nested: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return isinstance(error, kinds) or any(_holds(one, kinds) for one in nested)


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
