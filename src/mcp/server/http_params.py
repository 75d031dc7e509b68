"""Whether the `Mcp-Param-*` headers of a tool's call say what its arguments say.

Specification: basic/transports/streamable-http under "Server Behavior for Custom Headers" and "Server Validation".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp.engine.dispatch import Engine
from mcp.engine.exchange import FrameWriter, OneWayExchange
from mcp.protocol.codec import Request, loads
from mcp.protocol.eras import Envelope
from mcp.protocol.headers import MCP_PARAM_HEADER_PREFIX
from mcp.protocol.param_headers import X_MCP_HEADER_KEY, HeaderMap, check_param_headers, header_map
from mcp.protocol.trees import is_object
from mcp.server.http_exchange import HTTPOrigin
from mcp.server.http_gate import HTTPRequest
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

__all__ = ["LISTED_SECONDS", "ParamHeaderCheck"]

logger = logging.getLogger(__name__)

LISTED_SECONDS: Final = 5.0
"""How long a call that agrees with a listing is let through without a new one."""

_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower().encode()
_ANNOTATION: Final = X_MCP_HEADER_KEY.encode()
_MOST_PAGES: Final = 1000
_MOST_TOOLS: Final = 100_000
_NO_HEADERS: Final[HeaderMap] = {}


class _Listed(NamedTuple):
    """What a listing said of a tool, and until when that is good enough to let a call through."""

    until: float
    header_map: HeaderMap


class _Claim(NamedTuple):
    """What a call says twice."""

    arguments: dict[str, Any]
    headers: list[tuple[bytes, bytes]]

    def problem(self, header_map: HeaderMap) -> str | None:
        """What does not agree, if the tool has these headers; None if all does."""
        if not header_map:
            return None
        from starlette.datastructures import Headers

        return check_param_headers(header_map, self.arguments, Headers(raw=self.headers))


class ParamHeaderCheck:
    """Checks the headers of calls to one server.

    The schema of a tool comes from the server's `get_tool_input_schema`, or where it has none from its `tools/list`
    handler, asked in the name of the caller. Since that may cost much, a call that agrees with what the handler said a
    few seconds ago asks no more; none is refused on the word of an old listing.

    Args:
        server: The server.
        engine: Its engine.
    """

    def __init__(self, server: Server[Any], engine: Engine[Any, Any]) -> None:
        self._server = server
        self._engine = engine
        self._maps: dict[str, tuple[Any, HeaderMap]] = {}
        self._listed: dict[str, _Listed] = {}

    async def check(self, http: HTTPRequest, call: Request, envelope: Envelope) -> None:
        """Lets a call through, or not. Without a schema there is nothing to hold against it.

        Args:
            http: The POST.
            call: The call in its body.
            envelope: What its `_meta` says.

        Raises:
            MCPError: -32020: headers and arguments do not agree.
        """
        params: dict[str, Any] = call.params or {}
        tool = params.get("name")
        arguments: Any = params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(tool, str) or not is_object(arguments):
            return
        given = [pair for pair in http.scope["headers"] if pair[0].startswith(_PREFIX)]
        if not arguments and not given:
            return
        problem = await self._problem(tool, _Claim(arguments, given), http, call, envelope)
        if problem is not None:
            raise MCPError(HEADER_MISMATCH, problem)

    async def _problem(
        self, tool: str, claim: _Claim, http: HTTPRequest, call: Request, envelope: Envelope
    ) -> str | None:
        look_up = self._server.get_tool_input_schema
        if look_up is not None:
            return claim.problem(self._looked_up(look_up, tool))
        if self._server.get_request_handler("tools/list") is None:
            return None
        known = self._listed.get(tool)
        if known is not None:
            problem = claim.problem(known.header_map)
            now = monotonic()
            if problem is None and now < known.until:
                return None
            if problem is None:
                # One call asks; those that come meanwhile go by what is known.
                self._listed[tool] = known._replace(until=now + LISTED_SECONDS)
        try:
            return claim.problem(await self._listed_anew(tool, http, call, envelope))
        except Exception:
            logger.exception("tools/list failed, so the headers of a call to %r go unchecked", tool)
            return None

    def _looked_up(self, look_up: Callable[[str], Mapping[str, Any] | None], tool: str) -> HeaderMap:
        try:
            schema = look_up(tool)
            known = self._maps.get(tool)
            if known is not None and known[0] is schema:
                return known[1]
            found = header_map(schema)
        except Exception:
            logger.exception("get_tool_input_schema failed, so the headers of a call to %r go unchecked", tool)
            return _NO_HEADERS
        if schema is not None:
            self._maps[tool] = schema, found
        return found

    async def _listed_anew(self, tool: str, http: HTTPRequest, call: Request, envelope: Envelope) -> HeaderMap:
        """Lists the tools as the caller would, until the one is found. What is not listed has no headers."""
        meta = (call.params or {}).get("_meta")
        exchange = _Unheard(HTTPOrigin(http.scope, http.receive, http.body))
        cursor: Any = None
        seen: set[Any] = set()
        while len(seen) < _MOST_PAGES and cursor not in seen:
            seen.add(cursor)
            until = monotonic() + LISTED_SECONDS
            params = {"_meta": meta} if cursor is None else {"_meta": meta, "cursor": cursor}
            page = await self._engine.call(Request(call.id, "tools/list", params), envelope, exchange)
            found, cursor = _read(page)
            if len(self._listed) > _MOST_TOOLS:
                self._listed.clear()
            self._listed.update({name: _Listed(until, header_map) for name, header_map in found.items()})
            if tool in found:
                return found[tool]
            if cursor is None:
                break
        self._listed.pop(tool, None)
        return _NO_HEADERS


def _read(page: bytes) -> tuple[dict[str, HeaderMap], Any]:
    """The tools on a page with their headers, and the cursor of the next page."""
    listing = loads(page)
    # Most catalogues have no annotations at all, and then no schema needs to be looked at.
    read: Callable[[Any], HeaderMap] = header_map if _ANNOTATION in page else lambda schema: _NO_HEADERS
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
