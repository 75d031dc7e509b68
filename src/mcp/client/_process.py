"""What a transport needs to know about a server process, and to do with it, whatever the system."""

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import IO, Final

import anyio

__all__ = ["ServerProcess", "until"]

_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05


class ServerProcess(ABC):
    """A process that leads a group: itself, and what it starts.

    Attributes:
        stdin: The descriptor that leads to its stdin. This and the next two belong to whoever takes them.
        stdout: The descriptor of its stdout.
        stderr: The descriptor of its stderr.
        exit_code: How it ended; negative for a signal; None while it runs, or if that is unknown.
    """

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self.stdin = _take(popen.stdin)
        self.stdout = _take(popen.stdout)
        self.stderr = _take(popen.stderr)
        self.exit_code: int | None = None

    @abstractmethod
    async def exited(self) -> None:
        """Waits until the process itself has exited; `exit_code` is known then."""

    @abstractmethod
    async def gone(self) -> None:
        """Waits until the process and its group have exited."""

    @abstractmethod
    def terminate(self) -> None:
        """Tells the process and its group to exit."""

    @abstractmethod
    def kill(self) -> None:
        """Ends the process and its group at once."""

    @abstractmethod
    def release(self) -> None:
        """Kills what is left and lets go of the process. Takes a moment at most."""


async def until(condition: Callable[[], bool]) -> None:
    """Waits until `condition` holds, which nothing reports: looks often at first, then less."""
    pause = _FIRST_PAUSE
    while not condition():
        await anyio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _take(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    with pipe:
        return os.dup(pipe.fileno())
