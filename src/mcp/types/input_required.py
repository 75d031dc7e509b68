"""What a server asks of a client: requests of their own, or questions in an `InputRequiredResult`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, GetJsonSchemaHandler, Tag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mcp.types.base import RequestParams, Result
from mcp.types.elicitation import ElicitRequestParams, ElicitResult, TaggedElicitRequestParams
from mcp.types.envelopes import Request
from mcp.types.roots import ListRootsResult
from mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult, CreateMessageResultWithTools


class CreateMessageRequest(Request[CreateMessageRequestParams, Literal["sampling/createMessage"]]):
    """Asks the client to sample from its model."""

    method: Literal["sampling/createMessage"] = "sampling/createMessage"
    params: CreateMessageRequestParams


class ListRootsRequest(Request[RequestParams | None, Literal["roots/list"]]):
    """Asks the client for its roots."""

    method: Literal["roots/list"] = "roots/list"
    params: RequestParams | None = None


class ElicitRequest(Request[ElicitRequestParams, Literal["elicitation/create"]]):
    """Asks the client's user."""

    method: Literal["elicitation/create"] = "elicitation/create"
    params: TaggedElicitRequestParams


InputRequest = CreateMessageRequest | ListRootsRequest | ElicitRequest
InputRequests = dict[str, Annotated[InputRequest, Field(discriminator="method")]]
"""A server's questions, each under a key of its choice."""

InputResponse = CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult

_KIND_OF_MEMBER = {"action": "elicitation", "roots": "roots", "role": "sampling", "model": "sampling"}


def _kind(answer: object) -> str | None:
    """What an answer is meant to be, so that what is wrong with it is said of that; each kind demands its members."""
    if not isinstance(answer, Mapping):
        return "any" if isinstance(answer, Result) else None
    members = cast("Mapping[str, Any]", answer)
    kinds = {kind for member, kind in _KIND_OF_MEMBER.items() if member in members}
    return kinds.pop() if len(kinds) == 1 else "any" if kinds else None


class _ShownAsAny:
    """Annotation metadata: what kinds there are is for error messages, and none of a JSON Schema's business."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(cast("dict[str, Any]", schema)["choices"]["any"])


TaggedInputResponse = Annotated[
    Annotated[CreateMessageResult | CreateMessageResultWithTools, Tag("sampling")]
    | Annotated[ListRootsResult, Tag("roots")]
    | Annotated[ElicitResult, Tag("elicitation")]
    | Annotated[InputResponse, Tag("any")],
    Discriminator(
        _kind,
        custom_error_type="input_response",
        custom_error_message="Input should be an object with 'action', 'roots', or 'role', 'content' and 'model'",
    ),
    _ShownAsAny(),
]
InputResponses = dict[str, TaggedInputResponse]
"""A client's answers, each under the key of its question."""


class InputRequiredResult(Result):
    """Asks for input, and for the request to be sent again with it and with `request_state` (2026-07-28)."""

    result_type: Literal["input_required"] = "input_required"
    input_requests: InputRequests | None = None
    request_state: str | None = None
