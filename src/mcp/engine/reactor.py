"""What a link needs of the event loop: to be called when a descriptor is ready, and to wake the task that waits.

An asyncio loop is a `Reactor` as it stands, so nothing lies between it and a link. For trio there is
`mcp.engine.trio_reactor`.
"""

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Protocol

from mcp.engine.backend import asyncio_task

__all__ = ["Reactor", "Waiter", "current_reactor"]


class Waiter(Protocol):
    """Something that one task awaits and a callback completes."""

    def done(self) -> bool: ...

    def set_result(self, result: None, /) -> None: ...

    def __await__(self) -> Generator[Any, None, None]: ...


class Reactor(Protocol):
    """The part of `asyncio.AbstractEventLoop` that links use. Callbacks run in the loop's thread and never raise."""

    def add_reader(self, fd: int, callback: Callable[[], None], /) -> None: ...

    def remove_reader(self, fd: int, /) -> object: ...

    def add_writer(self, fd: int, callback: Callable[[], None], /) -> None: ...

    def remove_writer(self, fd: int, /) -> object: ...

    def call_soon(self, callback: Callable[[], None], /) -> object: ...

    def call_soon_threadsafe(self, callback: Callable[[], None], /) -> object: ...

    def create_future(self) -> Waiter: ...

    def time(self) -> float: ...


def current_reactor() -> Reactor:
    """The reactor of the running event loop."""
    if asyncio_task() is not None:
        return asyncio.get_running_loop()
    from mcp.engine.trio_reactor import TrioReactor

    return TrioReactor()
