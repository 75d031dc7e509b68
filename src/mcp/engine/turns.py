"""One at a time, in the order of arrival."""

from collections import deque
from types import TracebackType

import anyio

__all__ = ["Turns"]


class Turns:
    """A lock for something that stays around for long: idle it is a twentieth of what `anyio.Lock` is.

    Who comes while nobody has the turn does not wait, and lets nobody else run first.
    """

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[anyio.Event] | None = None

    async def __aenter__(self) -> None:
        if not self._taken:
            self._taken = True
            return
        if self._waiting is None:
            self._waiting = deque()
        turn = anyio.Event()
        self._waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._pass_on()
            else:
                self._waiting.remove(turn)
            raise

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._taken = False
            self._waiting = None
