"""Subscriptions of a client whose server a test plays: what it takes from a stream, and how streams end."""

import asyncio
import pickle
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from played_server import Peer
from subscription_reading import lost

from mcp import Client, ClientSession, types
from mcp.client import IncomingMessage
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    ResourceUpdated,
    ServerEvent,
    Subscription,
    SubscriptionLost,
    ToolsListChanged,
    _Stream,
    listen,
)
from mcp.shared.exceptions import ConnectionClosedError, MalformedResultError, MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

pytestmark = pytest.mark.anyio

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class Played(Peer):
    """A server that a test plays, as the transport of a client.

    Attributes:
        honors: What it acknowledges as soon as it is asked; None leaves that to the test.
    """

    def __init__(self) -> None:
        super().__init__()
        self.honors: dict[str, Any] | None = {"toolsListChanged": True, "resourceSubscriptions": ["r://a"]}

    async def __aenter__(self) -> Any:
        return self.read, _Answering(self)

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    async def tell(self, id: Any, method: str, **params: Any) -> None:
        params = {"_meta": {SUBSCRIPTION_ID_META_KEY: id}, **params}
        await self.say(types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params))

    async def acknowledge(self, id: Any = "listen-1", **honored: Any) -> None:
        await self.tell(id, ACKNOWLEDGED, notifications=honored)

    async def end(self, id: str = "listen-1") -> None:
        await self.say(types.JSONRPCResponse(jsonrpc="2.0", id=id, result={"resultType": "complete"}))


class _Answering:
    """The client's way out. A request for a stream is acknowledged."""

    def __init__(self, peer: Played) -> None:
        self._peer = peer

    async def send(self, message: SessionMessage) -> None:
        await self._peer.write.send(message)
        request = message.message
        if isinstance(request, types.JSONRPCRequest) and self._peer.honors is not None:
            await self._peer.acknowledge(request.id, **self._peer.honors)

    async def aclose(self) -> None:
        await self._peer.write.aclose()

    async def __aenter__(self) -> "_Answering":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def playing(
    honors: dict[str, Any] | None = None, *, silent: bool = False, **options: Any
) -> AsyncGenerator[tuple[Client, Played], None]:
    peer = Played()
    if honors is not None or silent:
        peer.honors = honors
    with anyio.fail_after(20):
        async with Client(peer, mode="2026-07-28", **options) as client:
            yield client, peer


@asynccontextmanager
async def listening(client: Client, peer: Played) -> AsyncGenerator[Subscription, None]:
    """A subscription to the list of tools and one resource."""
    async with client.listen(tools_list_changed=True, resource_subscriptions=["r://a"]) as subscription:
        await peer.request()
        yield subscription


async def everything(subscription: Subscription) -> list[ServerEvent]:
    return [event async for event in subscription]


# Opening.


@pytest.mark.parametrize(
    ("asked", "wire"),
    [
        ({}, {}),
        ({"tools_list_changed": True}, {"toolsListChanged": True}),
        (
            {
                "prompts_list_changed": True,
                "resources_list_changed": True,
                "resource_subscriptions": ("r://a", "r://b"),
            },
            {"promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": ["r://a", "r://b"]},
        ),
    ],
)
async def test_what_is_asked_for_goes_out_and_nothing_else(asked: Any, wire: Any) -> None:
    async with playing({}) as (client, peer), client.listen(**asked) as subscription:
        request = await peer.request()
        assert (request.id, request.method) == ("listen-1", "subscriptions/listen")
        assert request.params is not None
        assert request.params["notifications"] == wire
        assert request.params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert subscription.honored == types.SubscriptionFilter()


async def test_what_the_server_honors_may_be_less() -> None:
    async with (
        playing({"toolsListChanged": True}) as (client, _),
        client.listen(tools_list_changed=True, prompts_list_changed=True) as subscription,
    ):
        assert subscription.honored == types.SubscriptionFilter(tools_list_changed=True)


async def test_a_refusal_is_the_error_of_entering() -> None:
    async with playing(silent=True) as (client, peer), anyio.create_task_group() as group:

        async def refuse() -> None:
            await peer.refuse(await peer.request(), -32600, "not permitted")

        group.start_soon(refuse)
        with pytest.raises(MCPError, match="not permitted") as raised:
            async with client.listen(resource_subscriptions=["r://secret"]):
                pass
        assert raised.value.code == -32600


async def test_a_connection_that_breaks_before_the_acknowledgement_is_the_error_of_entering() -> None:
    async with playing(silent=True) as (client, peer):
        peer.hang_up()
        with pytest.raises(ConnectionClosedError):
            async with client.listen(tools_list_changed=True):
                pass


async def test_a_server_that_does_not_acknowledge_is_not_waited_for_for_ever() -> None:
    async with playing(silent=True, read_timeout_seconds=0.05) as (client, peer):
        with pytest.raises(TimeoutError, match=r"did not acknowledge subscriptions/listen within 0.05s"):
            async with client.listen(tools_list_changed=True):
                pass
        assert (await peer.next()).method == "subscriptions/listen"
        assert (await peer.next()).method == "notifications/cancelled"


async def test_a_time_limit_is_for_the_acknowledgement_alone() -> None:
    async with playing(read_timeout_seconds=0.05) as (client, peer), listening(client, peer) as subscription:
        await anyio.sleep(0.1)
        await peer.tell("listen-1", TOOLS)
        assert await anext(subscription) == ToolsListChanged()


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({"resultType": "complete"}, "ended before it was acknowledged"),
        ({"resultType": "input_required", "requestState": "x"}, "may not ask for input"),
        ({"resultType": "else"}, "'else' is not one that this client knows"),
    ],
)
async def test_an_answer_without_an_acknowledgement_is_the_error_of_entering(
    result: dict[str, Any], problem: str
) -> None:
    async def answer() -> None:
        await peer.say(types.JSONRPCResponse(jsonrpc="2.0", id=(await peer.request()).id, result=result))

    async with playing(silent=True) as (client, peer), anyio.create_task_group() as group:
        group.start_soon(answer)
        with pytest.raises(MalformedResultError, match=problem):
            async with client.listen(tools_list_changed=True):
                pass


async def test_an_answer_of_another_kind_behind_the_acknowledgement_loses_the_subscription() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        result = {"resultType": "input_required", "requestState": "x"}
        await peer.say(types.JSONRPCResponse(jsonrpc="2.0", id="listen-1", result=result))
        seen, cause = await lost(subscription)
        assert (seen, type(cause)) == ([], MalformedResultError)


@pytest.mark.parametrize("honored", [{"notifications": {"resourceSubscriptions": 7}}, {"notifications": 5}, {}])
async def test_a_malformed_acknowledgement_is_the_error_of_entering_at_once(honored: dict[str, Any]) -> None:
    async def acknowledge_badly() -> None:
        await peer.tell((await peer.request()).id, ACKNOWLEDGED, **honored)
        assert (await peer.next()).method == "notifications/cancelled"

    async with playing(silent=True) as (client, peer), anyio.create_task_group() as group:
        group.start_soon(acknowledge_badly)
        with pytest.raises(MalformedResultError, match="malformed notifications/subscriptions/acknowledged"):
            async with client.listen(tools_list_changed=True):
                pass


async def test_a_malformed_acknowledgement_behind_a_good_one_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        await peer.tell("listen-1", ACKNOWLEDGED, notifications=5)
        await peer.tell("listen-1", TOOLS)
        assert await anext(subscription) == ToolsListChanged()
    assert caplog.text.count("ignored a malformed notifications/subscriptions/acknowledged") == 1


async def test_a_string_is_no_list_of_uris() -> None:
    async with playing() as (client, _):
        with pytest.raises(TypeError, match="a sequence of URIs"):
            async with client.listen(resource_subscriptions="r://a"):
                pass


async def test_a_filter_that_has_no_json_form_is_the_callers_mistake() -> None:
    async with playing() as (client, _):
        with pytest.raises(ValueError, match="surrogate"):
            async with client.listen(resource_subscriptions=["r://\ud800"]):
                pass


async def test_a_session_that_has_settled_no_version_cannot_listen() -> None:
    with Played() as peer:
        async with ClientSession(peer.read, peer.write) as session:
            with pytest.raises(ListenNotSupportedError, match="none is settled yet"):
                async with listen(session):
                    pass


def test_the_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(ListenNotSupportedError("2025-06-18")))
    assert (str(error), error.negotiated_version) == (str(ListenNotSupportedError("2025-06-18")), "2025-06-18")
    assert isinstance(error, RuntimeError)
    assert issubclass(SubscriptionLost, RuntimeError)


# What belongs to a stream, and to whom else.


async def test_only_what_names_the_stream_and_what_it_honors_is_told() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        await peer.tell("listen-2", TOOLS)
        await peer.tell(1, TOOLS)
        await peer.say(types.JSONRPCNotification(jsonrpc="2.0", method=TOOLS))
        await peer.say(types.JSONRPCNotification(jsonrpc="2.0", method=TOOLS, params={"_meta": 3}))
        await peer.tell("listen-1", "notifications/prompts/list_changed")
        await peer.tell("listen-1", "notifications/resources/list_changed")
        await peer.tell("listen-1", UPDATED)
        await peer.tell("listen-1", UPDATED, uri=7)
        await peer.tell("listen-1", "acme/else")
        await peer.tell("listen-1", UPDATED, uri="r://a/below")
        await peer.end()
        assert await everything(subscription) == [ResourceUpdated("r://a/below")]


async def test_without_resources_in_the_filter_no_update_is_told() -> None:
    async with (
        playing({"toolsListChanged": True}) as (client, peer),
        client.listen(tools_list_changed=True) as subscription,
    ):
        await peer.tell("listen-1", UPDATED, uri="r://a")
        await peer.end()
        assert await everything(subscription) == []


async def test_what_comes_before_the_acknowledgement_is_not_told() -> None:
    async with playing() as (client, peer):
        await peer.tell("listen-1", TOOLS)
        async with listening(client, peer) as subscription:
            await peer.end()
            assert await everything(subscription) == []


async def test_the_message_handler_hears_changes_and_no_acknowledgement_of_a_live_stream() -> None:
    heard: list[Any] = []

    async def hear(message: IncomingMessage) -> None:
        heard.append(message)

    async with playing(message_handler=hear) as (client, peer):
        async with listening(client, peer) as subscription:
            await peer.acknowledge("listen-1", promptsListChanged=True)
            await peer.acknowledge("another", promptsListChanged=True)
            await peer.tell("listen-1", TOOLS)
            await peer.tell("listen-1", "notifications/prompts/list_changed")
            assert await anext(subscription) == ToolsListChanged()
            await anyio.wait_all_tasks_blocked()
            assert subscription.honored.prompts_list_changed is None
        await peer.acknowledge("listen-1", toolsListChanged=True)
        await anyio.wait_all_tasks_blocked()
    assert [type(message).__name__ for message in heard] == [
        "SubscriptionsAcknowledgedNotification",
        "ToolListChangedNotification",
        "PromptListChangedNotification",
        "SubscriptionsAcknowledgedNotification",
    ]
    assert heard[1].params.meta == {SUBSCRIPTION_ID_META_KEY: "listen-1"}


async def test_a_message_handler_that_is_stuck_holds_up_no_stream_and_may_listen_itself() -> None:
    opened: list[Subscription] = []

    async def handle(message: IncomingMessage) -> None:
        async with client.listen(tools_list_changed=True) as another:
            opened.append(another)
            await anyio.sleep_forever()

    async with playing(message_handler=handle) as (client, peer), listening(client, peer) as subscription:
        await peer.tell("listen-1", UPDATED, uri="r://1")
        assert (await peer.request()).id == "listen-2"
        await peer.tell("listen-1", UPDATED, uri="r://2")
        await anyio.wait_all_tasks_blocked()
        assert [sub.subscription_id for sub in opened] == ["listen-2"]
        assert [await anext(subscription), await anext(subscription)] == [
            ResourceUpdated("r://1"),
            ResourceUpdated("r://2"),
        ]


# Ends.


async def test_leaving_cancels_the_request() -> None:
    async with playing() as (client, peer):
        async with listening(client, peer) as subscription:
            pass
        cancelled = await peer.next()
        assert cancelled.method == "notifications/cancelled"
        assert cancelled.params is not None
        assert cancelled.params["requestId"] == "listen-1"
        assert await everything(subscription) == []


async def test_leaving_by_an_exception_raises_that_exception() -> None:
    async with playing() as (client, peer):
        with pytest.raises(ValueError, match="tripped"):
            async with listening(client, peer):
                raise ValueError("tripped")
        assert (await peer.next()).method == "notifications/cancelled"


async def test_a_graceful_end_is_the_end_and_nothing_is_cancelled() -> None:
    async with playing() as (client, peer):
        async with listening(client, peer) as subscription:
            await peer.tell("listen-1", TOOLS)
            await peer.end()
            assert await everything(subscription) == [ToolsListChanged()]
        await client.session.send_notification(types.RootsListChangedNotification())
        assert (await peer.next()).method == "notifications/roots/list_changed"


async def test_an_error_behind_the_acknowledgement_loses_the_subscription() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        await peer.tell("listen-1", TOOLS)
        error = types.ErrorData(code=-32000, message="gone")
        await peer.say(types.JSONRPCError(jsonrpc="2.0", id="listen-1", error=error))
        seen, cause = await lost(subscription)
        assert seen == [ToolsListChanged()]
        assert isinstance(cause, MCPError)
        assert (cause.code, cause.message) == (-32000, "gone")
        assert await lost(subscription) == ([], cause)


async def test_a_connection_that_breaks_loses_the_subscription() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        await peer.tell("listen-1", TOOLS)
        peer.hang_up()
        seen, cause = await lost(subscription)
        assert seen == [ToolsListChanged()]
        assert isinstance(cause, ConnectionClosedError)


async def test_a_server_that_cancels_the_request_loses_the_subscription_and_is_not_told_so() -> None:
    async with playing() as (client, peer):
        async with listening(client, peer) as subscription:
            params = {"requestId": "listen-1", "reason": "closing time"}
            await peer.say(types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params))
            seen, cause = await lost(subscription)
            assert (seen, str(cause)) == ([], "The server cancelled the subscription: closing time")
        await client.session.send_notification(types.RootsListChangedNotification())
        assert (await peer.next()).method == "notifications/roots/list_changed"


async def test_who_falls_too_far_behind_loses_the_subscription_and_cancels_it() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        for number in range(1030):
            await peer.tell("listen-1", UPDATED, uri=f"r://{number}")
        cancelled = await peer.next()
        assert (cancelled.method, cancelled.params and cancelled.params["requestId"]) == (
            "notifications/cancelled",
            "listen-1",
        )
        seen, cause = await lost(subscription)
        assert seen == [ResourceUpdated(f"r://{number}") for number in range(1024)]
        assert "1024 events" in str(cause)


async def test_equal_events_do_not_fill_the_backlog() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        for _ in range(3000):
            await peer.tell("listen-1", TOOLS)
        await peer.end()
        await anyio.wait_all_tasks_blocked()
        assert await everything(subscription) == [ToolsListChanged()]


async def test_a_reading_task_that_is_cancelled_loses_the_subscription(
    anyio_backend_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if anyio_backend_name != "asyncio":
        pytest.skip("cancels a task")
    tasks: list[Any] = []
    run = _Stream.run

    async def noted(stream: _Stream, asked: types.SubscriptionFilter) -> None:
        tasks.append(asyncio.current_task())
        await run(stream, asked)

    monkeypatch.setattr(_Stream, "run", noted)
    async with playing() as (client, peer), listening(client, peer) as subscription:
        tasks[0].cancel()
        seen, cause = await lost(subscription)
        assert (seen, str(cause)) == ([], "The task that reads the subscription was cancelled")


# Those who iterate.


async def test_two_who_iterate_share_the_events() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        seen: list[ServerEvent] = []

        async def take() -> None:
            seen.extend(await everything(subscription))

        async with anyio.create_task_group() as group:
            group.start_soon(take)
            group.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            await peer.tell("listen-1", UPDATED, uri="r://1")
            await peer.tell("listen-1", UPDATED, uri="r://2")
            await peer.end()
        assert sorted(str(event) for event in seen) == ["ResourceUpdated(uri='r://1')", "ResourceUpdated(uri='r://2')"]


async def test_giving_up_waiting_loses_no_event() -> None:
    async with playing() as (client, peer), listening(client, peer) as subscription:
        with anyio.move_on_after(0.01):
            await anext(subscription)
        await peer.tell("listen-1", TOOLS)
        assert await anext(subscription) == ToolsListChanged()


async def test_on_event_sees_each_event_first() -> None:
    order: list[Any] = []

    async def on_event(event: ServerEvent) -> None:
        order.append(("on_event", event))

    async with (
        playing() as (client, peer),
        listen(client.session, tools_list_changed=True, on_event=on_event) as subscription,
    ):
        await peer.tell("listen-1", TOOLS)
        order.append(("yielded", await anext(subscription)))
    assert order == [("on_event", ToolsListChanged()), ("yielded", ToolsListChanged())]


async def test_an_on_event_that_raises_leaves_the_event_for_the_next_time() -> None:
    failures = [ValueError("tripped")]

    async def on_event(event: ServerEvent) -> None:
        if failures:
            raise failures.pop()

    async with (
        playing() as (client, peer),
        listen(client.session, tools_list_changed=True, on_event=on_event) as subscription,
    ):
        await peer.tell("listen-1", TOOLS)
        with pytest.raises(ValueError, match="tripped"):
            await anext(subscription)
        assert await anext(subscription) == ToolsListChanged()


async def test_what_happens_while_on_event_runs_is_another_event() -> None:
    async def on_event(event: ServerEvent) -> None:
        if not told:
            told.append(event)
            await peer.tell("listen-1", TOOLS)
            await anyio.wait_all_tasks_blocked()

    told: list[ServerEvent] = []
    async with (
        playing() as (client, peer),
        listen(client.session, tools_list_changed=True, on_event=on_event) as subscription,
    ):
        await peer.tell("listen-1", TOOLS)
        assert await anext(subscription) == ToolsListChanged()
        assert await anext(subscription) == ToolsListChanged()
        await peer.end()
        assert await everything(subscription) == []
