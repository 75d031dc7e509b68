"""The responses of an endpoint that stand until somebody ends them."""

from collections.abc import Callable, Hashable

from mcp.server.shutdown import ShutdownWatch

__all__ = ["StandingStreams"]


class StandingStreams:
    """Ends streams politely when the application, or the process, is told to stop.

    An HTTP server lets responses that are under way come to their end, and waits for that; these would never.
    """

    def __init__(self) -> None:
        self._ends: dict[Hashable, Callable[[], None]] = {}
        self._shutdown = ShutdownWatch(lambda: bool(self._ends), self._end_all)
        self._closed = False

    def add(self, stream: Hashable, end: Callable[[], None]) -> None:
        """Takes note of a stream.

        Args:
            stream: What `discard` knows it by.
            end: Ends it soon. Never raises.
        """
        self._ends[stream] = end
        self._shutdown.start()
        if self._closed:
            end()

    def discard(self, stream: Hashable) -> None:
        """Forgets a stream that has ended; does nothing for one that it does not know."""
        self._ends.pop(stream, None)

    def close(self) -> None:
        """Ends every stream, and those to come."""
        self._closed = True
        self._end_all()

    def _end_all(self) -> None:
        for end in tuple(self._ends.values()):
            end()
