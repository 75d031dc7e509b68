"""What evicts from the response cache before its time, and results that were overtaken while they were fetched."""

from typing import Any

import anyio
import pytest
from shelf import LAST_CURSOR, Journal, Shelf, shared

from mcp import Client, MCPError, types
from mcp.client import CacheConfig, CacheEntry, CacheKey, IncomingMessage, InMemoryResponseCacheStore
from mcp.client.caching import ClientResponseCache
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

pytestmark = pytest.mark.anyio

PATIENCE = 10
EVERYTHING = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"]

TOOLS_CHANGED = ("notifications/tools/list_changed", None)
NEWS: list[tuple[tuple[str, dict[str, Any] | None], set[str]]] = [
    (TOOLS_CHANGED, {"tools/list"}),
    (("notifications/prompts/list_changed", {}), {"prompts/list"}),
    (("notifications/resources/list_changed", None), {"resources/list", "resources/templates/list"}),
    (("notifications/resources/updated", {"uri": "book://emma"}), {"resources/read"}),
    (("notifications/resources/updated", {"uri": "book://emma/1"}), set()),
    (("notifications/resources/updated", {"uri": 5}), set()),
    (("notifications/resources/updated", None), set()),
    (("acme/changed", None), set()),
]


async def everything(client: Client) -> None:
    await client.list_tools()
    await client.list_prompts()
    await client.list_resources()
    await client.list_resource_templates()
    await client.read_resource("book://emma")


@pytest.mark.parametrize(("news", "evicted"), NEWS)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_notification_evicts_what_it_says_has_changed(mode: str, news: Any, evicted: set[str]) -> None:
    shelf, heard = Shelf(news=[news, ("notifications/prompts/list_changed", None)]), anyio.Event()

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.PromptListChangedNotification):
            heard.set()

    config = CacheConfig(default_ttl_ms=60_000)
    async with Client(shelf.server(), mode=mode, cache=config, message_handler=hear) as client:
        await everything(client)
        await client.call_tool("tool 1")
        with anyio.fail_after(PATIENCE):
            await heard.wait()
        await everything(client)
    assert {method for method in EVERYTHING if shelf.asked[method] == 2} == evicted | {"prompts/list"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_does_so_before_anybody_hears_of_it(mode: str) -> None:
    shelf, store, held = Shelf(news=[TOOLS_CHANGED]), Journal(), anyio.Event()
    names: list[str] = []

    async def hear(message: IncomingMessage) -> None:
        assert ("tools/list", "") not in {(key.method, key.params_key) for key in store.entries}
        names.append((await client.list_tools()).tools[0].name)
        held.set()

    config = shared(store, default_ttl_ms=60_000)
    async with Client(shelf.server(), mode=mode, cache=config, message_handler=hear) as client:
        assert (await client.list_tools()).tools[0].name == "tool 1"
        await client.call_tool("tool 1")
        with anyio.fail_after(PATIENCE):
            await held.wait()
    assert names == ["tool 2"]


class SlowToForget(InMemoryResponseCacheStore):
    async def delete(self, key: CacheKey) -> None:
        await anyio.sleep(0.05)
        await super().delete(key)


async def test_it_does_so_before_whoever_watches_hears_of_it() -> None:
    shelf, bus = Shelf(), InMemorySubscriptionBus()
    config = CacheConfig(store=SlowToForget(), partition="me", target_id="shelf")
    async with (
        Client(shelf.server(on_subscriptions_listen=ListenHandler(bus)), cache=config) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        await client.list_tools()
        assert shelf.asked["tools/list"] == 1
        async with anyio.create_task_group() as group:
            group.start_soon(bus.publish, ToolsListChanged())
            with anyio.fail_after(PATIENCE):
                assert await anext(changes) == ToolsListChanged()
            await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_a_client_without_callbacks_evicts_as_well() -> None:
    shelf = Shelf(news=[TOOLS_CHANGED])
    async with Client(shelf.server()) as client:
        await client.list_tools()
        await client.call_tool("tool 1")
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_entries_of_other_principals_stay() -> None:
    shelf, store = Shelf(news=[TOOLS_CHANGED]), Journal()
    server = shelf.server()
    ann, bob = shared(store), shared(store, partition="bob")
    async with Client(server, cache=ann) as anns, Client(server, cache=bob) as bobs:
        await anns.list_tools()
        await bobs.list_tools()
        await anns.call_tool("tool 1")
        await bobs.list_tools()
        assert shelf.asked["tools/list"] == 2
        await anns.list_tools()
    assert shelf.asked["tools/list"] == 3


# Cursors.


async def test_a_cursor_that_is_no_longer_known_evicts_its_listing() -> None:
    shelf = Shelf(rejects=types.INVALID_PARAMS)
    async with Client(shelf.server()) as client:
        await everything(client)
        with pytest.raises(MCPError, match="no such page"):
            await client.list_tools(cursor=LAST_CURSOR)
        await everything(client)
    assert [shelf.asked[method] for method in EVERYTHING] == [3, 1, 1, 1, 1]


@pytest.mark.parametrize(("code", "mode"), [(types.INTERNAL_ERROR, "use"), (types.INVALID_PARAMS, "bypass")])
async def test_other_failures_and_calls_that_bypass_the_cache_do_not(code: int, mode: Any) -> None:
    shelf = Shelf(rejects=code)
    async with Client(shelf.server()) as client:
        await client.list_tools()
        with pytest.raises(MCPError):
            await client.list_tools(cursor=LAST_CURSOR, cache_mode=mode)
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_there_need_be_nothing_to_evict() -> None:
    shelf = Shelf(rejects=types.INVALID_PARAMS, news=[TOOLS_CHANGED, ("notifications/nonsense", None)])
    async with Client(shelf.server(), validate_output="off") as client:
        await client.call_tool("tool 1")
        with pytest.raises(MCPError):
            await client.list_tools(cursor=LAST_CURSOR)
        assert await client.list_tools() == await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_a_cursor_needs_no_cache() -> None:
    async with Client(Shelf(rejects=types.INVALID_PARAMS).server(), cache=None) as client:
        with pytest.raises(MCPError, match="no such page"):
            await client.list_tools(cursor=LAST_CURSOR)


# Overtaken.


def changing(kept: bool) -> tuple[Server, list[str]]:
    """A server whose tools change while they are listed for the first time, or the second if one is to be kept."""
    asked: list[str] = []

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        asked.append("tools/list")
        if len(asked) == 1 + kept:
            changed = types.ToolListChangedNotification()
            await ctx.session.send_notification(changed, related_request_id=ctx.request_id)
        return types.ListToolsResult(tools=[], ttl_ms=60_000)

    return Server("changing", on_list_tools=list_tools), asked


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("config", [None, CacheConfig()])
async def test_a_listing_that_changed_while_it_was_fetched_is_not_kept(kept: bool, config: Any) -> None:
    server, asked = changing(kept)
    async with Client(server) if config is None else Client(server, cache=config) as client:
        for _ in range(kept):
            await client.list_tools()
        await client.list_tools(cache_mode="refresh")
        await client.list_tools()
        await client.list_tools()
    assert len(asked) == 2 + kept


@pytest.mark.parametrize(("changes", "asked"), [(False, 1), (True, 2)])
async def test_of_two_first_results_at_once_both_are_kept_unless_something_changes(changes: bool, asked: int) -> None:
    shelf, began, go_on = Shelf(news=[TOOLS_CHANGED]), anyio.Event(), anyio.Event()
    server = shelf.server()

    async def hold_prompts(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "prompts/list" and shelf.asked["prompts/list"] == 1:
            began.set()
            await go_on.wait()
        return result

    server.middleware.append(hold_prompts)
    with anyio.fail_after(PATIENCE):
        async with Client(server) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.list_prompts)
                await began.wait()
                await client.list_tools()
                if changes:
                    await client.call_tool("tool 1")
                go_on.set()
            await client.list_prompts()
            await client.list_tools()
    assert (shelf.asked["prompts/list"], shelf.asked["tools/list"]) == (asked, asked)


def cache_in(store: Any, **options: Any) -> ClientResponseCache:
    return ClientResponseCache(
        store=store,
        partition="ann",
        arm_id="shelf",
        default_ttl_ms=0,
        clock=lambda: 1_000.0,
        share_public=False,
        negotiated_version=options.pop("negotiated_version", lambda: "2026-07-28"),
        **options,
    )


FRESH = types.ListToolsResult(tools=[], ttl_ms=60_000)


async def test_an_eviction_while_a_result_is_written_wins() -> None:
    class Slow(Journal):
        async def set(self, key: CacheKey, entry: CacheEntry) -> None:
            await cache.evict_for_notification(types.ToolListChangedNotification())
            await super().set(key, entry)

    store = Slow()
    cache = cache_in(store)
    await cache.write("tools/list", "", FRESH, cache.capture("tools/list", ""), "use")
    assert store.entries == {}


async def test_evictions_are_watched_for_as_many_keys_as_are_fetched_at_once() -> None:
    store = Journal()
    cache = cache_in(store, generation_map_cap=2)
    result = types.ReadResourceResult(contents=[], ttl_ms=60_000)
    generations = {uri: cache.capture("resources/read", uri) for uri in ("1", "2", "3")}
    for uri in ("4", "5"):
        await cache.evict_key("resources/read", uri)
    for uri, generation in generations.items():
        await cache.write("resources/read", uri, result, generation, "use")
    assert [key.params_key for key in store.entries] == ["2", "3"]


async def test_a_notification_as_a_model_evicts_as_well() -> None:
    store = Journal()
    cache = cache_in(store)
    result = types.ReadResourceResult(contents=[], ttl_ms=60_000)
    await cache.write("resources/read", "book://emma", result, cache.capture("resources/read", "book://emma"), "use")
    await cache.evict_for_notification(types.PromptListChangedNotification())
    assert await cache.read("resources/read", "book://emma") == result
    params = types.ResourceUpdatedNotificationParams(uri="book://emma")
    await cache.evict_for_notification(types.ResourceUpdatedNotification(params=params))
    assert await cache.read("resources/read", "book://emma") is None


async def test_before_the_revision_is_settled_nothing_is_kept() -> None:
    store = Journal()
    cache = cache_in(store, negotiated_version=lambda: None)
    await cache.write("tools/list", "", FRESH, cache.capture("tools/list", ""), "refresh")
    assert await cache.read("tools/list", "") is None
    await cache.evict_method("tools/list")
    assert store.done == []


async def test_results_of_methods_of_ones_own_are_kept_as_they_are() -> None:
    class Shelves(types.CacheableResult):
        """A result that the protocol does not know."""

        count: int

    store = Journal()
    cache = cache_in(store)
    result = Shelves(count=3, ttl_ms=60_000)
    await cache.write("acme/shelves", "", result, cache.capture("acme/shelves", ""), "use")
    assert await cache.read("acme/shelves", "") == result
    [key] = store.entries
    store.entries[key] = CacheEntry({"count": 3}, "private", 1_060.0)
    assert await cache.read("acme/shelves", "") is None


async def test_a_result_that_is_no_json_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    store = Journal()
    cache = cache_in(store)
    tool = types.Tool(name="t", input_schema={"type": object()})
    odd = types.ListToolsResult(tools=[tool], ttl_ms=60_000)
    await cache.write("tools/list", "", odd, cache.capture("tools/list", ""), "use")
    assert store.entries == {}
    assert "could not make an entry for the store of the response cache" in caplog.text


# Stores that hang.


class Hanging(Journal):
    """Never comes back from one of its methods."""

    def __init__(self, hangs: str) -> None:
        super().__init__()
        self._hangs = hangs

    async def get(self, key: CacheKey) -> CacheEntry | None:
        if self._hangs == "get":
            await anyio.sleep_forever()
        return await super().get(key)

    async def set(self, key: CacheKey, entry: CacheEntry) -> None:
        if self._hangs == "set":
            await anyio.sleep_forever()
        await super().set(key, entry)

    async def delete(self, key: CacheKey) -> None:
        if self._hangs == "delete":
            await anyio.sleep_forever()
        await super().delete(key)


@pytest.mark.parametrize("hangs", ["get", "set", "delete"])
async def test_a_store_that_hangs_counts_as_failing(hangs: str) -> None:
    store = Hanging(hangs)
    cache = cache_in(store, store_cleanup_timeout=0.01)
    with anyio.fail_after(PATIENCE):
        assert await cache.read("tools/list", "") is None
        await cache.write("tools/list", "", FRESH, cache.capture("tools/list", ""), "use")
        await cache.evict_method("tools/list")
        await cache.evict_for_notification(types.ResourceListChangedNotification())
    assert store.entries == {}


async def test_a_deletion_goes_on_when_its_caller_is_cancelled() -> None:
    began, go_on = anyio.Event(), anyio.Event()

    class Slow(Journal):
        async def delete(self, key: CacheKey) -> None:
            began.set()
            await go_on.wait()
            await super().delete(key)

    store = Slow()
    cache = cache_in(store)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(cache.evict_method, "tools/list")
            await began.wait()
            group.cancel_scope.cancel()
            go_on.set()
    assert store.done == [("delete", "tools/list", "")] * 2
