"""A server on a connection that opens with `initialize`: what it announces, what it takes, and in which order."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from link_wire import CLIENT, MODERN, Wire, on_a_link

from mcp import MCPDeprecationWarning, types
from mcp.engine.backend import open_spawner
from mcp.engine.duplex import Duplex
from mcp.engine.memorylink import memory_links
from mcp.engine.outlet import LinkOutlet
from mcp.protocol.codec import Notification, Request
from mcp.server import Server, ServerRequestContext
from mcp.server.handshake import HandshakeSession, initialize_result, negotiated_version
from mcp.server.models import InitializationOptions
from mcp.server.server_side import ServerSide
from mcp.shared.exceptions import MCPError
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

pytestmark = pytest.mark.anyio

Context = ServerRequestContext[Any, Any]

LATEST = "2025-11-25"
OPTIONS = InitializationOptions(server_name="srv", server_version="1", capabilities=types.ServerCapabilities())


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[], ttl_ms=5, cache_scope="public")


def server_that(work: Any, **options: Any) -> Server[Any]:
    """Does `work` when it is called as a tool."""

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        await work(ctx)
        return types.CallToolResult(content=[])

    return Server("srv", on_call_tool=call_tool, **options)


async def nothing(ctx: Context) -> None:
    pass


CALL: dict[str, Any] = {"name": "t", "arguments": {}}


# Without a connection.


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_a_revision_that_is_known_is_agreed_to(version: str) -> None:
    assert negotiated_version(version) == version
    assert initialize_result(OPTIONS, version).protocol_version == version


@pytest.mark.parametrize("version", ["2026-07-28", "2099-01-01", "", "latest", 5, None, [LATEST], {}])
def test_the_newest_revision_is_offered_in_place_of_one_that_is_not(version: object) -> None:
    assert negotiated_version(version) == LATEST


def test_a_session_knows_nothing_before_the_handshake() -> None:
    session = HandshakeSession()
    assert (session.initialized, session.version, session.takes_batches) == (False, LATEST, False)
    assert session.connection.facts.info is None
    assert session.connection.facts.capabilities == types.ClientCapabilities()


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_these_may_come_before_the_handshake(method: str) -> None:
    HandshakeSession().admit(Request(1, method, None))


@pytest.mark.parametrize("message", [Request(1, "tools/list", None), Notification("notifications/initialized", None)])
def test_nothing_else_may(message: Request | Notification) -> None:
    session = HandshakeSession()
    with pytest.raises(MCPError, match=f"'{message.method}' came before initialize") as raised:
        session.admit(message)
    assert raised.value.code == types.INVALID_REQUEST
    session.assume(LATEST)
    session.admit(message)


def test_a_session_takes_what_the_client_said_as_settled() -> None:
    session = HandshakeSession()
    session.commit({"protocolVersion": "2025-03-26", "capabilities": {"roots": {}}, "clientInfo": CLIENT})
    assert (session.initialized, session.version, session.takes_batches) == (True, "2025-03-26", True)
    assert session.connection.facts.info == types.Implementation(name="me", version="9")
    assert session.connection.facts.capabilities.roots is not None
    session.commit({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {**CLIENT, "name": "you"}})
    assert (session.version, session.takes_batches) == (LATEST, False)
    assert session.connection.facts.info == types.Implementation(name="you", version="9")


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_one_revision_alone_has_batches(version: str) -> None:
    session = HandshakeSession()
    session.assume(version)
    assert session.takes_batches == (version == "2025-03-26")


# Opening.


async def test_a_server_announces_who_it_is_and_what_it_can_do() -> None:
    server = Server("srv", version="2", title="T", instructions="Be kind.", on_list_tools=list_tools)
    async with on_a_link(server) as wire:
        answer = await wire.ask(
            "one", "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
        )
    assert answer == {
        "jsonrpc": "2.0",
        "id": "one",
        "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "srv", "version": "2", "title": "T"},
            "instructions": "Be kind.",
        },
    }


async def test_what_is_announced_is_what_the_connection_was_given() -> None:
    async with on_a_link(Server("srv"), options=OPTIONS.model_copy(update={"instructions": "Mine."})) as wire:
        assert (await wire.initialize())["instructions"] == "Mine."


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01"])
async def test_a_handler_is_told_the_revision_that_was_agreed(version: str) -> None:
    seen: list[str] = []

    async def look(ctx: Context) -> None:
        seen.extend([ctx.protocol_version, ctx.session.protocol_version])

    agreed = version if version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST
    async with on_a_link(server_that(look)) as wire:
        assert (await wire.initialize(version))["protocolVersion"] == agreed
        assert "result" in await wire.ask(1, "tools/call", CALL)
    assert seen == [agreed, agreed]


async def test_a_handler_knows_the_client() -> None:
    seen: list[Any] = []

    async def look(ctx: Context) -> None:
        seen.append(ctx.session.client_params)

    async with on_a_link(server_that(look)) as wire:
        await wire.initialize(capabilities={"sampling": {}})
        await wire.ask(1, "tools/call", CALL)
    (params,) = seen
    assert params.client_info == types.Implementation(name="me", version="9")
    assert params.protocol_version == LATEST
    assert params.capabilities.sampling is not None
    assert params.capabilities.roots is None


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"protocolVersion": 5, "capabilities": {}, "clientInfo": CLIENT},
        {"protocolVersion": LATEST, "capabilities": [], "clientInfo": CLIENT},
        {"protocolVersion": LATEST, "capabilities": {}},
        {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "me"}},
    ],
)
async def test_a_handshake_that_is_malformed_is_refused_and_opens_nothing(params: dict[str, Any] | None) -> None:
    async with on_a_link(server_that(nothing)) as wire:
        assert (await wire.ask(1, "initialize", params))["error"]["code"] == -32602
        assert "came before initialize" in (await wire.ask(2, "tools/call", CALL))["error"]["message"]
        await wire.initialize()
        assert "result" in await wire.ask(3, "tools/call", CALL)


async def test_a_second_handshake_settles_everything_anew() -> None:
    seen: list[Any] = []

    async def look(ctx: Context) -> None:
        seen.append((ctx.protocol_version, ctx.session.check_client_capability(ROOTS)))

    ROOTS = types.ClientCapabilities(roots=types.RootsCapability())
    async with on_a_link(server_that(look)) as wire:
        await wire.initialize("2025-03-26", {"roots": {}})
        await wire.ask(1, "tools/call", CALL)
        await wire.initialize()
        await wire.ask(2, "tools/call", CALL)
    assert seen == [("2025-03-26", True), (LATEST, False)]


async def test_only_a_ping_is_answered_before_the_handshake() -> None:
    async with on_a_link(server_that(nothing)) as wire:
        assert (await wire.ask(1, "ping"))["result"] == {}
        refused = (await wire.ask(2, "tools/call", CALL))["error"]
        assert refused["code"] == -32600
        assert refused["message"] == (
            "'tools/call' came before initialize: open the connection with initialize, or name a protocol version in "
            "params._meta"
        )
        assert "came before initialize" in (await wire.ask(3, "acme/unknown"))["error"]["message"]


async def test_a_client_that_does_not_wait_for_the_answer_is_served() -> None:
    params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": CLIENT}
    async with on_a_link(server_that(nothing)) as wire:
        wire.say("initialize", params, id=1)
        wire.say("notifications/initialized")
        wire.say("tools/call", CALL, id=2)
        assert [(await wire.next())["id"] for _ in range(2)] == [1, 2]


async def test_middleware_sees_the_handshake_and_nothing_passes_it() -> None:
    log: list[str] = []
    may_go_on = anyio.Event()

    async def watch(ctx: Context, call_next: Any) -> Any:
        log.append(f"{ctx.method} begins")
        if ctx.method == "initialize":
            assert not ctx.session.can_send_request
            await may_go_on.wait()
        result = await call_next(ctx)
        log.append(f"{ctx.method} ends")
        return result

    server = server_that(nothing)
    server.middleware.append(watch)
    params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": CLIENT}
    async with on_a_link(server) as wire:
        wire.say("initialize", params, id=1)
        wire.say("notifications/initialized")
        await anyio.wait_all_tasks_blocked()
        assert log == ["initialize begins"]
        may_go_on.set()
        assert (await wire.next())["result"]["protocolVersion"] == LATEST
        await anyio.wait_all_tasks_blocked()
    assert log == [
        "initialize begins",
        "initialize ends",
        "notifications/initialized begins",
        "notifications/initialized ends",
    ]


async def test_middleware_that_refuses_the_handshake_leaves_the_connection_closed_to_everything_else() -> None:
    async def refuse(ctx: Context, call_next: Any) -> Any:
        if ctx.method == "initialize":
            raise MCPError(-32050, "members only", {"join": True})
        return await call_next(ctx)

    server = server_that(nothing)
    server.middleware.append(refuse)
    params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": CLIENT}
    async with on_a_link(server) as wire:
        answer = await wire.ask(1, "initialize", params)
        assert answer["error"] == {"code": -32050, "message": "members only", "data": {"join": True}}
        assert "came before initialize" in (await wire.ask(2, "tools/call", CALL))["error"]["message"]


# Both eras on one pipe.


async def test_a_request_that_names_its_version_needs_no_handshake_and_makes_none() -> None:
    seen: list[Any] = []

    async def look(ctx: Context) -> None:
        seen.append((ctx.protocol_version, ctx.session.can_send_request))

    async with on_a_link(server_that(look)) as wire:
        assert "result" in await wire.ask(1, "tools/call", {**CALL, "_meta": MODERN})
        assert "came before initialize" in (await wire.ask(2, "tools/call", CALL))["error"]["message"]
        await wire.initialize()
        await wire.ask(3, "tools/call", CALL)
        await wire.ask(4, "tools/call", {**CALL, "_meta": MODERN})
    assert seen == [("2026-07-28", False), (LATEST, True), ("2026-07-28", False)]


async def test_each_era_has_results_of_its_own_kind() -> None:
    async with on_a_link(Server("srv", on_list_tools=list_tools)) as wire:
        await wire.initialize()
        assert (await wire.ask(1, "tools/list"))["result"] == {"tools": []}
        modern = (await wire.ask(2, "tools/list", {"_meta": MODERN}))["result"]
    assert (modern["resultType"], modern["ttlMs"], modern["cacheScope"]) == ("complete", 5, "public")


@pytest.mark.parametrize(
    ("method", "params"),
    [("server/discover", {}), ("subscriptions/listen", {"notifications": {"toolsListChanged": True}})],
)
async def test_a_method_of_the_other_era_is_unknown(method: str, params: dict[str, Any]) -> None:
    async with on_a_link(Server("srv")) as wire:
        await wire.initialize()
        assert (await wire.ask(1, method, params))["error"]["code"] == -32601
        assert (await wire.ask(2, "ping", {"_meta": MODERN}))["error"]["code"] == -32601


async def test_a_modern_notification_has_nobody_to_ask() -> None:
    seen: list[bool] = []

    async def look(ctx: Context, params: types.NotificationParams) -> None:
        seen.append(ctx.session.can_send_request)

    server = Server("srv")
    server.add_notification_handler("acme/event", types.NotificationParams, look)
    async with on_a_link(server) as wire:
        await wire.initialize()
        wire.say("acme/event", {"_meta": MODERN})
        wire.say("acme/event", {})
        await anyio.wait_all_tasks_blocked()
    assert seen == [False, True]


# Batches.


async def test_a_batch_of_the_revision_that_has_them_is_answered_as_one() -> None:
    async with on_a_link(server_that(nothing)) as wire:
        await wire.initialize("2025-03-26")
        wire.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL},
                {"jsonrpc": "2.0", "id": 2, "method": "acme/unknown"},
                {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
                "broken",
                {"jsonrpc": "2.0", "id": 3, "method": "initialize"},
            ]
        )
        answers = {answer["id"]: answer for answer in await wire.next()}
        assert answers.keys() == {1, 2, 3, None}
        assert "result" in answers[1]
        assert [answers[id]["error"]["code"] for id in (2, 3, None)] == [-32601, -32600, -32600]
        assert "result" in await wire.ask(4, "ping")


@pytest.mark.parametrize("version", [version for version in HANDSHAKE_PROTOCOL_VERSIONS if version != "2025-03-26"])
async def test_a_batch_of_any_other_revision_is_refused(version: str) -> None:
    async with on_a_link(server_that(nothing)) as wire:
        await wire.initialize(version)
        wire.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        refused = await wire.next()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert "result" in await wire.ask(2, "ping")


# Logging.


async def log_all(ctx: Context) -> None:
    for level in ("debug", "warning", "emergency"):
        await ctx.session.send_notification(
            types.LoggingMessageNotification(params=types.LoggingMessageNotificationParams(level=level, data=level))
        )


async def logged(wire: Wire, id: int) -> list[str]:
    wire.say("tools/call", CALL, id=id)
    levels: list[str] = []
    while "params" in (message := await wire.next()):
        levels.append(message["params"]["level"])
    return levels


async def test_a_client_gets_every_log_message_until_it_sets_a_level() -> None:
    async with on_a_link(server_that(log_all)) as wire:
        await wire.initialize()
        assert await logged(wire, 1) == ["debug", "warning", "emergency"]
        assert (await wire.ask(2, "logging/setLevel", {"level": "warning"}))["result"] == {}
        assert await logged(wire, 3) == ["warning", "emergency"]
        assert (await wire.ask(4, "logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602
        assert await logged(wire, 5) == ["warning", "emergency"]


async def test_a_level_that_the_servers_own_handler_refuses_is_not_set() -> None:
    asked: list[str] = []

    async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        asked.append(params.level)
        if params.level == "error":
            raise MCPError(-32050, "not that one")
        return types.EmptyResult()

    with pytest.warns(MCPDeprecationWarning, match="The logging capability is deprecated"):
        server = server_that(log_all, on_set_logging_level=set_level)
    async with on_a_link(server) as wire:
        assert (await wire.initialize())["capabilities"]["logging"] == {}
        await wire.ask(1, "logging/setLevel", {"level": "emergency"})
        assert await logged(wire, 2) == ["emergency"]
        assert (await wire.ask(3, "logging/setLevel", {"level": "error"}))["error"]["code"] == -32050
        assert await logged(wire, 4) == ["emergency"]
    assert asked == ["emergency", "error"]


# Notifications.


async def test_the_notifications_of_a_handshake_client_reach_their_handlers() -> None:
    seen: list[Any] = []

    async def roots_changed(ctx: Context, params: types.NotificationParams | None) -> None:
        seen.append("roots changed")

    async def progressed(ctx: Context, params: types.ProgressNotificationParams) -> None:
        seen.append((params.progress_token, params.progress))

    async def initialized(ctx: Context, params: types.NotificationParams) -> None:
        seen.append("initialized")

    with pytest.warns(MCPDeprecationWarning):
        server = Server("srv", on_roots_list_changed=roots_changed, on_progress=progressed)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    async with on_a_link(server) as wire:
        await wire.initialize()
        wire.say("notifications/roots/list_changed")
        wire.say("notifications/progress", {"progressToken": "p", "progress": 0.5})
        await anyio.wait_all_tasks_blocked()
    assert seen == ["initialized", "roots changed", ("p", 0.5)]


async def test_what_belongs_to_no_request_is_sent_on_the_connection() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    async with on_a_link(server_that(keep)) as wire:
        await wire.initialize()
        await wire.ask(1, "tools/call", CALL)
        session = kept[0].session
        await session.send_tool_list_changed()
        await session.send_resource_updated("test://r")
        assert (await wire.next())["method"] == "notifications/tools/list_changed"
        assert (await wire.next())["params"] == {"uri": "test://r"}
        await wire.link.aclose()
        await session.send_tool_list_changed()
        await anyio.wait_all_tasks_blocked()
        await session.send_tool_list_changed()
        await session.connection.notify("acme/event", None)


async def test_a_server_that_cannot_say_who_it_is_fails_that_request_alone(caplog: pytest.LogCaptureFixture) -> None:
    def announce() -> InitializationOptions:
        raise ValueError("who am I")

    ours, theirs = memory_links()
    async with Server("srv").in_process() as runtime, open_spawner() as spawner:
        spawner.spawn(Duplex(LinkOutlet(theirs), spawner, ServerSide(runtime, announce)).read, theirs)
        wire = Wire(ours)
        params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": CLIENT}
        answer = await wire.ask(1, "initialize", params)
        assert answer["error"] == {"code": -32603, "message": "Internal server error"}
        assert "result" in await wire.ask(2, "ping")
    assert "ValueError: who am I" in caplog.text


# The end.


async def test_what_still_runs_when_the_client_has_long_left_is_cancelled_before_the_lifespan_is_left() -> None:
    log: list[str] = []

    async def wait(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncGenerator[dict[str, Any], None]:
        yield {}
        log.append("left")

    async with on_a_link(server_that(wait, lifespan=lifespan)) as wire:
        await wire.initialize()
        wire.say("tools/call", CALL, id=1)
        await anyio.wait_all_tasks_blocked()
    assert log == ["cancelled", "left"]


async def test_a_test_may_end_the_connection_with_what_a_handler_raised() -> None:
    async def fail(ctx: Context) -> None:
        raise ValueError("wrong")

    failures: list[Any] = []

    async def talk() -> None:
        async with on_a_link(server_that(fail), raise_exceptions=True) as wire:
            await wire.initialize()
            answer = await wire.ask(1, "tools/call", CALL)
            failures.append(answer["error"])

    with pytest.raises(Exception) as raised:
        await talk()
    assert failures == [{"code": -32603, "message": "wrong"}]
    (failure,) = getattr(raised.value, "exceptions", [raised.value])
    assert isinstance(failure, ValueError)


async def test_a_test_may_be_told_what_a_handler_raised() -> None:
    async def fail(ctx: Context) -> None:
        raise ValueError("wrong")

    async with on_a_link(server_that(fail), tell_exceptions=True) as wire:
        await wire.initialize()
        for id in (1, 2):
            assert (await wire.ask(id, "tools/call", CALL))["error"] == {"code": -32603, "message": "wrong"}
