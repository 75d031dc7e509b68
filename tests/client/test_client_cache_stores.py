"""Stores of one's own behind the response cache: whose results they hold, and what becomes of a call when they fail."""

import asyncio
import hashlib
import json
import logging
import sys
from typing import Any, cast

import anyio
import pytest
from shelf import Clock, Journal, Shelf, shared

from mcp import Client, types
from mcp.client import CacheConfig, CacheEntry, CacheKey, InMemoryResponseCacheStore, response_cache
from mcp.client.cache_setup import open_cache
from mcp.client.response_cache import ClientResponseCache
from mcp.client.stdio import StdioServerParameters

pytestmark = pytest.mark.anyio

PATIENCE = 10


async def listed(server: Any, config: CacheConfig, **options: Any) -> types.ListToolsResult:
    """What a new client is told."""
    async with Client(server, cache=config, **options) as client:
        return await client.list_tools()


def cache_of(store: Journal, **limits: Any) -> ClientResponseCache:
    """A cache whose limits a test sets."""
    return ClientResponseCache(
        store=store,
        partition="ann",
        arm_id="shelf",
        default_ttl_ms=0,
        clock=Clock(),
        share_public=False,
        negotiated_version=lambda: "2026-07-28",
        **limits,
    )


# Who is served what.


async def test_clients_that_share_a_store_share_its_results() -> None:
    shelf, store = Shelf(), Journal()
    first = await listed(shelf.server(), shared(store))
    assert await listed(shelf.server(), shared(store)) == first
    assert shelf.asked["tools/list"] == 1


async def test_the_schemas_of_a_listing_that_another_client_fetched_are_known() -> None:
    shelf, store = Shelf(), Journal()
    await listed(shelf.server(), shared(store))
    async with Client(shelf.server(), cache=shared(store)) as client:
        await client.list_tools()
        await client.call_tool("tool 1")
    assert shelf.asked == {"tools/list": 1, "tools/call": 1}


@pytest.mark.parametrize("scope", ["public", "private"])
@pytest.mark.parametrize(
    "others", [{"partition": "bob"}, {"target_id": "other"}, {"partition": "bob", "share_public": False}]
)
async def test_other_principals_and_other_servers_are_served_nothing(others: dict[str, Any], scope: str) -> None:
    shelf, store = Shelf(hint={"ttl_ms": 60_000, "cache_scope": scope}), Journal()
    await listed(shelf.server(), shared(store))
    await listed(shelf.server(), shared(store, **others))
    assert shelf.asked["tools/list"] == 2


@pytest.mark.parametrize(("scope", "asked"), [("public", 1), ("private", 2)])
async def test_public_results_are_shared_by_principals_that_agree_to_it(scope: str, asked: int) -> None:
    shelf, store = Shelf(hint={"ttl_ms": 60_000, "cache_scope": scope}), Journal()
    await listed(shelf.server(), shared(store, share_public=True))
    await listed(shelf.server(), shared(store, share_public=True, partition="bob"))
    assert shelf.asked["tools/list"] == asked


async def test_whoever_does_not_agree_is_not_served_them() -> None:
    shelf, store = Shelf(hint={"ttl_ms": 60_000, "cache_scope": "public"}), Journal()
    await listed(shelf.server(), shared(store, share_public=True))
    await listed(shelf.server(), shared(store))
    assert shelf.asked["tools/list"] == 2


async def test_partitions_cannot_be_made_to_look_alike() -> None:
    shelf, store = Shelf(), Journal()
    for partition in ("a", "a,b", '", "a', 'a"]', "[a]"):
        await listed(shelf.server(), shared(store, partition=partition))
    assert shelf.asked["tools/list"] == 5


async def test_what_was_kept_under_another_revision_is_not_served() -> None:
    shelf, store = Shelf(), Journal()
    config = shared(store, default_ttl_ms=60_000)
    modern = await listed(shelf.server(), config)
    handshake = await listed(shelf.server(), config, mode="legacy")
    assert shelf.asked["tools/list"] == 2
    assert await listed(shelf.server(), config) == modern
    assert await listed(shelf.server(), config, mode="legacy") == handshake
    assert shelf.asked["tools/list"] == 2


async def test_a_result_is_in_one_place_only() -> None:
    shelf, store = Shelf(), Journal()
    async with Client(shelf.server(), cache=shared(store)) as client:
        for scope in ("private", "public", "private"):
            shelf.hint["cache_scope"] = scope
            await client.list_tools(cache_mode="refresh")
            assert store.scopes() == [scope]


async def test_what_was_answered_in_rounds_never_reaches_the_store() -> None:
    shelf, store = Shelf(asks_for_input=True), Journal()
    async with Client(shelf.server(), cache=shared(store)) as client:
        await client.read_resource("book://emma")
        await client.read_resource("book://emma", request_state="asked")
    assert [deed for deed, _, _ in store.done] == ["get", "get"]


# Keys and entries.


async def test_what_a_store_is_given() -> None:
    shelf, store = Shelf(), Journal()
    async with Client(shelf.server(), cache=shared(store)) as client:
        result = await client.read_resource("book://emma")
    [(key, entry)] = store.entries.items()
    assert (key.method, key.params_key) == ("resources/read", "book://emma")
    assert json.loads(key.partition) == ["private", "2026-07-28", hashlib.sha256(b"shelf").hexdigest(), "ann"]
    assert entry == CacheEntry(value=result, scope="private", expires_at=1_000_060.0)
    assert entry.value is not result


@pytest.mark.parametrize(
    ("secret", "plain"),
    [
        ("http://ann:pa/ss@127.0.0.1:1/mcp", None),
        ("http://ann:pass@127.0.0.1:1/mcp?tenant=a@b#c", "http://127.0.0.1:1/mcp?tenant=a@b#c"),
        ("http://127.0.0.1:1/mcp/", "http://127.0.0.1:1/mcp/"),
        ("HTTP://127.0.0.1:1?", "HTTP://127.0.0.1:1?"),
    ],
)
async def test_a_url_is_known_by_its_hash_and_without_its_user(secret: str, plain: str | None) -> None:
    store = Journal()
    cache = open_cache(CacheConfig(store=store, partition="ann"), secret, lambda: "2026-07-28")
    result = types.ListToolsResult(tools=[], ttl_ms=60_000)
    await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "use")
    [key] = store.entries
    assert "pass" not in key.partition
    if plain is not None:
        assert json.loads(key.partition)[2] == hashlib.sha256(plain.encode()).hexdigest()


async def test_a_store_may_hand_a_result_back_as_a_dict() -> None:
    class OnDisk(Journal):
        async def set(self, key: CacheKey, entry: CacheEntry) -> None:
            plain = entry.value.model_dump(mode="json", by_alias=True, exclude_unset=True)
            await super().set(key, CacheEntry(json.loads(json.dumps(plain)), entry.scope, entry.expires_at))

    shelf, store = Shelf(), OnDisk()
    async with Client(shelf.server(), cache=shared(store)) as client:
        assert await client.list_tools() == await client.list_tools()
        assert await client.read_resource("book://emma") == await client.read_resource("book://emma")
    assert shelf.asked == {"tools/list": 1, "resources/read": 1}


async def key_of_the_listing() -> CacheKey:
    store = Journal()
    await listed(Shelf().server(), shared(store))
    [key] = store.entries
    return key


STALE = types.ListToolsResult(tools=[])


@pytest.mark.parametrize(
    "entry",
    [
        CacheEntry(STALE, "private", None),
        CacheEntry(STALE, "private", 1_000_000.0),
        CacheEntry(STALE, "private", float("nan")),
        CacheEntry(STALE, "private", float("inf")),
        CacheEntry(STALE, "public", 1_000_001.0),
        CacheEntry(None, "private", 1_000_001.0),
        CacheEntry({"tools": "many"}, "private", 1_000_001.0),
        CacheEntry(types.ListPromptsResult(prompts=[]), "private", 1_000_001.0),
        CacheEntry(STALE, "private", cast("float", "soon")),
        {"value": STALE},
        "garbage",
    ],
)
async def test_an_entry_that_does_not_fit_is_not_served(entry: Any) -> None:
    shelf, store = Shelf(), Journal()
    store.entries[await key_of_the_listing()] = entry
    result = await listed(shelf.server(), shared(store))
    assert [tool.name for tool in result.tools] == ["tool 1"]
    assert await listed(shelf.server(), shared(store)) == result
    assert shelf.asked["tools/list"] == 1


# Failing stores.


@pytest.mark.parametrize("fails", ["get", "set", "delete"])
async def test_a_store_that_fails_fails_no_call(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    shelf, store = Shelf(news=[("notifications/tools/list_changed", None)]), Journal(fails={fails})
    async with Client(shelf.server(), cache=shared(store)) as client:
        for scope in ("private", "public"):
            shelf.hint["cache_scope"] = scope
            for mode in ("use", "refresh"):
                await client.list_tools(cache_mode=mode)
                await client.read_resource("book://emma", cache_mode=mode)
            await client.call_tool("tool 1")
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    deed = {"get": "read from", "set": "write to", "delete": "delete from"}[fails]
    assert warnings == [f"could not {deed} the store of the response cache; going on without"]
    assert "the disk is full" in caplog.text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 cannot tell who cancelled")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("fails", ["get", "set", "delete"])
async def test_a_store_that_cancels_itself_fails_no_call(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    shelf, store = (
        Shelf(news=[("notifications/tools/list_changed", None)]),
        Journal(fails={fails}, failure=asyncio.CancelledError),
    )
    async with Client(shelf.server(), cache=shared(store)) as client:
        for mode in ("use", "refresh"):
            await client.list_tools(cache_mode=mode)
        await client.call_tool("tool 1")
    deed = {"get": "read from", "set": "write to", "delete": "delete from"}[fails]
    assert f"could not {deed} the store of the response cache" in caplog.text


@pytest.mark.parametrize("fails", ["get", "set", "delete"])
async def test_a_store_that_hangs_is_left_alone_for_a_while(
    fails: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_cache, "REST_SECONDS", 0.2)
    store = Journal(hangs={fails})
    cache = cache_of(store, store_cleanup_timeout=0.05)
    result = types.ListToolsResult(tools=[], ttl_ms=60_000)

    async def use() -> None:
        assert await cache.read("tools/list", "") is None
        await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "use")
        await cache.evict_method("tools/list")

    with anyio.fail_after(PATIENCE):
        await use()
        done = len(store.done)
        await use()
        assert len(store.done) == done
        await anyio.sleep(0.25)
        await use()
    assert len(store.done) > done
    assert [deed for deed, _, _ in store.done].count(fails) == 2
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "it took longer than 0.05 seconds, and is left alone for 0.2 now" in caplog.text


@pytest.mark.parametrize("troubled", ["fails", "hangs"])
async def test_what_could_not_be_deleted_is_not_served(troubled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "REST_SECONDS", 0.1)
    store = Journal()
    cache = cache_of(store, store_cleanup_timeout=0.05)
    result = types.ListToolsResult(tools=[], ttl_ms=60_000)
    await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "use")
    assert await cache.read("tools/list", "") == result
    setattr(store, troubled, {"delete"})
    await cache.evict_method("tools/list")
    assert await cache.read("tools/list", "") is None
    assert len(store.entries) == 1
    setattr(store, troubled, set())
    await anyio.sleep(0.15)
    assert await cache.read("tools/list", "") is None
    assert store.entries == {}
    await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "use")
    assert await cache.read("tools/list", "") == result


async def test_what_was_written_since_is_served() -> None:
    store = Journal(fails={"delete"})
    cache = cache_of(store)
    await cache.evict_method("tools/list")
    store.fails = set()
    result = types.ListToolsResult(tools=[], ttl_ms=60_000)
    await cache.write("tools/list", "", result, cache.capture("tools/list", ""), "refresh")
    assert await cache.read("tools/list", "") == result


async def test_not_every_deletion_that_failed_is_remembered() -> None:
    store = Journal(fails={"delete"})
    cache = cache_of(store, generation_map_cap=4)
    for number in range(9):
        await cache.evict_key("resources/read", f"book://{number}")
    store.fails = set()
    store.done = []
    for number in range(9):
        await cache.read("resources/read", f"book://{number}")
    deleted = [uri for deed, _, uri in store.done if deed == "delete"]
    assert deleted == ["book://7"] * 2 + ["book://8"] * 2


async def test_a_write_that_failed_leaves_nothing_half_done() -> None:
    shelf, store = Shelf(), Journal()
    async with Client(shelf.server(), cache=shared(store)) as client:
        await client.list_tools()
        store.fails = {"set"}
        await client.list_tools(cache_mode="refresh")
        assert store.entries == {}


async def test_an_older_result_in_the_other_place_is_never_left_behind() -> None:
    shelf, store = Shelf(), Journal()
    async with Client(shelf.server(), cache=shared(store)) as client:
        await client.list_tools()
        store.fails = {"delete"}
        shelf.hint["cache_scope"] = "public"
        await client.list_tools(cache_mode="refresh")
        assert store.scopes() == ["private"]
        assert ("set", "tools/list", "") not in store.done[4:]


async def test_a_clock_that_fails_fails_no_call() -> None:
    def broken() -> float:
        raise RuntimeError("no time")

    shelf = Shelf()
    async with Client(shelf.server(), cache=CacheConfig(clock=broken)) as client:
        await client.list_tools()
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_a_cancelled_caller_leaves_nothing_half_written() -> None:
    writing = anyio.Event()

    class Slow(Journal):
        async def set(self, key: CacheKey, entry: CacheEntry) -> None:
            await super().set(key, entry)
            writing.set()
            await anyio.sleep_forever()

    shelf, store = Shelf(), Slow()
    async with Client(shelf.server(), cache=shared(store)) as client:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(client.list_tools)
                await writing.wait()
                group.cancel_scope.cancel()
        assert store.entries == {}


# Whether a store can be used at all.


def test_a_store_needs_to_know_whose_results_it_holds() -> None:
    with pytest.raises(ValueError, match=r"needs a partition: CacheConfig\(store=\.\.\., partition=\.\.\.\)"):
        CacheConfig(store=InMemoryResponseCacheStore(), target_id="shelf")


@pytest.mark.parametrize("server", [Shelf().server(), StdioServerParameters(command="shelf")])
def test_and_from_what_server(server: Any) -> None:
    config = CacheConfig(store=Journal(), partition="ann")
    with pytest.raises(ValueError, match=r"needs the server's name, CacheConfig\(target_id=\.\.\.\)"):
        Client(server, cache=config)
    assert Client("http://127.0.0.1:1/mcp", cache=config).cache is config


# The store in memory.


def entry_of(value: object) -> CacheEntry:
    return CacheEntry(value, "private", None)


async def test_memory_holds_so_many_and_forgets_what_was_not_used() -> None:
    store = InMemoryResponseCacheStore(max_entries=2)
    one, two, three = (CacheKey("resources/read", uri) for uri in ("1", "2", "3"))
    await store.set(one, entry_of(1))
    await store.set(two, entry_of(2))
    assert await store.get(one) == entry_of(1)
    await store.set(three, entry_of(3))
    assert [await store.get(key) for key in (one, two, three)] == [entry_of(1), None, entry_of(3)]
    await store.set(one, entry_of(4))
    await store.set(two, entry_of(2))
    assert [await store.get(key) for key in (one, two, three)] == [entry_of(4), entry_of(2), None]


async def test_memory_can_be_emptied() -> None:
    store = InMemoryResponseCacheStore()
    assert store.is_empty()
    for uri in ("1", "2"):
        await store.set(CacheKey("resources/read", uri), entry_of(uri))
    await store.delete(CacheKey("resources/read", "1"))
    await store.delete(CacheKey("resources/read", "none"))
    assert await store.get(CacheKey("resources/read", "1")) is None
    assert not store.is_empty()
    await store.clear()
    assert store.is_empty()


async def test_memory_of_nothing_keeps_nothing() -> None:
    shelf = Shelf()
    async with Client(shelf.server(), cache=shared(InMemoryResponseCacheStore(max_entries=0))) as client:
        await client.list_tools()
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


def test_memory_cannot_hold_less_than_nothing() -> None:
    with pytest.raises(ValueError, match=r"^max_entries must be >= 0, got -1$"):
        InMemoryResponseCacheStore(max_entries=-1)


@pytest.mark.parametrize("max_entries", [1.5, True, "many"])
def test_memory_is_counted_in_whole_entries(max_entries: Any) -> None:
    with pytest.raises(TypeError, match=r"^max_entries must be a whole number, got "):
        InMemoryResponseCacheStore(max_entries=max_entries)


async def test_a_store_in_memory_may_be_shared_too() -> None:
    shelf, store, clock = Shelf(), InMemoryResponseCacheStore(), Clock()
    config = CacheConfig(store=store, partition="ann", target_id="shelf", clock=clock)
    assert await listed(shelf.server(), config) == await listed(shelf.server(), config)
    assert shelf.asked["tools/list"] == 1
