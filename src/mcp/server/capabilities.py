"""What a server announces, derived from what it handles."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from mcp import types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["NotificationOptions", "derived_capabilities"]


class NotificationOptions:
    """Which list changes a server announces to clients of the handshake revisions.

    Args:
        prompts_changed: Announce changes of the list of prompts.
        resources_changed: Announce changes of the list of resources.
        tools_changed: Announce changes of the list of tools.
    """

    def __init__(
        self, prompts_changed: bool = False, resources_changed: bool = False, tools_changed: bool = False
    ) -> None:
        self.prompts_changed = prompts_changed
        self.resources_changed = resources_changed
        self.tools_changed = tools_changed


def derived_capabilities(
    handled: Container[str],
    notifications: NotificationOptions,
    experimental: dict[str, dict[str, Any]] | None,
    extensions: dict[str, dict[str, Any]] | None,
    protocol_version: str | None,
) -> types.ServerCapabilities:
    """The capabilities of a server.

    In 2026-07-28 changes are announced on `subscriptions/listen` streams: a server that serves them announces every
    change, and one that does not, none but what `notifications` says.

    Args:
        handled: The request methods that have a handler.
        notifications: The list changes that are announced anyway.
        experimental: Capabilities outside the protocol.
        extensions: Settings by extension identifier.
        protocol_version: The revision to describe; None for the handshake ones.
    """
    modern = protocol_version in MODERN_PROTOCOL_VERSIONS
    listens = modern and "subscriptions/listen" in handled
    subscribes = listens if modern else "resources/subscribe" in handled
    capabilities = types.ServerCapabilities(experimental=experimental or None, extensions=extensions or None)
    if "tools/list" in handled:
        capabilities.tools = types.ToolsCapability(list_changed=listens or notifications.tools_changed)
    if "prompts/list" in handled:
        capabilities.prompts = types.PromptsCapability(list_changed=listens or notifications.prompts_changed)
    if "resources/list" in handled:
        capabilities.resources = types.ResourcesCapability(
            subscribe=subscribes, list_changed=listens or notifications.resources_changed
        )
    if "completion/complete" in handled:
        capabilities.completions = types.CompletionsCapability()
    if "logging/setLevel" in handled:
        capabilities.logging = types.LoggingCapability()
    return capabilities
