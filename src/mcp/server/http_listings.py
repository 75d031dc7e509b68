"""What a server's own `tools/list` says of the headers of its tools, and what of that is remembered.

Specification: basic/transports/streamable-http under "Server Validation".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp.engine.dispatch import Engine
from mcp.engine.exchange import FrameWriter, OneWayExchange
from mcp.protocol.codec import Request, loads
from mcp.protocol.eras import Envelope
from mcp.protocol.param_headers import X_MCP_HEADER_KEY, HeaderMap, header_map
from mcp.server.http_gate import HTTPRequest
from mcp.server.principals import principal

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

__all__ = ["LISTED_SECONDS", "NO_HEADERS", "Call", "Listed", "ToolListings"]

logger = logging.getLogger(__name__)

LISTED_SECONDS: Final = 5.0
"""How long a call that agrees with a listing is let through without a new one."""

NO_HEADERS: Final[HeaderMap] = {}

_ANNOTATION: Final = X_MCP_HEADER_KEY.encode()
_MOST_PAGES: Final = 1000
_MOST_TOOLS: Final = 100_000


class Call(NamedTuple):
    """A call in whose name the tools are listed."""

    tool: str
    http: HTTPRequest
    request: Request
    envelope: Envelope

    @property
    def key(self) -> tuple[Hashable, str]:
        """What is remembered for one authenticated user is not held against another."""
        user: Any = principal(self.http.scope.get("user"))
        try:
            hash(user)
        except TypeError:
            user = None
        return user, self.tool


class Listed(NamedTuple):
    """What a listing said of a tool.

    Attributes:
        until: When the listing stops being good enough to let a call through.
        header_map: The headers of the tool; none if it was not listed.
        cursor: What leads to the page that it was on.
    """

    until: float
    header_map: HeaderMap
    cursor: Any

    @property
    def fresh(self) -> bool:
        """Whether a call that agrees needs no new listing."""
        return monotonic() < self.until


class ToolListings:
    """Lists a server's tools as a caller would, and remembers what was listed.

    Names that are not listed are not remembered one by one, since clients choose them: it is remembered that a listing
    came to its end without them.

    Args:
        server: The server.
        engine: Its engine.
    """

    def __init__(self, server: Server[Any], engine: Engine[Any, Any]) -> None:
        self._server = server
        self._engine = engine
        self._listed: dict[tuple[Hashable, str], Listed] = {}
        self._ended: dict[Hashable, float] = {}

    def known(self, call: Call) -> Listed | None:
        """What is remembered of a call's tool; None for nothing."""
        key = call.key
        known = self._listed.get(key)
        if known is not None:
            return known
        until = self._ended.get(key[0])
        return None if until is None else Listed(until, NO_HEADERS, None)

    def prolong(self, call: Call, seconds: float = LISTED_SECONDS) -> None:
        """Makes what is known of a call's tool good from now on for some seconds, whenever it was listed."""
        key = call.key
        until = monotonic() + seconds
        known = self._listed.get(key)
        if known is None:
            self._ended[key[0]] = until
        else:
            self._listed[key] = known._replace(until=until)

    async def ask(self, call: Call) -> HeaderMap:
        """The headers of a call's tool, from a new listing. What is not listed has none.

        Raises:
            Exception: What the listing ended with.
        """
        known = self._listed.get(call.key)
        if known is not None and known.cursor is not None and known.fresh:
            # Calls that do not agree cost a page each, and not a catalogue.
            try:
                found, _ = await self._page(call, known.cursor, known.until)
            except Exception:
                logger.debug("a page of tools/list is gone; it is looked for", exc_info=True)
            else:
                if call.tool in found:
                    return found[call.tool]
        return await self._walk(call)

    async def _walk(self, call: Call) -> HeaderMap:
        """Lists page by page, until the tool is found."""
        memory = self._listed
        until = monotonic() + LISTED_SECONDS
        cursor: Any = None
        seen: set[Any] = set()
        while len(seen) < _MOST_PAGES and cursor not in seen:
            seen.add(cursor)
            found, cursor = await self._page(call, cursor, until)
            if call.tool in found:
                return found[call.tool]
            if cursor is None:
                break
        self._listed.pop(call.key, None)
        if self._listed is memory:
            self._ended[call.key[0]] = until
        return NO_HEADERS

    async def _page(self, call: Call, cursor: Any, until: float) -> tuple[dict[str, HeaderMap], Any]:
        """The headers of the tools on a page, which are remembered, and the cursor of the next page."""
        params = {"_meta": (call.request.params or {}).get("_meta")}
        if cursor is not None:
            params["cursor"] = cursor
        http = call.http
        exchange = _Unheard(http)
        # Nobody has sent this message, so what counts and notes messages is left out. What hides or changes tools is
        # not: the headers are those of the tools that the caller is shown.
        middleware = [layer for layer in self._server.middleware if not getattr(layer, "received_only", False)]
        request = Request(call.request.id, "tools/list", params)
        page = await self._engine.call(request, call.envelope, exchange, middleware)
        found, following = _read(page)
        if len(self._listed) + len(self._ended) > _MOST_TOOLS:
            self._listed, self._ended = {}, {}
        user = call.key[0]
        self._listed.update({(user, name): Listed(until, headers, cursor) for name, headers in found.items()})
        return found, following


def _read(page: bytes) -> tuple[dict[str, HeaderMap], Any]:
    """The tools on a page with their headers, and the cursor of the next page."""
    listing = loads(page)
    # Most catalogues have no annotations at all, and then no schema needs to be looked at.
    read: Callable[[Any], HeaderMap] = header_map if _ANNOTATION in page else lambda schema: NO_HEADERS
    return {tool["name"]: read(tool["inputSchema"]) for tool in listing["tools"]}, listing.get("nextCursor")


class _Unheard(OneWayExchange):
    """The way back of a listing that no client asked for: nowhere."""

    __slots__ = ()

    async def notify(self, method: str, params: dict[str, Any] | None) -> None:
        """Drops a notification."""

    def open_stream(self, end: Callable[[], None]) -> FrameWriter:
        """See `Exchange.open_stream`. What is sent is dropped."""
        return _drop


async def _drop(frames: Sequence[bytes]) -> None:
    """Sends nothing."""
