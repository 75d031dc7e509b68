"""Keeps what goes wrong in telemetry out of the requests that it looks on at."""

import logging
from time import monotonic
from types import TracebackType
from typing import Final

__all__ = ["Harmless"]

logger = logging.getLogger(__name__)

QUIET_SECONDS: Final = 60.0
"""How long nothing more is said of a step that fails; it may do so with every message."""


class Harmless:
    """A step whose exceptions are logged, at most once a minute, and go no further. It may be used any number of times.

    Args:
        doing: What the step does, for the log.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._quiet_until: float | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        # What ends a task or the process is not the step's to keep.
        if not isinstance(failure, Exception):
            return False
        now = monotonic()
        if self._quiet_until is None or now >= self._quiet_until:
            self._quiet_until = now + QUIET_SECONDS
            logger.error("OpenTelemetry failed at %s; the message goes on", self._doing, exc_info=failure)
        return True
