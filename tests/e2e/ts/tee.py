"""Runs a command and notes what passes through its standard streams.

    python tee.py FOLDER COMMAND [ARGUMENT...]

Appends the bytes sent to the command to `FOLDER/to_server` and its answers to `FOLDER/from_server`.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path


def copy(source: int, target: int, note: Path) -> None:
    """Copies bytes from descriptor to descriptor until the source ends, then closes the target."""
    with note.open("ab", buffering=0) as notes:
        while chunk := os.read(source, 65536):
            notes.write(chunk)
            os.write(target, chunk)
    os.close(target)


def main() -> int:
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    to_child, child_stdin = os.pipe()
    child_stdout, from_child = os.pipe()
    with subprocess.Popen(command, stdin=to_child, stdout=from_child) as child:
        os.close(to_child)
        os.close(from_child)
        threading.Thread(target=copy, args=(0, child_stdin, folder / "to_server"), daemon=True).start()
        copy(child_stdout, 1, folder / "from_server")
        return child.wait()


if __name__ == "__main__":
    sys.exit(main())
