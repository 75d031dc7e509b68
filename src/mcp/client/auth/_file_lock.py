"""A lock between processes, which the system takes back from a process that dies."""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock"]

_POLL_SECONDS: Final = 0.01


class FileLock:
    """A lock on a file of its own, which stays: whoever removed it could let two in.

    Args:
        path: The file. It is created where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Takes the lock, without waiting.

        Returns:
            Whether it was free.
        """
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Gives it back."""
        if self._descriptor is not None:
            _unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def held(self, timeout: float) -> Generator[None]:
        """Holds the lock. Blocks the thread until it is free.

        Args:
            timeout: For how long, in seconds.

        Raises:
            TimeoutError: It was not.
        """
        deadline = time.monotonic() + timeout
        while not self.acquire():
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Another process has held {self._path} for {timeout:g} s")
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            self.release()


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
