"""Whether a value may become part of a path.

The two checks look at a value alone and are a first filter. `safe_join` looks at the file system, and is the boundary.
"""

from pathlib import Path
from typing import Final

__all__ = ["PathEscapeError", "contains_path_traversal", "is_absolute_path", "safe_join"]

_MOST_SHOWN: Final = 100


class PathEscapeError(ValueError):
    """A path would lead out of the directory that it has to stay in, or nobody can tell where it leads."""


def contains_path_traversal(value: str) -> bool:
    """Whether a path climbs above where it starts, by `..` between slashes or backslashes.

    `a/../b` does not, `a/../../b` does. Dots within a name are no matter: `v1..v2` is fine.

    Args:
        value: The path, decoded. What is still percent-encoded in it is taken for what it looks like.
    """
    depth = 0
    for component in value.replace("\\", "/").split("/"):
        if component == "..":
            depth -= 1
            if depth < 0:
                return True
        elif component not in ("", "."):
            depth += 1
    return False


def is_absolute_path(value: str) -> bool:
    r"""Whether a path does not start from where it is joined to, on any system: `/a`, `\a`, `\\host\a`, `C:\a`, `C:a`.

    `x:y` looks like the last of these, and counts as one.

    Args:
        value: The path, decoded.
    """
    has_drive = value[1:2] == ":" and value[0].isascii() and value[0].isalpha()
    return has_drive or value.startswith(("/", "\\"))


def safe_join(base: str | Path, *parts: str) -> Path:
    """Joins paths to a directory and makes sure that the result is in it, once symbolic links are followed.

    It says where the path leads now. A link that somebody makes afterwards is not seen.

    Args:
        base: The directory. It need not exist.
        parts: Relative paths.

    Returns:
        The resolved path: the directory itself, or something in it that need not exist.

    Raises:
        PathEscapeError: A part is absolute or holds a null byte, the path leads out of the directory, or it cannot be
            resolved.
    """
    for part in parts:
        if "\0" in part:
            raise PathEscapeError(f"{_shown(part)} holds a null byte: expected a relative path")
        if is_absolute_path(part):
            raise PathEscapeError(f"{_shown(part)} is absolute: expected a relative path")
    root = Path(base).resolve()
    try:
        path = root.joinpath(*parts).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        # A loop of links, or a name that the file system cannot hold.
        raise PathEscapeError(f"{_shown(*parts)} cannot be resolved: {type(error).__name__}") from error
    if not path.is_relative_to(root):
        raise PathEscapeError(f"{_shown(*parts)} leads out of its directory, by .. or by a symbolic link")
    return path


def _shown(*parts: str) -> str:
    path = "/".join(parts)
    return repr(path if len(path) <= _MOST_SHOWN else f"{path[:_MOST_SHOWN]}...")
