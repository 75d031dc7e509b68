"""TLS handshakes that end early."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

__all__ = ["HandshakeTrace"]


class HandshakeTrace:
    """Closes the connection of one request when its TLS handshake is cancelled: its extension `trace`.

    By itself httpx2 closes a connection whose handshake fails or exceeds its own limit, and leaves one whose handshake
    is cancelled from outside to the garbage collector.

    Args:
        also: A trace that the request has already, which is told as well.
    """

    def __init__(self, also: Callable[[str, Mapping[str, Any]], Awaitable[None]] | None = None) -> None:
        self._also = also
        self._stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Is told of what happens on the connection."""
        # What stands before the dots says through what kind of proxy. Through one, there may be a handshake with each.
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info["return_value"]
        elif event.endswith(".start_tls.failed") and self._stream is not None:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
        if self._also is not None:
            await self._also(event, info)
