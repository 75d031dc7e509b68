"""Settles which protocol version a client and its server speak.

Specification: basic/versioning under "Backward Compatibility", server/discover, and the transports' pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from mcp import types
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.protocol.trees import is_object
from mcp.shared.exceptions import (
    ConnectionClosedError,
    HTTPResponseError,
    MCPError,
    RequestTimeoutError,
    TransportError,
)
from mcp.types.jsonrpc import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

__all__ = ["PROBE_SECONDS", "negotiate_auto", "presumed_discovery", "settle_version"]

PROBE_SECONDS: Final = 2.0
"""How long a server on a pipe may be silent about `server/discover` before it is offered a handshake as well."""

_MODERN_ERRORS: Final = frozenset({UNSUPPORTED_PROTOCOL_VERSION, HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY})
_NO_HANDSHAKE: Final = _MODERN_ERRORS | {METHOD_NOT_FOUND}
_NO_STREAMABLE_HTTP: Final = (400, 404, 405)


async def settle_version(
    session: ClientSession, mode: str, prior: types.DiscoverResult | None, probe_seconds: float = PROBE_SECONDS
) -> None:
    """Settles the version of an open session.

    Args:
        session: The session.
        mode: "auto" asks the server, and falls back to a handshake; "legacy" opens with a handshake; a version is
            taken as it is, without a message.
        prior: What the server said of itself earlier; used with a version.
        probe_seconds: How long a server on a pipe may be silent when it is asked, before it is offered a handshake.

    Raises:
        MCPError: The server speaks neither era, or the connection failed.
        RuntimeError: There is no revision that both know.
    """
    if mode == "legacy":
        await _initialize(session)
    elif mode == "auto":
        await negotiate_auto(session, probe_seconds)
    else:
        session.adopt(prior or presumed_discovery(mode))


def presumed_discovery(protocol_version: str) -> types.DiscoverResult:
    """What is taken for granted of a server that was not asked: it speaks one revision.

    Args:
        protocol_version: That revision.
    """
    return types.DiscoverResult(supported_versions=[protocol_version], capabilities=types.ServerCapabilities())


async def negotiate_auto(session: ClientSession, probe_seconds: float = PROBE_SECONDS) -> None:
    """Asks a server what it speaks, and falls back to a handshake with one that does not know the question.

    Args:
        session: An open session.
        probe_seconds: How long a server on a pipe may be silent before it is offered a handshake.

    Raises:
        MCPError: The server speaks neither era, or the connection failed.
        RuntimeError: There is no revision that both know.
    """
    try:
        await _settle(session, probe_seconds)
    except ConnectionClosedError as failure:
        _note_way_out(failure)
        raise


async def _settle(session: ClientSession, probe_seconds: float) -> None:
    if session.may_stay_silent:
        await _Probe(session, probe_seconds).run()
        return
    try:
        await session.discover()
    except Exception as failure:
        if not session.takes_handshake or _is_final(failure):
            raise
        await _initialize_instead(session, failure)


def _note_way_out(failure: ConnectionClosedError) -> None:
    """Some old servers end at a question that they do not know. Python 3.10 has no notes."""
    add_note: Callable[[str], None] | None = getattr(failure, "add_note", None)
    if add_note is not None:
        add_note("The server was asked what it speaks (`server/discover`). If that ended it, use mode='legacy'.")


async def _initialize(session: ClientSession) -> None:
    """Opens with a handshake; where the server has no streamable HTTP, over the transport that came before it."""
    try:
        await session.initialize()
    except HTTPResponseError as refusal:
        if refusal.status not in _NO_STREAMABLE_HTTP:
            raise
        await session.fall_back_to_sse(refusal)
        await session.initialize()


async def _initialize_instead(session: ClientSession, failure: Exception) -> None:
    """Opens with a handshake, after a question that failed."""
    try:
        await _initialize(session)
    except MCPError as refusal:
        if _tells_more(failure, refusal):
            raise failure from refusal
        raise


def _tells_more(failure: Exception, refusal: Exception) -> bool:
    """Whether the failure of the question says what is wrong, and not that of the handshake which was tried then."""
    if isinstance(failure, RequestTimeoutError) and isinstance(refusal, RequestTimeoutError):
        return True
    return isinstance(refusal, MCPError) and refusal.code in _NO_HANDSHAKE and not isinstance(refusal, TransportError)


class _Probe:
    """Asks for a modern server, and offers a handshake to one that answers otherwise or not in time.

    The handshake is offered beside the question, not in its place: a server that is slow to start is not an old one,
    and the first valid answer decides.
    """

    def __init__(self, session: ClientSession, seconds: float) -> None:
        self._session = session
        self._seconds = seconds
        self._settled = anyio.Event()
        self._offer = anyio.Event()
        self._decided = False
        self._question_failed: Exception | None = None
        self._failure: Exception | None = None

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask)
            group.start_soon(self._shake_hands)
            await self._settled.wait()
            group.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _ask(self) -> None:
        try:
            if self._adopt(await self._session.fetch_discovery()):
                self._end(None)
        except Exception as error:
            self._question_failed = error
            if _is_final(error) and not self._decided:
                self._end(error)
            self._offer.set()

    def _adopt(self, result: types.DiscoverResult | types.InitializeResult) -> bool:
        """Adopts an answer, and returns True, if it is the first valid one."""
        if self._decided:
            return False
        self._session.adopt(result)
        self._decided = True
        return True

    async def _shake_hands(self) -> None:
        with anyio.move_on_after(self._seconds):
            await self._offer.wait()
        try:
            if self._adopt(await self._session.send_initialize()):
                await self._session.confirm_handshake()
                self._end(None)
        except Exception as error:
            await self._no_hands_shaken(error)

    async def _no_hands_shaken(self, error: Exception) -> None:
        if isinstance(error, MCPError) and not isinstance(error, TransportError | RequestTimeoutError):
            # A modern server that is slow to answer the question may refuse the handshake first.
            await self._offer.wait()
        failure = self._question_failed
        self._end(failure if failure is not None and _tells_more(failure, error) else error)

    def _end(self, failure: Exception | None) -> None:
        if not self._settled.is_set():
            self._failure = failure
            self._settled.set()


def _is_final(error: Exception) -> bool:
    """Whether no handshake would change it: the connection is gone, the server knows this era and says no, or there
    is no authorization, which would only be asked for once more.
    """
    if isinstance(error, OAuthFlowError):
        return True
    if isinstance(error, HTTPResponseError) or not isinstance(error, MCPError):
        return False
    if isinstance(error, TransportError):
        return True
    if error.code not in _MODERN_ERRORS:
        return False
    supported = error.data.get("supported") if is_object(error.data) else None
    return not (isinstance(supported, list) and any(version in supported for version in HANDSHAKE_PROTOCOL_VERSIONS))
