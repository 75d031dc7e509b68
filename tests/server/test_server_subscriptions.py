"""`subscriptions/listen` on the wire: acknowledgement, filter, ids, limits, and how streams end."""

import logging
from typing import Any

import anyio
import pytest
from link_wire import MODERN, Wire, on_a_link
from wire import Context

from mcp import types
from mcp.server import Server
from mcp.server.context import CallNext
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
EVERY_EVENT = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged(), ResourceUpdated("r://a"))


class Board:
    """A server with a bus, and a handler whose limits are a test's."""

    def __init__(self, **limits: int) -> None:
        self.bus = InMemorySubscriptionBus()
        self.handler = ListenHandler(self.bus, **limits)
        self.server = Server("board", on_subscriptions_listen=self.handler)

    async def publish(self, *events: ServerEvent) -> None:
        for event in events:
            await self.bus.publish(event)


@pytest.fixture
def board() -> Board:
    return Board()


def ask(wire: Wire, id: int | str, filter: Any) -> None:
    wire.say("subscriptions/listen", {"notifications": filter, "_meta": MODERN}, id=id)


async def listen(wire: Wire, id: int | str, filter: Any) -> Any:
    """Opens a stream, and returns what is honored."""
    ask(wire, id, filter)
    message = await wire.next()
    assert message["method"] == ACKNOWLEDGED, message
    assert message["params"]["_meta"] == {SUBSCRIPTION_ID_META_KEY: id}
    return message["params"]["notifications"]


async def nothing_comes(wire: Wire) -> bool:
    with anyio.move_on_after(0.05) as waited:
        await wire.next()
    return waited.cancelled_caught


def changed(id: int | str, what: str) -> dict[str, Any]:
    meta = {SUBSCRIPTION_ID_META_KEY: id}
    return {"jsonrpc": "2.0", "method": f"notifications/{what}/list_changed", "params": {"_meta": meta}}


def updated(id: int | str, uri: str) -> dict[str, Any]:
    params = {"_meta": {SUBSCRIPTION_ID_META_KEY: id}, "uri": uri}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}


def ended(id: int | str) -> dict[str, Any]:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "board", "version": ""}, SUBSCRIPTION_ID_META_KEY: id}
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": meta}}


def by_stream(messages: list[Any]) -> dict[int | str, list[Any]]:
    """Messages by the stream they belong to: nothing is promised about the order between streams."""
    streams: dict[int | str, list[Any]] = {}
    for message in messages:
        body = message.get("result") or message["params"]
        streams.setdefault(body["_meta"][SUBSCRIPTION_ID_META_KEY], []).append(message)
    return streams


# What is acknowledged, and what is told of.


@pytest.mark.parametrize(
    ("asked", "honored"),
    [
        ({}, {}),
        ({"toolsListChanged": False, "promptsListChanged": None, "resourceSubscriptions": []}, {}),
        ({"toolsListChanged": True, "acme/other": True}, {"toolsListChanged": True}),
        ({"promptsListChanged": True, "resourcesListChanged": True},) * 2,
        ({"resourceSubscriptions": ["r://b", "r://a", "r://b"]},) * 2,
    ],
)
async def test_what_is_asked_for_is_honored_and_nothing_else_is_named(board: Board, asked: Any, honored: Any) -> None:
    async with on_a_link(board.server) as wire:
        assert await listen(wire, 7, asked) == honored


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, []),
        ({"toolsListChanged": True}, [changed(1, "tools")]),
        ({"promptsListChanged": True}, [changed(1, "prompts")]),
        ({"resourcesListChanged": True}, [changed(1, "resources")]),
        ({"resourceSubscriptions": ["r://a"]}, [updated(1, "r://a")]),
        ({"resourceSubscriptions": ["r://"]}, []),
        ({"resourceSubscriptions": ["r://a/b", "R://a", "r://a "]}, []),
    ],
)
async def test_a_stream_tells_of_what_its_filter_names_to_the_letter(board: Board, asked: Any, told: Any) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, asked)
        await board.publish(*EVERY_EVENT)
        board.handler.close()
        assert [await wire.next() for _ in told] == told
        assert await wire.next() == ended(1)


async def test_each_of_several_streams_has_its_filter_and_its_id(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        await listen(wire, "1", {"toolsListChanged": True, "resourceSubscriptions": ["r://ü\n\"'"]})
        await listen(wire, 'quo"te', {"resourceSubscriptions": ["r://a"]})
        await board.publish(ToolsListChanged(), ResourceUpdated("r://ü\n\"'"), ResourceUpdated("r://a"))
        assert by_stream([await wire.next() for _ in range(4)]) == {
            1: [changed(1, "tools")],
            "1": [changed("1", "tools"), updated("1", "r://ü\n\"'")],
            'quo"te': [updated('quo"te', "r://a")],
        }


async def test_equal_events_are_told_as_often_as_they_are_published_in_their_order(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True, "promptsListChanged": True})
        await board.publish(ToolsListChanged(), ToolsListChanged(), PromptsListChanged(), ToolsListChanged())
        assert [(await wire.next())["method"].split("/")[1] for _ in range(4)] == ["tools", "tools", "prompts", "tools"]


async def test_what_happens_before_the_acknowledgement_is_sent_comes_behind_it(board: Board) -> None:
    class Hasty(InMemorySubscriptionBus):
        def subscribe(self, listener: Any) -> Any:
            unsubscribe = super().subscribe(listener)
            listener(ToolsListChanged())
            return unsubscribe

    bus = Hasty()
    server = Server("board", on_subscriptions_listen=ListenHandler(bus))
    async with on_a_link(server) as wire:
        await listen(wire, 0, {"toolsListChanged": True})
        await bus.publish(ToolsListChanged())
        assert await wire.next() == changed(0, "tools")


async def test_other_requests_are_answered_beside_a_stream(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        assert "result" in await wire.ask(2, "server/discover", {"_meta": MODERN})


# Refusals.


@pytest.mark.parametrize(
    ("params", "place"),
    [({}, "notifications"), ({"notifications": {"resourceSubscriptions": "r://a"}}, "resourceSubscriptions")],
)
async def test_a_broken_filter_is_refused(board: Board, params: dict[str, Any], place: str) -> None:
    async with on_a_link(board.server) as wire:
        error = (await wire.ask(1, "subscriptions/listen", {**params, "_meta": MODERN}))["error"]
        assert (error["code"], place in error["message"]) == (-32602, True)


@pytest.mark.parametrize(
    ("uris", "problem"),
    [
        (["r://a"] * 4, "may name 3 URIs, and names 4"),
        (["r://" + "a" * 200_000, "r://" + "b" * 100_000], "may have 262144 characters, and has 300008"),
    ],
)
async def test_a_filter_that_is_too_large_is_refused_and_the_connection_goes_on(uris: list[str], problem: str) -> None:
    board = Board(max_uris=3)
    async with on_a_link(board.server) as wire:
        ask(wire, 1, {"resourceSubscriptions": uris})
        error = (await wire.next())["error"]
        assert error["code"] == -32602
        assert error["message"] == f"Invalid params: notifications.resourceSubscriptions {problem}"
        assert await listen(wire, 2, {"resourceSubscriptions": uris[:1]}) == {"resourceSubscriptions": uris[:1]}


async def test_a_handshake_revision_has_no_streams(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await wire.initialize()
        answer = await wire.ask(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert answer["error"]["code"] == -32601


async def test_one_stream_too_many_is_refused_until_another_ends() -> None:
    board = Board(max_subscriptions=2)
    async with on_a_link(board.server) as wire:
        for id in (1, 2):
            await listen(wire, id, {"toolsListChanged": True})
        ask(wire, 3, {"toolsListChanged": True})
        error = (await wire.next())["error"]
        assert (error["code"], error["message"]) == (-32603, "Subscription limit reached: 2 streams are open")
        wire.say("notifications/cancelled", {"requestId": 1})
        assert "result" in await wire.ask(4, "server/discover", {"_meta": MODERN})
        await listen(wire, 5, {"toolsListChanged": True})


async def test_middleware_may_refuse_a_stream_and_the_connection_goes_on(board: Board) -> None:
    async def gate(ctx: Context, call_next: CallNext) -> Any:
        if ctx.method == "subscriptions/listen":
            params = types.SubscriptionsListenRequestParams.model_validate(ctx.params or {}, by_name=False)
            if "r://secret" in (params.notifications.resource_subscriptions or ()):
                raise MCPError(types.INVALID_REQUEST, "not permitted")
        return await call_next(ctx)

    board.server.middleware.append(gate)
    async with on_a_link(board.server) as wire:
        ask(wire, 1, {"resourceSubscriptions": ["r://secret"]})
        assert (await wire.next())["error"] == {"code": -32600, "message": "not permitted"}
        await listen(wire, 2, {"resourceSubscriptions": ["r://a"]})
        await board.publish(ResourceUpdated("r://secret"), ResourceUpdated("r://a"))
        assert await wire.next() == updated(2, "r://a")
        board.handler.close()
        assert await wire.next() == ended(2)


async def test_a_bus_that_takes_no_listener_fails_that_request_alone() -> None:
    class Broken(InMemorySubscriptionBus):
        def subscribe(self, listener: Any) -> Any:
            raise ConnectionError("the broker is away")

    handler = ListenHandler(Broken(), max_subscriptions=1)
    async with on_a_link(Server("board", on_subscriptions_listen=handler)) as wire:
        for id in (1, 2):
            ask(wire, id, {"toolsListChanged": True})
            assert (await wire.next())["error"] == {"code": -32603, "message": "Internal server error"}


async def test_what_is_no_request_is_refused(board: Board) -> None:
    async def without_id(ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        ctx.request_id = None
        return await board.handler(ctx, params)

    async with on_a_link(Server("board", on_subscriptions_listen=without_id)) as wire:
        ask(wire, 1, {})
        assert (await wire.next())["error"]["code"] == -32600


# Ends.


async def test_closing_the_handler_ends_every_stream_with_its_result_behind_what_waits(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        await listen(wire, "two", {"promptsListChanged": True})
        await board.publish(ToolsListChanged())
        board.handler.close()
        board.handler.close()
        await board.publish(ToolsListChanged(), PromptsListChanged())
        assert by_stream([await wire.next() for _ in range(3)]) == {
            1: [changed(1, "tools"), ended(1)],
            "two": [ended("two")],
        }
        assert await nothing_comes(wire)
        await listen(wire, 3, {"toolsListChanged": True})


async def test_a_cancelled_stream_says_nothing_more_and_the_others_go_on(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        await listen(wire, 2, {"toolsListChanged": True})
        wire.say("notifications/cancelled", {"requestId": 1, "reason": "enough"})
        assert "result" in await wire.ask(3, "server/discover", {"_meta": MODERN})
        await board.publish(ToolsListChanged())
        assert await wire.next() == changed(2, "tools")
        assert await nothing_comes(wire)


async def test_an_id_may_be_used_again_once_its_stream_has_ended(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        ask(wire, 1, {"toolsListChanged": True})
        assert (await wire.next())["error"]["code"] == -32600
        wire.say("notifications/cancelled", {"requestId": 1})
        assert "result" in await wire.ask(2, "server/discover", {"_meta": MODERN})
        await listen(wire, 1, {"promptsListChanged": True})


@pytest.mark.parametrize("early", [True, False])
async def test_a_client_that_closes_its_side_gets_the_end_of_its_streams_at_once(board: Board, early: bool) -> None:
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](10)
    params = {"notifications": {"toolsListChanged": True}, "_meta": MODERN}
    request = types.JSONRPCRequest(jsonrpc="2.0", id=1, method="subscriptions/listen", params=params)
    await to_server.send(SessionMessage(request))
    if early:
        to_server.close()
    async with anyio.create_task_group() as group, to_server, from_server:
        group.start_soon(board.server.run, from_client, to_client, board.server.create_initialization_options())
        assert (await from_server.receive()).message.model_dump()["method"] == ACKNOWLEDGED
        to_server.close()
        # Well before the second that requests have to finish.
        with anyio.fail_after(0.7):
            assert (await from_server.receive()).message.model_dump(by_alias=True, exclude_none=True) == ended(1)


async def test_nothing_is_left_of_streams_that_have_ended(board: Board) -> None:
    async with on_a_link(board.server) as wire:
        for id in range(300):
            await listen(wire, id, {"toolsListChanged": True, "resourceSubscriptions": [f"r://{id}"]})
            if id % 2:
                wire.say("notifications/cancelled", {"requestId": id})
        assert "result" in await wire.ask("x", "server/discover", {"_meta": MODERN})
        assert len(board.handler._streams) == 150
        board.handler.close()
        assert {(await wire.next())["id"] for _ in range(150)} == set(range(0, 300, 2))
        assert board.handler._streams == {}
        assert board.bus._listeners == {}


# Slow clients.


async def test_a_stream_with_too_many_waiting_events_is_ended_behind_them_and_nobody_else_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp.engine.memorylink.MAX_QUEUED", 0)
    board = Board(max_buffered_events=3)
    async with on_a_link(board.server) as slow, on_a_link(board.server) as quick:
        await listen(slow, "slow", {"toolsListChanged": True})
        await listen(quick, "quick", {"toolsListChanged": True})
        for _ in range(6):
            await board.publish(ToolsListChanged())
            assert await quick.next() == changed("quick", "tools")
            await anyio.wait_all_tasks_blocked()
        assert [await slow.next() for _ in range(5)] == [*[changed("slow", "tools")] * 4, ended("slow")]
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.name == "mcp.server.subscriptions"
    assert "'slow': 3 events wait" in record.getMessage()


async def test_who_publishes_does_not_wait_for_a_client_that_never_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.memorylink.MAX_QUEUED", 0)
    board = Board(max_buffered_events=10)
    async with on_a_link(board.server) as wire:
        await listen(wire, 1, {"toolsListChanged": True})
        with anyio.fail_after(5):
            await board.publish(*[ToolsListChanged()] * 1000)
