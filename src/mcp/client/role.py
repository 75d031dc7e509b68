"""What a client answers: the questions that servers of the handshake era ask while they handle a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from mcp import types
from mcp.client.answers import checked_answer
from mcp.client.callbacks import ClientRequestContext, ElicitationFnT, ListRootsFnT, SamplingFnT
from mcp.engine.dispatch import Engine, Route
from mcp.engine.exchange import Exchange
from mcp.engine.tracing import current_tracer
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
        tracing: Whether callbacks run in the trace that a question names, once there is a tracer.
    """

    stamp = _NO_STAMP

    def __init__(
        self,
        session: ClientSession,
        *,
        sampling: SamplingFnT | None,
        elicitation: ElicitationFnT | None,
        list_roots: ListRootsFnT | None,
        tracing: bool = True,
    ) -> None:
        self._session = session
        self._tracing = tracing
        self._callbacks: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
            "sampling/createMessage": _asking(sampling, "Sampling not supported"),
            "elicitation/create": _asking(elicitation, "Elicitation not supported"),
            "roots/list": _asking(_without_params(list_roots), "List roots not supported"),
        }
        self.engine: Engine[QuestionContext, ClientPeer] = Engine(self)

    @property
    def middleware(self) -> Sequence[Any]:
        """What puts callbacks into the server's trace; nothing without a tracer."""
        return (_in_the_servers_trace,) if self._tracing and current_tracer() is not None else ()

    async def put(self, context: ClientRequestContext, method: str, params: Any) -> Any:
        """Puts a question to its callback, and returns the answer; an `ErrorData` where there is no callback.

        Args:
            context: What the callback is told about the question.
            method: The question's method.
            params: Its params.
        """
        return await self._callbacks[method](context, params)

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
        handler = _pong if method == "ping" else self._answering(method)
        if spec is None or handler is None:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
        return Route(_params_parser(spec), handler, ResultShape(wire_rules(version)))

    def _answering(self, method: str) -> Callable[[QuestionContext, Any], Awaitable[Any]] | None:
        callback = self._callbacks.get(method)
        if callback is None:
            return None

        async def answer(context: QuestionContext, params: Any) -> Any:
            return checked_answer(method, await callback(context, params))

        return answer

    def notification_route(self, method: str, version: str) -> Route | None:
        """None: a server's notifications go to the session's inbox."""
        return None


@cache
def _params_parser(spec: Method) -> Callable[[Any], Any]:
    from mcp.types.elicitation import TaggedElicitRequestParams

    # An adapter, since the params of an elicitation are a union; by its tag, what is wrong with one is told of one.
    kind: Any = TaggedElicitRequestParams if spec.name == "elicitation/create" else spec.params_type
    return TypeAdapter[Any](kind).validate_python


async def _in_the_servers_trace(
    context: QuestionContext, call_next: Callable[[QuestionContext], Awaitable[Any]]
) -> Any:
    from mcp.engine.spans import in_trace_of

    with in_trace_of(context.params):
        return await call_next(context)


async def _pong(context: QuestionContext, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def _asking(callback: Any, refusal: str) -> Callable[[Any, Any], Awaitable[Any]]:
    async def refuse(context: ClientRequestContext, params: Any) -> types.ErrorData:
        return types.ErrorData(code=INVALID_REQUEST, message=refusal)

    return refuse if callback is None else callback


def _without_params(callback: ListRootsFnT | None) -> Any:
    async def ask(context: ClientRequestContext, params: Any) -> Any:
        assert callback is not None
        return await callback(context)

    return None if callback is None else ask
