"""Settles which protocol version a client and its server speak.

Specification: basic/versioning under "Backward Compatibility", server/discover, and the transports' pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp import types
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import HTTPResponseError, MCPError, TransportError
from mcp.types.jsonrpc import (
    HEADER_MISMATCH,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["PROBE_SECONDS", "settle_version"]

PROBE_SECONDS: Final = 2.0
"""How long a server on a pipe may be silent about `server/discover` before it is offered a handshake as well."""

_MODERN_ERRORS: Final = frozenset({UNSUPPORTED_PROTOCOL_VERSION, HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY})


async def settle_version(session: ClientSession, mode: str, prior: types.DiscoverResult | None) -> None:
    """Settles the version of an open session.

    Args:
        session: The session.
        mode: "auto" asks the server, and falls back to a handshake; "legacy" opens with a handshake; a version is
            taken as it is, without a message.
        prior: What the server said of itself earlier; used with a version.

    Raises:
        MCPError: The server speaks neither era, or the connection failed.
        RuntimeError: There is no revision that both know.
    """
    if mode == "legacy":
        await session.initialize()
    elif mode == "auto":
        await _Probe(session).run()
    else:
        session.adopt(prior or types.DiscoverResult(supported_versions=[mode], capabilities=types.ServerCapabilities()))


class _Probe:
    """Asks for a modern server, and offers a handshake to one that answers otherwise or not in time.

    The handshake is offered beside the question, not in its place: a server that is slow to start is not an old one,
    and the first valid answer decides.
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._settled = anyio.Event()
        self._offer = anyio.Event()
        self._failure: Exception | None = None

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask)
            group.start_soon(self._shake_hands)
            await self._settled.wait()
            group.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _ask(self) -> None:
        try:
            await self._session.discover()
        except Exception as error:
            if _is_final(error):
                self._end(error)
            self._offer.set()
        else:
            self._end(None)

    async def _shake_hands(self) -> None:
        with anyio.move_on_after(PROBE_SECONDS):
            await self._offer.wait()
        try:
            await self._session.initialize()
        except Exception as error:
            self._end(error)
        else:
            self._end(None)

    def _end(self, failure: Exception | None) -> None:
        if not self._settled.is_set():
            self._failure = failure
            self._settled.set()


def _is_final(error: Exception) -> bool:
    """Whether no handshake would change it: the connection is gone, or the server knows this era and says no."""
    if isinstance(error, HTTPResponseError) or not isinstance(error, MCPError):
        return False
    if isinstance(error, TransportError):
        return True
    if error.code not in _MODERN_ERRORS:
        return False
    supported = error.data.get("supported") if is_object(error.data) else None
    return not (isinstance(supported, list) and any(version in supported for version in HANDSHAKE_PROTOCOL_VERSIONS))
