"""A link whose other end is the test: it says what arrives, and looks at what was sent."""

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

import anyio

from mcp.engine.link import Frame

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(id: int | str, method: str, params: Mapping[str, Any] | None = None, **meta: Any) -> bytes:
    """The frame of a 2026-07-28 request."""
    wire = {**(params or {}), "_meta": {**META, **meta}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": wire}).encode()


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """The frame of a 2026-07-28 notification; `params` without `_meta` get one."""
    wire = {"_meta": META, **(params or {})}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": wire}).encode()


def cancellation(id: object) -> bytes:
    """The frame that cancels a request."""
    return notification("notifications/cancelled", {"requestId": id, "reason": "changed my mind"})


class ScriptedLink:
    """A `Link`. Attributes say what the peer does: `reads` (it takes what is sent), `behind` (it is slow to)."""

    def __init__(self) -> None:
        self._arrived: deque[list[Frame]] = deque()
        self._sent: deque[bytes] = deque()
        self._changed = anyio.Event()
        self._ended = False
        self.reads = True
        self.behind = False
        self.drains = 0
        self.closed = False

    # The test's end.

    def arrive(self, *frames: Frame) -> None:
        """These frames arrive, at once."""
        self._arrived.append(list(frames))
        self.changed()

    def end(self) -> None:
        """The peer closes its side."""
        self._ended = True
        self.changed()

    def changed(self) -> None:
        """Wakes whoever waits for this link."""
        self._changed.set()
        self._changed = anyio.Event()

    @property
    def sent(self) -> list[Any]:
        """What was sent and not looked at yet."""
        return [json.loads(frame) for frame in self._sent]

    async def next(self) -> Any:
        """Waits for what is sent next, and takes it."""
        while not self._sent:
            await self._changed.wait()
        return json.loads(self._sent.popleft())

    # The engine's end.

    async def receive(self) -> list[Frame]:
        while not self._arrived:
            if self._ended or self.closed:
                raise anyio.EndOfStream
            await self._changed.wait()
        return self._arrived.popleft()

    def send(self, frame: bytes) -> None:
        if self.closed:
            raise anyio.ClosedResourceError
        if not self.reads:
            raise anyio.BrokenResourceError
        self._sent.append(frame)
        self.changed()

    async def drain(self) -> None:
        self.drains += 1
        while self.behind:
            await self._changed.wait()

    async def aclose(self) -> None:
        self.closed = True
        self.changed()
