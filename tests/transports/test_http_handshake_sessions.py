"""Sessions of the handshake revisions over HTTP: how they open, who may use them, and how they end."""

import logging
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from asgi_driver import Context, serving
from handshake_driver import Gate, Peer, body, doing, initialize, joined, nothing, server_that
from starlette.authentication import SimpleUser, UnauthenticatedUser

from mcp import types
from mcp.server import Server
from mcp.server.context import CallNext

pytestmark = pytest.mark.anyio

NOT_FOUND = (404, -32600, "Session not found")
MISSING = (400, -32600, "Bad Request: Missing session ID")


# Opening.


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_initialize_opens_a_session_and_its_answer_names_it(version: str) -> None:
    server = server_that()
    async with serving(server) as app:
        answer = await Peer(app).post(initialize(version))
        assert (answer.status, answer.json["result"]["protocolVersion"]) == (200, version)
        id = answer.headers["mcp-session-id"]
        assert len(id) >= 32
        assert all("!" <= character <= "~" for character in id)
        assert server.session_manager.open_sessions == 1


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28"])
async def test_a_client_of_another_revision_is_offered_the_newest_with_a_handshake(version: str) -> None:
    async with serving(server_that()) as app:
        answer = await Peer(app).post(initialize(version))
    assert answer.json["result"]["protocolVersion"] == "2025-11-25"


async def test_initialize_that_is_refused_opens_nothing() -> None:
    async def refuse(ctx: Context, call_next: CallNext) -> Any:
        if ctx.method == "initialize":
            raise ValueError("no")
        return await call_next(ctx)

    server = server_that()
    async with serving(server) as app:
        broken = await Peer(app).post(body("initialize", {"protocolVersion": "2025-11-25"}))
        server.middleware.append(refuse)
        refused = await Peer(app).post(initialize())
        assert server.session_manager.open_sessions == 0
    assert broken.error[:2] == (200, -32602)
    assert refused.error[:2] == (200, -32603)
    assert "mcp-session-id" not in {**broken.headers, **refused.headers}


async def test_what_the_server_says_of_itself_is_asked_for_at_each_initialize() -> None:
    server = server_that()
    async with serving(server) as app:
        first = await Peer(app).post(initialize())
        server.instructions = "later"
        second = await Peer(app).post(initialize())
    assert "instructions" not in first.json["result"]
    assert second.json["result"]["instructions"] == "later"


# Belonging.


@pytest.mark.parametrize(
    "data",
    [
        body("tools/list"),
        body("ping"),
        body("notifications/initialized", id=None),
        body("initialize", {}, id=None),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b"[" + initialize() + b"]",
    ],
)
async def test_everything_but_initialize_names_its_session(data: bytes) -> None:
    server = server_that()
    async with serving(server) as app:
        answer = await Peer(app).post(data)
        assert server.session_manager.open_sessions == 0
    assert answer.error == MISSING
    assert "mcp-session-id" not in answer.headers


async def test_a_request_without_its_session_is_refused_under_its_own_id() -> None:
    async with serving(server_that()) as app:
        answer = await Peer(app).post(body("acme/do", {}, id="mine"))
    assert answer.error == MISSING
    assert answer.json["id"] == "mine"


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_so_does_what_is_no_post(verb: str) -> None:
    async with serving(server_that()) as app:
        peer = Peer(app)
        assert (await peer.send(verb)).error == MISSING
        assert (await peer.send(verb, mcp_session_id="nope")).error == NOT_FOUND


@pytest.mark.parametrize("id", ["nope", "", "a b", "é"])
async def test_an_unknown_session_is_not_found(id: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp.server")
    async with serving(server_that()) as app:
        for data in (doing(), initialize()):
            answer = await Peer(app).post(data, mcp_session_id=id)
            assert answer.error == NOT_FOUND
            assert answer.json["id"] is None
    assert "Rejected request with unknown or expired session ID: " in caplog.text


async def test_sessions_are_told_apart() -> None:
    async def revision(ctx: Context) -> dict[str, Any]:
        return {"spoken": ctx.protocol_version}

    async with serving(server_that(revision)) as app:
        old, new = await joined(app, "2025-06-18"), await joined(app, "2025-11-25")
        assert old.session != new.session
        spoken = [(await peer.post(doing())).json["result"]["spoken"] for peer in (old, new, old)]
    assert spoken == ["2025-06-18", "2025-11-25", "2025-06-18"]


async def test_a_session_speaks_what_it_negotiated_whatever_the_header_says() -> None:
    async def revision(ctx: Context) -> dict[str, Any]:
        return {"spoken": ctx.protocol_version}

    async with serving(server_that(revision)) as app:
        peer = await joined(app, "2025-06-18")
        for header in (None, "2025-03-26", "2025-11-25"):
            answer = await peer.post(doing(), mcp_protocol_version=header)
            assert answer.json["result"]["spoken"] == "2025-06-18"


@pytest.mark.parametrize("version", ["2099-01-01", "banana", ""])
async def test_a_version_that_nobody_knows_is_a_bad_request(version: str) -> None:
    async with serving(server_that()) as app:
        peer = await joined(app)
        answers = [await peer.send(verb, mcp_protocol_version=version) for verb in ("GET", "DELETE")]
        answers.append(await peer.post(doing(), mcp_protocol_version=version))
        assert (await peer.post(doing())).status == 200
    expected = f"Bad Request: Unsupported protocol version: {version}. Supported versions: 2024-11-05, "
    for status, code, text in (answer.error for answer in answers):
        assert (status, code) == (400, -32600)
        assert text.startswith(expected)


async def test_a_session_may_be_initialized_again() -> None:
    async def revision(ctx: Context) -> dict[str, Any]:
        return {"spoken": ctx.protocol_version}

    server = server_that(revision)
    async with serving(server) as app:
        peer = await joined(app)
        again = await peer.post(initialize("2025-03-26"))
        assert again.json["result"]["protocolVersion"] == "2025-03-26"
        assert (await peer.post(doing())).json["result"]["spoken"] == "2025-03-26"
        assert server.session_manager.open_sessions == 1


# Users.


@dataclass
class Token:
    client_id: str
    subject: str | None = None
    claims: dict[str, Any] | None = None


class Named(SimpleUser):
    def __init__(self, name: str, token: Token | None = None) -> None:
        super().__init__(name)
        self.access_token = token


class Identified:
    def __init__(self, identity: str) -> None:
        self.identity = identity


class AsUser:
    """Middleware that puts a user into the scope, as authentication does."""

    def __init__(self, app: Any, user: object) -> None:
        self.app = app
        self.user = user

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app({**scope, "user": self.user}, receive, send)


@pytest.mark.parametrize(
    ("owner", "other"),
    [
        (SimpleUser("ada"), SimpleUser("bob")),
        (SimpleUser("ada"), UnauthenticatedUser()),
        (SimpleUser("ada"), None),
        (None, SimpleUser("ada")),
        (Identified("ada"), Identified("bob")),
        (Named("app", Token("app", "ada")), Named("app", Token("app", "bob"))),
        (Named("app", Token("app")), Named("app", Token("other"))),
        (Named("app", Token("app", "1", {"iss": "a"})), Named("app", Token("app", "1", {"iss": "b"}))),
        (object(), object()),
        ({"sub": "ada"}, {"sub": "bob"}),
    ],
)
async def test_a_session_of_another_user_is_not_found(owner: object, other: object) -> None:
    async with serving(server_that()) as app:
        peer = await joined(AsUser(app, owner))
        peer.app = AsUser(app, other)
        assert (await peer.post(doing())).error == NOT_FOUND
        assert (await peer.send("GET")).error == NOT_FOUND
        assert (await peer.send("DELETE")).error == NOT_FOUND
        peer.app = AsUser(app, owner)
        assert (await peer.post(doing())).status == 200


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (SimpleUser("ada"), SimpleUser("ada")),
        (Identified("ada"), Identified("ada")),
        (Named("app", Token("app", "ada")), Named("app", Token("app", "ada"))),
        (UnauthenticatedUser(), None),
        ({"sub": "ada"}, {"sub": "ada"}),
    ],
)
async def test_a_user_is_known_again(one: object, same: object) -> None:
    async with serving(server_that()) as app:
        peer = await joined(AsUser(app, one))
        peer.app = AsUser(app, same)
        assert (await peer.post(doing())).status == 200


# Ending.


async def test_delete_ends_a_session() -> None:
    server = server_that()
    async with serving(server) as app:
        peer, other = await joined(app), await joined(app)
        ended = await peer.send("DELETE")
        assert (ended.status, ended.body) == (200, b"")
        assert (await peer.send("DELETE")).error == NOT_FOUND
        assert (await peer.post(doing())).error == NOT_FOUND
        assert (await peer.send("GET")).error == NOT_FOUND
        assert (await other.post(doing())).status == 200
        assert server.session_manager.open_sessions == 1


async def test_what_runs_in_a_session_that_ends_is_cancelled_and_answered() -> None:
    gate, unharmed = Gate(), Gate()
    async with serving(server_that(gate, other=unharmed)) as app:
        peer, other = await joined(app), await joined(app)
        async with peer.posting(doing()) as post, other.posting(doing(method="acme/other")) as going_on:
            await gate.started.wait()
            await unharmed.started.wait()
            await peer.send("DELETE")
            await post.call.finished()
            await gate.cancelled.wait()
            assert post.call.answer.error == (200, -32000, "Connection closed: the session has ended")
            unharmed.may_go_on.set()
            assert [message.get("id") for message in await going_on.rest()] == [None, 1]
            assert not unharmed.cancelled.is_set()


async def test_the_streams_of_a_session_that_ends_end() -> None:
    async with serving(server_that()) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            await peer.send("DELETE")
            assert await stream.rest() == []


async def test_a_server_that_stops_ends_its_sessions() -> None:
    gate = Gate()
    server = server_that(gate)
    async with anyio.create_task_group() as group:
        async with serving(server) as app:
            peer = await joined(app)
            finished = anyio.Event()

            async def call() -> None:
                answer = await peer.post(doing())
                assert answer.error[:2] == (200, -32000)
                finished.set()

            group.start_soon(call)
            await gate.started.wait()
        assert gate.cancelled.is_set()
        await finished.wait()
    assert server.session_manager.open_sessions == 0


async def test_more_sessions_than_allowed_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(server_that(), max_sessions=2) as app:
        peers = [await joined(app), await joined(app)]
        refused = await Peer(app).post(initialize())
        assert refused.error == (503, -32603, "Too many open sessions")
        assert "mcp-session-id" not in refused.headers
        assert [(await peer.post(doing())).status for peer in peers] == [200, 200]
        await peers[0].send("DELETE")
        await joined(app)
    assert [record.message for record in caplog.records] == [
        "Refusing to open a new session: 2 sessions are already open"
    ]


async def test_sessions_that_are_opening_count() -> None:
    opening = Gate()

    async def slowly(ctx: Context, call_next: CallNext) -> Any:
        if ctx.method == "initialize":
            await opening(ctx)
        return await call_next(ctx)

    server = server_that()
    server.middleware.append(slowly)
    async with serving(server, max_sessions=1) as app, Peer(app).posting(initialize()) as first:
        await opening.started.wait()
        assert (await Peer(app).post(initialize())).status == 503
        opening.may_go_on.set()
        await first.call.finished()
        assert server.session_manager.open_sessions == 1


async def test_a_client_that_hangs_up_over_initialize_leaves_no_session() -> None:
    opening = Gate()

    async def slowly(ctx: Context, call_next: CallNext) -> Any:
        await opening(ctx)
        return await call_next(ctx)

    server = server_that()
    server.middleware.append(slowly)
    async with serving(server, max_sessions=1) as app:
        async with Peer(app).posting(initialize()) as post:
            await opening.started.wait()
            post.call.hang_up()
            await opening.cancelled.wait()
            await post.call.finished()
        server.middleware.clear()
        await joined(app)


# Idleness.


async def gone(server: Server[Any]) -> None:
    """Waits until no session is left."""
    with anyio.fail_after(10):
        while server.session_manager.open_sessions:
            await anyio.sleep(0.01)


async def test_an_idle_session_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp.server")
    server = server_that()
    async with serving(server, session_idle_timeout=0.05) as app:
        peer = await joined(app)
        await gone(server)
        assert (await peer.post(doing())).error == NOT_FOUND
        assert f"Session {peer.session} idle timeout" in caplog.text
        # The look-out begins again with the next session.
        await joined(app)
        await gone(server)


async def test_a_session_with_an_open_stream_or_a_running_request_is_not_idle() -> None:
    gate = Gate()
    server = server_that(gate)
    async with serving(server, session_idle_timeout=0.05) as app:
        idle, listening, running = [await joined(app) for _ in range(3)]
        async with listening.getting() as stream:
            async with running.posting(doing()) as post:
                await gate.started.wait()
                post.call.hang_up()
                await post.call.finished()
            with anyio.fail_after(10):
                while server.session_manager.open_sessions > 2:
                    await anyio.sleep(0.01)
            assert (await idle.post(doing())).error == NOT_FOUND
            assert (await listening.post(body("ping"))).status == 200
            assert (await running.post(body("ping", id=2))).status == 200
            gate.may_go_on.set()
            stream.call.hang_up()
            await gone(server)


async def test_a_handler_that_waits_for_a_client_that_is_gone_does_not_keep_its_session() -> None:
    asked = anyio.Event()
    ended = anyio.Event()

    async def ask(ctx: Context) -> Any:
        asked.set()
        try:
            await ctx.session.elicit_form("Still there?", {"type": "object", "properties": {}})
        finally:
            ended.set()

    server = server_that(ask)
    async with serving(server, session_idle_timeout=0.05) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await asked.wait()
            # Not while its client is there.
            await anyio.sleep(0.2)
            assert server.session_manager.open_sessions == 1
            post.call.hang_up()
            await post.call.finished()
        await gone(server)
        with anyio.fail_after(10):
            await ended.wait()


async def test_nor_does_a_notification_handler_that_waits_for_it() -> None:
    asked = anyio.Event()

    async def ask(ctx: Context, params: types.NotificationParams) -> None:
        asked.set()
        await ctx.session.elicit_form("Still there?", {"type": "object", "properties": {}})

    server = server_that()
    server.add_notification_handler("acme/note", types.NotificationParams, ask)
    async with serving(server, session_idle_timeout=0.05) as app:
        peer = await joined(app)
        assert (await peer.post(body("acme/note", id=None))).status == 202
        await asked.wait()
        await gone(server)


async def test_a_notification_handler_that_works_keeps_its_session() -> None:
    gate = Gate()

    async def work(ctx: Context, params: types.NotificationParams) -> None:
        await gate(ctx)

    server = server_that()
    server.add_notification_handler("acme/note", types.NotificationParams, work)
    async with serving(server, session_idle_timeout=0.05) as app:
        peer = await joined(app)
        assert (await peer.post(body("acme/note", id=None))).status == 202
        await gate.started.wait()
        await anyio.sleep(0.2)
        assert server.session_manager.open_sessions == 1
        gate.may_go_on.set()
        await gone(server)


async def test_without_a_limit_a_session_stays() -> None:
    server = server_that()
    async with serving(server, session_idle_timeout=None) as app:
        peer = await joined(app)
        assert (await peer.post(doing())).status == 200


# Verbs.


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "HEAD", "OPTIONS"])
async def test_other_verbs_are_not_allowed(verb: str) -> None:
    async with serving(server_that(nothing)) as app:
        for peer in (Peer(app), await joined(app)):
            answer = await peer.send(verb)
            text = f"Method Not Allowed: expected GET, POST, DELETE, got {verb}"
            assert answer.error == (405, -32600, text)
            assert answer.headers["allow"] == "GET, POST, DELETE"
