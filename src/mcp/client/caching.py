"""The client's response cache: which results `Client` keeps, for how long, for whom, and where.

A server says of a listing or of what a resource holds how long it stays fresh (`ttlMs`) and whether it is the same for
everybody (`cacheScope`); see `mcp.server.caching` for that end. `Client` keeps such results unless it is told not to.
How it does is in `mcp.client.response_cache`.

Specification: 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from mcp.shared._checks import check_whole

if TYPE_CHECKING:
    from mcp.client.response_cache import ClientResponseCache as ClientResponseCache

__all__ = [
    "MAX_TTL_MS",
    "CacheConfig",
    "CacheEntry",
    "CacheKey",
    "CacheMode",
    "InMemoryResponseCacheStore",
    "ResponseCacheStore",
]

CacheMode = Literal["use", "refresh", "bypass"]
"""How one call uses the cache: serve from it ("use"), replace what it holds ("refresh"), or not touch it ("bypass")."""

MAX_TTL_MS: Final[int] = 86_400_000
"""The longest that a result is kept, in milliseconds: 24 hours, whatever its server says."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Under what a result is kept.

    Attributes:
        method: The method that it is a result of.
        params_key: What of the request's params it depends on: the URI of `resources/read`, nothing of a listing.
        partition: Whose it is, as text to compare and not to read: scope, protocol version, a hash of the server's
            identity, and the partition of `CacheConfig`.
    """

    method: str
    params_key: str = ""
    partition: str = ""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A result that is kept.

    Attributes:
        value: The result, a model of `mcp.types`. A store may hand it back as the dict that
            `value.model_dump(mode="json", by_alias=True, exclude_unset=True)` makes of it.
        scope: Who may be served from it, as its server said.
        expires_at: When it is stale, in seconds since the epoch by the clock of `CacheConfig`; None counts as stale.
    """

    value: Any
    scope: Literal["public", "private"]
    expires_at: float | None


class ResponseCacheStore(Protocol):
    """Where results are kept. One of your own can share them between clients and between processes.

    Whatever its methods raise is logged, and the call goes on as if nothing had been kept.
    """

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """The entry under a key; None where there is none. A stale one may be returned, and is not used."""
        ...

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """Keeps an entry under a key, in place of what is there."""
        ...

    async def delete(self, key: CacheKey) -> None:
        """Forgets what is under a key, if anything is."""
        ...

    async def clear(self) -> None:
        """Forgets everything. `Client` never asks for it."""
        ...


class InMemoryResponseCacheStore:
    """Keeps results in this process, up to a number of them; the one that was used least recently goes first.

    Args:
        max_entries: How many are kept; 0 keeps none.

    Raises:
        TypeError: `max_entries` is no whole number.
        ValueError: It is negative.
    """

    def __init__(self, *, max_entries: int = 1024) -> None:
        check_whole("max_entries", max_entries)
        self._max_entries = max_entries
        self._entries: dict[CacheKey, CacheEntry] = {}

    async def get(self, key: CacheKey) -> CacheEntry | None:
        """See `ResponseCacheStore.get`."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._entries[key] = entry
        return entry

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        """See `ResponseCacheStore.set`."""
        self._entries.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > self._max_entries:
            del self._entries[next(iter(self._entries))]

    async def delete(self, key: CacheKey) -> None:
        """See `ResponseCacheStore.delete`."""
        self._entries.pop(key, None)

    async def clear(self) -> None:
        """See `ResponseCacheStore.clear`."""
        self._entries.clear()

    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not self._entries


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How a `Client` caches results.

    Attributes:
        store: Where they are kept; a new `InMemoryResponseCacheStore` for each client when left out.
        partition: Whose results they are. Clients with different partitions in one store are never served each
            other's private results, so take it from a credential that was verified, such as the subject of a token.
        target_id: What server it is, where that is not said by a URL, or where two URLs lead to one server.
        default_ttl_ms: How long a result is kept that carries no `ttlMs`, in milliseconds; 0 keeps none.
        clock: What time it is, in seconds since the epoch.
        share_public: Whether results that the server calls public are shared by all partitions of the store. A server
            that is wrong about one of them then shows it to everybody.

    Raises:
        TypeError: `default_ttl_ms` is no whole number, `partition` or `target_id` no text, `clock` cannot be called, or
            `store` lacks what is asked of one.
        ValueError: `default_ttl_ms` is negative, `target_id` is empty, or there is a store and no partition.
    """

    store: ResponseCacheStore | None = None
    partition: str = ""
    target_id: str | None = None
    default_ttl_ms: int = 0
    clock: Callable[[], float] = time.time
    share_public: bool = False

    def __post_init__(self) -> None:
        check_whole("default_ttl_ms", self.default_ttl_ms)
        self._check_types()
        if self.target_id == "":
            raise ValueError("target_id must not be empty: leave it out, or name the server")
        if self.store is not None and not self.partition:
            raise ValueError(
                "a store that may be shared needs a partition: CacheConfig(store=..., partition=...), "
                "with one partition for each principal"
            )

    def _check_types(self) -> None:
        store: Any = self.store
        lacks = [name for name in ("get", "set", "delete") if not callable(getattr(store, name, None))]
        if store is not None and (lacks or isinstance(store, type)):
            got = f"the class {store.__name__}" if isinstance(store, type) else type(store).__name__
            raise TypeError(f"store must be a ResponseCacheStore, with get, set and delete, got {got}")
        for name, text in (("partition", self.partition), ("target_id", self.target_id or "")):
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{name} must be a str, got {text!r}")
        if not callable(self.clock):
            raise TypeError(f"clock must be a function that returns seconds since the epoch, got {self.clock!r}")


def __getattr__(name: str) -> Any:
    if name != "ClientResponseCache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # It is built on what stands above.
    from mcp.client.response_cache import ClientResponseCache

    return ClientResponseCache
