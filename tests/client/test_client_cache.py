"""The response cache of `Client`: what is kept and for how long, and what asks the server anyway."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from shelf import LAST_CURSOR, Clock, Shelf

from mcp import Client, MCPError, types
from mcp.client import CacheConfig, InMemoryResponseCacheStore, InputRequiredRoundsExceededError
from mcp.client.caching import MAX_TTL_MS

pytestmark = pytest.mark.anyio


async def read_emma(client: Client, **options: Any) -> types.ReadResourceResult:
    return await client.read_resource("book://emma", **options)


VERBS: dict[str, Callable[..., Any]] = {
    "tools/list": Client.list_tools,
    "prompts/list": Client.list_prompts,
    "resources/list": Client.list_resources,
    "resources/templates/list": Client.list_resource_templates,
    "resources/read": read_emma,
}


@pytest.fixture(params=VERBS)
def method(request: pytest.FixtureRequest) -> str:
    return request.param


def timed(clock: Clock, **options: Any) -> CacheConfig:
    return CacheConfig(clock=clock, **options)


# What is kept.


async def test_a_result_is_served_until_its_time_is_over(method: str) -> None:
    shelf, clock, verb = Shelf(), Clock(), VERBS[method]
    async with Client(shelf.server(), cache=timed(clock)) as client:
        first = await verb(client)
        clock.now += 59.999
        assert await verb(client) == first
        assert shelf.asked[method] == 1
        clock.now += 0.001
        await verb(client)
        assert shelf.asked[method] == 2


async def test_clients_cache_by_default(method: str) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server()) as client:
        assert await verb(client) == await verb(client)
    assert shelf.asked[method] == 1


@pytest.mark.parametrize("off", [None, False])
async def test_a_client_without_a_cache_always_asks(method: str, off: Any) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server(), cache=off) as client:
        for mode in ("use", "refresh", "bypass", "use"):
            await verb(client, cache_mode=mode)
    assert shelf.asked[method] == 4


async def test_a_result_without_freshness_is_not_kept(method: str) -> None:
    shelf, verb = Shelf(hint={"ttl_ms": 0, "cache_scope": "public"}), VERBS[method]
    async with Client(shelf.server()) as client:
        await verb(client)
        await verb(client)
    assert shelf.asked[method] == 2


async def test_nor_is_one_whose_server_says_nothing() -> None:
    shelf = Shelf(hint={})
    async with Client(shelf.server(), cache=CacheConfig(default_ttl_ms=60_000)) as client:
        result = await client.list_tools()
        assert result.ttl_ms == 0
        assert "ttl_ms" in result.model_fields_set
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_nothing_is_kept_for_longer_than_a_day() -> None:
    shelf, clock = Shelf(hint={"ttl_ms": 10 * MAX_TTL_MS}), Clock()
    async with Client(shelf.server(), cache=timed(clock)) as client:
        await client.list_tools()
        clock.now += MAX_TTL_MS / 1000 - 1
        await client.list_tools()
        assert shelf.asked["tools/list"] == 1
        clock.now += 1
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_a_clock_that_was_set_back_keeps_nothing_alive() -> None:
    shelf, clock = Shelf(), Clock()
    async with Client(shelf.server(), cache=timed(clock)) as client:
        await client.list_tools()
        clock.now -= MAX_TTL_MS / 1000
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_resources_are_kept_one_by_one() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        for uri in ("book://emma", "book://dune", "book://emma"):
            result = await client.read_resource(uri)
            assert result.contents[0].uri == uri
    assert shelf.asked["resources/read"] == 2


async def test_each_client_has_a_cache_of_its_own() -> None:
    shelf, config = Shelf(), CacheConfig()
    server = shelf.server()
    async with Client(server, cache=config) as one, Client(server, cache=config) as other:
        await one.list_tools()
        await other.list_tools()
    assert shelf.asked["tools/list"] == 2


async def test_whoever_changes_a_result_changes_only_their_own() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        fetched = await client.list_tools()
        fetched.tools[0].input_schema["properties"]["title"]["type"] = "integer"
        served = await client.list_tools()
        assert served.tools[0].input_schema["properties"] == {"title": {"type": "string"}}
        served.tools.clear()
        assert len((await client.list_tools()).tools) == 1
    assert shelf.asked["tools/list"] == 1


async def test_a_kept_result_says_what_the_server_said() -> None:
    shelf = Shelf(hint={"ttl_ms": 60_000, "cache_scope": "public"})
    async with Client(shelf.server()) as client:
        fetched = await client.list_tools()
        served = await client.list_tools()
    assert served == fetched
    assert served.model_fields_set == fetched.model_fields_set
    assert (served.ttl_ms, served.cache_scope, served.next_cursor) == (60_000, "public", LAST_CURSOR)


async def test_a_stale_result_is_not_served_when_the_server_fails() -> None:
    shelf, clock = Shelf(), Clock()
    server = shelf.server()
    async with Client(server, cache=timed(clock)) as client:
        await client.list_prompts()
        clock.now += 60

        async def fail(ctx: Any, call_next: Any) -> Any:
            raise MCPError(-32000, "closed")

        server.middleware.append(fail)
        with pytest.raises(MCPError, match="closed"):
            await client.list_prompts()


# How a call uses it.


async def test_refresh_replaces_what_is_kept(method: str) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server()) as client:
        await verb(client)
        fresh = await verb(client, cache_mode="refresh")
        assert await verb(client) == fresh
    assert shelf.asked[method] == 2


async def test_refresh_leaves_nothing_where_the_new_result_may_not_be_kept(method: str) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server()) as client:
        await verb(client)
        shelf.hint = {}
        await verb(client, cache_mode="refresh")
        await verb(client)
    assert shelf.asked[method] == 3


async def test_bypass_neither_serves_nor_keeps() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        await client.list_tools(cache_mode="bypass")
        first = await client.list_tools()
        assert first.tools[0].name == "tool 2"
        assert (await client.list_tools(cache_mode="bypass")).tools[0].name == "tool 3"
        assert await client.list_tools() == first


@pytest.mark.parametrize("meta", [{"trace": "1"}, {}])
async def test_a_call_with_meta_reaches_the_server_and_refreshes(method: str, meta: Any) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server()) as client:
        await verb(client)
        fresh = await verb(client, meta=meta)
        assert shelf.asked[method] == 2
        assert await verb(client) == fresh
    assert shelf.asked[method] == 2


async def test_meta_and_bypass_leave_the_cache_alone() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        first = await client.list_tools()
        await client.list_tools(meta={"trace": "1"}, cache_mode="bypass")
        assert await client.list_tools() == first


@pytest.mark.parametrize("cache", [CacheConfig(), None])
async def test_an_unknown_mode_is_refused(method: str, cache: Any) -> None:
    shelf, verb = Shelf(), VERBS[method]
    async with Client(shelf.server(), cache=cache) as client:
        with pytest.raises(ValueError, match=r"^cache_mode must be 'use', 'refresh' or 'bypass', got 'fresh'$"):
            await verb(client, cache_mode="fresh")
    assert shelf.asked[method] == 0


# What it stays out of.


async def test_further_pages_are_always_asked_for() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        first = await client.list_tools()
        for cursor in (LAST_CURSOR, LAST_CURSOR, ""):
            await client.list_tools(cursor=cursor)
        assert shelf.asked["tools/list"] == 4
        assert await client.list_tools() == first


async def test_the_session_underneath_always_asks() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        await client.list_tools()
        await client.session.list_tools()
        await client.session.read_resource("book://emma")
        await client.session.read_resource("book://emma")
    assert shelf.asked == {"tools/list": 2, "resources/read": 2}


async def test_what_was_answered_in_rounds_is_not_kept() -> None:
    shelf = Shelf(asks_for_input=True)
    async with Client(shelf.server()) as client:
        await client.read_resource("book://emma")
        assert shelf.asked["resources/read"] == 2
        await client.read_resource("book://emma")
    assert shelf.asked["resources/read"] == 4


async def test_and_is_not_served_after_a_refresh_that_took_rounds() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        await client.read_resource("book://emma")
        shelf.asks_for_input = True
        await client.read_resource("book://emma", cache_mode="refresh")
        await client.read_resource("book://emma")
    assert shelf.asked["resources/read"] == 5


@pytest.mark.parametrize("seed", [{"request_state": "kept"}, {"input_responses": {}}])
async def test_a_read_that_brings_answers_is_neither_served_nor_kept(seed: dict[str, Any]) -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        first = await client.read_resource("book://emma")
        await client.read_resource("book://emma", **seed)
        assert await client.read_resource("book://emma") == first
        with pytest.raises(ValueError, match="cache_mode"):
            await client.read_resource("book://emma", cache_mode="fresh", **seed)  # type: ignore[arg-type]
    assert shelf.asked["resources/read"] == 2


async def test_rounds_have_an_end_with_a_cache_too() -> None:
    shelf = Shelf(asks_for_input=True)
    async with Client(shelf.server(), input_required_max_rounds=0) as client:
        with pytest.raises(InputRequiredRoundsExceededError):
            await client.read_resource("book://emma")


async def test_on_an_older_revision_hints_mean_nothing() -> None:
    shelf, clock = Shelf(), Clock()
    async with Client(shelf.server(), mode="legacy", cache=timed(clock)) as client:
        await client.list_tools()
        await client.list_tools()
        assert shelf.asked["tools/list"] == 2
    async with Client(shelf.server(), mode="legacy", cache=timed(clock, default_ttl_ms=5_000)) as client:
        first = await client.list_tools()
        assert "ttl_ms" not in first.model_fields_set
        assert await client.list_tools() == first
        clock.now += 5
        await client.list_tools()
    assert shelf.asked["tools/list"] == 4


async def test_the_schemas_of_a_kept_listing_are_known() -> None:
    shelf = Shelf()
    async with Client(shelf.server()) as client:
        await client.list_tools()
        await client.list_tools()
        await client.call_tool("tool 1")
    assert shelf.asked == {"tools/list": 1, "tools/call": 1}


# How it is asked for.


@pytest.mark.parametrize("wrong", [True, "memory", object()])
async def test_what_is_no_configuration_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^cache must be a CacheConfig, or None for no cache, got "):
        Client(Shelf().server(), cache=wrong)


async def test_the_default_can_be_looked_at() -> None:
    client = Client(Shelf().server())
    assert client.cache
    assert client.cache.default_ttl_ms == 0
    assert client.cache.store is None
    assert repr(client.cache) == "CacheConfig()"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"default_ttl_ms": -1}, "default_ttl_ms must be >= 0, got -1"),
        ({"target_id": ""}, "target_id must not be empty"),
    ],
)
async def test_a_configuration_is_checked(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        CacheConfig(**options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"default_ttl_ms": "x"}, "default_ttl_ms must be a whole number, got 'x'"),
        ({"default_ttl_ms": math.inf}, "default_ttl_ms must be a whole number, got inf"),
        ({"default_ttl_ms": True}, "default_ttl_ms must be a whole number, got True"),
        ({"partition": 5}, "partition must be a str, got 5"),
        ({"target_id": 5}, "target_id must be a str, got 5"),
        ({"clock": 5}, "clock must be a function that returns seconds since the epoch, got 5"),
        ({"store": object()}, "store must be a ResponseCacheStore, with get, set and delete, got object"),
        ({"store": InMemoryResponseCacheStore}, "got the class InMemoryResponseCacheStore"),
    ],
)
async def test_and_so_is_what_it_is_made_of(options: dict[str, Any], complaint: str) -> None:
    options = {"partition": "ann", **options}
    with pytest.raises(TypeError, match=complaint):
        CacheConfig(**options)


NOTHING_KEPT = """
import anyio, sys
from mcp import Client, types
from mcp.server import Server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[])

async def main():
    async with Client(Server("s", on_list_tools=list_tools)) as client:
        await client.list_tools()

anyio.run(main)
print(sorted(name for name in sys.modules if name in ("mcp.client.caching", "mcp.client.response_cache")))
"""


def test_where_nothing_may_be_kept_the_cache_is_not_even_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", NOTHING_KEPT], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


async def test_a_negative_time_counts_as_none() -> None:
    shelf = Shelf()
    server = shelf.server()

    async def negate(ctx: Any, call_next: Any) -> Any:
        result: dict[str, Any] = await call_next(ctx)
        return {**result, "ttlMs": -5} if ctx.method == "tools/list" else result

    server.middleware.append(negate)
    async with Client(server) as client:
        result = await client.list_tools()
        assert result.ttl_ms == 0
        await client.list_tools()
    assert shelf.asked["tools/list"] == 2
