"""The cache of one client: what is read from its store, what is written there, and what is evicted.

Specification: 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import anyio

from mcp.client.caching import MAX_TTL_MS, CacheEntry, CacheKey, InMemoryResponseCacheStore, ResponseCacheStore
from mcp.engine.isolation import contained
from mcp.types.base import CacheableResult
from mcp.types.methods import METHODS
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.types import ServerNotification

__all__ = ["ClientResponseCache"]

T = TypeVar("T")

logger = logging.getLogger("mcp.client.caching")

REST_SECONDS: Final = 30.0
"""How long a store is left alone that took too long: every call that asked it would take as long."""

_LISTINGS_CHANGED_BY: Mapping[str, tuple[str, ...]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}


class ClientResponseCache:
    """The cache of one `Client`, in a store that others may use as well.

    A result is kept in one of two places, the private or the public one. An entry says for which protocol version it
    is, so that one of another version is never served. What could not be deleted is remembered: it is not served, and
    deleted before its place is read again.

    Args:
        store: Where results are kept.
        partition: Whose results they are.
        arm_id: What server they are from, in a form that may be read by anybody who reads keys.
        default_ttl_ms: How long a result is kept that carries no hint, in milliseconds.
        clock: What time it is, in seconds since the epoch.
        share_public: Whether public results are shared by all partitions.
        negotiated_version: The protocol version that is spoken; None before it is settled.
        generation_map_cap: How many keys' evictions are watched for while they are fetched, and how many deletions
            are remembered that failed. Results of a key that is no longer watched are not kept.
        store_cleanup_timeout: How long the store may take, in seconds, before it counts as failing and is left alone
            for `REST_SECONDS`. A deletion goes on until then even if its caller is cancelled.
    """

    def __init__(
        self,
        *,
        store: ResponseCacheStore,
        partition: str,
        arm_id: str,
        default_ttl_ms: int,
        clock: Callable[[], float],
        share_public: bool,
        negotiated_version: Callable[[], str | None],
        generation_map_cap: int = 4096,
        store_cleanup_timeout: float = 5,
    ) -> None:
        self._store = store
        self._in_memory = store if type(store) is InMemoryResponseCacheStore else None
        self._partition = partition
        self._arm_id = arm_id
        self._default_ttl_ms = default_ttl_ms
        self._clock = clock
        self._share_public = share_public
        self._negotiated_version = negotiated_version
        self._store_timeout = store_cleanup_timeout
        self._generation_cap = generation_map_cap
        self._generations: dict[tuple[str, str], int] = {}
        self._next_generation = count()
        self._places: dict[str, tuple[str, str]] = {}
        self._failed: set[str] = set()
        self._rests_until = -math.inf
        self._undeleted: dict[CacheKey, None] = {}

    async def read(self, method: str, params_key: str) -> CacheableResult | None:
        """A fresh result, if one is kept; a copy, which its caller may change.

        Args:
            method: The method.
            params_key: What of the params it depends on.
        """
        version = self._negotiated_version()
        if version is None or self._holds_nothing() or self._rests():
            return None
        keys = self._keys(method, params_key, version)
        for key in keys:
            if key in self._undeleted and not await self._delete(key):
                return None
        try:
            return await self._in_time(self._freshest, *keys)
        except Exception:
            self._note_failure("read from")
            return None

    async def _freshest(self, private: CacheKey, public: CacheKey) -> CacheableResult | None:
        result = await self._fresh(private, "private")
        return await self._fresh(public, "public") if result is None else result

    async def _fresh(self, key: CacheKey, scope: str) -> CacheableResult | None:
        entry = await self._store.get(key)
        if entry is None or entry.expires_at is None or entry.scope != scope:
            return None
        now = self._clock()
        # The upper end holds where the clock was set back, or somebody else has written the entry.
        if not now < entry.expires_at <= now + MAX_TTL_MS / 1000:
            return None
        return _copied(entry.value, key.method)

    def capture(self, method: str, params_key: str) -> int:
        """Begins to watch for evictions; called before a result is fetched.

        Args:
            method: The method.
            params_key: What of the params the result depends on.

        Returns:
            What `write` wants to know.
        """
        key = (method, params_key)
        generation = self._generations.pop(key, None)
        if generation is None:
            generation = next(self._next_generation)
        self._generations[key] = generation
        if len(self._generations) > self._generation_cap:
            del self._generations[next(iter(self._generations))]
        return generation

    async def write(
        self,
        method: str,
        params_key: str,
        result: CacheableResult,
        gen_at_capture: int,
        mode: Literal["use", "refresh"],
    ) -> None:
        """Keeps a result, unless it is stale at once, or was evicted while it was fetched.

        Args:
            method: The method.
            params_key: What of the params it depends on.
            result: The result; it is copied.
            gen_at_capture: What `capture` returned.
            mode: With "refresh", a result that is stale at once takes the place of what is kept: nothing is, then.
        """
        version = self._negotiated_version()
        if version is None or self._generations.get((method, params_key)) != gen_at_capture:
            return
        ttl_ms, scope = self._terms(result, version)
        if ttl_ms > 0:
            private, public = self._keys(method, params_key, version)
            own, other = (private, public) if scope == "private" else (public, private)
            await self._replace(own, other, result, scope, ttl_ms, gen_at_capture)
        elif mode == "refresh":
            await self._forget(self._keys(method, params_key, version))

    def _terms(self, result: CacheableResult, version: str) -> tuple[int, Literal["public", "private"]]:
        """For how many milliseconds a result is fresh, and for whom. Older revisions have no hints."""
        if version not in MODERN_PROTOCOL_VERSIONS:
            return min(self._default_ttl_ms, MAX_TTL_MS), "private"
        ttl_ms = result.ttl_ms if "ttl_ms" in result.model_fields_set else self._default_ttl_ms
        return min(ttl_ms, MAX_TTL_MS), result.cache_scope

    async def _replace(
        self,
        own: CacheKey,
        other: CacheKey,
        result: CacheableResult,
        scope: Literal["public", "private"],
        ttl_ms: int,
        generation: int,
    ) -> None:
        try:
            entry = CacheEntry(_copied(result, own.method), scope, self._clock() + ttl_ms / 1000)
        except Exception:
            self._note_failure("make an entry for")
            return
        # Never two entries for one request: the older one might be served.
        if not await self._delete(other):
            await self._delete(own)
            return
        kept = False
        try:
            await self._in_time(self._store.set, own, entry)
            self._undeleted.pop(own, None)
            kept = self._generations.get((own.method, own.params_key)) == generation
        except Exception:
            self._note_failure("write to")
        finally:
            # Evicted while it was written, or written by halves.
            if not kept:
                await self._delete(own)

    async def evict_method(self, method: str) -> None:
        """Forgets a listing.

        Args:
            method: The method that lists it.
        """
        await self._evict([(method, "")])

    async def evict_key(self, method: str, params_key: str) -> None:
        """Forgets the result of one request.

        Args:
            method: The method.
            params_key: What of the params it depends on.
        """
        await self._evict([(method, params_key)])

    async def evict_for_notification(self, notification: ServerNotification) -> None:
        """Forgets what a notification says has changed.

        Args:
            notification: Any notification.
        """
        uri = getattr(notification.params, "uri", None)
        await self.on_notification(notification.method, {"uri": uri})

    async def on_notification(self, method: str, params: dict[str, Any] | None) -> None:
        """Forgets what a notification says has changed.

        Args:
            method: The method of any notification.
            params: Its params, in wire form.
        """
        if method in _LISTINGS_CHANGED_BY:
            await self._evict([(listing, "") for listing in _LISTINGS_CHANGED_BY[method]])
        elif method == "notifications/resources/updated":
            uri = (params or {}).get("uri")
            if isinstance(uri, str):
                await self._evict([("resources/read", uri)])

    async def _evict(self, requests: Sequence[tuple[str, str]]) -> None:
        # All at once and first: what is being fetched is out of date from now on, however slow the store is.
        for request in requests:
            if request in self._generations:
                self._generations[request] = next(self._next_generation)
        version = self._negotiated_version()
        if version is None:
            return
        for method, params_key in requests:
            await self._forget(self._keys(method, params_key, version))

    async def _forget(self, keys: Iterable[CacheKey]) -> None:
        for key in keys:
            await self._delete(key)

    async def _delete(self, key: CacheKey) -> bool:
        """Deletes an entry, and says whether it is gone for certain."""
        if self._holds_nothing():
            return True
        try:
            gone = not self._rests()
            if gone:
                await self._in_time(self._store.delete, key, shield=True)
        except Exception:
            self._note_failure("delete from")
            gone = False
        self._undeleted.pop(key, None)
        if not gone:
            self._undeleted[key] = None
            if len(self._undeleted) > self._generation_cap:
                del self._undeleted[next(iter(self._undeleted))]
        return gone

    def _holds_nothing(self) -> bool:
        """Whether the store is known to be empty without asking it: most servers say that nothing may be kept."""
        return self._in_memory is not None and self._in_memory.is_empty()

    async def _in_time(self, use: Callable[..., Awaitable[T]], *args: Any, shield: bool = False) -> T:
        """Uses the store within its time limit; what is in memory needs none, and cannot be cancelled half-way.

        Raises:
            TimeoutError: It took too long, and is left alone now.
            Exception: What it raised; a cancellation of its own and the like as `HandlerExit`.
        """
        if self._in_memory is not None:
            return await use(*args)
        with anyio.move_on_after(self._store_timeout, shield=shield):
            return await contained(use, *args)
        self._rests_until = anyio.current_time() + REST_SECONDS
        raise TimeoutError(
            f"it took longer than {self._store_timeout:g} seconds, and is left alone for {REST_SECONDS:g} now"
        )

    def _rests(self) -> bool:
        """Whether the store took too long just now."""
        return anyio.current_time() < self._rests_until

    def _keys(self, method: str, params_key: str, version: str) -> tuple[CacheKey, CacheKey]:
        """The private key of a result, and its public one."""
        if version not in self._places:
            owner = [version, self._arm_id, self._partition]
            public = json.dumps(["public", *(owner[:2] if self._share_public else owner)])
            self._places[version] = json.dumps(["private", *owner]), public
        private, public = self._places[version]
        return CacheKey(method, params_key, private), CacheKey(method, params_key, public)

    def _note_failure(self, deed: str) -> None:
        """Logs the exception at hand: the first of its kind as a warning, those that follow for whoever debugs."""
        level = logging.DEBUG if deed in self._failed else logging.WARNING
        self._failed.add(deed)
        logger.log(level, "could not %s the store of the response cache; going on without", deed, exc_info=True)


def _copied(value: object, method: str) -> CacheableResult:
    """A copy of a result, or of the dict of one, that shares nothing with it: by way of JSON, as it once came."""
    spec = METHODS.get(method)
    model = cast("type[CacheableResult]", CacheableResult if spec is None else spec.result_types[0])
    if isinstance(value, model):
        return type(value).model_validate_json(value.model_dump_json(by_alias=True, exclude_unset=True))
    if spec is None or not isinstance(value, dict):
        raise TypeError(f"expected a {model.__name__} for {method}, got {type(value).__name__}")
    return model.model_validate_json(json.dumps(value))
