"""From the `cache` of a `Client` to the cache of its connection. Nothing is loaded before something can be kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from mcp import types
    from mcp.client.caching import CacheConfig
    from mcp.client.callbacks import MessageHandlerFnT
    from mcp.client.response_cache import ClientResponseCache
    from mcp.client.session import IncomingMessage

__all__ = ["DEFAULT_CACHE", "LateCache", "check_cache", "evicting_message_handler", "open_cache"]


class _DefaultCache:
    """Stands for `CacheConfig()`, which most clients have and few need."""

    def __getattr__(self, name: str) -> Any:
        from mcp.client.caching import CacheConfig

        return getattr(CacheConfig(), name)

    def __repr__(self) -> str:
        return "CacheConfig()"


DEFAULT_CACHE: CacheConfig = cast("CacheConfig", _DefaultCache())
"""How a client caches that does not say."""


def check_cache(cache: object, server: object) -> None:
    """Refuses what cannot be the `cache` of a client.

    Args:
        cache: How to cache; None and False are not at all.
        server: What the client connects to.

    Raises:
        TypeError: `cache` is no `CacheConfig`.
        ValueError: It has a store, and nothing says what server the results there are from.
    """
    if cache is None or cache is False or cache is DEFAULT_CACHE:
        return
    from mcp.client.caching import CacheConfig

    if not isinstance(cache, CacheConfig):
        raise TypeError(f"cache must be a CacheConfig, or None for no cache, got {type(cache).__name__}")
    if cache.store is not None and cache.target_id is None and not isinstance(server, str):
        raise ValueError(
            "a store that may be shared needs the server's name, CacheConfig(target_id=...), where the server is not "
            "given by its URL: without one no other client would ever be served what this one keeps"
        )


def open_cache(
    config: CacheConfig, server: object, negotiated_version: Callable[[], str | None]
) -> ClientResponseCache | LateCache:
    """The cache of one connection.

    Args:
        config: How to cache.
        server: What the client connects to.
        negotiated_version: The protocol version that is spoken; None before it is settled.
    """
    if config is DEFAULT_CACHE:
        return LateCache(server, negotiated_version)
    return _opened(config, server, negotiated_version)


def _opened(config: CacheConfig, server: object, negotiated_version: Callable[[], str | None]) -> ClientResponseCache:
    from mcp.client.caching import InMemoryResponseCacheStore
    from mcp.client.response_cache import ClientResponseCache

    identity = config.target_id or (_without_userinfo(server) if isinstance(server, str) else secrets.token_hex())
    return ClientResponseCache(
        store=InMemoryResponseCacheStore() if config.store is None else config.store,
        partition=config.partition,
        # A URL may hold secrets, and keys are read by whoever reads the store.
        arm_id=hashlib.sha256(identity.encode()).hexdigest(),
        default_ttl_ms=config.default_ttl_ms,
        clock=config.clock,
        share_public=config.share_public,
        negotiated_version=negotiated_version,
    )


def _without_userinfo(url: str) -> str:
    """The URL without what stands before the host. Nothing else is touched: two URLs may be two servers."""
    scheme, separator, rest = url.partition("://")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    return scheme + separator + rest[:end].rpartition("@")[2] + rest[end:]


class LateCache:
    """A cache of the default kind, made when the first result comes that may be kept. Most servers send none.

    See `ClientResponseCache` for the methods.

    Args:
        server: What the client connects to.
        negotiated_version: The protocol version that is spoken; None before it is settled.
    """

    def __init__(self, server: object, negotiated_version: Callable[[], str | None]) -> None:
        self._server = server
        self._negotiated_version = negotiated_version
        self._cache: ClientResponseCache | None = None
        # Of what is fetched before there is a cache. Counts down, so that it is never one of the cache's own.
        self._generation = -1

    async def read(self, method: str, params_key: str) -> types.CacheableResult | None:
        """A fresh result, if one is kept."""
        return None if self._cache is None else await self._cache.read(method, params_key)

    def capture(self, method: str, params_key: str) -> int:
        """Begins to watch for evictions."""
        return self._generation if self._cache is None else self._cache.capture(method, params_key)

    async def write(
        self,
        method: str,
        params_key: str,
        result: types.CacheableResult,
        gen_at_capture: int,
        mode: Literal["use", "refresh"],
    ) -> None:
        """Keeps a result, unless it is stale at once, or was evicted while it was fetched."""
        if self._cache is None:
            if result.ttl_ms == 0:
                return
            from mcp.client.caching import CacheConfig

            self._cache = _opened(CacheConfig(), self._server, self._negotiated_version)
        if gen_at_capture == self._generation:
            gen_at_capture = self._cache.capture(method, params_key)
        await self._cache.write(method, params_key, result, gen_at_capture, mode)

    async def evict_method(self, method: str) -> None:
        """Forgets a listing."""
        await self.evict_key(method, "")

    async def evict_key(self, method: str, params_key: str) -> None:
        """Forgets the result of one request."""
        self._generation -= 1
        if self._cache is not None:
            await self._cache.evict_key(method, params_key)

    async def on_notification(self, method: str, params: dict[str, Any] | None) -> None:
        """Forgets what a notification says has changed."""
        if method.endswith(("/list_changed", "/updated")):
            self._generation -= 1
        if self._cache is not None:
            await self._cache.on_notification(method, params)


def evicting_message_handler(cache: ClientResponseCache, user_handler: MessageHandlerFnT | None) -> MessageHandlerFnT:
    """A message handler that shows each notification to a cache first, for a session that has none of its own.

    Args:
        cache: Forgets what a notification says has changed.
        user_handler: Gets every message afterwards.
    """

    async def handle(message: IncomingMessage) -> None:
        if not isinstance(message, Exception):
            await cache.evict_for_notification(message)
        if user_handler is not None:
            await user_handler(message)

    return handle
