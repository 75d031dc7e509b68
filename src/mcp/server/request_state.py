"""Seals the `request_state` that a handler hands to a client, and opens what comes back.

    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity(keys=[key]), default_audience=server.name)
    )

Handlers write plain text and read plain text. On the wire there is a token that is encrypted and authenticated, and
bound to its request, its user, its server and a time limit. A `Server` without the boundary sends what its handlers
write.

Specification: 2026-07-28, basic/patterns/mrtr under "Server Requirements" and "Security Considerations".
"""

import dataclasses
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from os import urandom
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from pydantic import BaseModel

from mcp.server._request_state_claims import Claims, compact_json
from mcp.server._request_state_codec import KEY_BYTES, AESGCMRequestStateCodec, InvalidRequestState, RequestStateCodec
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.functions import plain_function
from mcp.server.principals import stated_name, token_principal
from mcp.shared.exceptions import MCPError
from mcp.types.base import InputResponseRequestParams
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp.types.methods import INPUT_REQUIRED_METHODS, is_input_required

__all__ = [
    "AESGCMRequestStateCodec",
    "InvalidRequestState",
    "RequestStateBoundary",
    "RequestStateCodec",
    "RequestStateSecurity",
    "authenticated_principal",
    "compact_json",
]

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
_ParamsT = TypeVar("_ParamsT", bound=InputResponseRequestParams)


def authenticated_principal(ctx: Context) -> str | None:
    """Client, issuer and subject of the access token that the request came with.

    Without one, the identity, username or display name of the user that the HTTP application has authenticated. None
    where nobody is, and where the user has none of them that is text, a whole number or a UUID.

    Args:
        ctx: The request.
    """
    scope: Mapping[str, Any] = getattr(ctx.request, "scope", None) or {}
    user = scope.get("user")
    who = token_principal(user)
    if who is not None:
        return compact_json(who)
    name = stated_name(user)
    # An object, since a token is an array: no name may look like a token.
    return compact_json({"user": str(name)}) if isinstance(name, str | int | UUID) else None


class RequestStateSecurity:
    """How request state is protected.

    Args:
        keys: Secrets of at least 32 bytes; the first seals, and all of them open. Whoever has one can forge state.
        codec: Seals and opens in place of `keys`, such as with a key service.
        ttl: How long a sealed state is good for, in seconds: each round starts anew.
        bind_principal: Whose request it is, so that nobody else can use the state; None where nobody can tell. Left
            out, `authenticated_principal` tells. None binds to nobody.
        audience: Which servers accept the state; the server's name when left out. Servers that pass requests on to
            each other need the same one.
        clock: Tells the time, in seconds since the epoch.

    Raises:
        ValueError: Not exactly one of `keys` and `codec` is given, a key is too short or there twice, or `ttl` is no
            positive number.
        TypeError: An argument is of the wrong type.
    """

    def __init__(
        self,
        *,
        keys: Sequence[bytes | bytearray | str] | None = None,
        codec: RequestStateCodec | None = None,
        ttl: float = 600.0,
        bind_principal: Callable[[Context], str | None] | None = authenticated_principal,
        audience: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if (keys is None) == (codec is None):
            raise ValueError("RequestStateSecurity takes exactly one of keys= or codec=")
        if isinstance(ttl, bool) or not isinstance(ttl, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"request-state ttl must be a number of seconds, got {type(ttl).__name__}")
        if not 0 < ttl < math.inf:
            raise ValueError(f"request-state ttl must be a positive finite number, got {ttl!r}")
        self.codec: RequestStateCodec = AESGCMRequestStateCodec(keys) if keys is not None else _checked(codec)
        self.ttl = ttl
        self.bind_principal = None if bind_principal is None else plain_function("bind_principal", bind_principal)
        self.audience = _checked_audience(audience)
        self.clock = plain_function("clock", clock)

    @classmethod
    def ephemeral(cls, *, ttl: float = 600.0, audience: str | None = None) -> "RequestStateSecurity":
        """Protection under a key that is made here and kept nowhere: good for one process, until it ends.

        Args:
            ttl: How long a sealed state is good for, in seconds.
            audience: Which servers accept it.
        """
        return cls(keys=[urandom(KEY_BYTES)], ttl=ttl, audience=audience)


def _checked_audience(audience: Any) -> str | None:
    if audience is None or isinstance(audience, str):
        return audience
    raise TypeError(f"request-state audience must be a str or None, got {type(audience).__name__}")


def _checked(codec: Any) -> RequestStateCodec:
    if not (callable(getattr(codec, "seal", None)) and callable(getattr(codec, "unseal", None))):
        raise TypeError(f"a codec has seal(bytes) -> str and unseal(str) -> bytes, got {type(codec).__name__}")
    return codec


class RequestStateBoundary:
    """Middleware that seals the state in every request for input, and opens it when the client sends it back.

    What it cannot open, for whatever reason, is refused with -32602 "Invalid or expired requestState"; the reason goes
    into the log. It looks at the methods that may be answered by asking for input, whether their handler ever sets a
    state or not.

    Args:
        security: How the state is protected.
        default_audience: The audience where `security` names none, most often the server's name. Servers without any
            accept each other's state, if they share a key.

    Raises:
        TypeError: `default_audience` is no text.
    """

    def __init__(self, security: RequestStateSecurity, *, default_audience: str | None) -> None:
        self._security = security
        default_audience = _checked_audience(default_audience)
        self._audience = default_audience if security.audience is None else security.audience

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Handles one message."""
        if ctx.method not in INPUT_REQUIRED_METHODS:
            return await call_next(ctx)
        params = ctx.params or {}
        # Models also take their fields by their Python names, and a state must not come in by a second door.
        if "request_state" in params:
            params = {key: value for key, value in params.items() if key != "request_state"}
            ctx = dataclasses.replace(ctx, params=params)
        token = params.get("requestState")
        if token is not None:
            ctx = dataclasses.replace(ctx, params={**params, "requestState": self._opened(ctx, token)})
        return self.with_sealed_state(ctx, await call_next(ctx))

    def around(self, handler: Callable[[Context, Any], Awaitable[Any]]) -> Callable[[Context, Any], Awaitable[Any]]:
        """A handler whose state is protected as the middleware would protect it, for less.

        Args:
            handler: Of a method that may be answered by asking for input. Middleware of the server sees sealed state.
        """

        async def handle(ctx: Context, params: Any) -> Any:
            if params.request_state is not None:
                ctx, params = self.with_opened_state(ctx, params)
            return self.with_sealed_state(ctx, await handler(ctx, params))

        return handle

    def with_opened_state(self, ctx: Context, params: _ParamsT) -> tuple[Context, _ParamsT]:
        """A request that comes with a state, as its handler sees it.

        Args:
            ctx: The request.
            params: Its validated params. Their `request_state` is what the client sent back.

        Raises:
            MCPError: The state cannot be opened.
        """
        state = self._opened(ctx, params.request_state)
        ctx = dataclasses.replace(ctx, params={**(ctx.params or {}), "requestState": state})
        return ctx, params.model_copy(update={"request_state": state})

    def _opened(self, ctx: Context, token: object) -> str:
        try:
            if not isinstance(token, str):
                raise InvalidRequestState("non-string requestState")
            return self._open(ctx, token)
        except InvalidRequestState as reason:
            logger.warning("requestState rejected on %s: %s", ctx.method, str(reason) or "codec")
        raise MCPError(INVALID_PARAMS, "Invalid or expired requestState", {"reason": "invalid_request_state"})

    def _open(self, ctx: Context, token: str) -> str:
        security = self._security
        try:
            payload = security.codec.unseal(token)
        except InvalidRequestState:
            raise
        except Exception:
            logger.exception("requestState codec raised during unseal on %s", ctx.method)
            raise InvalidRequestState("codec error") from None
        claims = Claims.from_payload(payload)
        try:
            principal = self._principal(ctx)
        except _Unsealable as reason:
            raise InvalidRequestState(str(reason)) from None
        claims.check(ctx.method, ctx.params or {}, self._audience, principal, security.clock())
        return claims.state

    def with_sealed_state(self, ctx: Context, result: HandlerResult) -> HandlerResult:
        """The answer to a request, as the client gets it: what is no request for input stays as it is.

        Raises:
            MCPError: The state of a request for input cannot be sealed.
        """
        if not is_input_required(result):
            return result
        if isinstance(result, BaseModel):
            state = result.request_state
            return result if state is None else result.model_copy(update={"request_state": self._sealed(ctx, state)})
        state = result.get("requestState")
        return result if state is None else {**result, "requestState": self._sealed(ctx, state)}

    def _sealed(self, ctx: Context, state: object) -> str:
        security = self._security
        try:
            if not isinstance(state, str):
                raise _Unsealable(f"a handler returned {type(state).__name__}, expected str")
            claims = Claims.of_request(
                ctx.method,
                ctx.params or {},
                state,
                audience=self._audience,
                principal=self._principal(ctx),
                expires=security.clock() + security.ttl,
            )
        except _Unsealable as reason:
            logger.error("refusing to seal requestState on %s: %s", ctx.method, reason)
            _fail()
        try:
            token: Any = security.codec.seal(claims.to_payload())
        except Exception:
            logger.exception("requestState codec raised during seal on %s", ctx.method)
            _fail()
        if not isinstance(token, str):
            kind = type(token).__name__
            logger.error("requestState codec returned %s from seal on %s, expected str", kind, ctx.method)
            _fail()
        return token

    def _principal(self, ctx: Context) -> str | None:
        """Whose request it is.

        Raises:
            _Unsealable: `bind_principal` does not say.
        """
        bind = self._security.bind_principal
        if bind is None:
            return None
        try:
            who: Any = bind(ctx)
        except Exception:
            logger.exception("bind_principal raised while processing requestState on %s", ctx.method)
            raise _Unsealable("principal binding error") from None
        if who is None or isinstance(who, str):
            return who
        raise _Unsealable(f"bind_principal returned {type(who).__name__}, expected str or None")


class _Unsealable(Exception):
    """Why state cannot be bound to a request. It is the server's fault, and nothing for the client."""


def _fail() -> NoReturn:
    raise MCPError(INTERNAL_ERROR, "Internal server error") from None
