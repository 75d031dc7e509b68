"""Packages whose names are loaded when they are first used (PEP 562), so that importing one costs next to nothing."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["CompleteDict", "lazy_exports"]


def lazy_exports(
    package: str, homes: Mapping[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that re-exports names from their homes.

    Args:
        package: The package's `__name__`.
        homes: The module of each name; `module:attribute` where the name there is another.
        submodules: Submodules that `dir` lists before they are loaded.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            return _submodule(package, name)
        module, _, attribute = home.partition(":")
        value = getattr(import_module(module), attribute or name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*_loaded(sys.modules[package]), *homes, *submodules})

    return get, names


def _submodule(package: str, name: str) -> Any:
    """`import mcp` alone makes `mcp.types` and its siblings reachable, as if the package had imported them."""
    full_name = f"{package}.{name}"
    if not name.startswith("_"):
        try:
            return import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


class CompleteDict(ModuleType):
    """The class of a lazy package in whose `vars()` programs look names up: asked for it, it loads what it exports."""

    @property
    def __dict__(self) -> dict[str, Any]:
        loaded = _loaded(self)
        for name in loaded.get("__all__", ()):
            if name not in loaded:
                getattr(self, name)
        return loaded

    def __dir__(self) -> list[str]:
        """The inherited way of it looks into `__dict__`."""
        return _loaded(self)["__dir__"]()


def _loaded(module: ModuleType) -> dict[str, Any]:
    """The names that a module has by now."""
    return vars(ModuleType)["__dict__"].__get__(module)
