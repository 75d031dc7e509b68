"""Notices that the process was told to stop.

uvicorn waits for responses that are under way, and tells them nothing: one that streams until its client leaves would
hold up the end of the process for as long. So whoever streams looks from time to time.
"""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

from mcp.engine.backend import asyncio_task

__all__ = ["ShutdownWatch", "told_to_stop"]

LOOK_SECONDS: Final = 0.5


def told_to_stop() -> bool:
    """Whether uvicorn, which serves in the main thread of this process, was told to stop. False under any other."""
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(server, "should_exit", False) is True


class ShutdownWatch:
    """Calls `stop` when the process was told to stop. One timer serves all streams of an endpoint.

    Args:
        needed: Whether there is anything to stop; it looks no further where there is not.
        stop: Ends the streams. Never raises.
    """

    def __init__(self, needed: Callable[[], bool], stop: Callable[[], None]) -> None:
        self._needed = needed
        self._stop = stop
        self._looking = False

    def start(self) -> None:
        """Looks from now on. Does nothing where it looks already, and on trio, where uvicorn does not run."""
        if not self._looking and asyncio_task() is not None:
            self._looking = True
            self._look_later()

    def _look_later(self) -> None:
        asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if not self._needed():
            self._looking = False
            return
        if told_to_stop():
            self._stop()
        self._look_later()
