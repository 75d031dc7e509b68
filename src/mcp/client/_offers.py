"""Everything that a server lists: its prompts, resources and tools, page by page."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from mcp import types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError, TransportError
from mcp.types.jsonrpc import INVALID_REQUEST

__all__ = ["Offers", "offers_of"]

logger = logging.getLogger("mcp.client.session_group")

_MOST_PAGES = 1000


@dataclass
class Offers:
    """What a server lists."""

    prompts: list[types.Prompt] = field(default_factory=list[types.Prompt])
    resources: list[types.Resource] = field(default_factory=list[types.Resource])
    tools: list[types.Tool] = field(default_factory=list[types.Tool])


async def offers_of(session: ClientSession) -> Offers:
    """Lists everything that a server offers. What it declares no capability for is not asked for.

    Args:
        session: An open session with the server.

    Raises:
        TransportError: The connection failed. A list that the server refuses, or does not end, is cut short there.
    """
    offers = Offers()
    known = session.server_capabilities or types.ServerCapabilities()
    # A session that was opened without asking the server knows nothing of it.
    blank = not (known.prompts or known.resources or known.tools)
    if blank or known.prompts:
        await _collect("prompts", session.list_prompts, lambda page: offers.prompts.extend(page.prompts))
    if blank or known.resources:
        await _collect("resources", session.list_resources, lambda page: offers.resources.extend(page.resources))
    if blank or known.tools:
        await _collect("tools", session.list_tools, lambda page: offers.tools.extend(page.tools))
    return offers


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


_PageT = TypeVar("_PageT", bound=_Page)


async def _collect(kind: str, list_page: Callable[..., Awaitable[_PageT]], take: Callable[[_PageT], None]) -> None:
    """Takes every page of a list, or as many as the server gives."""
    try:
        page = await list_page()
        take(page)
        seen: set[str] = set()
        while page.next_cursor is not None:
            if page.next_cursor in seen or len(seen) == _MOST_PAGES:
                raise MCPError(INVALID_REQUEST, f"the list does not end: {_MOST_PAGES} pages, or a cursor twice")
            seen.add(page.next_cursor)
            page = await list_page(params=types.PaginatedRequestParams(cursor=page.next_cursor))
            take(page)
    except TransportError:
        raise
    except MCPError as error:
        logger.warning("Could not fetch %s: %s", kind, error)
