"""What a `subscriptions/listen` stream tells of: four events, and their form on the wire.

An event says that something changed, never what it is now: whoever takes one asks again.

Specification: basic/patterns/subscriptions (2026-07-28).
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.types.base import SUBSCRIPTION_ID_META_KEY

if TYPE_CHECKING:
    from mcp.types import ServerNotification, SubscriptionFilter

__all__ = [
    "LISTEN_STREAM_METHODS",
    "SUBSCRIPTION_ID_META_KEY",
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ServerEvent",
    "ToolsListChanged",
    "check_event",
    "event_from_wire",
    "event_matches",
    "event_to_notification",
    "event_to_wire",
]


@dataclass(frozen=True)
class ToolsListChanged:
    """The list of tools changed."""


@dataclass(frozen=True)
class PromptsListChanged:
    """The list of prompts changed."""


@dataclass(frozen=True)
class ResourcesListChanged:
    """The list of resources changed."""


@dataclass(frozen=True)
class ResourceUpdated:
    """A resource changed.

    Attributes:
        uri: The resource. A client may be told of one below the one that it named.
    """

    uri: str


ServerEvent = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated
"""A change."""

_UPDATED: Final = "notifications/resources/updated"
_METHODS: Final[dict[type[ServerEvent], str]] = {
    ToolsListChanged: "notifications/tools/list_changed",
    PromptsListChanged: "notifications/prompts/list_changed",
    ResourcesListChanged: "notifications/resources/list_changed",
    ResourceUpdated: _UPDATED,
}
_LIST_CHANGES: Final[dict[str, ServerEvent]] = {
    "notifications/tools/list_changed": ToolsListChanged(),
    "notifications/prompts/list_changed": PromptsListChanged(),
    "notifications/resources/list_changed": ResourcesListChanged(),
}

LISTEN_STREAM_METHODS: Final[frozenset[str]] = frozenset(_METHODS.values())
"""The notifications that carry events."""


def check_event(event: object) -> None:
    """Refuses what is no event, such as the class of one.

    Args:
        event: What somebody published.

    Raises:
        TypeError: It is none, or its URI is no string.
    """
    if isinstance(event, type) and event in _METHODS:
        raise TypeError(f"expected an event, got its class: write {event.__name__}(...)")
    if type(event) not in _METHODS:
        names = ", ".join(kind.__name__ for kind in _METHODS)
        raise TypeError(f"expected an event ({names}), got {reprlib.repr(event)}")
    uri: object = getattr(event, "uri", "")
    if not isinstance(uri, str):
        raise TypeError(f"the uri of a ResourceUpdated is a string, got {reprlib.repr(uri)}")


def event_to_wire(event: ServerEvent, meta: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method and the params of the notification that carries an event.

    Args:
        event: The event.
        meta: The `_meta` of the params, in wire form.
    """
    params: dict[str, Any] = {"_meta": meta}
    if isinstance(event, ResourceUpdated):
        params["uri"] = event.uri
    return _METHODS[type(event)], params


def event_to_notification(event: ServerEvent, meta: dict[str, Any]) -> ServerNotification:
    """The notification that carries an event, as a model.

    Args:
        event: The event.
        meta: The `_meta` of its params, such as `{SUBSCRIPTION_ID_META_KEY: id}`.
    """
    from mcp.types.methods import METHODS

    method, params = event_to_wire(event, meta)
    notification: Any = METHODS[method].message_type.model_validate({"method": method, "params": params})
    return notification


def event_from_wire(method: str, params: Mapping[str, Any] | None) -> ServerEvent | None:
    """The event that a notification carries.

    Args:
        method: The notification's method.
        params: Its params, in wire form.

    Returns:
        The event; None for a notification of another method, or an update that does not say of what.
    """
    if method != _UPDATED:
        return _LIST_CHANGES.get(method)
    uri = (params or {}).get("uri")
    return ResourceUpdated(uri) if isinstance(uri, str) else None


def event_matches(honored: SubscriptionFilter, uris: frozenset[str], event: ServerEvent) -> bool:
    """Whether a stream is to be told of an event. URIs match as they are written, and no other way.

    Args:
        honored: The filter that the stream acknowledged.
        uris: The URIs in it.
        event: The event.
    """
    if isinstance(event, ResourceUpdated):
        return event.uri in uris
    if isinstance(event, ToolsListChanged):
        return honored.tools_list_changed is True
    if isinstance(event, PromptsListChanged):
        return honored.prompts_list_changed is True
    return honored.resources_list_changed is True
