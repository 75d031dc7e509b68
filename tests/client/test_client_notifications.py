"""Log messages and other notifications, on their way to the callbacks of a client."""

import logging
from typing import Any

import anyio
import house
import pytest
from house import Target
from played_server import Peer

from mcp import Client, MCPError, types
from mcp.client import ClientSession, IncomingMessage
from mcp.protocol.codec import DecodeError
from mcp.server import Server
from mcp.types import INVALID_REQUEST, JSONRPCNotification

pytestmark = pytest.mark.anyio

Logged = list[types.LoggingMessageNotificationParams]


async def speak(ctx: house.Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return await house.speak(ctx, {})


def notifying(method: str, params: dict[str, Any] | None) -> Server:
    """A server that sends this notification with every answer."""

    async def call_tool(ctx: house.Context, _: types.CallToolRequestParams) -> types.CallToolResult:
        notification: Any = types.Notification[dict[str, Any] | None, str](method=method, params=params)
        await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
        return types.CallToolResult(content=[])

    return Server("house", on_call_tool=call_tool)


class Ear:
    """Callbacks that remember what they were given, and tell when enough has come."""

    def __init__(self, enough: int = 1) -> None:
        self.heard: list[Any] = []
        self.enough = anyio.Event()
        self._count = enough

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self._hear(params)

    async def handle(self, message: IncomingMessage) -> None:
        self._hear(message)

    def _hear(self, thing: object) -> None:
        self.heard.append(thing)
        if len(self.heard) >= self._count:
            self.enough.set()


async def test_log_messages_arrive_as_asked_for(target: Target) -> None:
    log, every = Ear(2), Ear(2)
    async with Client(target, logging_callback=log.log, message_handler=every.handle, log_level="info") as client:
        await client.call_tool("speak")
        with anyio.fail_after(10):
            await log.enough.wait()
            await every.enough.wait()
    assert [(one.level, one.logger, one.data) for one in log.heard] == [
        ("info", "house", {"said": "info"}),
        ("error", "house", {"said": "error"}),
    ]
    assert all(isinstance(one, types.LoggingMessageNotification) for one in every.heard)
    assert [one.params for one in every.heard] == log.heard


async def test_in_this_process_they_arrive_before_the_call_returns() -> None:
    log = Ear()
    async with Client(house.build(), logging_callback=log.log, log_level="debug") as client:
        await client.call_tool("speak")
        assert [one.level for one in log.heard] == ["debug", "info", "error"]


async def test_a_callback_alone_asks_for_nothing(target: Target) -> None:
    log = Ear()
    async with Client(target, logging_callback=log.log) as client:
        await client.call_tool("speak")
        await client.call_tool("add", {"a": 1, "b": 1})
    assert log.heard == []


async def test_a_message_handler_needs_no_logging_callback() -> None:
    every = Ear()
    async with Client(house.build(), message_handler=every.handle, log_level="error") as client:
        await client.call_tool("speak")
    assert [one.params.level for one in every.heard] == ["error"]


async def test_nobody_has_to_listen() -> None:
    async with Client(house.build(), log_level="debug") as client:
        assert (await client.call_tool("speak")).is_error is False


async def test_the_logging_callback_goes_before_the_message_handler() -> None:
    order: list[str] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        order.append("log")

    async def handle(message: IncomingMessage) -> None:
        order.append("handle")

    server = Server("house", on_call_tool=speak)
    async with Client(server, logging_callback=log, message_handler=handle, log_level="error") as client:
        await client.call_tool("any")
    assert order == ["log", "handle"]


async def test_a_callback_that_raises_is_logged_and_nothing_else_suffers(caplog: pytest.LogCaptureFixture) -> None:
    every = Ear()

    async def trip(params: types.LoggingMessageNotificationParams) -> None:
        raise ValueError("tripped")

    server = Server("house", on_call_tool=speak)
    async with Client(server, logging_callback=trip, message_handler=every.handle, log_level="info") as client:
        await client.call_tool("any")
    assert [one.params.level for one in every.heard] == ["info", "error"]
    assert caplog.text.count("the callback for notifications/message raised") == 2


async def test_a_callback_may_call_the_server(target: Target) -> None:
    sums: list[Any] = []
    done = anyio.Event()

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        sums.append((await client.call_tool("add", {"a": 2, "b": 3})).structured_content)
        done.set()

    async with Client(target, logging_callback=log, log_level="error") as client:
        await client.call_tool("speak")
        with anyio.fail_after(10):
            await done.wait()
    assert sums == [{"sum": 5}]


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("notifications/tools/list_changed", None, types.ToolListChangedNotification),
        ("notifications/resources/updated", {"uri": "house://hall"}, types.ResourceUpdatedNotification),
        ("notifications/prompts/list_changed", {}, types.PromptListChangedNotification),
    ],
)
async def test_a_notification_arrives_as_its_own_model(method: str, params: Any, kind: type[Any]) -> None:
    every = Ear()
    async with Client(notifying(method, params), message_handler=every.handle) as client:
        await client.call_tool("any")
    assert [type(one) for one in every.heard] == [kind]


@pytest.mark.parametrize("method", ["acme/note", "tools/list", "notifications/nonsense"])
async def test_what_is_no_notification_of_the_protocol_is_dropped(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    every = Ear()
    async with Client(notifying(method, None), message_handler=every.handle) as client:
        with caplog.at_level(logging.DEBUG, "client"):
            await client.call_tool("any")
    assert every.heard == []
    assert f"dropped {method}: the protocol has no such notification" in caplog.text


async def test_a_malformed_notification_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    every = Ear()
    server = notifying("notifications/resources/updated", {"uri": 5})
    async with Client(server, message_handler=every.handle) as client:
        await client.call_tool("any")
    assert every.heard == []
    assert "dropped a malformed notifications/resources/updated" in caplog.text


async def test_what_a_transport_has_in_the_place_of_a_message_reaches_the_handler_in_its_place() -> None:
    every = Ear(3)
    broken = ValueError("half a line")
    with Peer() as server:
        async with ClientSession(server.read, server.write, message_handler=every.handle):
            await server.say(JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed"))
            await server.say(broken)
            await server.say(JSONRPCNotification(jsonrpc="2.0", method="notifications/prompts/list_changed"))
            with anyio.fail_after(10):
                await every.enough.wait()
    assert every.heard[1] is broken
    assert [type(one) for one in every.heard] == [
        types.ToolListChangedNotification,
        ValueError,
        types.PromptListChangedNotification,
    ]


async def test_a_handler_that_raises_what_it_is_told_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    every = Ear(2)

    async def pass_on(message: IncomingMessage) -> None:
        await every.handle(message)
        if isinstance(message, Exception):
            raise message

    with Peer() as server:
        async with ClientSession(server.read, server.write, message_handler=pass_on):
            await server.say(ValueError("half a line"))
            await server.say(JSONRPCNotification(jsonrpc="2.0", method="notifications/prompts/list_changed"))
            with anyio.fail_after(10):
                await every.enough.wait()
    assert "the callback for what is no message raised" in caplog.text


async def test_a_broken_answer_fails_its_request_and_is_no_message_to_the_handler() -> None:
    every = Ear()
    with Peer() as server:

        async def answer() -> None:
            request = await server.request()
            await server.say(DecodeError(INVALID_REQUEST, "no result", response_id=request.id))

        async with (
            ClientSession(server.read, server.write, message_handler=every.handle) as session,
            anyio.create_task_group() as group,
        ):
            group.start_soon(answer)
            with pytest.raises(MCPError, match="no result"):
                await session.send_ping()
    assert every.heard == []
