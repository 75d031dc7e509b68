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


@contextmanager
def waiting_on_a_person() -> Generator[None, None, None]:
    """Stops the clock of the request that this is done for; it goes on with what was left of its time."""
    stopped = [(scope, scope.deadline - anyio.current_time()) for scope in _running.get()]
    for scope, _ in stopped:
        scope.deadline = math.inf
    try:
        yield
    finally:
        for scope, left in stopped:
            scope.deadline = anyio.current_time() + left
