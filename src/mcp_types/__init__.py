"""The names of `mcp.types`, under the import path of the types-only distribution: the same objects."""

from typing import TYPE_CHECKING

from mcp import types
from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.types import *  # noqa: F403
else:
    __all__ = types.__all__

    __getattr__, __dir__ = lazy_exports(
        __name__, dict.fromkeys(__all__, "mcp.types"), ("jsonrpc", "methods", "version")
    )
