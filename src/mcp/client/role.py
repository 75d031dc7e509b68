"""What a client answers: the questions that servers of the handshake era ask while they handle a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from mcp import types
from mcp.client.callbacks import ClientRequestContext, ElicitationFnT, ListRootsFnT, SamplingFnT
from mcp.engine.dispatch import Engine, Route
from mcp.engine.exchange import Exchange
from mcp.protocol.codec import Notification, Request
from mcp.protocol.eras import meta_for_handlers
from mcp.protocol.results import ResultShape, Stamp, wire_rules
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND
from mcp.types.methods import Method, find_method

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["ClientPeer", "ClientRole"]

_NO_STAMP = Stamp({})


@dataclass
class ClientPeer:
    """The server at the other end, as far as answering it goes.

    Attributes:
        version: The revision that is spoken.
    """

    version: str


@dataclass(kw_only=True)
class QuestionContext(ClientRequestContext):
    """A question of the server's, as the engine sees it.

    Attributes:
        method: Its method.
        params: Its raw params.
    """

    method: str
    params: dict[str, Any] | None


class ClientRole:
    """Answers a server's requests with the client's callbacks.

    Args:
        session: The session they come on.
        sampling: Answers `sampling/createMessage`; None refuses it.
        elicitation: Answers `elicitation/create`; None refuses it.
        list_roots: Answers `roots/list`; None refuses it.
    """

    middleware: Sequence[Any] = ()
    stamp = _NO_STAMP

    def __init__(
        self,
        session: ClientSession,
        *,
        sampling: SamplingFnT | None,
        elicitation: ElicitationFnT | None,
        list_roots: ListRootsFnT | None,
    ) -> None:
        self._session = session
        self._handlers: dict[str, Callable[[QuestionContext, Any], Awaitable[Any]]] = {
            "ping": _pong,
            "sampling/createMessage": _answered_by(sampling, "Sampling not supported"),
            "elicitation/create": _answered_by(elicitation, "Elicitation not supported"),
            "roots/list": _roots_answered_by(list_roots),
        }
        self.engine: Engine[QuestionContext, ClientPeer] = Engine(self)

    def context(self, message: Request | Notification, peer: ClientPeer, exchange: Exchange) -> QuestionContext:
        """The context of one question."""
        return QuestionContext(
            session=self._session,
            request_id=message.id if isinstance(message, Request) else "",
            meta=meta_for_handlers((message.params or {}).get("_meta")),
            method=message.method,
            params=message.params,
        )

    def route(self, method: str, version: str) -> Route:
        """The route of a question.

        Raises:
            MCPError: -32601: the revision has no such question.
        """
        spec = find_method(method, sender="server", version=version)
        handler = self._handlers.get(method)
        if spec is None or handler is None:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
        return Route(_params_parser(spec), handler, ResultShape(wire_rules(version)))

    def notification_route(self, method: str, version: str) -> Route | None:
        """None: a server's notifications go to the session's inbox."""
        return None


@cache
def _params_parser(spec: Method) -> Callable[[Any], Any]:
    # An adapter, since the params of an elicitation are a union.
    return TypeAdapter[Any](cast("Any", spec.params_type)).validate_python


async def _pong(context: QuestionContext, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def _answered_by(callback: Any, refusal: str) -> Callable[[QuestionContext, Any], Awaitable[Any]]:
    async def answer(context: QuestionContext, params: Any) -> Any:
        if callback is None:
            raise MCPError(INVALID_REQUEST, refusal)
        return _result(await callback(context, params))

    return answer


def _roots_answered_by(callback: ListRootsFnT | None) -> Callable[[QuestionContext, Any], Awaitable[Any]]:
    async def answer(context: QuestionContext, params: Any) -> Any:
        if callback is None:
            raise MCPError(INVALID_REQUEST, "List roots not supported")
        return _result(await callback(context))

    return answer


def _result(answer: Any) -> Any:
    if isinstance(answer, types.ErrorData):
        raise MCPError.from_error_data(answer)
    return answer
