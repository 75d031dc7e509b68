"""Watching for changes at a server: `subscriptions/listen` from the client's end.

`Client.listen(...)` is `listen(client.session, ...)`.

Specification: basic/patterns/subscriptions (2026-07-28).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from mcp import types
from mcp.client._listen_route import ListenRoute
from mcp.client.results import result_of
from mcp.engine.backend import Cancellable, open_spawner
from mcp.engine.requester import NotificationTaker
from mcp.protocol.codec import RequestId
from mcp.protocol.eras import named_subscription
from mcp.shared.exceptions import MalformedResultError, MCPError
from mcp.shared.subscriptions import (
    LISTEN_STREAM_METHODS,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_from_wire,
    event_matches,
)
from mcp.types.jsonrpc import INTERNAL_ERROR
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = [
    "ListenNotSupportedError",
    "OnEvent",
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ServerEvent",
    "Subscription",
    "SubscriptionLost",
    "ToolsListChanged",
    "listen",
]

logger = logging.getLogger("client")

OnEvent = Callable[[ServerEvent], Awaitable[None]]
"""Sees each event before whoever iterates."""

_LISTEN = "subscriptions/listen"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class ListenNotSupportedError(RuntimeError):
    """The connection speaks a revision that has no `subscriptions/listen`. Trying again does not help.

    Args:
        negotiated_version: The revision that is spoken; None where none is settled yet.

    Attributes:
        negotiated_version: The same.
    """

    def __init__(self, negotiated_version: str | None) -> None:
        spoken = "none is settled yet" if negotiated_version is None else f"{negotiated_version} is spoken"
        super().__init__(
            f"subscriptions/listen needs protocol version {MODERN_PROTOCOL_VERSIONS[0]}, and {spoken}; before it, "
            "subscribe_resource() and the client's message_handler serve the purpose"
        )
        self.negotiated_version = negotiated_version

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.negotiated_version,)


class SubscriptionLost(RuntimeError):
    """A subscription ended, and not in order: the connection broke, or this end fell behind. The cause says which.

    Nothing that happened since is made up for: listen again, and ask for what you watch.
    """


class Subscription:
    """An open subscription: iterate over it for events.

    The iteration ends when the server ends the stream in order, and raises `SubscriptionLost` when it ends otherwise.
    Events that came before either are yielded first. Equal events that wait become one.

    Args:
        route: What has arrived.
        subscription_id: The id of the request.
        honored: The filter that the server acknowledged.
        on_event: Awaited for each event before it is yielded.

    Attributes:
        subscription_id: The id of the request, which everything on the stream names.
        honored: The filter that the server acknowledged, which may be less than what was asked for.
    """

    def __init__(
        self,
        route: ListenRoute,
        subscription_id: types.RequestId,
        honored: types.SubscriptionFilter,
        on_event: OnEvent | None = None,
    ) -> None:
        self._route = route
        self._on_event = on_event
        self.subscription_id = subscription_id
        self.honored = honored

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ServerEvent:
        event = await self._route.next_event()
        if event == "closed":
            raise StopAsyncIteration
        if event == "lost":
            text = (
                f"The subscription {self.subscription_id!r} ended out of order; listen again, and ask for the changes"
            )
            raise SubscriptionLost(text) from self._route.error
        if self._on_event is not None:
            await self._on_event(event)
        self._route.consume(event)
        return event


@asynccontextmanager
async def listen(
    session: ClientSession,
    *,
    tools_list_changed: bool = False,
    prompts_list_changed: bool = False,
    resources_list_changed: bool = False,
    resource_subscriptions: Sequence[str] = (),
    on_event: OnEvent | None = None,
) -> AsyncGenerator[Subscription, None]:
    """Watches for changes, on an open session; see `Client.listen`.

    Args:
        session: The session.
        tools_list_changed: Whether to be told that the list of tools changed.
        prompts_list_changed: Whether to be told that the list of prompts changed.
        resources_list_changed: Whether to be told that the list of resources changed.
        resource_subscriptions: The URIs of the resources whose changes to be told of.
        on_event: Awaited for each event before it is yielded. If it raises, the event stays the next one.

    Yields:
        The subscription, acknowledged.

    Raises:
        ListenNotSupportedError: The session speaks a handshake revision, or none yet.
        MCPError: The server refused, or the connection failed; `MalformedResultError`: it answered without an
            acknowledgement, or with a malformed one.
        TimeoutError: The server did not acknowledge in time.
        TypeError: `resource_subscriptions` is a string.
    """
    if isinstance(resource_subscriptions, str):
        raise TypeError("resource_subscriptions is a sequence of URIs, got a string; put it into a list")
    version = session.protocol_version
    if version not in MODERN_PROTOCOL_VERSIONS:
        raise ListenNotSupportedError(version)
    asked = types.SubscriptionFilter(
        tools_list_changed=tools_list_changed or None,
        prompts_list_changed=prompts_list_changed or None,
        resources_list_changed=resources_list_changed or None,
        resource_subscriptions=[str(uri) for uri in resource_subscriptions] or None,
    )
    stream = _Stream(session)
    async with open_spawner() as spawner:
        stream.task = spawner.spawn(stream.run, asked)
        try:
            honored = await stream.acknowledged()
            yield Subscription(stream.route, stream.id, honored, on_event)
        finally:
            stream.route.settle("closed")


class _Stream:
    """One request, and what becomes of what arrives for it."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self.route = ListenRoute()
        self.id: RequestId = ""
        self.task: Cancellable | None = None
        self._failure: Exception | None = None

    async def run(self, asked: types.SubscriptionFilter) -> None:
        """Sends the request, and takes note of how it ends."""
        params = {"notifications": asked.model_dump(by_alias=True, exclude_none=True)}
        try:
            self.id, answer = self._session.open_stream(_LISTEN, params, self._taker)
            result_of(_LISTEN, await answer, dict[str, Any])
            if self.route.honored is None:
                raise MalformedResultError(_LISTEN, "the stream ended before it was acknowledged")
        except Exception as failure:
            self._failure = failure
            self.route.settle("lost", failure if isinstance(failure, MCPError) else None)
        else:
            self.route.settle("closed")
        finally:
            # Whatever ends this task: nobody may be left waiting for events.
            self.route.settle("lost", MCPError(INTERNAL_ERROR, "The task that reads the subscription was cancelled"))

    async def acknowledged(self) -> types.SubscriptionFilter:
        """Waits for the acknowledgement, and returns the filter in it.

        Raises:
            MCPError: The request was refused or answered without one, it is malformed, or the connection failed.
            TimeoutError: It did not come in time.
        """
        limit = self._session.patience
        with anyio.move_on_after(limit):
            await self.route.acked.wait()
        if not self.route.acked.is_set():
            raise TimeoutError(f"The server did not acknowledge subscriptions/listen within {limit:g}s")
        if self.route.honored is not None:
            return self.route.honored
        failure = self._failure or self.route.error
        assert failure is not None
        raise failure

    def _taker(self, id: RequestId) -> NotificationTaker:
        def take(method: str, params: dict[str, Any] | None) -> bool:
            params = params or {}
            if named_subscription(params) != id:
                return False
            if method == _ACKNOWLEDGED:
                self._acknowledge(params)
                return True
            if method in LISTEN_STREAM_METHODS:
                self._tell(event_from_wire(method, params))
            return False

        return take

    def _acknowledge(self, params: dict[str, Any]) -> None:
        try:
            self.route.set_acked(types.SubscriptionFilter.model_validate(params.get("notifications")))
        except ValidationError as error:
            problem = f"malformed {_ACKNOWLEDGED}: {error}"
            if self.route.honored is not None:
                logger.warning("ignored a %s", problem)
                return
            self.route.settle("lost", MalformedResultError(_LISTEN, problem))
            self._give_up()

    def _tell(self, event: ServerEvent | None) -> None:
        honored = self.route.honored
        if event is None or honored is None:
            return
        # A server may tell of a resource below one that was asked for, so any URI is let through.
        uris = (
            frozenset((event.uri,)) if isinstance(event, ResourceUpdated) and honored.resource_subscriptions else _NONE
        )
        if event_matches(honored, uris, event):
            self.route.deliver(event)
            if self.route.end is not None:
                self._give_up()

    def _give_up(self) -> None:
        """Cancels the request, of a stream that is settled."""
        if self.task is not None:
            self.task.cancel()


_NONE: frozenset[str] = frozenset()
