"""The package `mcp_types`: the names of `mcp.types` under another import path, the same objects.

It lies in here, and takes that name when `mcp` is imported, so that no file of ours has a path that the distribution
`mcp-types` of another release owns: pip would delete ours with it. docs/architecture.md tells the whole story.
"""

import sys
import warnings
from importlib import import_module
from typing import Any

NAME = "mcp_types"


def __getattr__(name: str) -> Any:
    try:
        value = globals()[name] = getattr(import_module("mcp.types"), name)
    except AttributeError:
        raise AttributeError(f"module {NAME!r} has no attribute {name!r}") from None
    return value


def __dir__() -> list[str]:
    return dir(import_module("mcp.types"))


def _take_name() -> None:
    """Makes this package `mcp_types`, also where pip left the files of another release's behind."""
    present = sys.modules.get(NAME)
    # Our own module of that name is no package, and imports `mcp` in order to be replaced here.
    if present is not None and hasattr(present, "__path__") and present.__file__ != __file__:
        warnings.warn(
            f"{present.__file__} is part of another release of mcp, and was imported before this one: its classes are "
            "not those of mcp.types. Install the mcp-types of this release, or import mcp first",
            RuntimeWarning,
            stacklevel=2,
        )
        for name in [name for name in sys.modules if name.startswith(f"{NAME}.")]:
            del sys.modules[name]
    sys.modules[NAME] = sys.modules[__name__]


_take_name()
