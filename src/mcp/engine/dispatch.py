"""One inbound message, from the parsed request to the bytes of its answer.

The engine owns no loop and no task: a transport calls it in the task it already has. What it serves comes from a
`Role`; the engine is the same for servers and clients.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from mcp.engine.exchange import Exchange
from mcp.engine.isolation import contained
from mcp.protocol.codec import Notification, Request, dumps, encode_error, encode_response
from mcp.protocol.results import InvalidResultError, ResultShape, Stamp, plain
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS

__all__ = ["Engine", "HandlerResult", "Reply", "Role", "Route", "invalid_params"]

logger = logging.getLogger(__name__)

HandlerResult = BaseModel | dict[str, Any] | None


class HandlerContext(Protocol):
    """What the engine reads of the context that handlers and middleware get."""

    @property
    def method(self) -> str: ...

    @property
    def params(self) -> Any: ...

    @property
    def request_id(self) -> Any: ...


ContextT = TypeVar("ContextT", bound=HandlerContext)


class Peer(Protocol):
    """Who a message comes from, as far as the engine looks."""

    @property
    def version(self) -> str:
        """The revision that is spoken."""
        ...


PeerT = TypeVar("PeerT", bound=Peer)
PeerT_contra = TypeVar("PeerT_contra", bound=Peer, contravariant=True)


class Route(NamedTuple):
    """A method, ready to run.

    Attributes:
        validate: Turns raw params into the handler's params; raises `ValidationError`.
        handler: The user's function.
        shape: Turns what the handler returned into wire form.
        check: Looks at what the handler returned, with its context; raises what the peer gets instead.
    """

    validate: Callable[[Any], Any]
    handler: Callable[[Any, Any], Awaitable[Any]]
    shape: ResultShape
    check: Callable[[Any, Any], None] | None = None

    def checked(self, context: Any, result: Any) -> Any:
        """What the handler returned, if the peer may get it.

        Args:
            context: The handler's; not looked at without a `check`.
            result: What it returned.

        Raises:
            Exception: What `check` raised.
        """
        if self.check is not None:
            self.check(context, result)
        return result


class Role(Protocol[ContextT, PeerT_contra]):
    """What an engine serves."""

    @property
    def middleware(self) -> Sequence[Callable[[ContextT, Callable[[ContextT], Awaitable[Any]]], Awaitable[Any]]]:
        """What wraps the message at hand, outermost first."""
        ...

    @property
    def stamp(self) -> Stamp:
        """The identity that results carry."""
        ...

    def context(self, message: Request | Notification, peer: PeerT_contra, exchange: Exchange) -> ContextT:
        """The context of one message."""
        ...

    def route(self, method: str, version: str) -> Route:
        """The route of a request method.

        Raises:
            MCPError: -32601: the revision has no such method, or nobody handles it.
        """
        ...

    def notification_route(self, method: str, version: str) -> Route | None:
        """The route of a notification method; None where nobody handles it."""
        ...


class Reply(NamedTuple):
    """An answer, encoded.

    Attributes:
        frame: The JSON-RPC response.
        error_code: The error's code; None for a result.
    """

    frame: bytes
    error_code: int | None


class Engine(Generic[ContextT, PeerT]):
    """Runs messages through middleware, validation and handlers.

    Args:
        role: What to serve.
    """

    def __init__(self, role: Role[ContextT, PeerT]) -> None:
        self._role = role

    async def handle(self, request: Request, peer: PeerT, exchange: Exchange) -> Reply:
        """Answers a request. Whatever its handler raises becomes an error answer; only a cancellation gets out."""
        try:
            # What `answer` does; a coroutine for each request that runs is one too many.
            handling, route, context = self._begun(request, peer, exchange, self._role.middleware)
            return self._reply(request, route, context, await handling)
        except Exception as failure:
            return self.failed(request, failure)

    def failed(self, request: Request, failure: Exception) -> Reply:
        """The error answer for what a request's handling raised."""
        error = self.as_error(request.method, failure)
        try:
            return Reply(encode_error(request.id, error.code, error.message, error.data), error.code)
        except ValueError:
            logger.exception("the error that %s answered with cannot be encoded", request.method)
            return Reply(encode_error(request.id, INTERNAL_ERROR, "Internal server error"), INTERNAL_ERROR)

    async def answer(self, request: Request, peer: PeerT, exchange: Exchange) -> Reply:
        """Answers a request; it raises what `call` does."""
        handling, route, context = self._begun(request, peer, exchange, self._role.middleware)
        return self._reply(request, route, context, await handling)

    def _reply(self, request: Request, route: Route | None, context: ContextT | None, result: Any) -> Reply:
        if route is None:
            return Reply(encode_response(request.id, result), None)
        return Reply(route.shape.to_frame(request.id, route.checked(context, result), self._role.stamp), None)

    async def call(
        self, request: Request, peer: PeerT, exchange: Exchange, middleware: Sequence[Any] | None = None
    ) -> bytes:
        """Runs a request and returns its result as JSON text.

        Args:
            request: The request.
            peer: Who it comes from.
            exchange: The way back.
            middleware: What wraps it, in place of what wraps every message.

        Raises:
            MCPError: The request is refused, by the engine or by its handler.
            Exception: What the handler raised.
        """
        if middleware is None:
            middleware = self._role.middleware
        handling, route, context = self._begun(request, peer, exchange, middleware)
        result = await handling
        return dumps(result) if route is None else route.shape.to_json(route.checked(context, result), self._role.stamp)

    def _begun(
        self, request: Request, peer: PeerT, exchange: Exchange, middleware: Sequence[Any]
    ) -> tuple[Coroutine[Any, Any, Any], Route | None, ContextT | None]:
        """What gives what the handler returns, the route that says what comes of it, and the context to check it with.

        The route is None where all that is done; the context is None where there is no check.

        A request may run for days: nothing is held for it here that its handler does not need.
        """
        role = self._role
        context = role.context(request, peer, exchange)
        if middleware:
            return contained(self._through, middleware, context, peer), None, None
        route = role.route(request.method, peer.version)
        handling = contained(route.handler, context, _validated(route, request.params))
        return handling, route, None if route.check is None else context

    async def _through(self, middleware: Sequence[Any], context: ContextT, peer: PeerT) -> Any:
        role = self._role

        async def innermost(context: ContextT) -> dict[str, Any]:
            route = role.route(context.method, peer.version)
            params = _validated(route, context.params)
            # Middleware is to see the failure that the client is told of, and no exit.
            result = await contained(route.handler, context, params)
            return route.shape.to_dict(route.checked(context, result), role.stamp)

        return plain(await _chained(middleware, innermost)(context))

    async def notified(self, notification: Notification, peer: PeerT, exchange: Exchange) -> None:
        """Delivers a notification. Whatever goes wrong with it is logged; only a cancellation gets out."""
        role = self._role

        async def innermost(context: ContextT) -> None:
            route = role.notification_route(context.method, peer.version)
            if route is not None:
                await contained(route.handler, context, _validated(route, context.params))

        try:
            context = role.context(notification, peer, exchange)
            await contained(_chained(role.middleware, innermost), context)
        except MCPError as error:
            logger.warning("dropped %s: %s", notification.method, error)
        except Exception:
            logger.exception("handling %s failed", notification.method)

    @staticmethod
    def as_error(method: str, failure: Exception) -> MCPError:
        """The error that a caller may see. What it must not see goes to the log, with its traceback."""
        if isinstance(failure, MCPError):
            return failure
        if isinstance(failure, InvalidResultError):
            logger.error("handler for %r returned an invalid result: %s", method, failure)
            return MCPError(INTERNAL_ERROR, "Handler returned an invalid result")
        logger.error("handling %r raised", method, exc_info=failure)
        return MCPError(INTERNAL_ERROR, "Internal server error")


def _chained(middleware: Sequence[Any], innermost: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    chain = innermost
    for layer in reversed(middleware):
        chain = _layered(layer, chain)
    return chain


def _layered(layer: Callable[[Any, Any], Awaitable[Any]], rest: Callable[[Any], Awaitable[Any]]) -> Any:
    async def call(context: Any) -> Any:
        return await layer(context, rest)

    return call


def _validated(route: Route, params: Any) -> Any:
    try:
        return route.validate({} if params is None else params)
    except ValidationError as error:
        raise invalid_params(error) from error


def invalid_params(error: ValidationError) -> MCPError:
    """The error -32602 for params that do not fit their model: each place, and what was expected there."""
    problems = [
        {"path": ".".join(str(part) for part in problem["loc"]), "expected": problem["msg"]}
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    text = f"Invalid request parameters: {first['path'] or 'params'}: {first['expected']}{more}"
    return MCPError(INVALID_PARAMS, text, problems)
