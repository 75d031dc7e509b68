"""What every protocol type is built on: the model base, `_meta`, and the common params and results."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel
from typing_extensions import NotRequired, TypedDict

from mcp.types.deferred import Deferred

if TYPE_CHECKING:
    from mcp.types.input_required import InputResponses
else:
    InputResponses = Annotated[dict[str, Any], Deferred("mcp.types.input_required", "InputResponses")]

PROTOCOL_VERSION_META_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel"
SERVER_INFO_META_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_META_KEY = "io.modelcontextprotocol/subscriptionId"
"""By which everything on a stream names the `subscriptions/listen` request that opened it."""

CORE_RESULT_TYPES: Final[frozenset[str]] = frozenset({"complete", "input_required"})
"""The values of `resultType` that the protocol itself defines; extensions add others."""

Meta = dict[str, Any]
"""The free-form `_meta` object of a message, or of a part of one."""

ProgressToken = str | int
ResultType = Literal["complete", "input_required"] | str
IconTheme = Literal["light", "dark"]


def _text_of_url(value: object) -> object:
    networks = sys.modules.get("pydantic.networks")  # slow to import, and not loaded means no URL objects
    return str(value) if networks is not None and isinstance(value, networks.AnyUrl) else value


Uri = Annotated[str, BeforeValidator(_text_of_url)]
"""A URI as text, kept as given; pydantic's URL objects are accepted too."""


class MCPModel(BaseModel):
    """Base of every protocol type.

    Attributes are snake_case and wire names camelCase; both are accepted on input. Unknown fields are
    dropped. Validators are compiled at first use.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)


class BaseMetadata(MCPModel):
    """A `name` for programs and an optional `title` for people."""

    name: str
    title: str | None = None


class Icon(MCPModel):
    """An image that stands for a server, tool, prompt or resource.

    `src` is an http(s) or data URI; `sizes` holds "WxH" in pixels, or "any".
    """

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: IconTheme | None = None


@with_config(populate_by_name=True)
class RequestParamsMeta(TypedDict, extra_items=Any):
    """`_meta` of a request: the progress token as `progress_token`, every other key as on the wire."""

    progress_token: NotRequired[Annotated[ProgressToken, Field(alias="progressToken")]]


class RequestParams(MCPModel):
    """Params of a request; subclasses add those of their method."""

    meta: RequestParamsMeta | None = Field(alias="_meta", default=None)


class PaginatedRequestParams(RequestParams):
    """Params of a list request: which page, or the first one."""

    cursor: str | None = None


class InputResponseRequestParams(RequestParams):
    """Params of a request that may be answered with questions (2026-07-28).

    Sent again, it carries the answers by the questions' keys, and the server's state untouched.
    """

    input_responses: InputResponses | None = None
    request_state: str | None = None


class TaskMetadata(MCPModel):
    """Asks that a request run as a task whose result is kept for `ttl` milliseconds (2025-11-25)."""

    ttl: int | None = None


class NotificationParams(MCPModel):
    """Params of a notification; subclasses add those of their method."""

    meta: Meta | None = Field(alias="_meta", default=None)


class Result(MCPModel):
    """What a successful request returns; subclasses add the fields of their method."""

    meta: Meta | None = Field(alias="_meta", default=None)


class EmptyResult(Result):
    """A result that says no more than that the request succeeded."""

    result_type: ResultType | None = None


class PaginatedResult(Result):
    """One page of a listing; the last page has no `next_cursor`."""

    next_cursor: str | None = None


class CacheableResult(Result):
    """A result that a client may keep (2026-07-28).

    It stays fresh for `ttl_ms` milliseconds, 0 meaning not at all; `cache_scope` says whether one
    user's copy may serve another.
    """

    ttl_ms: Annotated[int, Field(ge=0)] = 0
    cache_scope: Literal["public", "private"] = "private"
