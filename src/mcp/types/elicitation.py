"""Elicitation: asking the client's user, with a form or at a URL."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from mcp.types.base import MCPModel, NotificationParams, RequestParams, Result, TaskMetadata

ElicitRequestedSchema = dict[str, Any]
"""A JSON Schema object whose properties are all primitive: strings, numbers, booleans and choices."""


class ElicitRequestFormParams(RequestParams):
    """Params of `elicitation/create` that describe a form."""

    mode: Literal["form"] = "form"
    message: str
    requested_schema: ElicitRequestedSchema
    task: TaskMetadata | None = None


class ElicitRequestURLParams(RequestParams):
    """Params of `elicitation/create` that send the user to `url`, where the answer stays."""

    mode: Literal["url"] = "url"
    message: str
    url: str
    elicitation_id: str | None = None
    task: TaskMetadata | None = None


ElicitRequestParams = ElicitRequestURLParams | ElicitRequestFormParams


def _mode(params: dict[str, Any] | ElicitRequestParams) -> Any:
    # Absent means a form: the first revision with elicitation had nothing else.
    return params.get("mode", "form") if isinstance(params, dict) else getattr(params, "mode", None)


TaggedElicitRequestParams = Annotated[
    Annotated[ElicitRequestURLParams, Tag("url")] | Annotated[ElicitRequestFormParams, Tag("form")],
    Discriminator(_mode),
]


class ElicitResult(Result):
    """What the user decided, and what the form held if it was accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | int | float | bool | list[str] | None] | None = None


class ElicitCompleteNotificationParams(NotificationParams):
    """Params of `notifications/elicitation/complete`."""

    elicitation_id: str


class ElicitationRequiredErrorData(MCPModel):
    """`data` of a URL_ELICITATION_REQUIRED error: what the user must do before the call can succeed."""

    elicitations: list[ElicitRequestURLParams]
