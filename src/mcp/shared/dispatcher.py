"""An import path that programs use; the home of the name is `mcp.engine.progress`."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.engine.progress import ProgressFnT as ProgressFnT

__all__ = ["ProgressFnT"]

# Lazily, since what is shared stands below the engine.
__getattr__, __dir__ = lazy_exports(__name__, {"ProgressFnT": "mcp.engine.progress"})
