"""Log messages from a server."""

from typing import Any, Literal

from mcp.types.base import NotificationParams, RequestParams

LoggingLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class SetLevelRequestParams(RequestParams):
    """Params of `logging/setLevel`: the least severe level to send."""

    level: LoggingLevel


class LoggingMessageNotificationParams(NotificationParams):
    """Params of `notifications/message`; `data` is any JSON value."""

    level: LoggingLevel
    logger: str | None = None
    data: Any
