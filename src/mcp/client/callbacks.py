"""What a client can be asked or told by its server, as types for the functions that answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mcp.engine.progress import ProgressFnT
from mcp.types.jsonrpc import RequestId

if TYPE_CHECKING:
    from mcp import types
    from mcp.client.session import ClientSession

__all__ = [
    "ClientRequestContext",
    "ElicitationFnT",
    "ListRootsFnT",
    "LoggingFnT",
    "MessageHandlerFnT",
    "ProgressFnT",
    "SamplingFnT",
]


@dataclass(kw_only=True)
class ClientRequestContext:
    """One question of the server's, as a callback sees it.

    Attributes:
        session: The session it came on.
        request_id: The question's id.
        meta: Its `_meta`.
    """

    session: ClientSession
    request_id: RequestId
    meta: types.RequestParamsMeta | None = None


class SamplingFnT(Protocol):
    """Answers `sampling/createMessage`."""

    async def __call__(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams, /
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """Samples a message from the client's model, or returns an error."""
        ...


class ElicitationFnT(Protocol):
    """Answers `elicitation/create`."""

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams, /
    ) -> types.ElicitResult | types.ErrorData:
        """Asks the user, or returns an error."""
        ...


class ListRootsFnT(Protocol):
    """Answers `roots/list`."""

    async def __call__(self, context: ClientRequestContext, /) -> types.ListRootsResult | types.ErrorData:
        """Lists the client's root directories, or returns an error."""
        ...


class LoggingFnT(Protocol):
    """Takes the server's log messages."""

    async def __call__(self, params: types.LoggingMessageNotificationParams, /) -> None:
        """Takes one log message."""
        ...


class MessageHandlerFnT(Protocol):
    """Takes every notification of the server's, and an exception in the place of what was no message."""

    async def __call__(self, message: types.ServerNotification | Exception, /) -> None:
        """Takes one of them."""
        ...
