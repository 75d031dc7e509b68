"""The names of `mcp.types`, under the import path of the types-only distribution: the same objects."""

from importlib import import_module
from typing import TYPE_CHECKING

from mcp import types
from mcp.lazy import lazy_exports

if TYPE_CHECKING:
    from mcp.types import *  # noqa: F403
else:
    __all__ = types.__all__

    _load, __dir__ = lazy_exports(__name__, dict.fromkeys(__all__, "mcp.types"))

    def __getattr__(name: str) -> object:
        return import_module(f"{__name__}.{name}") if name in ("jsonrpc", "methods", "version") else _load(name)
