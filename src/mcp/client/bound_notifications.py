"""The notifications that extensions of a client take."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.types.methods import find_method

if TYPE_CHECKING:
    from mcp.client.extension import NotificationBinding

__all__ = ["BoundNotifications"]

logger = logging.getLogger("client")


class BoundNotifications:
    """Notifications that have a taker.

    Args:
        bindings: Their takers.

    Raises:
        ValueError: Two take the same notification.
    """

    def __init__(self, bindings: Sequence[NotificationBinding[Any]] | None) -> None:
        self._bindings: dict[str, NotificationBinding[Any]] = {}
        for binding in bindings or ():
            if binding.method in self._bindings:
                raise ValueError(f"notification_bindings bind method {binding.method!r} more than once")
            self._bindings[binding.method] = binding

    def __bool__(self) -> bool:
        return bool(self._bindings)

    def of(self, method: str, version: str) -> NotificationBinding[Any] | None:
        """What takes a notification; None where nothing does, or where the protocol defines it.

        Args:
            method: Its method.
            version: The revision that is spoken.
        """
        binding = self._bindings.get(method)
        return None if binding is None or _is_core(method, version) else binding

    def warn_of_shadowed(self, version: str) -> None:
        """Logs which of them will never be used, since the protocol defines them.

        Args:
            version: The revision that is spoken.
        """
        for method in self._bindings:
            if _is_core(method, version):
                logger.warning(
                    "the notification binding for %r is never used: the protocol defines it in %s", method, version
                )


def _is_core(method: str, version: str) -> bool:
    spec = find_method(method, sender="server", version=version)
    return spec is not None and spec.kind == "notification"
