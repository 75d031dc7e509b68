"""What a server asks of a client: requests of their own, or questions in an `InputRequiredResult`."""

from typing import Annotated, Literal

from pydantic import Field

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
InputResponses = dict[str, InputResponse]
"""A client's answers, each under the key of its question."""


class InputRequiredResult(Result):
    """Asks for input, and for the request to be sent again with it and with `request_state` (2026-07-28)."""

    result_type: Literal["input_required"] = "input_required"
    input_requests: InputRequests | None = None
    request_state: str | None = None
