"""What travels on a pair of message streams: a JSON-RPC message, and what a transport knows about it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.types.jsonrpc import JSONRPCMessage, RequestId

__all__ = [
    "ClientMessageMetadata",
    "CloseSSEStreamCallback",
    "MessageMetadata",
    "ResumptionToken",
    "ResumptionTokenUpdateCallback",
    "ServerMessageMetadata",
    "SessionMessage",
]

ResumptionToken = str
ResumptionTokenUpdateCallback = Callable[[ResumptionToken], Awaitable[None]]
CloseSSEStreamCallback = Callable[[], Awaitable[None]]


@dataclass
class ClientMessageMetadata:
    """What a client tells its transport about one request.

    Attributes:
        resumption_token: Resume the answer's stream after this event.
        on_resumption_token_update: Called with the id of each event of the answer's stream.
        headers: HTTP headers for this request alone.
    """

    resumption_token: ResumptionToken | None = None
    on_resumption_token_update: ResumptionTokenUpdateCallback | None = None
    headers: dict[str, str] | None = None


@dataclass
class ServerMessageMetadata:
    """What a server's transport knows about one message.

    Attributes:
        related_request_id: The request that a message from the server belongs to.
        request_context: The transport's own request object, such as Starlette's `Request`.
        close_sse_stream: Ends the answer's stream, so that a polling client comes back for the rest.
        close_standalone_sse_stream: Ends the session's standalone stream.
        on_request_unanswered: Called when the request ends without an answer.
        can_send_request: Whether the server may ask the client something while it answers.
    """

    related_request_id: "RequestId | None" = None
    request_context: Any = None
    close_sse_stream: CloseSSEStreamCallback | None = None
    close_standalone_sse_stream: CloseSSEStreamCallback | None = None
    on_request_unanswered: Callable[[], Awaitable[None]] | None = None
    can_send_request: bool = True


MessageMetadata = ClientMessageMetadata | ServerMessageMetadata | None


@dataclass
class SessionMessage:
    """One JSON-RPC message on a stream.

    Attributes:
        message: The message.
        metadata: What its transport knows about it.
    """

    message: "JSONRPCMessage"
    metadata: MessageMetadata = None
