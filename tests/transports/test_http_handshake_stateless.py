"""Handshake revisions without sessions: each POST stands alone."""

from typing import Any

import anyio
import pytest
from asgi_driver import Context, serving
from handshake_driver import Gate, Peer, Store, answering, body, doing, initialize, messages_of, report, server_that

from mcp import types

pytestmark = pytest.mark.anyio

RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"done": True}}
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "tok", "progress": 1}}


async def look(ctx: Context) -> dict[str, Any]:
    return {
        "version": ctx.protocol_version,
        "can_ask": ctx.session.can_send_request,
        "client": ctx.session.client_params is not None,
        "closers": [ctx.close_sse_stream is not None, ctx.close_standalone_sse_stream is not None],
    }


async def test_initialize_is_answered_without_a_session() -> None:
    server = server_that()
    async with serving(server, stateless_http=True) as app:
        answer = await Peer(app).post(initialize("2025-06-18"))
        assert (answer.status, answer.json["result"]["protocolVersion"]) == (200, "2025-06-18")
        assert "mcp-session-id" not in answer.headers
        assert server.session_manager.open_sessions == 0


@pytest.mark.parametrize("header", [None, "2025-03-26", "2025-11-25"])
async def test_a_request_needs_no_initialize_before_it(header: str | None) -> None:
    async with serving(server_that(look), stateless_http=True, event_store=Store()) as app:
        answer = await Peer(app).post(doing(), mcp_protocol_version=header)
    assert answer.json["result"] == {
        "version": header or "2025-03-26",
        "can_ask": False,
        "client": False,
        "closers": [False, False],
    }


async def test_a_session_id_means_nothing() -> None:
    async with serving(server_that(), stateless_http=True) as app:
        assert (await Peer(app).post(doing(), mcp_session_id="nope")).json == RESULT


async def test_notifications_of_a_request_come_before_its_answer() -> None:
    async with serving(server_that(report), stateless_http=True) as app:
        assert messages_of(await Peer(app).post(doing())) == [PROGRESS, RESULT]
    async with serving(server_that(report), stateless_http=True, json_response=True) as app:
        assert (await Peer(app).post(doing(), accept="application/json")).json == RESULT


async def test_notifications_without_a_request_are_dropped() -> None:
    async def change(ctx: Context) -> dict[str, Any]:
        await ctx.session.send_tool_list_changed()
        return {"done": True}

    async with serving(server_that(change), stateless_http=True) as app:
        assert (await Peer(app).post(doing())).json == RESULT


async def test_a_notification_reaches_its_handler() -> None:
    came = anyio.Event()
    can_ask: list[bool] = []

    async def handler(ctx: Context, params: types.NotificationParams) -> None:
        can_ask.append(ctx.session.can_send_request)
        came.set()

    server = server_that()
    server.add_notification_handler("acme/note", types.NotificationParams, handler)
    async with serving(server, stateless_http=True) as app:
        answer = await Peer(app).post(body("acme/note", id=None))
        await came.wait()
    assert (answer.status, answer.body, can_ask) == (202, b"", [False])


async def test_an_answer_is_accepted_and_goes_nowhere() -> None:
    async with serving(server_that(), stateless_http=True) as app:
        assert (await Peer(app).post(answering({"id": 1}, {}))).status == 202


async def test_a_batch_is_answered_where_the_revision_has_them() -> None:
    batch = b"[" + doing(1) + b"," + doing(2) + b"]"
    async with serving(server_that(), stateless_http=True) as app:
        answer = await Peer(app).post(batch)
        assert sorted(item["id"] for item in answer.json) == [1, 2]
        refused = await Peer(app).post(batch, mcp_protocol_version="2025-11-25")
    assert refused.error[:2] == (400, -32600)


@pytest.mark.parametrize("data", [b"{", b"5"])
async def test_what_is_no_message_is_a_bad_request(data: bytes) -> None:
    async with serving(server_that(), stateless_http=True) as app:
        assert (await Peer(app).post(data)).status == 400


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
async def test_there_is_nothing_but_post(verb: str) -> None:
    async with serving(server_that(), stateless_http=True) as app:
        answer = await Peer(app).send(verb)
    assert answer.error == (405, -32600, f"Method Not Allowed: expected POST, got {verb}")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("data", [doing(), b"[" + doing() + b"]"])
async def test_a_client_that_hangs_up_cannot_come_back_so_its_request_is_cancelled(data: bytes) -> None:
    gate = Gate()
    async with serving(server_that(gate), stateless_http=True) as app, Peer(app).posting(data) as post:
        await gate.started.wait()
        post.call.hang_up()
        await gate.cancelled.wait()
        await post.call.finished()


async def test_the_same_id_may_be_used_by_many_clients_at_once() -> None:
    gate = Gate()
    async with (
        serving(server_that(gate, other=report), stateless_http=True) as app,
        Peer(app).posting(doing(1)) as post,
    ):
        await gate.started.wait()
        assert (await Peer(app).post(doing(1, "acme/other"))).status == 200
        gate.may_go_on.set()
        assert await post.rest() == [PROGRESS, RESULT]
