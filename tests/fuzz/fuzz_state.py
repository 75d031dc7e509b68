"""The `state` and `claims` targets: sealed request state that was damaged on its way, and what a codec may open."""

import logging
from base64 import urlsafe_b64encode
from random import Random
from typing import Any, Final, cast

from fuzz_parsers import target
from fuzz_server import run

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server._request_state_claims import Claims
from mcp.server.context import HandlerResult
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)

Context = ServerRequestContext[Any, Any]

PARAMS: Final[dict[str, Any]] = {"name": "refund", "arguments": {"amount": 120}}
OTHER_REQUESTS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("tools/call", {"name": "payout", "arguments": {"amount": 120}}),
    ("tools/call", {"name": "refund", "arguments": {"amount": 121}}),
    ("tools/call", {"name": "refund"}),
    ("prompts/get", PARAMS),
    ("resources/read", {"uri": "refund"}),
)
REASONS: Final = {"malformed", "unknown key", "broken seal", "request binding"}
REJECTION: Final = (-32602, "Invalid or expired requestState", {"reason": "invalid_request_state"})


class _Reasons(logging.Handler):
    """Takes what the boundary logs: one warning for each rejection, and nothing worse."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append((record.levelno, record.getMessage().partition(": ")[2]))

    def taken(self) -> list[tuple[int, str]]:
        seen, self.seen = self.seen, []
        return seen


_CODEC: Final = AESGCMRequestStateCodec([b"k" * 32, b"o" * 32])
_BOUNDARY: Final = RequestStateBoundary(RequestStateSecurity(codec=_CODEC, clock=lambda: 0.0), default_audience="till")
_LOG: Final = _Reasons()
logging.getLogger("mcp.server.request_state").addHandler(_LOG)
logging.getLogger("mcp.server.request_state").propagate = False


def _claims(state: str) -> bytes:
    bound: dict[str, Any] = {"audience": "till", "principal": None, "expires": 600.0}
    return Claims.of_request("tools/call", PARAMS, state, **bound).to_payload()


def _token(state: str, random: Random) -> bytes:
    """A token that follows from the seed, which those of the codec itself do not."""
    id, nonce = _CODEC._sealing, random.randbytes(12)
    sealed = _CODEC._cipher(id).encrypt(nonce, _claims(state), b"v1." + id)
    return b"v1." + urlsafe_b64encode(id + nonce + sealed).rstrip(b"=")


STATES: Final = ("", "refund:120", "ž" * 40, "a state of another length")
TOKENS: Final = dict(zip(map(_token, STATES, map(Random, range(4))), STATES, strict=True))
FRAGMENTS: Final = (
    *(b"v1.", b"v2.", b"v1", b".", b"=", b"==", b"-", b"_", b"+", b"/", b" ", b"\n", b"\x00", b"A", b"AAAA"),
    *(b"\xc5\xbe", b"\xff", urlsafe_b64encode(bytes(36)), urlsafe_b64encode(_CODEC._sealing), b"x" * 5000),
)


async def _echo(ctx: Context) -> HandlerResult:
    return {"state": cast("dict[str, Any]", ctx.params)["requestState"]}


def _sent(method: str, params: dict[str, Any], token: str) -> HandlerResult | MCPError:
    """What a request with this state gets."""
    ctx = Context(
        session=cast("Any", None),
        lifespan_context={},
        protocol_version="2026-07-28",
        method=method,
        params={**params, "requestState": token},
    )

    async def send() -> HandlerResult | MCPError:
        try:
            return await _BOUNDARY(ctx, _echo)
        except MCPError as error:
            return error

    return run(send())


@target("state", tuple(TOKENS), FRAGMENTS)
def check_state(data: bytes, random: Random) -> None:
    """A damaged token is refused, always in the same way; one that is whole is good for its own request only."""
    token = data.decode("latin-1")
    _check_sent("tools/call", PARAMS, token, TOKENS.get(data))
    if random.random() < 0.1:
        method, params = random.choice(OTHER_REQUESTS)
        _check_sent(method, params, random.choice((token, random.choice(list(TOKENS)).decode())), None)


def _check_sent(method: str, params: dict[str, Any], token: str, state: str | None) -> None:
    answer = _sent(method, params, token)
    if state is not None:
        assert answer == {"state": state}, "a whole token was refused"
        assert _LOG.taken() == []
        return
    assert isinstance(answer, MCPError), "a damaged token was taken"
    assert (answer.code, answer.message, answer.data) == REJECTION
    [(level, reason)] = _LOG.taken()
    assert level == logging.WARNING
    assert reason in REASONS, reason


CLAIMS: Final = tuple(map(_claims, STATES))
CLAIMS_FRAGMENTS: Final = (
    *(b'"v":1,', b'"v":2,', b'"exp":1e999,', b'"exp":NaN,', b'"exp":true,', b'"aud":null,', b'"sub":"x",', b"null"),
    *(b"{", b"}", b"[" * 5000, b'"', b"\\ud83d", b"\xff", b"\x00", b",", b":", b"1" * 5000, b'"state":"forged",'),
)


@target("claims", CLAIMS, CLAIMS_FRAGMENTS)
def check_claims(data: bytes, _random: Random) -> None:
    """Whatever a codec opens is claims that can be written again, or no claims at all."""
    try:
        claims = Claims.from_payload(data)
    except InvalidRequestState:
        return
    again = Claims.from_payload(claims.to_payload())
    assert again == claims or claims.expires != claims.expires
    try:
        claims.check("tools/call", PARAMS, "till", None, now=0.0)
    except InvalidRequestState:
        return
    whole = Claims.from_payload(CLAIMS[0])
    assert (claims.request, claims.audience, claims.principal) == (whole.request, whole.audience, whole.principal)
    assert claims.expires > 0
