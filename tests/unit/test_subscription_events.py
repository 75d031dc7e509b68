"""The four events of subscriptions, and their form on the wire."""

import dataclasses
from typing import Any

import pytest

from mcp import types
from mcp.client import subscriptions as at_the_client
from mcp.server import subscriptions as at_the_server
from mcp.shared import subscriptions
from mcp.shared.subscriptions import (
    LISTEN_STREAM_METHODS,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_from_wire,
    event_matches,
    event_to_notification,
)

EVENTS: list[tuple[ServerEvent, str, dict[str, Any], type]] = [
    (ToolsListChanged(), "notifications/tools/list_changed", {}, types.ToolListChangedNotification),
    (PromptsListChanged(), "notifications/prompts/list_changed", {}, types.PromptListChangedNotification),
    (ResourcesListChanged(), "notifications/resources/list_changed", {}, types.ResourceListChangedNotification),
    (ResourceUpdated("r://a"), "notifications/resources/updated", {"uri": "r://a"}, types.ResourceUpdatedNotification),
]
by_name = pytest.mark.parametrize(("event", "method", "params", "model"), EVENTS, ids=lambda value: str(value)[:30])


@by_name
def test_an_event_becomes_its_notification_and_comes_back(
    event: ServerEvent, method: str, params: dict[str, Any], model: type
) -> None:
    meta = {subscriptions.SUBSCRIPTION_ID_META_KEY: "listen-1"}
    notification = event_to_notification(event, meta)
    assert type(notification) is model
    wire = notification.model_dump(by_alias=True, exclude_none=True)
    assert wire == {"method": method, "params": {**params, "_meta": meta}}
    assert event_from_wire(method, wire["params"]) == event
    assert method in LISTEN_STREAM_METHODS


def test_nothing_else_is_an_event() -> None:
    assert len(LISTEN_STREAM_METHODS) == len(EVENTS)
    assert event_from_wire("notifications/message", {"level": "info"}) is None
    assert event_from_wire("notifications/resources/updated", None) is None
    assert event_from_wire("notifications/resources/updated", {"uri": 1}) is None
    assert event_from_wire("notifications/tools/list_changed", None) == ToolsListChanged()


@pytest.mark.parametrize(
    ("filter", "matching"),
    [
        ({}, []),
        ({"tools_list_changed": True}, [ToolsListChanged()]),
        ({"prompts_list_changed": True, "tools_list_changed": False}, [PromptsListChanged()]),
        ({"resources_list_changed": True}, [ResourcesListChanged()]),
        ({"resource_subscriptions": ["r://a"]}, [ResourceUpdated("r://a")]),
        ({"resource_subscriptions": ["r://"]}, []),
    ],
)
def test_a_filter_matches_what_it_names(filter: dict[str, Any], matching: list[ServerEvent]) -> None:
    honored = types.SubscriptionFilter(**filter)
    uris = frozenset(honored.resource_subscriptions or ())
    assert [event for event, *_ in EVENTS if event_matches(honored, uris, event)] == matching


def test_events_are_values() -> None:
    assert {ToolsListChanged(), ToolsListChanged(), ResourceUpdated("r://a"), ResourceUpdated(uri="r://a")} == {
        ToolsListChanged(),
        ResourceUpdated("r://a"),
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        ResourceUpdated("r://a").uri = "r://b"  # pyright: ignore[reportAttributeAccessIssue]


def test_both_ends_name_the_same_events() -> None:
    for name in ("ToolsListChanged", "PromptsListChanged", "ResourcesListChanged", "ResourceUpdated", "ServerEvent"):
        assert getattr(at_the_client, name) is getattr(at_the_server, name) is getattr(subscriptions, name)
    assert at_the_server.SUBSCRIPTION_ID_META_KEY is subscriptions.SUBSCRIPTION_ID_META_KEY
