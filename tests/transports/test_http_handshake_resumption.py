"""Streams that survive their connection: stored events, replay, and streams that the server closes for a while."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from asgi_driver import Context, ask, calling, serving
from handshake_driver import (
    Gate,
    Peer,
    Store,
    answering,
    body,
    doing,
    initialize,
    joined,
    messages_of,
    report,
    server_that,
)

from mcp.server.streamable_http import EventCallback, EventMessage
from mcp.types import JSONRPCMessage

pytestmark = pytest.mark.anyio

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
UNKNOWN = (400, -32600, "Bad Request: Last-Event-ID names no event of this session")


def progress(value: float) -> dict[str, Any]:
    params = {"progressToken": "tok", "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def result(id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"done": True}}


async def close(callback: Callable[[], Awaitable[None]] | None) -> None:
    assert callback is not None
    await callback()


class Polling:
    """A handler that reports, closes its stream, reports again, and ends when it may."""

    def __init__(self) -> None:
        self.gate = Gate()

    async def __call__(self, ctx: Context) -> dict[str, Any]:
        await ctx.session.report_progress(0.25)
        await close(ctx.close_sse_stream)
        await ctx.session.report_progress(0.5)
        return await self.gate(ctx)


# Stored events.


async def test_events_have_ids_and_the_first_is_there_to_resume_after() -> None:
    async with serving(server_that(report), event_store=Store(), retry_interval=500) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            assert (first["data"], first["retry"]) == ("", "500")
            events = [await post.event(), await post.event()]
            assert await post.rest() == []
    assert len({first["id"], events[0]["id"], events[1]["id"]}) == 3
    assert all("retry" not in event for event in events)


async def test_initialize_is_answered_in_the_same_way() -> None:
    async with serving(server_that(), event_store=Store()) as app:
        peer = Peer(app)
        async with peer.posting(initialize()) as post:
            first = await post.event()
            assert (first["data"], "retry" in first) == ("", False)
            assert (await post.message())["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
async def test_clients_of_older_revisions_are_not_sent_events_without_data(version: str) -> None:
    closers: list[object] = []

    async def look(ctx: Context) -> dict[str, Any]:
        closers.extend([ctx.close_sse_stream, ctx.close_standalone_sse_stream])
        return {"done": True}

    async with serving(server_that(look), event_store=Store()) as app:
        peer = await joined(app, version)
        async with peer.posting(doing()) as post:
            event = await post.event()
            assert ("id" in event, "result" in event["data"]) == (True, True)
    assert closers == [None, None]


async def test_every_post_is_a_stream_of_its_own_whatever_its_id() -> None:
    store = Store()
    async with serving(server_that(), event_store=store) as app:
        for peer in (await joined(app), await joined(app)):
            for _ in range(2):
                await peer.post(doing(1))
    streams = [stream for stream, message in store.events if message is not None]
    assert len(set(streams)) == len(streams) == 6


async def test_a_batch_is_stored_message_by_message() -> None:
    store = Store()
    async with serving(server_that(), event_store=store) as app:
        peer = await joined(app, "2025-03-26")
        async with peer.posting(b"[" + doing(1) + b"," + doing(2) + b"]") as post:
            (batch,) = await post.rest()
    assert len(batch) == 2
    assert len(store.events) == 3


async def test_where_every_answer_is_json_events_are_stored_all_the_same() -> None:
    store = Store()
    async with serving(server_that(), event_store=store, json_response=True) as app:
        assert (await (await joined(app)).post(doing())).json == result()
    assert len(store.events) == 2


class Failing(Store):
    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        raise OSError("the disk is full")

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        raise OSError("the disk is gone")


async def test_a_store_that_fails_costs_the_ids_and_not_the_answers(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(server_that(report), event_store=Failing()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            events = [await post.event(), await post.event()]
        assert [set(event) for event in events] == [{"event", "data"}] * 2
        # Not a fault of the id, so a client may try again.
        assert (await peer.send("GET", last_event_id="1" * 500)).error == (500, -32603, "The event store failed")
    assert "store_event failed; the event is sent without an id" in caplog.text
    assert f"replay_events_after('{'1' * 63}) failed" in caplog.text


class Odd(Store):
    """Gives its events this id."""

    def __init__(self, id: Any) -> None:
        super().__init__()
        self.id = id

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        await super().store_event(stream_id, message)
        return self.id


@pytest.mark.parametrize("id", [7, b"7", None, "", "a\nb", "a\0b", " a", "x" * 3 + "\r"])
async def test_an_id_that_no_client_could_send_back_is_left_out(id: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(server_that(report), event_store=Odd(id)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            events = [await post.event(), await post.event()]
    assert [set(event) for event in events] == [{"event", "data"}] * 2
    assert "the id of an event must be a printable str without blanks around it, got " in caplog.text


async def test_a_replay_with_such_an_id_is_a_failure_of_the_store(caplog: pytest.LogCaptureFixture) -> None:
    class Numbering(Store):
        async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
            number: Any = 7
            message = next(message for _, message in self.events if message is not None)
            await send_callback(EventMessage(message, number))
            return "unreached"

    async with serving(server_that(), event_store=Numbering()) as app:
        answer = await (await joined(app)).send("GET", last_event_id="1")
    assert answer.error == (500, -32603, "The event store failed")
    assert "without blanks around it, got 7" in caplog.text


async def test_ids_may_be_any_text() -> None:
    class Named(Store):
        async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
            return "événement 日" + await super().store_event(stream_id, message)

        async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
            return await super().replay_events_after(last_event_id.removeprefix("événement 日"), send_callback)

    async with serving(server_that(report), event_store=Named()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            await post.rest()
        assert len(messages_of(await peer.send("GET", last_event_id=first["id"]))) == 2


async def test_an_id_that_is_not_utf_8_names_no_event() -> None:
    async with serving(server_that(), event_store=Forgetful()) as app:
        peer = await joined(app)
        headers = [*peer.headers(accept="text/event-stream"), (b"last-event-id", b"\xff")]
        assert (await ask(app, headers, b"", verb="GET")).error == UNKNOWN


class Forgetful(Store):
    """Knows no id at all."""

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        assert last_event_id == "ÿ"
        return None


class Hanging(Store):
    """Never replays."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self.ended = anyio.Event()

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()


async def test_a_client_that_hangs_up_over_a_replay_that_hangs_ends_it() -> None:
    store = Hanging()
    async with serving(server_that(), event_store=store) as app:
        peer = await joined(app)
        async with calling(app, peer.headers(accept="text/event-stream", last_event_id="1"), b"", verb="GET") as call:
            await store.asked.wait()
            call.hang_up()
            with anyio.fail_after(10):
                await store.ended.wait()
                await call.finished()


# Resuming.


async def test_a_client_that_lost_its_connection_has_the_rest_later() -> None:
    gate = Gate()
    async with serving(server_that(gate), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            post.call.hang_up()
            await post.call.finished()
        async with peer.getting(last_event_id=first["id"]) as stream:
            gate.may_go_on.set()
            assert await stream.rest() == [progress(1), result()]


async def test_what_was_sent_meanwhile_is_replayed_and_what_follows_goes_on() -> None:
    polling = Polling()
    async with serving(server_that(polling), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            await post.rest()
            await polling.gate.started.wait()
        async with peer.getting(last_event_id=first["id"]) as stream:
            assert await stream.message() == progress(0.25)
            assert await stream.message() == progress(0.5)
            polling.gate.may_go_on.set()
            assert await stream.rest() == [progress(1), result()]


async def test_a_stream_that_has_ended_is_replayed_to_its_answer() -> None:
    async with serving(server_that(report), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first, second = await post.event(), await post.event()
            await post.rest()
        for last, expected in ((first, [progress(1), result()]), (second, [result()])):
            for _ in range(2):
                async with peer.getting(last_event_id=last["id"]) as stream:
                    assert await stream.rest() == expected


async def test_a_client_that_has_everything_is_sent_nothing() -> None:
    async with serving(server_that(), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await post.event()
            last = await post.event()
        async with peer.getting(last_event_id=last["id"]) as stream:
            assert await stream.rest() == []


async def test_resuming_takes_the_stream_from_a_connection_that_still_seems_open() -> None:
    gate = Gate()
    async with serving(server_that(gate), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as half_open:
            first = await half_open.event()
            async with peer.getting(last_event_id=first["id"]) as stream:
                assert await half_open.rest() == []
                gate.may_go_on.set()
                assert await stream.rest() == [progress(1), result()]


async def test_a_question_is_asked_again_by_replay_and_can_be_answered() -> None:
    async def ask(ctx: Context) -> dict[str, Any]:
        await close(ctx.close_sse_stream)
        await ctx.session.send_ping()
        return {"done": True}

    async with serving(server_that(ask), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            await post.rest()
        async with peer.getting(last_event_id=first["id"]) as stream:
            question = await stream.message()
            assert question["method"] == "ping"
            await peer.post(answering(question, {}))
            assert await stream.rest() == [result()]


class Slow(Store):
    """A store that is asked while more is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self.answer = anyio.Event()

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream = await super().replay_events_after(last_event_id, send_callback)
        self.asked.set()
        await self.answer.wait()
        return stream


@pytest.mark.parametrize("answered_meanwhile", [True, False])
async def test_what_is_stored_during_a_replay_is_neither_lost_nor_sent_twice(answered_meanwhile: bool) -> None:
    steps = [Gate(), Gate()]
    store = Slow()

    async def work(ctx: Context) -> dict[str, Any]:
        for step in steps:
            await step(ctx)
        return {"done": True}

    async with serving(server_that(work), event_store=store) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            post.call.hang_up()
            await post.call.finished()
        got: list[Any] = []
        async with anyio.create_task_group() as group:

            async def resume() -> None:
                async with peer.getting(last_event_id=first["id"]) as stream:
                    got.extend(await stream.rest())

            group.start_soon(resume)
            await store.asked.wait()
            before = len(store.events)
            steps[0].may_go_on.set()
            if answered_meanwhile:
                steps[1].may_go_on.set()
            with anyio.fail_after(10):
                while len(store.events) < before + (3 if answered_meanwhile else 1):
                    await anyio.sleep(0)
            store.answer.set()
            steps[1].may_go_on.set()
    assert got == [progress(1), progress(1), result()]


# Events of others.


@pytest.mark.parametrize("last", ["999", "0", "-1"])
async def test_an_event_that_never_was_is_refused(last: str) -> None:
    async with serving(server_that(), event_store=Store()) as app:
        assert (await (await joined(app)).send("GET", last_event_id=last)).error == UNKNOWN


async def test_an_event_of_another_session_is_refused_alike() -> None:
    async with serving(server_that(report), event_store=Store()) as app:
        peer, other = await joined(app), await joined(app)
        async with peer.posting(doing()) as post:
            first = await post.event()
            await post.rest()
        assert (await other.send("GET", last_event_id=first["id"])).error == UNKNOWN


# Streams that the server closes.


async def test_a_closed_stream_is_closed_after_what_was_sent_on_it() -> None:
    polling = Polling()
    async with serving(server_that(polling), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            assert await post.rest() == [progress(0.25)]
            await polling.gate.started.wait()
            # It is no request that waits: its session can be used, and ended.
            assert (await peer.post(body("ping", id=2))).status == 200


async def change_and_close(ctx: Context) -> dict[str, Any]:
    await ctx.session.send_tool_list_changed()
    await close(ctx.close_standalone_sse_stream)
    await ctx.session.send_tool_list_changed()
    return {"done": True}


async def test_the_standalone_stream_can_be_closed_and_resumed() -> None:
    async with serving(server_that(change_and_close), event_store=Store(), retry_interval=10) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            first = await stream.event()
            assert (first["data"], first["retry"]) == ("", "10")
            await peer.post(doing())
            assert await stream.rest() == [CHANGED]
        async with peer.getting(last_event_id=first["id"]) as again:
            assert [await again.message(), await again.message()] == [CHANGED, CHANGED]
            again.call.hang_up()
            assert await again.rest() == []


async def test_a_standalone_stream_that_begins_anew_has_what_waited() -> None:
    async with serving(server_that(change_and_close), event_store=Store()) as app:
        peer = await joined(app)
        async with peer.getting() as stream:
            await stream.event()
            await peer.post(doing())
            await stream.rest()
        async with peer.getting() as again:
            assert await again.message() == CHANGED


class Stuck(Store):
    """A store that takes some events at once, and the next when it may."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self.at_once = at_once
        self.stuck = anyio.Event()
        self.may_go_on = anyio.Event()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        if len(self.events) == self.at_once:
            self.stuck.set()
            await self.may_go_on.wait()
        return await super().store_event(stream_id, message)


async def test_a_session_that_ends_sends_what_is_not_stored_yet() -> None:
    store = Stuck(3)
    async with serving(server_that(report), event_store=store) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await store.stuck.wait()
            await peer.send("DELETE")
            assert await post.rest() == [progress(1), result()]


async def test_a_store_that_is_behind_holds_up_whoever_writes_much() -> None:
    wrote = 0
    store = Stuck(4)

    async def chatter(ctx: Context) -> dict[str, Any]:
        nonlocal wrote
        for number in range(1, 1001):
            await ctx.session.report_progress(number)
            wrote = number
        return {"done": True}

    async with serving(server_that(chatter), event_store=store) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await store.stuck.wait()
            # Everything that can go on has gone on once another request was refused.
            assert (await peer.send("PUT")).status == 405
            assert wrote < 100
            store.may_go_on.set()
            assert await post.rest() == [*(progress(number) for number in range(1, 1001)), result()]
