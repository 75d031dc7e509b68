"""Files of the user: what a path is, and one writer at a time."""

import os
import stat
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcp.cli.failure import CommandError

__all__ = ["PATIENCE", "locked", "not_a_file"]

PATIENCE: Final = 10.0
"""For how many seconds another command may hold a file. What it does with it takes a few milliseconds."""

# On Windows, also a file that is being deleted just now.
_TAKEN: Final = (FileExistsError, PermissionError) if sys.platform == "win32" else (FileExistsError,)

_KINDS: Final = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a FIFO (a named pipe), and no file"),
    (stat.S_ISSOCK, "is a socket, and no file"),
    (stat.S_ISCHR, "is a device, and no file"),
    (stat.S_ISBLK, "is a device, and no file"),
)


def not_a_file(path: Path) -> str | None:
    """What a path is instead of a regular file: `is a folder`, for example; None where it is one.

    Args:
        path: The path. It is not opened: a FIFO would wait for somebody who writes into it.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if stat.S_ISREG(mode):
        return None
    return next((kind for fits, kind in _KINDS if fits(mode)), "is no file")


@contextmanager
def locked(file: Path, patience: float = PATIENCE) -> Generator[None]:
    """Keeps other commands from changing a file meanwhile, by a file beside it that exists as long.

    Args:
        file: The file, which need not exist.
        patience: For how many seconds to wait for another command.

    Raises:
        CommandError: Another command takes longer, or nothing can be written beside the file.
    """
    lock = file.with_name(f".{file.name}.lock")
    until = time.monotonic() + patience
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except _TAKEN:
            if time.monotonic() > until:
                raise CommandError(
                    f"{file} is left as it is: another command is changing it. If there is none, it was killed: "
                    f"remove {lock}"
                ) from None
            time.sleep(0.02)
        except OSError as error:
            raise CommandError(f"{file} cannot be written, and is left as it is: {error}") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
