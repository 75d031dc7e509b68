"""The time limit of a request, which stands still while a person does their part.

A request that needs authorization may wait for somebody to sign in. That is none of the server's time.
"""

import math
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio

__all__ = ["limited", "waiting_on_a_person"]

_running: ContextVar[tuple[anyio.CancelScope, ...]] = ContextVar("mcp_client_request_limits", default=())


@contextmanager
def limited(scope: anyio.CancelScope) -> Generator[None, None, None]:
    """Lets `waiting_on_a_person` stop the clock of a scope, within the block and for this task."""
    token = _running.set((*_running.get(), scope))
    try:
        yield
    finally:
        _running.reset(token)


class _Clock:
    """The time limits of one request."""

    def __init__(self) -> None:
        self._limits = _running.get()
        self._left: list[float] | None = None

    def stop(self) -> None:
        now = anyio.current_time()
        self._left = [scope.deadline - now for scope in self._limits]
        for scope in self._limits:
            scope.deadline = math.inf

    def go_on(self) -> None:
        """Goes on with what was left of its time, if it was stopped."""
        for scope, left in zip(self._limits, self._left or (), strict=False):
            scope.deadline = anyio.current_time() + left
        self._left = None


@contextmanager
def waiting_on_a_person() -> Generator[None, None, None]:
    """Stops the clock of the request that this is done for; it goes on with what was left of its time."""
    clock = _Clock()
    clock.stop()
    try:
        yield
    finally:
        clock.go_on()


class Queue:
    """Requests that wait for one which may have to ask a person: their clocks stop only for as long as it does."""

    def __init__(self) -> None:
        self._waiting: list[_Clock] = []
        self._asking = False

    @contextmanager
    def waiting(self) -> Generator[None, None, None]:
        """Within it a request waits for the one."""
        clock = _Clock()
        if self._asking:
            clock.stop()
        self._waiting.append(clock)
        try:
            yield
        finally:
            self._waiting.remove(clock)
            clock.go_on()

    @contextmanager
    def asking(self) -> Generator[None, None, None]:
        """Within it the one waits for a person."""
        self._asking = True
        for clock in self._waiting:
            clock.stop()
        try:
            with waiting_on_a_person():
                yield
        finally:
            self._asking = False
            for clock in self._waiting:
                clock.go_on()
