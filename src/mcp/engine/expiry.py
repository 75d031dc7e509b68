"""The end of requests that nobody set a limit for: one timer for a whole connection, on asyncio."""

import asyncio
import math
from collections.abc import Mapping
from typing import Any, Protocol

from mcp.engine.backend import asyncio_task

__all__ = ["Expiry"]


class Expiring(Protocol):
    """A request that waits for its answer.

    Attributes:
        bound: How long it may wait, in seconds.
        deadline: When that is over, on the loop's clock.
    """

    bound: float
    deadline: float

    def expire(self) -> None:
        """Fails it: no answer came."""
        ...


class Expiry:
    """Fails requests that wait beyond their bound.

    A cancel scope or a timer for each would cost more than all the rest of a call over a pipe. Here a request costs a
    look at the clock; the timer stands at the earliest deadline, and looks at those that still wait.

    Args:
        waiting: The requests that wait, and only those; the owner adds and removes them.
    """

    __slots__ = ("_due", "_loop", "_timer", "_waiting")

    def __init__(self, waiting: Mapping[Any, Expiring]) -> None:
        self._waiting = waiting
        self._loop = None if asyncio_task() is None else asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf

    def watches(self, request: Expiring, bound: float) -> bool:
        """Sets the bound of a request that waits, in seconds; False on trio, where the caller has to see to it."""
        if self._loop is None:
            return False
        request.bound = bound
        request.deadline = self._loop.time() + bound
        if request.deadline < self._due:
            self._set(self._loop, request.deadline)
        return True

    def close(self) -> None:
        """Stops the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._due = math.inf

    def _set(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.close()
        if due < math.inf:
            self._due = due
            self._timer = loop.call_at(due, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for request in self._waiting.values():
            if request.deadline <= now:
                request.deadline = math.inf
                request.expire()
        self._set(loop, min((request.deadline for request in self._waiting.values()), default=math.inf))
