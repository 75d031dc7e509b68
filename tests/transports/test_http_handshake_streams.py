"""What a server sends of its own accord in a handshake session: questions, and the standalone stream."""

import logging
from typing import Any

import anyio
import pytest
from asgi_driver import Context, serving
from handshake_driver import Gate, Peer, answering, body, doing, joined, nothing, server_that

from mcp import types
from mcp.engine.backend import open_spawner
from mcp.server.http_streams import SessionStreams
from mcp.shared.exceptions import MCPError, NoBackChannelError

pytestmark = pytest.mark.anyio

FORM: dict[str, Any] = {"type": "object", "properties": {}}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def ask_user(ctx: Context) -> dict[str, Any]:
    answer = await ctx.session.elicit_form("Well?", FORM)
    return {"action": answer.action}


async def change(ctx: Context) -> dict[str, Any]:
    await ctx.session.send_tool_list_changed()
    return {"done": True}


# Questions.


async def test_a_question_goes_out_on_the_stream_of_the_request_and_its_answer_comes_by_another_post() -> None:
    async with serving(server_that(ask_user)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            question = await post.message()
            assert question["method"] == "elicitation/create"
            assert question["params"] == {"mode": "form", "message": "Well?", "requestedSchema": FORM}
            assert (await peer.post(answering(question, {"action": "decline"}))).status == 202
            (answer,) = await post.rest()
            assert answer["result"] == {"action": "decline"}


async def test_questions_of_one_session_are_told_apart() -> None:
    async with serving(server_that(ask_user)) as app:
        peer = await joined(app)
        async with peer.posting(doing(1)) as first, peer.posting(doing(2)) as second:
            one, two = await first.message(), await second.message()
            assert one["id"] != two["id"]
            await peer.post(answering(two, {"action": "cancel"}))
            await peer.post(answering(one, {"action": "decline"}))
            assert [answer["result"]["action"] for answer in await first.rest()] == ["decline"]
            assert [answer["result"]["action"] for answer in await second.rest()] == ["cancel"]


async def test_an_answer_reaches_the_session_it_is_posted_to_and_no_other() -> None:
    async with serving(server_that(ask_user)) as app:
        peer, other = await joined(app), await joined(app)
        async with peer.posting(doing()) as post:
            question = await post.message()
            await other.post(answering(question, {"action": "cancel"}))
            await peer.post(answering(question, {"action": "decline"}))
            assert [answer["result"]["action"] for answer in await post.rest()] == ["decline"]


async def test_a_broken_answer_fails_the_question() -> None:
    async with serving(server_that(ask_user)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            question = await post.message()
            broken = answering(question, {}).replace(b'"result": {}', b'"result": 5')
            assert (await peer.post(broken)).status == 400
            (answer,) = await post.rest()
            assert answer["error"]["code"] == -32603


async def test_a_question_that_is_not_answered_when_the_session_ends_fails() -> None:
    failures: list[MCPError] = []

    async def ask(ctx: Context) -> None:
        try:
            await ctx.session.send_ping()
        except MCPError as error:
            failures.append(error)
            raise

    async with serving(server_that(ask)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            assert (await post.message())["method"] == "ping"
            await peer.send("DELETE")
            (answer,) = await post.rest()
    assert answer["error"]["code"] == -32000


@pytest.mark.parametrize("options", [{"json_response": True}, {"stateless_http": True}])
async def test_where_nothing_can_carry_a_question_asking_raises(options: dict[str, Any]) -> None:
    raised: list[Exception] = []

    async def ask(ctx: Context) -> None:
        assert not ctx.session.can_send_request
        try:
            await ctx.session.elicit_form("Well?", FORM, related_request_id=ctx.request_id)
        except NoBackChannelError as error:
            raised.append(error)
            raise

    async with serving(server_that(ask), **options) as app:
        peer = Peer(app) if "stateless_http" in options else await joined(app)
        answer = await peer.post(doing())
    text = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    assert answer.error == (200, -32600, text)
    assert len(raised) == 1


async def test_initialize_cannot_ask_since_its_client_has_no_session_to_answer_in() -> None:
    asked: list[bool] = []

    async def middleware(ctx: Context, call_next: Any) -> Any:
        asked.append(ctx.session.can_send_request)
        return await call_next(ctx)

    server = server_that()
    server.middleware.append(middleware)
    async with serving(server) as app:
        peer = await joined(app)
        await peer.post(doing())
    assert (asked[0], asked[-1]) == (False, True)


async def test_a_notification_handler_asks_over_the_standalone_stream() -> None:
    roots: list[Any] = []
    done = anyio.Event()

    async def handler(ctx: Context, params: types.NotificationParams) -> None:
        roots.append(await ctx.session.send_ping())
        done.set()

    server = server_that()
    server.add_notification_handler("acme/note", types.NotificationParams, handler)
    for json_response in (False, True):
        async with serving(server, json_response=json_response) as app:
            peer = await joined(app)
            async with peer.getting() as stream:
                await peer.post(body("acme/note", id=None))
                await peer.post(answering(await stream.message(), {}))
                await done.wait()
    assert len(roots) == 2


async def test_a_question_after_the_answer_goes_over_the_standalone_stream() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> dict[str, Any]:
        kept.append(ctx)
        return {"done": True}

    async with serving(server_that(keep)) as app:
        peer = await joined(app)
        await peer.post(doing())
        async with peer.getting() as stream, anyio.create_task_group() as group:
            group.start_soon(kept[0].session.send_ping)
            question = await stream.message()
            assert question["method"] == "ping"
            await peer.post(answering(question, {}))


# The standalone stream.


async def test_changes_go_out_on_the_standalone_stream() -> None:
    async with serving(server_that(change)) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            assert stream.status == 200
            answer = await peer.post(doing())
            assert answer.json["result"] == {"done": True}
            assert await stream.message() == CHANGED


async def test_each_session_has_its_own() -> None:
    async with serving(server_that(change)) as app:
        peer, other = await joined(app), await joined(app)
        async with peer.getting() as stream, other.getting() as quiet:
            await peer.post(doing())
            assert await stream.message() == CHANGED
            await other.send("DELETE")
            assert await quiet.rest() == []


async def test_a_client_that_opens_it_again_takes_it_from_a_connection_that_still_seems_open() -> None:
    async with serving(server_that(change)) as app:
        peer = await joined(app)
        async with peer.getting() as dead, peer.getting() as alive:
            assert await dead.rest() == []
            await peer.post(doing())
            assert await alive.message() == CHANGED


async def test_what_a_dead_connection_has_not_taken_goes_to_the_one_that_takes_its_place() -> None:
    async with open_spawner() as spawner:
        streams = SessionStreams("session", spawner)
        assert streams.standalone is not None
        dead = streams.standalone.attach()
        streams.send(b"1")
        streams.send(b"2")
        alive = streams.standalone.attach()
        streams.send(b"3")
        assert [item.frame for item in await alive.take()] == [b"1", b"2", b"3"]
        assert await dead.take() == []


@pytest.mark.parametrize("accept", [None, "application/json", "text/html"])
async def test_its_client_accepts_event_streams(accept: str | None) -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app)).send("GET", accept=accept)
    text = f"Not Acceptable: Client must accept text/event-stream, got {accept or ''!r}"
    assert answer.error == (406, -32600, text)


async def test_what_comes_before_it_is_open_waits() -> None:
    async with serving(server_that(change)) as app:
        peer = await joined(app)
        for id in range(3):
            await peer.post(doing(id))
        async with peer.getting() as stream:
            assert [await stream.message() for _ in range(3)] == [CHANGED] * 3


async def test_of_much_that_waits_the_newest_stays(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp.server.http_streams")

    async def update(ctx: Context) -> dict[str, Any]:
        for number in range(100):
            await ctx.session.send_resource_updated(f"acme://{number}")
        return {"done": True}

    async with serving(server_that(update)) as app:
        peer = await joined(app)
        await peer.post(doing())
        async with peer.getting() as stream:
            uris = [(await stream.message())["params"]["uri"] for _ in range(64)]
    assert uris == [f"acme://{number}" for number in range(36, 100)]
    assert "the client has not opened a stream" in caplog.text


async def test_a_standalone_stream_that_is_not_read_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    async def update(ctx: Context) -> dict[str, Any]:
        for number in range(3000):
            await ctx.session.send_resource_updated(f"acme://{number}")
        return {"done": True}

    async with serving(server_that(update)) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            # The handler never pauses, so nothing is read before it has written everything.
            assert (await peer.post(doing())).status == 200
            got = [(await stream.message())["params"]["uri"] for _ in range(1024)]
    assert got[-1] == "acme://2999"
    assert [record.message for record in caplog.records] == [
        "dropping messages beyond 1024: the client is slow to read its stream"
    ]


async def test_a_client_that_hangs_up_leaves_what_it_did_not_read() -> None:
    gate = Gate()

    async def later(ctx: Context) -> dict[str, Any]:
        await gate(ctx)
        return await change(ctx)

    async with serving(server_that(later, other=nothing)) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            stream.call.hang_up()
            await stream.call.finished()
        gate.may_go_on.set()
        await peer.post(doing())
        async with peer.getting() as again:
            assert await again.message() == CHANGED


async def test_comments_keep_it_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_watch.KEEP_ALIVE_SECONDS", 0.02)
    async with serving(server_that(change)) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            for _ in range(2):
                assert (await stream.call.next())["body"] == b":\r\n\r\n"
            await peer.post(doing())
            assert await stream.message() == CHANGED


async def test_a_session_kept_by_a_handler_reaches_the_client_later_and_nobody_once_it_ended() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> dict[str, Any]:
        kept.append(ctx)
        return {"done": True}

    async with serving(server_that(keep)) as app:
        peer = await joined(app)
        await peer.post(doing())
        session = kept[0].session
        async with peer.getting() as stream:
            await session.send_tool_list_changed()
            assert await stream.message() == CHANGED
            # A request's own notifications are dropped once it is answered.
            await session.report_progress(2)
            await peer.send("DELETE")
            assert await stream.rest() == []
        await session.send_tool_list_changed()
        with pytest.raises(MCPError, match="Connection closed"):
            await session.send_ping()


async def test_without_an_event_store_last_event_id_means_nothing() -> None:
    async with serving(server_that(change)) as app:
        peer = await joined(app)
        async with peer.getting(last_event_id="5") as stream:
            await peer.post(doing())
            assert await stream.message() == CHANGED
