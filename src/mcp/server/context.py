"""What handlers and middleware are given: the request at hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol

from typing_extensions import TypeVar, deprecated

from mcp.engine.dispatch import HandlerResult
from mcp.engine.exchange import Exchange
from mcp.shared.context import BaseContext
from mcp.shared.exceptions import MCPDeprecationWarning

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession
    from mcp.shared.message import CloseSSEStreamCallback
    from mcp.types import LoggingLevel, RequestParamsMeta
    from mcp.types.jsonrpc import RequestId

__all__ = [
    "CallNext",
    "Context",
    "HandlerResult",
    "LifespanContextT",
    "RequestT",
    "ServerMiddleware",
    "ServerRequestContext",
]

LifespanContextT = TypeVar("LifespanContextT", default=dict[str, Any])
LifespanT_co = TypeVar("LifespanT_co", default=dict[str, Any], covariant=True)
RequestT = TypeVar("RequestT", default=Any)
_MwLifespanT = TypeVar("_MwLifespanT", default=Any)


@dataclass(kw_only=True)
class ServerRequestContext(Generic[LifespanContextT, RequestT]):
    """One inbound message, as handlers and middleware see it.

    Attributes:
        session: The way to the client.
        lifespan_context: What the server's lifespan yielded; an empty dict where it has none.
        protocol_version: The revision that the message speaks.
        method: The message's method.
        params: The raw params as they arrived, before validation; None where there were none.
        request_id: The request's id; None for a notification.
        meta: The incoming `_meta`; the progress token is under `progress_token`.
        request: The transport's own object for the request: Starlette's `Request` over HTTP, else None.
        close_sse_stream: Ends the answer's stream early, so that a polling client comes back; None where there is none.
        close_standalone_sse_stream: Ends the session's standalone stream; None where there is none.
    """

    session: ServerSession
    lifespan_context: LifespanContextT
    protocol_version: str
    method: str
    params: Mapping[str, Any] | None = None
    request_id: RequestId | None = None
    meta: RequestParamsMeta | None = None
    request: RequestT | None = None
    close_sse_stream: CloseSSEStreamCallback | None = None
    close_standalone_sse_stream: CloseSSEStreamCallback | None = None


CallNext = Callable[[ServerRequestContext[Any, Any]], Awaitable[HandlerResult]]
"""Runs the rest of the chain; for a request it returns the finished result in wire form, for a notification None."""


class ServerMiddleware(Protocol[_MwLifespanT]):
    """Wraps every message a server receives: `async (ctx, call_next) -> result`.

    Over HTTP, a server whose tools have headers also lists them for itself, through the same middleware. An object with
    a true attribute `received_only` is left out then: it counts or notes what clients send.
    """

    async def __call__(self, ctx: ServerRequestContext[_MwLifespanT, Any], call_next: CallNext, /) -> HandlerResult:
        """Handles one message.

        Args:
            ctx: The message. `dataclasses.replace` makes another one for the rest of the chain.
            call_next: Runs the rest of the chain, once.

        Returns:
            The result to send. What `call_next` returned is sent as it is.

        Raises:
            MCPError: Refuses the message; the connection goes on.
        """
        ...


class Context(BaseContext[Any], Generic[LifespanT_co]):
    """A request's context for code built on exchanges rather than on `ServerRequestContext`.

    Args:
        dctx: The way back of the request.
        lifespan: What the server's lifespan yielded.
        connection: The client.
        meta: The incoming `_meta`.
    """

    def __init__(
        self,
        dctx: Exchange,
        *,
        lifespan: LifespanT_co,
        connection: Connection,
        meta: RequestParamsMeta | None = None,
    ) -> None:
        super().__init__(dctx, meta)
        self._lifespan = lifespan
        self._connection = connection

    @property
    def lifespan(self) -> LifespanT_co:
        """What the server's lifespan yielded."""
        return self._lifespan

    @property
    def connection(self) -> Connection:
        """The client."""
        return self._connection

    @property
    def session_id(self) -> str | None:
        """The id of the HTTP session; None where there is no session."""
        return None

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The request's HTTP headers, names in lower case; None where there are none."""
        return self.transport.headers

    @deprecated("The logging capability is deprecated as of 2026-07-28 (SEP-2577).", category=MCPDeprecationWarning)
    async def log(
        self, level: LoggingLevel, data: Any, logger: str | None = None, *, meta: dict[str, Any] | None = None
    ) -> None:
        """Sends a log message with the request, if the client asked for its level."""
        if self._connection.wants_log(level):
            params: dict[str, Any] = {"level": level, "data": data}
            if logger is not None:
                params["logger"] = logger
            if meta:
                params["_meta"] = meta
            await self.notify("notifications/message", params)
