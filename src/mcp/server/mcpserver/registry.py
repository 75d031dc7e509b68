"""What the managers of tools, resources and prompts have in common."""

from collections.abc import Callable
from logging import Logger
from threading import RLock
from typing import Any, TypeVar

from mcp.server.mcpserver.duplicates import DuplicatePolicy, takes_over
from mcp.server.mcpserver.late import LateModel

__all__ = ["Registry"]

ItemT = TypeVar("ItemT")


class Registry:
    """Things by name, which several threads may add and remove.

    Args:
        logger: Where warnings of duplicates go.
        on_duplicate: What happens when a name is taken; None leaves that to whether there are warnings.

    Attributes:
        changed: Called after each change.
        is_served: Whether clients can see what is registered.
    """

    def __init__(self, logger: Logger, on_duplicate: DuplicatePolicy | None) -> None:
        self.changed: Callable[[], None] = _nothing
        self.is_served: Callable[[], bool] = _never
        self._logger = logger
        self._on_duplicate: DuplicatePolicy | None = on_duplicate
        # Held while a warning is logged, by a handler that may register something itself.
        self._lock = RLock()

    def _admit(self, item: Any) -> None:
        """Refuses what no client could be told of, once there are clients: before, it may name what comes later."""
        if isinstance(item, LateModel) and self.is_served():
            item.complete()

    def _put(self, items: dict[str, ItemT], key: str, item: ItemT, kind: str, warn: bool) -> ItemT:
        """Adds something, or keeps what has its name."""
        self._admit(item)
        with self._lock:
            known = items.get(key)
            if known is not None and not self._takes_over(kind, key, warn):
                return known
            items[key] = item
        self.changed()
        return item

    def _takes_over(self, kind: str, key: str, warn: bool) -> bool:
        return takes_over(self._on_duplicate or ("warn" if warn else "ignore"), kind, key, self._logger)


def _nothing() -> None:
    """Nobody wants to know."""


def _never() -> bool:
    return False
