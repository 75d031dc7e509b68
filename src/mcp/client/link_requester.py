"""A client on a link: requests out, answers in, and the server's own requests to the callbacks."""

from __future__ import annotations

import logging
from typing import Any

from mcp.client.inbound import Inbound
from mcp.engine.backend import Spawner
from mcp.engine.duplex import Admission, Duplex
from mcp.engine.exchange import Exchange
from mcp.engine.link import Link
from mcp.engine.outlet import LinkOutlet
from mcp.engine.requester import CallOptions
from mcp.protocol.codec import DecodeError, Notification, Request, RequestId
from mcp.shared.exceptions import ConnectionClosedError

__all__ = ["ClientSide", "LinkRequester"]

logger = logging.getLogger("client")


class LinkRequester:
    """Sends requests over a link and awaits their answers, any number at a time.

    Args:
        link: The link.
        spawner: Owns the connection's tasks.
        inbound: Takes what the server sends unasked.
        carries_headers: Whether what is behind the link may send HTTP headers.

    Attributes:
        carries_headers: The same.
    """

    takes_handshake = True
    may_stay_silent = True

    def __init__(self, link: Link, spawner: Spawner, inbound: Inbound, *, carries_headers: bool = False) -> None:
        self._link = link
        self.carries_headers = carries_headers
        self._duplex = Duplex(LinkOutlet(link), spawner, ClientSide(inbound))
        spawner.spawn(self._duplex.read, link)

    async def request(self, id: RequestId, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        """Sends a request and returns its result; see `Requester.request`."""
        return await self._duplex.request(id, method, params, options)

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Sends a notification; see `Requester.notify`."""
        await self._duplex.notify(method, params)

    async def established(self, version: str) -> None:
        """Nothing to do: a link needs no headers and opens no further streams."""

    async def aclose(self) -> None:
        """Cancels and fails what is pending, and closes the link."""
        self._duplex.leave(ConnectionClosedError())
        await self._link.aclose()


class ClientSide:
    """What a client does with what arrives; see `Side`.

    Args:
        inbound: Takes the notifications, and answers the questions.
    """

    def __init__(self, inbound: Inbound) -> None:
        self._inbound = inbound

    @property
    def traces(self) -> bool:
        """See `Side.traces`. A client's requests have an id by the time they come here, and a span."""
        return False

    @property
    def takes_batches(self) -> bool:
        """See `Side.takes_batches`."""
        return self._inbound.takes_batches

    @property
    def hears_cancellations(self) -> bool:
        """No callback is told of one."""
        return False

    def opens(self, request: Request) -> bool:
        """Nothing a server asks opens a connection."""
        return False

    def admit(self, request: Request) -> Admission:
        """See `Side.admit`."""
        return Admission(self._inbound.answerer(request), can_ask=False)

    def may_ask(self, notification: Notification) -> bool:
        """Callbacks ask through the session."""
        return False

    async def notified(self, notification: Notification, exchange: Exchange) -> None:
        """See `Side.notified`."""
        await self._inbound(notification.method, notification.params)

    def unreadable(self, error: DecodeError) -> bool:
        """Takes note of what is no message. What has no id may be a stray line of output, which is not answered."""
        logger.error("Failed to parse JSONRPC message from server: %s", error.message)
        return error.id is not None

    @property
    def takes_disturbances(self) -> bool:
        """See `Side.takes_disturbances`."""
        return self._inbound.takes_disturbances

    async def disturbed(self, error: DecodeError) -> None:
        """See `Side.disturbed`."""
        await self._inbound.disturbed(error)
