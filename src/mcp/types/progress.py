"""Progress of a request, and its cancellation."""

from mcp.types.base import NotificationParams, ProgressToken
from mcp.types.jsonrpc import RequestId


class ProgressNotificationParams(NotificationParams):
    """Params of `notifications/progress`: done so far, and the total where it is known."""

    progress_token: ProgressToken
    progress: float
    total: float | None = None
    message: str | None = None


class CancelledNotificationParams(NotificationParams):
    """Params of `notifications/cancelled`."""

    request_id: RequestId | None = None
    reason: str | None = None
