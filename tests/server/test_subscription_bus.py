"""The bus of subscriptions: who hears what is published, in one process and across threads."""

import logging
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp import Client
from mcp.server import Server
from mcp.server._listen_stream import EncodedEvent, ListenStream
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.types import SubscriptionFilter

pytestmark = pytest.mark.anyio


async def test_every_listener_hears_every_event_until_it_unsubscribes() -> None:
    bus = InMemorySubscriptionBus()
    first: list[ServerEvent] = []
    second: list[ServerEvent] = []
    unsubscribe = bus.subscribe(first.append)
    bus.subscribe(second.append)
    await bus.publish(ToolsListChanged())
    unsubscribe()
    unsubscribe()
    await bus.publish(ResourceUpdated("r://a"))
    assert (first, second) == ([ToolsListChanged()], [ToolsListChanged(), ResourceUpdated("r://a")])


async def test_the_same_listener_may_be_registered_twice() -> None:
    bus = InMemorySubscriptionBus()
    heard: list[ServerEvent] = []
    unsubscribe = bus.subscribe(heard.append)
    bus.subscribe(heard.append)
    await bus.publish(ToolsListChanged())
    unsubscribe()
    await bus.publish(PromptsListChanged())
    assert heard == [ToolsListChanged(), ToolsListChanged(), PromptsListChanged()]


async def test_a_listener_that_raises_is_logged_and_the_others_hear_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = InMemorySubscriptionBus()
    heard: list[ServerEvent] = []

    def trip(event: ServerEvent) -> None:
        raise ValueError("tripped")

    bus.subscribe(trip)
    bus.subscribe(heard.append)
    await bus.publish(ToolsListChanged())
    assert heard == [ToolsListChanged()]
    [record] = caplog.records
    assert (record.name, record.levelno) == ("mcp.server.subscriptions", logging.ERROR)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (ToolsListChanged, "got its class: write ToolsListChanged(...)"),
        (ResourceUpdated, "got its class: write ResourceUpdated(...)"),
        (
            "x",
            "expected an event (ToolsListChanged, PromptsListChanged, ResourcesListChanged, ResourceUpdated), got 'x'",
        ),
        (None, "got None"),
        (ServerEvent, "expected an event"),
        (ResourceUpdated(uri=5), "the uri of a ResourceUpdated is a string, got 5"),  # pyright: ignore[reportArgumentType]
        (ResourceUpdated(uri=None), "got None"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_what_is_no_event_is_the_publishers_mistake(event: Any, problem: str) -> None:
    bus = InMemorySubscriptionBus()
    heard: list[ServerEvent] = []
    bus.subscribe(heard.append)
    with pytest.raises(TypeError, match=re.escape(problem)):
        await bus.publish(event)
    assert heard == []


async def test_what_a_bus_carries_and_is_no_event_is_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Careless(InMemorySubscriptionBus):
        async def publish(self, event: Any) -> None:
            for listener in tuple(self._listeners.values()):
                listener(event)

    bus = Careless()
    server = Server("board", on_subscriptions_listen=ListenHandler(bus))
    async with Client(server) as client, client.listen(resources_list_changed=True, tools_list_changed=True) as changes:
        await bus.publish("x")
        await bus.publish(ToolsListChanged)
        await bus.publish(ToolsListChanged())
        with anyio.fail_after(5):
            assert await anext(changes) == ToolsListChanged()
    assert caplog.text.count("dropped what the subscription bus carries") == 2


@pytest.mark.parametrize("name", ["max_subscriptions", "max_buffered_events", "max_uris"])
@pytest.mark.parametrize(
    ("limit", "error", "problem"),
    [
        (0, ValueError, "must be positive, got 0"),
        (-1, ValueError, "must be positive, got -1"),
        (None, TypeError, "must be an integer, got None"),
        ("x", TypeError, "must be an integer, got 'x'"),
        (True, TypeError, "must be an integer, got True"),
        (1.5, TypeError, "must be an integer, got 1.5"),
    ],
)
def test_a_limit_that_is_none_is_refused(name: str, limit: Any, error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=f"{name} {problem}"):
        ListenHandler(InMemorySubscriptionBus(), **{name: limit})


@pytest.mark.parametrize("bus", [None, "bus", InMemorySubscriptionBus, object()])
def test_what_is_no_bus_is_refused(bus: Any) -> None:
    with pytest.raises(TypeError, match="bus must be a SubscriptionBus"):
        ListenHandler(bus)


async def test_a_listener_may_unsubscribe_others_and_itself_while_it_is_told() -> None:
    bus = InMemorySubscriptionBus()
    heard: list[str] = []
    unsubscribes: list[Callable[[], None]] = []

    def leave(event: ServerEvent) -> None:
        heard.append("leaving")
        for unsubscribe in unsubscribes:
            unsubscribe()

    unsubscribes += [bus.subscribe(leave), bus.subscribe(lambda event: heard.append("there"))]
    await bus.publish(ToolsListChanged())
    await bus.publish(ToolsListChanged())
    assert heard == ["leaving", "there"]


async def test_publishing_to_nobody_does_nothing() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        # Not even a checkpoint, at which the cancellation would strike.
        await InMemorySubscriptionBus().publish(ToolsListChanged())


class CountingBus(InMemorySubscriptionBus):
    """A bus that knows how many listen."""

    def __init__(self) -> None:
        super().__init__()
        self.subscribed = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        unsubscribe = super().subscribe(listener)
        self.subscribed += 1

        def leave() -> None:
            self.subscribed -= 1
            unsubscribe()

        return leave


async def test_a_handler_listens_only_while_it_has_streams() -> None:
    bus = CountingBus()
    server = Server("srv", on_subscriptions_listen=ListenHandler(bus))
    async with Client(server) as client:
        assert bus.subscribed == 0
        for _ in range(2):
            async with client.listen(tools_list_changed=True), client.listen(prompts_list_changed=True):
                assert bus.subscribed > 0
            assert bus.subscribed == 0


async def test_two_servers_that_share_a_bus_tell_the_same() -> None:
    bus = InMemorySubscriptionBus()
    one, two = (Server(name, on_subscriptions_listen=ListenHandler(bus)) for name in ("one", "two"))
    async with (
        Client(one) as first,
        Client(two) as second,
        first.listen(resource_subscriptions=["r://a"]) as hears,
        second.listen(resource_subscriptions=["r://a"]) as hears_too,
    ):
        await bus.publish(ResourceUpdated("r://a"))
        assert [await anext(hears), await anext(hears_too)] == [ResourceUpdated("r://a")] * 2


async def test_one_server_may_serve_its_streams_in_one_event_loop_after_another() -> None:
    bus = InMemorySubscriptionBus()
    server = Server("srv", on_subscriptions_listen=ListenHandler(bus))

    async def follow() -> None:
        async with Client(server) as client, client.listen(tools_list_changed=True) as subscription:
            await bus.publish(ToolsListChanged())
            assert await anext(subscription) == ToolsListChanged()

    await follow()
    with anyio.fail_after(10):
        await anyio.to_thread.run_sync(partial(anyio.run, follow))


class Elsewhere:
    """A client that listens on an event loop of its own in another thread, in which its server serves it."""

    def __init__(self, server: Server, backend: str) -> None:
        self._server = server
        self._backend = backend
        self.listens = threading.Event()
        self.heard: list[tuple[ServerEvent, int]] = []
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        anyio.run(self._follow, backend=self._backend)

    async def _follow(self) -> None:
        with anyio.fail_after(10):
            async with Client(self._server) as client, client.listen(tools_list_changed=True) as subscription:
                self.listens.set()
                async for event in subscription:
                    self.heard.append((event, threading.get_ident()))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("share_a_server", [True, False])
async def test_what_is_published_in_one_thread_is_told_in_another(backend: str, share_a_server: bool) -> None:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    there = handler if share_a_server else ListenHandler(bus)
    elsewhere = Elsewhere(Server("there", on_subscriptions_listen=there), backend)
    async with (
        Client(Server("here", on_subscriptions_listen=handler)) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        elsewhere.thread.start()
        await anyio.to_thread.run_sync(elsewhere.listens.wait, 10)
        await bus.publish(ToolsListChanged())
        with anyio.fail_after(10):
            assert await anext(subscription) == ToolsListChanged()
            there.close()
            handler.close()
            await anyio.to_thread.run_sync(elsewhere.thread.join, 10)
            assert [event async for event in subscription] == []
    assert elsewhere.heard == [(ToolsListChanged(), elsewhere.thread.ident)]
    assert (handler._streams, there._streams, bus._listeners) == ({}, {}, {})


async def test_an_event_loop_that_is_gone_hears_nothing() -> None:
    filter = SubscriptionFilter(tools_list_changed=True)
    streams: list[ListenStream] = []

    async def elsewhere() -> None:
        streams.append(ListenStream(1, filter, 1, streams.remove, 5.0))

    await anyio.to_thread.run_sync(partial(anyio.run, elsewhere))
    streams[0].push(EncodedEvent.of(ToolsListChanged()))
    streams[0].end()
    assert streams[0]._waiting == []
