"""The names of `mcp.types`, under the import path of the types-only distribution: the same objects."""

from importlib import import_module
from typing import TYPE_CHECKING

from mcp import types

if TYPE_CHECKING:
    from mcp.types import *  # noqa: F403
else:
    __all__ = types.__all__

    def __getattr__(name: str) -> object:
        if name in __all__:
            return getattr(types, name)
        if name in ("jsonrpc", "methods", "version"):
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(types)})
