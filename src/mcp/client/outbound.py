"""How requests and notifications go out on one connection of a client."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from mcp import types
from mcp.client.callbacks import ProgressFnT
from mcp.client.envelope import wire_meta
from mcp.client.limits import default_bound, request_extended_by_progress, seconds
from mcp.client.name_header import named_in_header
from mcp.client.renewal import Renewal, StandingRequests
from mcp.client.results import Parser, own_result_of, parser_of, result_of
from mcp.client.routing import PLAIN, Expected, expected, expecting, request_model
from mcp.engine.progress import progress_reporter
from mcp.engine.requester import CallOptions, NotificationTaker, Requester, SendRequest
from mcp.engine.tracing import traced
from mcp.protocol.codec import RequestId
from mcp.shared.exceptions import ConnectionClosedError, SessionExpiredError

if TYPE_CHECKING:
    from mcp.shared.message import ClientMessageMetadata

__all__ = ["Outbound"]

logger = logging.getLogger("client")

ReceiveResultT = TypeVar("ReceiveResultT", bound=BaseModel)

_STANDING = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_result_or_question = partial(result_of, input_required=True)


def _finish(what: Expected) -> Callable[[str, dict[str, Any], Parser[Any]], Any]:
    """What makes of a raw result what the caller gets."""
    if what.claimed:
        return partial(result_of, input_required=what.answered_by is not None, claimed=what.claimed)
    return _result_or_question if what.answered_by else result_of


class Outbound:
    """The outward half of a session.

    Args:
        timeout: How long each request may take, in seconds; None leaves that to `mcp.client.limits`.
        extends: Whether progress extends the time limit.
        tracing: Whether requests get a span, and carry its context, once there is a tracer.
    """

    def __init__(self, timeout: float | None, *, extends: bool, tracing: bool) -> None:
        self._timeout = timeout
        self._extends = extends
        self._tracing = tracing
        self._ids = count(1)
        self._streams = count(1)
        self._envelope: dict[str, Any] = {}
        self._requester: Requester | None = None
        self._renewal = Renewal(self._renew)
        self._standing = StandingRequests()
        self._is_routed = type(self).send_request is not Outbound.send_request

    @property
    def takes_handshake(self) -> bool:
        """Whether this connection can open with a handshake."""
        return self._connected().takes_handshake

    @property
    def may_stay_silent(self) -> bool:
        """Whether a server at the other end may leave a request unanswered that it does not know."""
        return self._connected().may_stay_silent

    async def _renew(self) -> None:
        """Opens a new session in place of one that the server no longer knows."""
        raise NotImplementedError

    def _envelope_of_callers(self) -> dict[str, Any]:
        """The `_meta` of a request whose caller answers whatever the server asks."""
        raise NotImplementedError

    def _renewing(self) -> Callable[[], Awaitable[None]]:
        """What opens a session in place of the one that is open now, unless somebody else has by then."""
        return partial(self._renewal.replace, self._renewal.generation)

    async def _repeat_standing(self) -> None:
        await self._standing.repeat(self._send)

    def _connected(self) -> Requester:
        if self._requester is None:
            raise RuntimeError("ClientSession must be used within an async context manager")
        return self._requester

    def _request(
        self,
        method: str,
        params: dict[str, Any],
        model: type[BaseModel],
        *,
        meta: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress: ProgressFnT | None = None,
        besides: Expected = PLAIN,
        any_kind: bool = False,
    ) -> Coroutine[Any, Any, Any]:
        """Sends the request of a verb: through `send_request` where somebody has replaced that, else directly."""
        if self._is_routed or "send_request" in self.__dict__:
            kind: Any = expecting(model, besides) if any(besides) else model
            return self.send_request(request_model(method, params, meta), kind, timeout, None, progress)
        finish = own_result_of if any_kind else _finish(besides)
        return self._call(method, params, parser_of(model), meta, timeout, progress, None, finish, besides)

    async def _call(
        self,
        method: str,
        params: dict[str, Any],
        parse: Parser[Any],
        meta: Mapping[str, Any] | None,
        timeout: float | None,
        progress: ProgressFnT | None,
        metadata: ClientMessageMetadata | None,
        finish: Callable[[str, dict[str, Any], Parser[Any]], Any],
        besides: Expected = PLAIN,
    ) -> Any:
        envelope = self._envelope if besides.answered_by != "caller" else self._envelope_of_callers()
        if meta:
            envelope = wire_meta(meta, envelope)
        if envelope:
            params["_meta"] = envelope
        generation = self._renewal.generation
        try:
            raw = await self._send(method, params, timeout, progress, metadata)
        except SessionExpiredError as expired:
            try:
                await self._renewal.replace(generation)
            except Exception as failure:
                raise expired from failure
            raw = await self._send(method, params, timeout, progress, metadata)
        if method in _STANDING:
            self._standing.note(method, params)
        return finish(method, raw, parse)

    def _send(
        self,
        method: str,
        params: dict[str, Any],
        timeout: float | None = None,
        progress: ProgressFnT | None = None,
        metadata: ClientMessageMetadata | None = None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        """Sends a request once, under an id of its own."""
        id: RequestId = next(self._ids)
        on_progress = None
        if progress is not None or self._extends:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": id}}
            on_progress = None if progress is None else progress_reporter(progress)
        limit = self._timeout if timeout is None else seconds(timeout)
        options = CallOptions(limit, None, on_progress, default_bound(method))
        if metadata is not None:
            options = options._replace(
                headers=metadata.headers,
                resumption_token=metadata.resumption_token,
                on_resumption_token=metadata.on_resumption_token_update,
            )
        send = self._way_out()
        if self._extends:
            send = partial(request_extended_by_progress, send)
        return send(id, method, params, options)

    def _way_out(self) -> SendRequest:
        """What sends a request; see `Requester.request`."""
        send = self._connected().request
        return traced(send) if self._tracing else send

    @property
    def patience(self) -> float:
        """How long the first word of a stream may take, in seconds."""
        return default_bound("subscriptions/listen") if self._timeout is None else self._timeout

    def open_stream(
        self, method: str, params: dict[str, Any], take: Callable[[RequestId], NotificationTaker]
    ) -> tuple[RequestId, Coroutine[Any, Any, dict[str, Any]]]:
        """A request that is answered when its stream ends. It has no time limit.

        Args:
            method: Its method.
            params: Its params, in wire form.
            take: Given the request's id, what takes the notifications that name it; see `CallOptions`.

        Returns:
            The request's id, and what sends it and awaits its answer.

        Raises:
            RuntimeError: The session is not entered.
        """
        id = f"listen-{next(self._streams)}"
        options = CallOptions(on_notification=take(id))
        return id, self._way_out()(id, method, {**params, "_meta": self._envelope}, options)

    async def send_request(
        self,
        request: types.ClientRequest | types.Request[Any, Any],
        result_type: type[ReceiveResultT] | TypeAdapter[ReceiveResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: ClientMessageMetadata | None = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ReceiveResultT:
        """Sends any request, also one of a method that the protocol does not define.

        A subclass that overrides this sees the requests of every verb, but for `initialize`, `server/discover` and
        `subscriptions/listen`.

        Args:
            request: The request.
            result_type: What its result is validated against.
            request_read_timeout_seconds: How long it may take, in seconds; the session's limit when left out.
            metadata: HTTP headers for this request; with a handshake revision over HTTP also the event after which to
                resume the answer's stream, and what takes the ids of its events.
            progress_callback: Takes progress reports.

        Raises:
            MCPError: The server answered with an error, or the connection failed or has closed.
            ValidationError: The result does not fit.
            RuntimeError: The session is not entered.
            ValueError: The request lacks the param that its `name_param` says stands in the `Mcp-Name` header.
        """
        wire = request.model_dump(by_alias=True, exclude_none=True, mode="json")
        params: dict[str, Any] = wire.get("params") or {}
        besides = expected(result_type)
        return await self._call(
            request.method,
            params,
            parser_of(result_type),
            params.pop("_meta", None),
            request_read_timeout_seconds,
            progress_callback,
            named_in_header(request, params, metadata),
            own_result_of if besides is None else _finish(besides),
            besides or PLAIN,
        )

    async def request(
        self,
        method: str,
        params: types.RequestParams,
        result_type: type[ReceiveResultT],
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> ReceiveResultT:
        """Sends a request by its method's name.

        Args:
            method: The method.
            params: Its params.
            result_type: What its result is validated against.
            meta: The request's `_meta`, on top of that of `params`.

        Raises:
            MCPError: The server answered with an error.
            ValidationError: The result does not fit.
        """
        wire = params.model_dump(by_alias=True, exclude_none=True, mode="json")
        meta = {**wire.pop("_meta", {}), **(meta or {})}
        return await self._request(method, wire, result_type, meta=meta, any_kind=True)

    async def send_notification(self, notification: types.ClientNotification) -> None:
        """Sends a notification; drops it if the connection has closed.

        A subclass that overrides this sees every notification but those that the library sends by itself: that a
        handshake is done, or a request cancelled.

        Args:
            notification: The notification.

        Raises:
            MCPError: The server refused it.
        """
        wire = notification.model_dump(by_alias=True, exclude_none=True, mode="json")
        params: dict[str, Any] = wire.get("params") or {}
        if meta := wire_meta(params.pop("_meta", None) or {}, self._envelope):
            params["_meta"] = meta
        generation = self._renewal.generation
        try:
            await self._connected().notify(notification.method, params or None)
        except SessionExpiredError:
            await self._renewal.replace(generation)
            await self._connected().notify(notification.method, params or None)
        except ConnectionClosedError as error:
            logger.debug("dropped %s: %s", notification.method, error)
