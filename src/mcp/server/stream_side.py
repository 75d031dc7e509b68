"""A server on a link: both eras on one pipe, each message deciding for itself."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp.engine.backend import open_spawner
from mcp.engine.duplex import Duplex
from mcp.engine.link import Link
from mcp.engine.outlet import LinkOutlet
from mcp.engine.streampair import PairOutlet, StreamPairLink
from mcp.server.server_side import ServerSide
from mcp.shared.exceptions import TransportError

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.runtime import ServerRuntime

__all__ = ["CLOSING_GRACE_SECONDS", "serve_link"]

logger = logging.getLogger(__name__)

CLOSING_GRACE_SECONDS: Final = 1.0
"""How long requests may go on after the client has closed its side, so that what was piped in is still answered."""


async def serve_link(
    runtime: ServerRuntime,
    link: Link,
    options: InitializationOptions,
    *,
    raise_exceptions: bool = False,
    tell_exceptions: bool = False,
) -> None:
    """Serves one connection until the client closes its side.

    Args:
        runtime: The server, its lifespan entered.
        link: The connection; it is left open.
        options: What is announced to clients of the handshake revisions.
        raise_exceptions: End the connection with the first exception that a handler raised, once it is answered.
        tell_exceptions: Tell the client what a handler raised, instead of "Internal server error".
    """
    failures: list[Exception] = []
    reading = anyio.CancelScope()

    def failed(failure: Exception) -> None:
        if raise_exceptions:
            failures.append(failure)
            reading.cancel()

    outlet = PairOutlet(link) if isinstance(link, StreamPairLink) else LinkOutlet(link)
    async with open_spawner() as spawner:
        side = ServerSide(runtime, lambda: options, failed if raise_exceptions or tell_exceptions else None)
        duplex = Duplex(outlet, spawner, side)
        side.session.connection.standalone = partial(_notify, duplex)
        with reading:
            await duplex.read(link)
        await duplex.finish(CLOSING_GRACE_SECONDS)
    if failures:
        raise failures[0]


async def _notify(duplex: Duplex, method: str, params: dict[str, Any] | None) -> None:
    try:
        await duplex.notify(method, params)
    except TransportError as error:
        logger.debug("dropped %s: %s", method, error)
