"""Tasks of revision 2025-11-25: requests that answer at once and deliver their result later."""

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from mcp.types.base import MCPModel, NotificationParams, PaginatedResult, RequestParams, Result
from mcp.types.envelopes import Notification, PaginatedRequest, Request

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]


class RelatedTaskMetadata(MCPModel):
    """Ties a message to a task, from within `_meta`."""

    task_id: str


class Task(MCPModel):
    """The state of a task.

    `created_at` and `last_updated_at` are ISO 8601 timestamps; `ttl` (None: unlimited) and
    `poll_interval` are in milliseconds.
    """

    task_id: str
    status: TaskStatus
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl: int | None
    poll_interval: int | None = None

    @model_serializer(mode="wrap")
    def _keep_null(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dump(self)
        fields.setdefault("ttl", None)  # a value of its own, which the wire needs even under `exclude_none`
        return fields


class CreateTaskResult(Result):
    """Answers a request that was accepted as a task."""

    task: Task


class GetTaskRequestParams(RequestParams):
    """Params of `tasks/get`."""

    task_id: str


class GetTaskRequest(Request[GetTaskRequestParams, Literal["tasks/get"]]):
    """Asks for the state of a task."""

    method: Literal["tasks/get"] = "tasks/get"
    params: GetTaskRequestParams


class GetTaskResult(Result, Task):
    """The state of a task."""


class GetTaskPayloadRequestParams(RequestParams):
    """Params of `tasks/result`."""

    task_id: str


class GetTaskPayloadRequest(Request[GetTaskPayloadRequestParams, Literal["tasks/result"]]):
    """Asks for what a task produced, waiting until it has ended."""

    method: Literal["tasks/result"] = "tasks/result"
    params: GetTaskPayloadRequestParams


class GetTaskPayloadResult(Result):
    """What a task produced: the result type of the request it was made from."""


class CancelTaskRequestParams(RequestParams):
    """Params of `tasks/cancel`."""

    task_id: str


class CancelTaskRequest(Request[CancelTaskRequestParams, Literal["tasks/cancel"]]):
    """Asks that a task be stopped."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: CancelTaskRequestParams


class CancelTaskResult(Result, Task):
    """The state of the task after the attempt to stop it."""


class ListTasksRequest(PaginatedRequest[Literal["tasks/list"]]):
    """Asks for the tasks of this requester."""

    method: Literal["tasks/list"] = "tasks/list"


class ListTasksResult(PaginatedResult):
    """A page of tasks."""

    tasks: list[Task]


class TaskStatusNotificationParams(NotificationParams, Task):
    """Params of `notifications/tasks/status`: the task's new state."""


class TaskStatusNotification(Notification[TaskStatusNotificationParams, Literal["notifications/tasks/status"]]):
    """Says that a task changed its state."""

    method: Literal["notifications/tasks/status"] = "notifications/tasks/status"
    params: TaskStatusNotificationParams
