"""POSTs of a handshake session: what is taken, how it is answered, and what a client that leaves does not do."""

import json
from typing import Any

import anyio
import pytest
from asgi_driver import Context, serving
from handshake_driver import (
    Gate,
    Peer,
    answering,
    body,
    doing,
    http_request,
    initialize,
    joined,
    messages_of,
    nothing,
    report,
    server_that,
)

from mcp import types
from mcp.server import Server

pytestmark = pytest.mark.anyio

PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "tok", "progress": 1}}


def result(id: Any = 1, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members or {"done": True}}


# Types.


@pytest.mark.parametrize("accept", [None, "", "application/json", "text/event-stream", "text/html"])
async def test_a_client_accepts_both_json_and_event_streams(accept: str | None) -> None:
    async with serving(server_that()) as app:
        for peer in (Peer(app), await joined(app)):
            answer = await peer.post(initialize(), accept=accept)
            text = "Not Acceptable: Client must accept both application/json and text/event-stream"
            assert answer.error == (406, -32600, f"{text}, got {accept or ''!r}")


@pytest.mark.parametrize("accept", ["*/*", "application/*, text/*", "text/event-stream;q=0.5,application/json"])
async def test_ranges_are_understood(accept: str) -> None:
    async with serving(server_that()) as app:
        assert (await (await joined(app)).post(doing(), accept=accept)).status == 200


async def test_where_every_answer_is_json_that_is_enough() -> None:
    async with serving(server_that(), json_response=True) as app:
        peer = await joined(app, accept="application/json")
        assert (await peer.post(doing())).status == 200
        refused = await peer.post(doing(), accept="text/event-stream")
        text = "Not Acceptable: Client must accept application/json, got 'text/event-stream'"
        assert refused.error == (406, -32600, text)


@pytest.mark.parametrize("content_type", [None, "text/plain"])
async def test_a_post_is_json(content_type: str | None) -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app)).post(doing(), content_type=content_type)
    assert answer.status == 415


@pytest.mark.parametrize("data", [b"", b"{", b"5", b"{}", b'{"jsonrpc":"2.0","id":1,"method":5}', b"[]"])
async def test_what_is_no_message_is_a_bad_request(data: bytes) -> None:
    async with serving(server_that()) as app:
        for peer in (Peer(app), await joined(app)):
            answer = await peer.post(data)
            assert (answer.status, answer.json["error"]["code"] in (-32700, -32600)) == (400, True)


async def test_a_broken_message_under_the_id_of_a_running_request_does_not_end_it() -> None:
    gate = Gate()
    async with serving(server_that(gate)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await gate.started.wait()
            assert (await peer.post(b'{"jsonrpc":"2.0","id":1,"method":5}')).status == 400
            gate.may_go_on.set()
            assert await post.rest() == [PROGRESS, result()]


# Answers.


async def test_an_answer_that_nothing_came_before_is_one_json_document() -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app)).post(doing("abc"))
    assert (answer.status, answer.json) == (200, result("abc"))


async def test_an_error_is_an_answer() -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app)).post(body("acme/unknown"))
    assert answer.error == (200, -32601, "Method not found")


async def test_notifications_come_before_the_answer_on_an_event_stream() -> None:
    async with serving(server_that(report)) as app:
        answer = await (await joined(app)).post(doing())
    assert messages_of(answer) == [PROGRESS, result()]
    assert answer.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }


async def test_events_go_out_as_they_come() -> None:
    gate = Gate()

    async def begin(ctx: Context) -> Any:
        await ctx.session.report_progress(0.5)
        return await gate(ctx)

    async with serving(server_that(begin)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            assert (await post.message())["params"]["progress"] == 0.5
            gate.may_go_on.set()
            assert await post.rest() == [PROGRESS, result()]


async def test_where_every_answer_is_json_notifications_are_dropped() -> None:
    async with serving(server_that(report), json_response=True) as app:
        assert (await (await joined(app)).post(doing())).json == result()


async def test_requests_of_one_session_run_at_once_and_are_answered_each_on_its_own_stream() -> None:
    gates = {f"other{number}": Gate() for number in range(3)}
    async with serving(server_that(**gates)) as app:
        peer = await joined(app)
        async with (
            peer.posting(doing(0, "acme/other0")) as first,
            peer.posting(doing(1, "acme/other1")) as second,
            peer.posting(doing(2, "acme/other2")) as third,
        ):
            for gate in gates.values():
                await gate.started.wait()
            for number, (post, gate) in reversed(
                list(enumerate(zip((first, second, third), gates.values(), strict=True)))
            ):
                gate.may_go_on.set()
                assert await post.rest() == [PROGRESS, result(number)]


async def test_a_long_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.http_watch.KEEP_ALIVE_SECONDS", 0.02)
    gate = Gate()
    async with serving(server_that(gate)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await post.start()
            for _ in range(2):
                assert (await post.call.next())["body"] == b":\r\n\r\n"
            gate.may_go_on.set()
            assert await post.rest() == [PROGRESS, result()]


async def test_an_id_that_is_in_use_is_refused_and_the_first_request_is_unharmed() -> None:
    gate = Gate()
    async with serving(server_that(gate, other=nothing)) as app:
        peer = await joined(app)
        async with peer.posting(doing(5)) as post:
            await gate.started.wait()
            status, code, text = (await peer.post(doing(5, "acme/other"))).error
            assert (status, code) == (400, -32600)
            assert text == "Request id 5 is in use by a request that still runs"
            assert (await peer.post(doing("5", "acme/other"))).status == 200
            gate.may_go_on.set()
            assert await post.rest() == [PROGRESS, result(5)]
        assert (await peer.post(doing(5, "acme/other"))).status == 200


# Notifications and answers.


async def test_a_notification_is_accepted_and_reaches_its_handler_with_the_http_request() -> None:
    seen: list[Any] = []
    came = anyio.Event()

    async def handler(ctx: Context, params: types.NotificationParams) -> None:
        seen.append((ctx.method, http_request(ctx).headers["x-acme"]))
        came.set()

    server = server_that()
    server.add_notification_handler("acme/note", types.NotificationParams, handler)
    async with serving(server) as app:
        answer = await (await joined(app)).post(body("acme/note", id=None), x_acme="yes")
        await came.wait()
    assert (answer.status, answer.headers, answer.body) == (202, {"content-length": "0"}, b"")
    assert seen == [("acme/note", "yes")]


async def test_an_answer_to_nothing_is_accepted() -> None:
    async with serving(server_that()) as app:
        peer = await joined(app)
        assert (await peer.post(answering({"id": 99}, {}))).status == 202
        error = {"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "no"}}
        assert (await peer.post(json.dumps(error).encode())).status == 202


async def test_a_handler_sees_the_http_request() -> None:
    async def look(ctx: Context) -> dict[str, Any]:
        request = http_request(ctx)
        return {"session": request.headers["mcp-session-id"], "method": (await request.json())["method"]}

    async with serving(server_that(look)) as app:
        peer = await joined(app)
        assert (await peer.post(doing())).json["result"] == {"session": peer.session, "method": "acme/do"}


# Cancelling and leaving.


def cancelling(id: Any) -> bytes:
    return body("notifications/cancelled", {"requestId": id, "reason": "enough"}, id=None)


@pytest.mark.parametrize("json_response", [True, False])
async def test_a_cancelled_request_is_answered_with_an_error(json_response: bool) -> None:
    gate = Gate()
    async with serving(server_that(gate), json_response=json_response) as app:
        peer = await joined(app)
        async with peer.posting(doing(7)) as post:
            await gate.started.wait()
            assert (await peer.post(cancelling(7))).status == 202
            await gate.cancelled.wait()
            await post.call.finished()
    assert post.call.answer.error == (200, -32800, "Request cancelled")
    assert post.call.answer.json["id"] == 7


async def test_a_client_that_hangs_up_cancels_nothing() -> None:
    gate = Gate()
    async with serving(server_that(gate, other=nothing)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await gate.started.wait()
            post.call.hang_up()
            await post.call.finished()
        assert not gate.cancelled.is_set()
        gate.may_go_on.set()
        # What it reports has no stream of its own any more, and goes where the session can be reached.
        async with peer.getting() as stream:
            assert await stream.message() == PROGRESS
            assert (await peer.post(doing(2, "acme/other"))).status == 200


async def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    gate = Gate()
    async with serving(server_that(gate)) as app:
        peer = await joined(app)
        async with peer.posting(body("acme/do")) as post:
            await gate.started.wait()
            post.call.hang_up()
            await post.call.finished()
        gate.may_go_on.set()
        async with peer.getting() as stream:
            assert (await peer.send("DELETE")).status == 200
            assert await stream.rest() == []


async def test_a_client_that_is_gone_when_it_is_written_to_does_no_harm() -> None:
    gate = Gate()
    async with serving(server_that(gate, other=nothing)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            await gate.started.wait()
            post.call.broken = True
            gate.may_go_on.set()
            await post.call.finished()
        assert (await peer.post(doing(2, "acme/other"))).status == 200


async def test_a_slow_reader_holds_up_only_who_writes_to_it() -> None:
    wrote = 0

    async def chatter(ctx: Context) -> dict[str, Any]:
        nonlocal wrote
        for number in range(1000):
            await ctx.session.report_progress(number)
            wrote = number
        return {"done": True}

    async with serving(server_that(chatter, other=nothing)) as app:
        peer = await joined(app)
        async with peer.posting(doing()) as post:
            held = anyio.Event()
            send = post.call.send

            async def slowly(message: Any) -> None:
                await held.wait()
                await send(message)

            post.call.send = slowly
            for number in range(2, 12):
                assert (await peer.post(doing(number, "acme/other"))).status == 200
            assert wrote < 200
            held.set()
            assert len(await post.rest()) == 1001


# Batches.


BATCH = b"[" + doing(1) + b"," + doing(2) + b"]"


def by_id(answer: dict[str, Any]) -> int:
    return answer["id"]


async def test_a_batch_is_answered_with_a_batch() -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app, "2025-03-26")).post(BATCH)
    assert sorted(answer.json, key=by_id) == [result(1), result(2)]


async def test_notifications_of_a_batch_come_before_it() -> None:
    async with serving(server_that(report)) as app:
        answer = await (await joined(app, "2025-03-26")).post(BATCH)
    reports = messages_of(answer)
    batch: Any = reports.pop()
    assert reports == [PROGRESS, PROGRESS]
    assert sorted(batch, key=by_id) == [result(1), result(2)]


async def test_a_batch_that_asks_for_nothing_is_accepted() -> None:
    notes = b"[" + body("notifications/initialized", id=None) + b"," + answering({"id": 9}, {}) + b"]"
    async with serving(server_that()) as app:
        answer = await (await joined(app, "2025-03-26")).post(notes)
    assert (answer.status, answer.body) == (202, b"")


async def test_what_is_broken_in_a_batch_is_answered_in_the_batch() -> None:
    async with serving(server_that()) as app:
        peer = await joined(app, "2025-03-26")
        mixed = (await peer.post(b"[5," + doing(1) + b"]")).json
        broken = (await peer.post(b"[5]")).json
    assert [item.get("error", {}).get("code") for item in mixed] == [-32600, None]
    assert [item["error"]["code"] for item in broken] == [-32600]


async def test_a_batch_of_cancelled_requests_ends_all_the_same() -> None:
    gate = Gate()
    async with serving(server_that(gate)) as app:
        peer = await joined(app, "2025-03-26")
        async with peer.posting(BATCH) as post:
            await gate.started.wait()
            for id in (1, 2):
                await peer.post(cancelling(id))
            await post.call.finished()
    assert post.call.answer.error == (200, -32800, "Request cancelled")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_other_revisions_have_no_batches(version: str) -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app, version)).post(BATCH)
    assert answer.error == (400, -32600, "JSON-RPC batches are not supported in this protocol revision")


async def test_initialize_is_never_part_of_a_batch() -> None:
    async with serving(server_that()) as app:
        answer = await (await joined(app, "2025-03-26")).post(b"[" + initialize() + b"]")
    assert answer.error == (400, -32600, "initialize must not be part of a JSON-RPC batch")


# Both eras.


async def test_one_endpoint_serves_both_eras() -> None:
    server: Server[Any] = server_that()
    async with serving(server) as app:
        peer = await joined(app)
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        modern = body("acme/do", {"_meta": meta})
        answer = await peer.post(modern, mcp_protocol_version="2026-07-28", mcp_method="acme/do")
        assert answer.json["result"]["resultType"] == "complete"
        assert (await peer.post(doing())).json == result()
        # A modern body under no header, or under one of the handshake, contradicts itself.
        assert (await peer.post(modern, mcp_protocol_version=None)).error[:2] == (400, -32020)
        assert (await peer.post(modern)).error[:2] == (400, -32020)
        assert (await peer.post(doing(), mcp_protocol_version="2026-07-28")).error[:2] == (400, -32602)
