"""Readiness callbacks on trio, by one system task for each watched descriptor.

System tasks, because a link belongs to no nursery: it is opened and closed by whoever holds it.
"""

import logging
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import trio

__all__ = ["TrioReactor"]

logger = logging.getLogger(__name__)

_Wait = Callable[[int], Awaitable[None]]
_Callback = Callable[[], None]


class TrioReactor:
    """A `Reactor` for the running trio loop."""

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._readers: dict[int, _Callback] = {}
        self._writers: dict[int, _Callback] = {}

    def add_reader(self, fd: int, callback: _Callback, /) -> None:
        self._readers[fd] = callback
        trio.lowlevel.spawn_system_task(_watch, trio.lowlevel.wait_readable, self._readers, fd, callback)

    def remove_reader(self, fd: int, /) -> None:
        _unwatch(self._readers, fd)

    def add_writer(self, fd: int, callback: _Callback, /) -> None:
        self._writers[fd] = callback
        trio.lowlevel.spawn_system_task(_watch, trio.lowlevel.wait_writable, self._writers, fd, callback)

    def remove_writer(self, fd: int, /) -> None:
        _unwatch(self._writers, fd)

    def call_soon(self, callback: _Callback, /) -> None:
        self._token.run_sync_soon(_guarded, callback)

    call_soon_threadsafe = call_soon

    def time(self) -> float:
        return trio.current_time()

    def create_future(self) -> "_EventWaiter":
        return _EventWaiter()


class _EventWaiter:
    def __init__(self) -> None:
        self._event = trio.Event()

    def done(self) -> bool:
        return self._event.is_set()

    def set_result(self, result: None, /) -> None:
        self._event.set()

    def __await__(self) -> Generator[Any, None, None]:
        return self._event.wait().__await__()


async def _watch(wait: _Wait, registry: dict[int, _Callback], fd: int, callback: _Callback) -> None:
    while registry.get(fd) is callback:
        try:
            await wait(fd)
        except trio.ClosedResourceError:
            return
        if registry.get(fd) is callback:
            _guarded(callback)


def _unwatch(registry: dict[int, _Callback], fd: int) -> None:
    if registry.pop(fd, None) is not None:
        # The descriptor may be closed and its number be taken again before the watching task runs next.
        trio.lowlevel.notify_closing(fd)


def _guarded(callback: _Callback) -> None:
    # An exception out of a system task would end the whole run.
    try:
        callback()
    except Exception:
        logger.exception("a callback of the event loop failed")
