"""Whether the `Mcp-Param-*` headers of a tool's call say what its arguments say.

Specification: basic/transports/streamable-http under "Server Behavior for Custom Headers" and "Server Validation".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio import get_cancelled_exc_class

from mcp.engine.dispatch import Engine
from mcp.protocol.codec import Request
from mcp.protocol.eras import Envelope
from mcp.protocol.headers import MCP_PARAM_HEADER_PREFIX
from mcp.protocol.param_headers import HeaderMap, check_param_headers, header_map
from mcp.protocol.trees import is_object
from mcp.server.http_gate import HTTPRequest
from mcp.server.http_listings import NO_HEADERS, Call, ToolListings
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

__all__ = ["ParamHeaderCheck"]

logger = logging.getLogger(__name__)

_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower().encode()
_LONGEST_NAME: Final = 256
_MOST_MAPS: Final = 1000


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
    few seconds ago asks no more; none is refused on the word of an old listing, unless there is no new one to be had.

    Args:
        server: The server.
        engine: Its engine.
    """

    def __init__(self, server: Server[Any], engine: Engine[Any, Any]) -> None:
        self._server = server
        self._listings = ToolListings(server, engine)
        self._maps: dict[str, tuple[Any, HeaderMap]] = {}

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
        if not arguments and not _param_headers(http):
            return
        look_up = self._server.get_tool_input_schema
        if look_up is not None:
            demanded = self._looked_up(look_up, tool)
            problem = _Claim(arguments, _param_headers(http)).problem(demanded) if demanded else None
        else:
            problem = await self._problem(_Claim(arguments, _param_headers(http)), Call(tool, http, call, envelope))
        if problem is not None:
            raise MCPError(HEADER_MISMATCH, problem)

    async def _problem(self, claim: _Claim, call: Call) -> str | None:
        if self._server.get_request_handler("tools/list") is None:
            return None
        known = self._listings.known(call)
        problem = None if known is None else claim.problem(known.header_map)
        if known is not None and problem is None:
            if known.fresh:
                return None
            # One call asks; those that come meanwhile go by what is known.
            self._listings.prolong(call)
        try:
            return claim.problem(await self._listings.ask(call))
        except get_cancelled_exc_class():
            if known is not None and problem is None:
                # Clients that always hang up would keep it from ever being listed anew.
                self._listings.prolong(call, 0)
            raise
        except Exception as failure:
            # An `MCPError` is an answer, and has no more to tell than its text.
            logger.error(
                "tools/list failed, so the headers of a call to %.100r %s: %s",
                call.tool,
                "go unchecked" if known is None else "are held against an older listing",
                failure,
                exc_info=not isinstance(failure, MCPError),
            )
            return problem

    def _looked_up(self, look_up: Callable[[str], Mapping[str, Any] | None], tool: str) -> HeaderMap:
        known = self._maps.get(tool)
        try:
            schema = _checked(look_up(tool))
            if known is not None and known[0] is schema:
                return known[1]
            found = NO_HEADERS if schema is None else header_map(dict(schema))
        except Exception:
            logger.exception(
                "get_tool_input_schema failed, so the headers of a call to %.100r %s",
                tool,
                "go unchecked" if known is None else "are held against an older schema",
            )
            return NO_HEADERS if known is None else known[1]
        if schema is not None and len(tool) <= _LONGEST_NAME:
            # Clients choose names, and some servers have a schema for any.
            if known is None and len(self._maps) >= _MOST_MAPS:
                del self._maps[next(iter(self._maps))]
            self._maps[tool] = schema, found
        return found


def _param_headers(http: HTTPRequest) -> list[tuple[bytes, bytes]]:
    return [pair for pair in http.scope["headers"] if pair[0].startswith(_PREFIX)]


def _checked(schema: Any) -> Mapping[str, Any] | None:
    if schema is None or isinstance(schema, Mapping):
        return schema  # pyright: ignore[reportUnknownVariableType]
    if iscoroutine(schema):
        schema.close()
    raise TypeError(f"get_tool_input_schema must return a schema or None, got {type(schema).__name__}")
