"""Answers over HTTP, byte by byte: plain JSON, or an event stream once there is something to stream."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from asgi_driver import Answer, Context, ask, calling, headers, message, post, serving
from starlette.requests import Request

from mcp import types
from mcp.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

pytestmark = pytest.mark.anyio

Work = Callable[[Context], Awaitable[Any]]


class Params(types.RequestParams):
    pass


def server_that(work: Work) -> Server[Any]:
    """Does `work` and answers with what it returns."""
    server = Server("srv", version="1")

    async def handler(ctx: Context, params: Params) -> dict[str, Any] | None:
        return await work(ctx)

    server.add_request_handler("acme/do", Params, handler)
    return server


async def answer_of(work: Work, meta: dict[str, Any] | None = None, **options: Any) -> Answer:
    async with serving(server_that(work), **options) as app:
        return await ask(app, headers("acme/do"), message("acme/do", meta=meta))


RESULT = (
    b'{"jsonrpc":"2.0","id":1,"result":{"done":true,"resultType":"complete",'
    b'"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"srv","version":"1"}}}}'
)


async def done(ctx: Context) -> dict[str, Any]:
    return {"done": True}


def event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


# Plain JSON.


@pytest.mark.parametrize("json_response", [True, False])
async def test_a_silent_call_is_answered_with_json(json_response: bool) -> None:
    answer = await answer_of(done, json_response=json_response)
    assert answer == Answer(200, {"content-type": "application/json", "content-length": str(len(RESULT))}, [RESULT])


@pytest.mark.parametrize(
    ("code", "status"),
    [
        *((code, 400) for code in (-32700, -32600, -32602, -32020, -32021, -32022)),
        (-32601, 404),
        *((code, 200) for code in (-32603, -32002, -32042, 1234)),
    ],
)
async def test_the_status_of_an_error_follows_from_its_code(code: int, status: int) -> None:
    async def fail(ctx: Context) -> None:
        raise MCPError(code, "m", {"x": 1})

    answer = await answer_of(fail)
    assert answer.status == status
    assert answer.json == {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "m", "data": {"x": 1}}}


async def test_an_unexpected_exception_is_an_internal_error() -> None:
    async def fail(ctx: Context) -> None:
        raise ValueError("secret")

    answer = await answer_of(fail)
    assert answer.body == b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal server error"}}'
    assert answer.status == 200


async def test_an_error_that_cannot_be_written_is_an_internal_error_with_the_status_of_one() -> None:
    async def fail(ctx: Context) -> None:
        raise MCPError(-32602, "m", object())

    answer = await answer_of(fail)
    assert (answer.status, answer.json["error"]["code"]) == (200, -32603)


async def test_an_unknown_method_and_bad_params_have_their_statuses() -> None:
    async with serving(server_that(done)) as app:
        assert (await post(app, "acme/unknown")).error == (404, -32601, "Method not found")
        bad = await ask(app, headers("acme/do"), message("acme/do", meta={"progressToken": []}))
        assert bad.error[:2] == (400, -32602)
        capabilities = {"io.modelcontextprotocol/clientCapabilities": {"roots": 5}}
        bad = await ask(app, headers("acme/do"), message("acme/do", meta=capabilities))
        assert bad.error[:2] == (400, -32602)


async def test_asking_the_client_is_refused() -> None:
    async def elicit(ctx: Context) -> None:
        await ctx.session.elicit_form("m", {"type": "object"})

    status, code, text = (await answer_of(elicit)).error
    assert (status, code) == (400, -32600)
    assert text.startswith("Cannot send 'elicitation/create': this transport context has no back-channel")


async def test_requests_with_one_id_do_not_disturb_each_other() -> None:
    waiting = 0
    both = anyio.Event()

    async def meet(ctx: Context) -> dict[str, Any]:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        return {"done": True}

    async with serving(server_that(meet)) as app, anyio.create_task_group() as group:

        async def one() -> None:
            assert (await post(app, "acme/do")).body == RESULT

        group.start_soon(one)
        group.start_soon(one)


# Event streams.


def progress(number: float) -> bytes:
    params = b'{"progressToken":"tok","progress":%b}' % json.dumps(number).encode()
    return event(b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % params)


async def test_the_first_notification_turns_the_answer_into_an_event_stream() -> None:
    async def report(ctx: Context) -> dict[str, Any]:
        await ctx.session.report_progress(0.5)
        await ctx.session.report_progress(1)
        return {"done": True}

    answer = await answer_of(report, {"progressToken": "tok"})
    assert answer.status == 200
    assert answer.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }
    assert answer.chunks == [progress(0.5), progress(1), event(RESULT)]


async def test_an_event_is_sent_when_it_happens() -> None:
    go_on = anyio.Event()

    async def report(ctx: Context) -> dict[str, Any]:
        await ctx.session.report_progress(0.5)
        await go_on.wait()
        return {"done": True}

    body = message("acme/do", meta={"progressToken": "tok"})
    async with serving(server_that(report)) as app, calling(app, headers("acme/do"), body) as call:
        assert (await call.next())["type"] == "http.response.start"
        assert (await call.next())["body"] == progress(0.5)
        go_on.set()
        assert (await call.next())["body"] == event(RESULT)


async def test_notifications_sent_at_once_start_one_stream() -> None:
    async def report(ctx: Context) -> dict[str, Any]:
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(ctx.session.report_progress, number)
        return {"done": True}

    answer = await answer_of(report, {"progressToken": "tok"})
    assert sorted(answer.chunks[:-1]) == sorted(progress(number) for number in range(10))
    assert answer.chunks[-1] == event(RESULT)


async def test_the_answer_is_the_last_thing_sent() -> None:
    kept: list[Context] = []
    background = anyio.create_task_group()

    async def report(ctx: Context) -> dict[str, Any]:
        kept.append(ctx)
        await ctx.session.report_progress(0)
        for number in range(5):
            background.start_soon(ctx.session.report_progress, number)
        return {"done": True}

    async with serving(server_that(report)) as app:
        body = message("acme/do", meta={"progressToken": "tok"})
        async with calling(app, headers("acme/do"), body) as call, background:
            await call.finished()
        await kept[0].session.report_progress(9)
    assert call.answer.chunks[-1] == event(RESULT)


async def test_an_error_after_the_first_event_is_the_last_event() -> None:
    async def fail(ctx: Context) -> None:
        await ctx.session.report_progress(1)
        raise MCPError(-32602, "too late for a status")

    answer = await answer_of(fail, {"progressToken": "tok"})
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"too late for a status"}}'
    assert (answer.status, answer.chunks) == (200, [progress(1), event(error)])


async def test_a_log_message_is_an_event_if_it_was_asked_for() -> None:
    async def log(ctx: Context) -> dict[str, Any]:
        with pytest.warns(MCPDeprecationWarning):
            await ctx.session.send_log_message("info", {"m": 1}, "lg")  # pyright: ignore[reportDeprecated]
        return {"done": True}

    asked = await answer_of(log, {"io.modelcontextprotocol/logLevel": "info"})
    params = b'{"level":"info","data":{"m":1},"logger":"lg"}'
    logged = event(b'{"jsonrpc":"2.0","method":"notifications/message","params":%b}' % params)
    assert asked.chunks == [logged, event(RESULT)]
    assert (await answer_of(log)).body == RESULT


async def report_and_answer(ctx: Context) -> dict[str, Any]:
    await ctx.session.report_progress(1)
    await ctx.session.send_tool_list_changed()
    return {"done": True}


async def test_progress_that_nobody_asked_for_and_changes_start_no_stream() -> None:
    assert (await answer_of(report_and_answer)).body == RESULT


async def test_with_json_response_notifications_are_dropped() -> None:
    answer = await answer_of(report_and_answer, {"progressToken": "tok"}, json_response=True)
    assert (answer.status, answer.chunks) == (200, [RESULT])


async def test_with_json_response_an_error_after_a_notification_keeps_its_status() -> None:
    async def fail(ctx: Context) -> None:
        await ctx.session.report_progress(1)
        raise MCPError(-32602, "m")

    assert (await answer_of(fail, {"progressToken": "tok"}, json_response=True)).status == 400


# What a handler knows of the HTTP request.


async def test_a_handler_sees_the_http_request() -> None:
    seen: list[Any] = []

    async def look(ctx: Context) -> dict[str, Any]:
        request = ctx.request
        assert isinstance(request, Request)
        seen.append((request.method, request.url.path, request.headers["x-acme"], await request.json()))
        exchange_headers = ctx.session._exchange.origin.headers
        assert exchange_headers is not None
        seen.append((exchange_headers["x-acme"], exchange_headers["X-Acme"]))
        return {"done": True}

    async with serving(server_that(look)) as app:
        answer = await ask(app, headers("acme/do", x_acme="yes"), message("acme/do"))
    assert answer.body == RESULT
    assert seen == [("POST", "/mcp", "yes", json.loads(message("acme/do"))), ("yes", "yes")]
