"""Notifications, as whole messages. Tasks have theirs in `mcp.types.tasks`."""

from typing import Literal

from mcp.types.base import NotificationParams
from mcp.types.elicitation import ElicitCompleteNotificationParams
from mcp.types.envelopes import Notification
from mcp.types.logging import LoggingMessageNotificationParams
from mcp.types.progress import CancelledNotificationParams, ProgressNotificationParams
from mcp.types.resources import ResourceUpdatedNotificationParams
from mcp.types.subscriptions import SubscriptionsAcknowledgedNotificationParams


class InitializedNotification(Notification[NotificationParams | None, Literal["notifications/initialized"]]):
    """Ends a handshake: the client is ready."""

    method: Literal["notifications/initialized"] = "notifications/initialized"
    params: NotificationParams | None = None


class ProgressNotification(Notification[ProgressNotificationParams, Literal["notifications/progress"]]):
    """Says how far a request has come."""

    method: Literal["notifications/progress"] = "notifications/progress"
    params: ProgressNotificationParams


class CancelledNotification(Notification[CancelledNotificationParams, Literal["notifications/cancelled"]]):
    """Withdraws a request."""

    method: Literal["notifications/cancelled"] = "notifications/cancelled"
    params: CancelledNotificationParams


class LoggingMessageNotification(Notification[LoggingMessageNotificationParams, Literal["notifications/message"]]):
    """Carries a log message of the server."""

    method: Literal["notifications/message"] = "notifications/message"
    params: LoggingMessageNotificationParams


class ResourceUpdatedNotification(
    Notification[ResourceUpdatedNotificationParams, Literal["notifications/resources/updated"]]
):
    """Says that a resource changed."""

    method: Literal["notifications/resources/updated"] = "notifications/resources/updated"
    params: ResourceUpdatedNotificationParams


class ResourceListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/resources/list_changed"]]
):
    """Says that the list of resources changed."""

    method: Literal["notifications/resources/list_changed"] = "notifications/resources/list_changed"
    params: NotificationParams | None = None


class ToolListChangedNotification(Notification[NotificationParams | None, Literal["notifications/tools/list_changed"]]):
    """Says that the list of tools changed."""

    method: Literal["notifications/tools/list_changed"] = "notifications/tools/list_changed"
    params: NotificationParams | None = None


class PromptListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/prompts/list_changed"]]
):
    """Says that the list of prompts changed."""

    method: Literal["notifications/prompts/list_changed"] = "notifications/prompts/list_changed"
    params: NotificationParams | None = None


class RootsListChangedNotification(
    Notification[NotificationParams | None, Literal["notifications/roots/list_changed"]]
):
    """Says that the client's roots changed."""

    method: Literal["notifications/roots/list_changed"] = "notifications/roots/list_changed"
    params: NotificationParams | None = None


class ElicitCompleteNotification(
    Notification[ElicitCompleteNotificationParams, Literal["notifications/elicitation/complete"]]
):
    """Says that a URL elicitation has been dealt with."""

    method: Literal["notifications/elicitation/complete"] = "notifications/elicitation/complete"
    params: ElicitCompleteNotificationParams


class SubscriptionsAcknowledgedNotification(
    Notification[SubscriptionsAcknowledgedNotificationParams, Literal["notifications/subscriptions/acknowledged"]]
):
    """Says what a stream of changes will tell of, before its first change."""

    method: Literal["notifications/subscriptions/acknowledged"] = "notifications/subscriptions/acknowledged"
    params: SubscriptionsAcknowledgedNotificationParams
