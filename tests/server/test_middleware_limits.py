"""The ready-made limits: on time, on requests at once and on their rate."""

import gc
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from link_wire import MODERN, on_a_link
from wire import Context, refusal

from mcp import Client, MCPError, types
from mcp.server import Server
from mcp.server.context import ServerMiddleware
from mcp.server.middleware import (
    TIME_LIMIT_EXCEEDED,
    TOO_MANY_REQUESTS,
    ConcurrencyLimit,
    RateLimit,
    TimeLimit,
)
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

pytestmark = pytest.mark.anyio

MODES = ["auto", "legacy"]
both_eras = pytest.mark.parametrize("mode", MODES)


class Shop:
    """A server of tools that answer at once, wait until they are let go, or do not let themselves be cancelled."""

    def __init__(self, *middleware: ServerMiddleware[Any]) -> None:
        self.gate = anyio.Event()
        self.running = 0
        self.cancelled = 0
        self.server = Server("shop", on_call_tool=self._call, on_list_tools=self._list)
        self.server.middleware.extend(middleware)

    async def _list(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "wait":
            self.running += 1
            try:
                await self.gate.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled += 1
                raise
            finally:
                self.running -= 1
        if params.name == "stubborn":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                return types.CallToolResult(content=[types.TextContent(text="done all the same")])
        return types.CallToolResult(content=[])

    async def until(self, running: int) -> None:
        with anyio.fail_after(5):
            while self.running != running:
                await anyio.sleep(0.001)


async def refused(client: Client, tool: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(tool)
    return caught.value


async def answered(client: Client) -> bool:
    """Whether a call gets through."""
    try:
        return not (await client.call_tool("quick")).is_error
    except MCPError as error:
        if error.code != TOO_MANY_REQUESTS:
            raise
        return False


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


# Time limits.


@both_eras
async def test_what_takes_too_long_is_cancelled_and_answered_with_the_limit(mode: str) -> None:
    shop = Shop(TimeLimit(0.05))
    async with Client(shop.server, mode=mode) as client:
        error = await refused(client, "wait")
        assert (error.code, error.data) == (TIME_LIMIT_EXCEEDED, {"timeoutSeconds": 0.05})
        assert error.message == "Timed out: tools/call may take 0.05 s on this server"
        assert (shop.cancelled, shop.running) == (1, 0)
        assert (await client.call_tool("quick")).content == []


@both_eras
async def test_each_method_may_have_a_limit_of_its_own(mode: str) -> None:
    shop = Shop(TimeLimit(0.05, methods={"tools/call": None}))
    async with Client(shop.server, mode=mode) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "wait")
        await shop.until(1)
        await anyio.sleep(0.1)
        assert shop.running == 1
        shop.gate.set()

    shop = Shop(TimeLimit(methods={"tools/call": 0.05}))
    async with Client(shop.server, mode=mode) as client:
        assert (await refused(client, "wait")).code == TIME_LIMIT_EXCEEDED


@both_eras
async def test_a_handler_that_ends_although_its_time_is_over_has_the_last_word(mode: str) -> None:
    async with Client(Shop(TimeLimit(0.05)).server, mode=mode) as client:
        result = await client.call_tool("stubborn")

    assert result.content == [types.TextContent(text="done all the same")]


@both_eras
async def test_a_client_that_cancels_is_not_told_of_the_limit(mode: str) -> None:
    shop = Shop(TimeLimit(20))
    async with Client(shop.server, mode=mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait")
            await shop.until(1)
            group.cancel_scope.cancel()
        await shop.until(0)
        assert shop.cancelled == 1
        assert (await client.call_tool("quick")).content == []


@both_eras
async def test_no_limit_can_be_said_in_three_ways(mode: str) -> None:
    for limit in (TimeLimit(math.inf), TimeLimit(methods={"ping": 1}), TimeLimit(1, methods={"tools/call": None})):
        async with Client(Shop(limit).server, mode=mode) as client:
            assert (await client.call_tool("quick")).content == []


@pytest.mark.parametrize("method", ["subscriptions/listen", "tools/call"])
async def test_a_stream_of_changes_goes_on_unless_its_method_is_named(method: str) -> None:
    shop = Shop(TimeLimit(0.05, methods={method: 0.05}))
    handler = ListenHandler(InMemorySubscriptionBus())
    shop.server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, handler)
    async with on_a_link(shop.server) as wire:
        wire.say("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": MODERN}, id="a")
        assert (await wire.next())["method"] == "notifications/subscriptions/acknowledged"
        wire.say("tools/call", {"name": "wait", "_meta": MODERN}, id="b")
        answers = [await wire.next() for _ in range(2 if method == "subscriptions/listen" else 1)]

    limited = {answer["id"] for answer in answers if answer.get("error", {}).get("code") == TIME_LIMIT_EXCEEDED}
    assert limited == ({"a", "b"} if method == "subscriptions/listen" else {"b"})


async def test_a_notification_that_takes_too_long_is_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def hang(ctx: Context, params: Any) -> None:
        await anyio.sleep_forever()

    shop = Shop(TimeLimit(0.05))
    shop.server.add_notification_handler("acme/hang", types.NotificationParams, hang)
    async with on_a_link(shop.server) as wire:
        await wire.initialize()
        wire.say("acme/hang")
        with anyio.fail_after(5):
            while "dropped acme/hang: Timed out" not in caplog.text:
                await anyio.sleep(0.001)


@pytest.mark.parametrize("wrong", [TimeLimit, lambda: TimeLimit(0), lambda: TimeLimit(5, methods={"tools/call": -1.0})])
def test_a_time_limit_that_makes_no_sense_is_refused(wrong: Callable[[], TimeLimit]) -> None:
    with pytest.raises(ValueError, match="limit"):
        wrong()


# Requests at once.


@both_eras
async def test_what_is_too_much_at_once_is_refused_until_something_ends(mode: str) -> None:
    shop = Shop(ConcurrencyLimit(2, methods={"tools/call"}))
    async with Client(shop.server, mode=mode) as client:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(client.call_tool, "wait")
            await shop.until(2)
            error = await refused(client, "quick")
            assert (error.code, error.data) == (TOO_MANY_REQUESTS, {"limit": 2})
            assert error.message == "Too many requests at once: 2 may run, and 2 do"
            await client.list_tools()
            shop.gate.set()
        await client.call_tool("quick")


@both_eras
async def test_failed_and_cancelled_requests_give_their_place_back(mode: str) -> None:
    class Key:
        pass

    made: list[weakref.ref[Key]] = []
    one = Key()

    def key(ctx: Context) -> object:
        if ctx.method != "prompts/get":
            return one
        another = Key()
        made.append(weakref.ref(another))
        return another

    shop = Shop(TimeLimit(0.02), ConcurrencyLimit(1, key=key))
    async with Client(shop.server, mode=mode) as client:
        for _ in range(3):
            assert (await refused(client, "wait")).code == TIME_LIMIT_EXCEEDED
            with pytest.raises(MCPError):
                await client.get_prompt("none")
        await client.call_tool("quick")

    gc.collect()
    assert [forgotten() for forgotten in made] == [None] * 3


async def test_a_limit_is_per_caller_and_a_caller_is_what_one_says() -> None:
    def tenant(ctx: Context) -> str:
        assert ctx.params is not None
        return ctx.params["arguments"]["tenant"]

    shop = Shop(ConcurrencyLimit(1, key=tenant, methods={"tools/call"}))
    async with Client(shop.server) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "wait", {"tenant": "a"})
        await shop.until(1)
        with pytest.raises(MCPError, match="Too many requests at once"):
            await client.call_tool("quick", {"tenant": "a"})
        await client.call_tool("quick", {"tenant": "b"})
        shop.gate.set()


async def test_streams_and_notifications_take_no_place() -> None:
    heard = anyio.Event()

    async def hear(ctx: Context, params: Any) -> None:
        heard.set()

    shop = Shop(ConcurrencyLimit(1))
    handler = ListenHandler(InMemorySubscriptionBus())
    shop.server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, handler)
    shop.server.add_notification_handler("acme/hear", types.NotificationParams, hear)
    async with on_a_link(shop.server) as wire:
        await wire.initialize()
        wire.say("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": MODERN}, id="a")
        assert (await wire.next())["method"] == "notifications/subscriptions/acknowledged"
        wire.say("tools/call", {"name": "wait", "_meta": MODERN}, id="b")
        await shop.until(1)
        wire.say("acme/hear")
        with anyio.fail_after(5):
            await heard.wait()
        shop.gate.set()
        assert (await wire.next())["id"] == "b"


# Rates.


@both_eras
async def test_so_many_requests_go_through_at_once_and_then_one_after_the_other(mode: str) -> None:
    clock = Clock()
    shop = Shop(RateLimit(2, per=10, methods={"tools/call"}, clock=clock))
    async with Client(shop.server, mode=mode) as client:
        for _ in range(2):
            await client.call_tool("quick")
        error = await refused(client, "quick")
        assert (error.code, error.data) == (TOO_MANY_REQUESTS, {"retryAfter": 5.0})
        assert error.message == "Too many requests: 2 in 10 s are allowed; try again in 5 s"
        await client.list_tools()

        clock.now += 4
        assert (await refused(client, "quick")).data == {"retryAfter": 1.0}
        clock.now += 1
        await client.call_tool("quick")
        assert (await refused(client, "quick")).data == {"retryAfter": 5.0}

        clock.now += 1000
        for _ in range(2):
            await client.call_tool("quick")
        assert (await refused(client, "quick")).code == TOO_MANY_REQUESTS


async def test_over_time_it_is_the_rate_that_was_asked_for() -> None:
    clock = Clock()
    through = 0
    async with Client(Shop(RateLimit(7, per=3, methods={"tools/call"}, clock=clock)).server) as client:
        for _ in range(3000):
            clock.now += 0.01
            through += await answered(client)

    assert through == pytest.approx(7 + 30 / 3 * 7, abs=1)


async def test_waiting_as_long_as_was_said_is_enough() -> None:
    clock = Clock()
    limit = RateLimit(3, per=0.7, methods={"tools/call"}, clock=clock)
    async with Client(Shop(limit).server) as client:
        for _ in range(3):
            await client.call_tool("quick")
        for _ in range(20):
            clock.now += (await refused(client, "quick")).data["retryAfter"]
            await client.call_tool("quick")


async def test_callers_do_not_pay_for_each_other_and_the_one_away_longest_is_forgotten() -> None:
    clock = Clock()
    limit = RateLimit(1, per=100, key=lambda ctx: (ctx.params or {})["name"], max_callers=2, clock=clock)
    server = Server("shop", on_call_tool=Shop()._call)
    server.middleware.append(limit)
    async with Client(server, mode="2026-07-28", validate_output="off") as client:
        await client.call_tool("a")
        await client.call_tool("b")
        await client.call_tool("c")
        assert (await refused(client, "b")).code == TOO_MANY_REQUESTS
        await client.call_tool("a")
        assert (await refused(client, "b")).code == TOO_MANY_REQUESTS


async def test_a_caller_that_is_refused_has_asked_as_well() -> None:
    limit = RateLimit(1, per=100, key=lambda ctx: (ctx.params or {})["name"], max_callers=2, clock=Clock())
    server = Server("shop", on_call_tool=Shop()._call)
    server.middleware.append(limit)
    async with Client(server, mode="2026-07-28", validate_output="off") as client:
        await client.call_tool("a")
        await client.call_tool("b")
        assert (await refused(client, "a")).code == TOO_MANY_REQUESTS
        await client.call_tool("c")
        assert (await refused(client, "a")).code == TOO_MANY_REQUESTS


async def test_notifications_are_not_counted() -> None:
    heard = 0

    async def hear(ctx: Context, params: Any) -> None:
        nonlocal heard
        heard += 1

    shop = Shop(RateLimit(2, per=1000))
    shop.server.add_notification_handler("acme/hear", types.NotificationParams, hear)
    async with on_a_link(shop.server) as wire:
        await wire.initialize()
        for _ in range(10):
            wire.say("acme/hear")
        with anyio.fail_after(5):
            while heard < 10:
                await anyio.sleep(0.001)
        assert "result" in await wire.ask(1, "tools/list", {})
        assert (await wire.ask(2, "tools/list", {}))["error"]["code"] == TOO_MANY_REQUESTS


def test_threads_share_a_limit() -> None:
    server = Shop(RateLimit(200, per=1e9, methods={"tools/call"}), ConcurrencyLimit(3)).server
    through: list[bool] = []

    async def ask() -> None:
        async with Client(server, mode="2026-07-28", validate_output="off") as client:
            through.extend([await answered(client) for _ in range(100)])

    threads = [threading.Thread(target=anyio.run, args=(ask,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(through) == 200


async def key_in_time(ctx: Context) -> str:
    return "ada"


class KeyInTime:
    async def __call__(self, ctx: Context) -> str:
        return "ada"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda: RateLimit(0), ValueError),
        (lambda: RateLimit(1, per=0), ValueError),
        (lambda: RateLimit(1, max_callers=0), ValueError),
        (lambda: RateLimit(1, methods="tools/call"), TypeError),
        (lambda: RateLimit(math.nan), ValueError),  # pyright: ignore[reportArgumentType]
        (lambda: RateLimit(1, per=math.inf), ValueError),
        (lambda: RateLimit(1, per=math.nan), ValueError),
        (lambda: RateLimit(1, max_callers=math.nan), ValueError),  # pyright: ignore[reportArgumentType]
        (lambda: RateLimit(1, key=key_in_time), TypeError),
        (lambda: RateLimit(1, key=KeyInTime()), TypeError),
        (lambda: RateLimit(1, key="tenant"), TypeError),  # pyright: ignore[reportArgumentType]
        (lambda: ConcurrencyLimit(0), ValueError),
        (lambda: ConcurrencyLimit(math.nan), ValueError),  # pyright: ignore[reportArgumentType]
        (lambda: ConcurrencyLimit(1, key=key_in_time), TypeError),
        (lambda: ConcurrencyLimit(1, methods="tools/call"), TypeError),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(wrong: Callable[[], object], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"positive|collection|key must be a plain function, got"):
        wrong()


async def test_the_refusal_of_a_method_that_nobody_answers_costs_as_well() -> None:
    async with Client(Shop(RateLimit(2, per=1000)).server, validate_output="off") as client:
        assert (await refusal(client, "acme/none")).code == -32601
        assert (await refusal(client, "acme/none")).code == TOO_MANY_REQUESTS
