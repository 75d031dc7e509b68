"""Log messages from a server."""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

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

    @model_serializer(mode="wrap")
    def _keep_null(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dump(self)
        fields.setdefault("data", None)  # a value like any other, which the wire needs even under `exclude_none`
        return fields
