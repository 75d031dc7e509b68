"""The verbs of `Client` whose results may be served from its cache: the listings, and the contents of resources.

Specification: 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp import types
from mcp.client.deprecated_verbs import DeprecatedVerbs
from mcp.client.input_rounds import further_rounds, in_rounds
from mcp.shared.exceptions import MCPError
from mcp.types.jsonrpc import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp.client.cache_setup import LateCache
    from mcp.client.caching import CacheMode
    from mcp.client.response_cache import ClientResponseCache
    from mcp.shared.subscriptions import ServerEvent

__all__ = ["CacheableVerbs"]

ResultT = TypeVar("ResultT", bound=types.Result)
ResultT_co = TypeVar("ResultT_co", bound=types.Result, covariant=True)

_MODES = ("use", "refresh", "bypass")


class _Listing(Protocol[ResultT_co]):
    async def __call__(self, *, params: types.PaginatedRequestParams | None) -> ResultT_co: ...


class CacheableVerbs(DeprecatedVerbs):
    """A client that may keep what it was told.

    Attributes:
        input_required_max_rounds: See `Client`.
    """

    input_required_max_rounds: int
    _response_cache: ClientResponseCache | LateCache | None

    async def list_tools(
        self,
        *,
        cursor: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ListToolsResult:
        """Lists one page of the server's tools.

        Over HTTP, tools whose header parameters break the specification are left out, and a warning says why.

        Args:
            cursor: The `next_cursor` of the page before; None is the first page, the only one that is cached.
            meta: The request's `_meta`. With one, the server is always asked.
            cache_mode: Serve what is in the cache ("use"), replace it ("refresh"), or leave it alone ("bypass").

        Raises:
            MCPError: The server answered with an error.
            ValueError: `cache_mode` is none of the three.
        """
        return await self._list("tools/list", self.session.list_tools, cursor, meta, cache_mode, self._learn)

    async def list_prompts(
        self,
        *,
        cursor: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ListPromptsResult:
        """Lists one page of the server's prompts.

        Args:
            cursor: The `next_cursor` of the page before; None is the first page, the only one that is cached.
            meta: The request's `_meta`. With one, the server is always asked.
            cache_mode: Serve what is in the cache ("use"), replace it ("refresh"), or leave it alone ("bypass").

        Raises:
            MCPError: The server answered with an error.
            ValueError: `cache_mode` is none of the three.
        """
        return await self._list("prompts/list", self.session.list_prompts, cursor, meta, cache_mode)

    async def list_resources(
        self,
        *,
        cursor: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ListResourcesResult:
        """Lists one page of the server's resources.

        Args:
            cursor: The `next_cursor` of the page before; None is the first page, the only one that is cached.
            meta: The request's `_meta`. With one, the server is always asked.
            cache_mode: Serve what is in the cache ("use"), replace it ("refresh"), or leave it alone ("bypass").

        Raises:
            MCPError: The server answered with an error.
            ValueError: `cache_mode` is none of the three.
        """
        return await self._list("resources/list", self.session.list_resources, cursor, meta, cache_mode)

    async def list_resource_templates(
        self,
        *,
        cursor: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ListResourceTemplatesResult:
        """Lists one page of the server's resource templates.

        Args:
            cursor: The `next_cursor` of the page before; None is the first page, the only one that is cached.
            meta: The request's `_meta`. With one, the server is always asked.
            cache_mode: Serve what is in the cache ("use"), replace it ("refresh"), or leave it alone ("bypass").

        Raises:
            MCPError: The server answered with an error.
            ValueError: `cache_mode` is none of the three.
        """
        list_page = self.session.list_resource_templates
        return await self._list("resources/templates/list", list_page, cursor, meta, cache_mode)

    async def read_resource(
        self,
        uri: str,
        *,
        input_responses: types.InputResponses | None = None,
        request_state: str | None = None,
        meta: types.RequestParamsMeta | None = None,
        cache_mode: CacheMode = "use",
    ) -> types.ReadResourceResult:
        """Reads a resource. What the server asked for input to answer is never cached.

        Args:
            uri: The resource.
            input_responses: Answers to what an earlier try asked for.
            request_state: The state that the earlier try returned.
            meta: The request's `_meta`. With one, the server is always asked.
            cache_mode: Serve what is in the cache ("use"), replace it ("refresh"), or leave it alone ("bypass").

        Raises:
            MCPError: The server answered with an error, or a callback refused to answer what it asked.
            ValueError: `cache_mode` is none of the three.
            InputRequiredRoundsExceededError: It asked for input more often than `input_required_max_rounds`.
        """
        uri = str(uri)
        once = partial(self.session.read_resource, uri, meta=meta, allow_input_required=True, by_callbacks=True)
        if input_responses is not None or request_state is not None:
            _check_mode(cache_mode)
            return await in_rounds(self.session, once, input_responses, request_state, self.input_required_max_rounds)
        result = await self._cached("resources/read", uri, once, meta, cache_mode)
        if isinstance(result, types.InputRequiredResult):
            return await further_rounds(self.session, once, result, self.input_required_max_rounds)
        return result

    async def _forget(self, event: ServerEvent) -> None:
        """Evicts what an event says has changed, before whoever watches hears of it and asks again."""
        from mcp.shared.subscriptions import event_to_wire

        if self._response_cache is not None:
            await self._response_cache.on_notification(*event_to_wire(event, {}))

    def _learn(self, listing: types.ListToolsResult) -> None:
        listing.tools = self.session.learn_tools(listing.tools)

    async def _list(
        self,
        method: str,
        list_page: _Listing[ResultT],
        cursor: str | None,
        meta: types.RequestParamsMeta | None,
        mode: CacheMode,
        learn: Callable[[ResultT], None] | None = None,
    ) -> ResultT:
        if cursor is None:
            params = None if meta is None else types.PaginatedRequestParams(_meta=meta)
            return await self._cached(method, "", partial(list_page, params=params), meta, mode, learn)
        _check_mode(mode)
        try:
            return await list_page(params=types.PaginatedRequestParams(cursor=cursor, _meta=meta))
        except MCPError as error:
            # The server no longer knows the cursor, so the listing that it is from has changed.
            if error.code == INVALID_PARAMS and self._response_cache is not None and mode != "bypass":
                await self._response_cache.evict_method(method)
            raise

    async def _cached(
        self,
        method: str,
        params_key: str,
        fetch: Callable[[], Awaitable[ResultT]],
        meta: types.RequestParamsMeta | None,
        mode: CacheMode,
        learn: Callable[[Any], None] | None = None,
    ) -> ResultT:
        """What is kept of a request, or what `fetch` returns; `learn` takes what was kept."""
        _check_mode(mode)
        cache = self._response_cache
        if cache is None or mode == "bypass":
            return await fetch()
        if mode == "use" and meta is None:
            kept: Any = await cache.read(method, params_key)
            if kept is not None:
                if learn is not None:
                    learn(kept)
                return kept
        generation = cache.capture(method, params_key)
        result = await fetch()
        replaces = mode == "refresh" or meta is not None
        if isinstance(result, types.CacheableResult):
            await cache.write(method, params_key, result, generation, "refresh" if replaces else "use")
        elif replaces:
            await cache.evict_key(method, params_key)
        return result


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"cache_mode must be 'use', 'refresh' or 'bypass', got {mode!r}")
