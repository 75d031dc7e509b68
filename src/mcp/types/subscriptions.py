"""`subscriptions/listen`: one stream for every kind of change (2026-07-28)."""

from pydantic import ConfigDict

from mcp.types.base import MCPModel, NotificationParams, RequestParams, Result, ResultType


class SubscriptionFilter(MCPModel):
    """The changes to be told of; extensions may add kinds of their own."""

    model_config = ConfigDict(extra="allow")

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None


class SubscriptionsListenRequestParams(RequestParams):
    """Params of `subscriptions/listen`."""

    notifications: SubscriptionFilter


class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    """Params of `notifications/subscriptions/acknowledged`: what the server will tell of."""

    notifications: SubscriptionFilter


class SubscriptionsListenResult(Result):
    """The end of the stream."""

    result_type: ResultType = "complete"
