"""An import path that programs use; the home of the names is `mcp.engine.streams`."""

from typing import TYPE_CHECKING

from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.engine.streams import ReadStream as ReadStream
    from mcp.engine.streams import WriteStream as WriteStream

__all__ = ["ReadStream", "WriteStream"]

# Lazily, since what is shared stands below the engine.
__getattr__, __dir__ = lazy_exports(__name__, dict.fromkeys(__all__, "mcp.engine.streams"))
