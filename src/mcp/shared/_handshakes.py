"""TLS handshakes that end early."""

from collections.abc import Mapping
from typing import Any

import anyio

__all__ = ["HandshakeTrace"]


class HandshakeTrace:
    """Closes the connection of one request when its TLS handshake is cancelled: its extension `trace`.

    By itself httpx2 closes a connection whose handshake fails or exceeds its own limit, and leaves one whose handshake
    is cancelled from outside to the garbage collector.
    """

    def __init__(self) -> None:
        self._stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Is told of what happens on the connection."""
        if event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]
        elif event == "connection.start_tls.failed" and self._stream is not None:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()
        elif event == "connection.start_tls.complete":
            self._stream = None
