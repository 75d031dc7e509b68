"""The sessions of one endpoint: found by their id and their user, counted, and ended when nobody uses them."""

from __future__ import annotations

import logging
from time import monotonic
from typing import Final

import anyio

from mcp.engine.backend import Spawner
from mcp.server.http_gate import Refusal
from mcp.server.http_session import HTTPSession
from mcp.types.jsonrpc import INTERNAL_ERROR

__all__ = ["SessionTable"]

logger = logging.getLogger(__name__)

_LOOKS_PER_TIMEOUT: Final = 4
_LONGEST_PAUSE: Final = 60.0


class SessionTable:
    """Open sessions, by id.

    Args:
        idle_timeout: For how many seconds a session may be idle; None for ever.
        max_sessions: The most sessions at a time; None for no limit.
        spawner: Owns the task that looks for idle ones.
    """

    def __init__(self, *, idle_timeout: float | None, max_sessions: int | None, spawner: Spawner) -> None:
        self._idle_timeout = idle_timeout
        self._max = max_sessions
        self._spawner = spawner
        self._sessions: dict[str, HTTPSession] = {}
        self._opening = 0
        self._looking = False

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, id: str, user: object) -> HTTPSession:
        """The session of an id.

        Raises:
            Refusal: There is none, or it belongs to another user.
        """
        session = self._sessions.get(id)
        if session is None or session.user != user:
            logger.info("Rejected request with unknown or expired session ID: %s", id[:64])
            raise Refusal.unknown_session()
        return session

    def reserve(self) -> None:
        """Makes room for a session that is about to open; `add` or `give_up` follows.

        Raises:
            Refusal: There is none.
        """
        if self._max is not None and len(self._sessions) + self._opening >= self._max:
            logger.warning("Refusing to open a new session: %d sessions are already open", len(self._sessions))
            raise Refusal.of_request(503, "Too many open sessions", INTERNAL_ERROR)
        self._opening += 1

    def give_up(self) -> None:
        """The session that room was made for has not opened."""
        self._opening -= 1

    def add(self, id: str, session: HTTPSession) -> None:
        """The session that room was made for is open."""
        self._opening -= 1
        self._sessions[id] = session
        if self._idle_timeout is not None and not self._looking:
            self._looking = True
            self._spawner.spawn(self._end_idle, self._idle_timeout)

    def remove(self, id: str) -> None:
        """Ends a session."""
        logger.info("Terminating session: %s", id)
        self._sessions.pop(id).close()

    def close(self) -> None:
        """Ends all sessions."""
        for id in list(self._sessions):
            self.remove(id)

    async def _end_idle(self, timeout: float) -> None:
        try:
            while self._sessions:
                await anyio.sleep(min(timeout / _LOOKS_PER_TIMEOUT, _LONGEST_PAUSE))
                now = monotonic()
                for id, session in list(self._sessions.items()):
                    if not session.busy and now - session.idle_since >= timeout:
                        logger.info("Session %s idle timeout", id)
                        self.remove(id)
        finally:
            self._looking = False
