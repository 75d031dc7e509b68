"""What a client learns of a server's tools by listing them, and what it does with it when it calls one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from mcp import types
from mcp.client.handshake_verbs import HandshakeVerbs
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import HEADER_MISMATCH, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from mcp.client.callbacks import ProgressFnT
    from mcp.client.tool_headers import ToolHeaders
    from mcp.shared.message import ClientMessageMetadata

__all__ = ["ToolListings"]

logger = logging.getLogger("client")

_MOST_PAGES = 1000
"""Of tools, that are listed to find one."""


class ToolListings(HandshakeVerbs):
    """A session that remembers the output schemas and the header parameters of the tools it has seen listed."""

    _headers: ToolHeaders | None = None

    @cached_property
    def _relearning(self) -> anyio.Lock:
        return anyio.Lock()

    async def list_tools(self, *, params: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
        """Lists one page of the server's tools.

        Over HTTP, tools whose header parameters break the specification are left out, and a warning says why.

        Args:
            params: Which page, and `_meta`.
        """
        result: types.ListToolsResult = await self._list("tools/list", types.ListToolsResult, params)
        result.tools = self.learn_tools(result.tools)
        return result

    def learn_tools(self, tools: Sequence[types.Tool]) -> list[types.Tool]:
        """Takes note of tools, wherever their listing has come from, and returns those that can be called.

        Args:
            tools: The tools.
        """
        self._schemas.absorb(tools)
        headers = self._tool_headers()
        return list(tools) if headers is None else headers.admit(tools)

    # The arguments of calls in headers.

    def _tool_headers(self) -> ToolHeaders | None:
        """What travels in headers; None on a connection that has none, or speaks a revision without them."""
        if not self._envelope or not self._connected().carries_headers:
            return None
        if self._headers is None:
            from mcp.client.tool_headers import ToolHeaders

            self._headers = ToolHeaders()
        return self._headers

    def _send(
        self,
        method: str,
        params: dict[str, Any],
        timeout: float | None = None,
        progress: ProgressFnT | None = None,
        metadata: ClientMessageMetadata | None = None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        if method == "tools/call" and (headers := self._tool_headers()) is not None:
            return self._send_call(headers, params, timeout, progress, metadata)
        return super()._send(method, params, timeout, progress, metadata)

    async def _send_call(
        self,
        headers: ToolHeaders,
        params: dict[str, Any],
        timeout: float | None,
        progress: ProgressFnT | None,
        metadata: ClientMessageMetadata | None,
    ) -> dict[str, Any]:
        """Sends a tool's call with its arguments in headers; once more if the server wants other ones by now."""
        sent = headers.of_call(params)
        try:
            return await super()._send("tools/call", params, timeout, progress, _with_headers(metadata, sent))
        except MCPError as refusal:
            tool = params.get("name")
            if refusal.code != HEADER_MISMATCH or not isinstance(tool, str):
                raise
            async with self._relearning:
                # Of many calls that were refused at once, the first asks for all.
                if headers.of_call(params) == sent:
                    await self._relearn(headers, tool, timeout, refusal)
        sent = headers.of_call(params)
        return await super()._send("tools/call", params, timeout, progress, _with_headers(metadata, sent))

    async def _relearn(self, headers: ToolHeaders, tool: str, timeout: float | None, refusal: MCPError) -> None:
        """Lists the tools anew, until the one is found.

        Raises:
            MCPError: `refusal`: they cannot be listed.
        """
        headers.forget(tool)
        # What is kept of the listing is as old as what the server refused.
        await self._inbound.forget_for("notifications/tools/list_changed")

        def found(page: types.ListToolsResult) -> bool:
            return any(listed.name == tool for listed in page.tools)

        try:
            ended = await self._list_until(found, self._timeout if timeout is None else timeout)
        except (MCPError, ValidationError) as failure:
            raise refusal from failure
        if not ended:
            raise refusal

    # Output schemas.

    async def _learn_schema(self, tool: str, timeout: float | None = None) -> None:
        """Lists the server's tools until the one is found. A server that cannot list them has no schema to check."""
        try:
            # Some servers answer no listing, and some make up cursors without end: neither may hold up a finished call.
            ended = await self._list_until(lambda page: self._schemas.knows(tool), timeout)
        except (MCPError, ValidationError) as error:
            self._listing_failed(tool, error)
            return
        if ended and not self._schemas.knows(tool):
            logger.warning("Tool %s not listed by server, cannot validate any structured content", tool)
            self._schemas.absorb_unlisted(tool)

    def _listing_failed(self, tool: str, error: Exception) -> None:
        """A server that has no listing will not get one; any other failure may pass, and is tried again next time."""
        if isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND:
            self._schemas.absorb_unlisted(tool)
        else:
            logger.warning("tools/list failed, so this result of tool %s goes unchecked: %s", tool, error)

    async def _list_until(self, found: Callable[[types.ListToolsResult], bool], timeout: float | None) -> bool:
        """Lists page after page, until one is the right one or the last; False where time ran out.

        Raises:
            MCPError: The server answered with an error.
            ValidationError: It answered with what is no listing.
        """
        cursor: str | None = None
        seen: set[str | None] = {None}
        with anyio.move_on_after(timeout) as limit:
            for _ in range(_MOST_PAGES):
                params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
                page = await self.list_tools(params=params)
                cursor = page.next_cursor
                if found(page) or cursor in seen:
                    break
                seen.add(cursor)
        return not limit.cancelled_caught


def _with_headers(metadata: ClientMessageMetadata | None, headers: dict[str, str]) -> ClientMessageMetadata | None:
    """Metadata that asks for headers, on top of what it asked for."""
    if not headers:
        return metadata
    from mcp.shared.message import ClientMessageMetadata

    if metadata is None:
        return ClientMessageMetadata(headers=headers)
    return ClientMessageMetadata(
        metadata.resumption_token, metadata.on_resumption_token_update, {**(metadata.headers or {}), **headers}
    )
