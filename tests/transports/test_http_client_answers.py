"""What comes back for a request: a JSON body, or an event stream with notifications before the answer."""

import gzip
import json
import logging
from typing import Any

import anyio
import pytest
from scripted_http_server import MODERN, Noticed, Posted, Reply, connect, serve

from mcp.engine.requester import CallOptions
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError

pytestmark = pytest.mark.anyio

WITH_PROGRESS = {"_meta": {**MODERN["_meta"], "progressToken": 1}}


def answer(id: object, **result: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def notification(method: str, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


async def test_a_json_body_is_the_result() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {"tools": []})

    async with serve(handler) as server, connect(server.url) as requester:
        assert await requester.request(1, "tools/list", MODERN, CallOptions()) == {"tools": []}


async def test_a_json_error_is_raised_with_code_message_and_data() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        error = {"code": -32602, "message": "no such tool", "data": {"name": "x"}}
        await reply.json({"jsonrpc": "2.0", "id": 1, "error": error})

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(MCPError) as raised:
            await requester.request(1, "tools/call", MODERN, CallOptions())
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32602, "no such tool", {"name": "x"})
    assert not isinstance(raised.value, HTTPResponseError)


async def test_a_compressed_body_is_read() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        body = gzip.compress(json.dumps(answer(1, a=1)).encode())
        await reply.send("200 OK", body, "application/json", {"content-encoding": "gzip"})

    async with serve(handler) as server, connect(server.url) as requester:
        assert await requester.request(1, "tools/list", MODERN, CallOptions()) == {"a": 1}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_an_event_stream_is_read_however_it_is_cut(size: int) -> None:
    text = (
        b": comment\r\n\r\n"
        b"event: message\r\ndata: "
        + json.dumps(notification("notifications/message", data="\u00e9\u4e16")).encode()
        # An answer over several data lines, CR as line end, an id and a delay that mean nothing in this revision.
        + b'\r\n\r\nid: 7\rretry: 10\rdata: {"jsonrpc":"2.0",\rdata: "id":1,"result":{"a":"\xc3\xa9"}}\r\r'
    )

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        for start in range(0, len(text), size):
            await reply.chunk(text[start : start + size])
        await reply.end()

    noticed: Noticed = []
    async with serve(handler) as server, connect(server.url, noticed) as requester:
        assert await requester.request(1, "tools/call", MODERN, CallOptions()) == {"a": "\u00e9"}
    assert noticed == [("notifications/message", {"data": "\u00e9\u4e16"})]


async def test_progress_is_reported_in_order_and_before_the_answer() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        for step in range(50):
            await reply.event(notification("notifications/progress", progressToken=1, progress=step))
        await reply.event(answer(1))
        await reply.end()

    seen: list[int] = []

    async def on_progress(params: dict[str, Any]) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(params["progress"])

    noticed: Noticed = []
    async with serve(handler) as server, connect(server.url, noticed) as requester:
        await requester.request(1, "tools/call", WITH_PROGRESS, CallOptions(on_progress=on_progress))
        assert seen == list(range(50))
    assert noticed == []


async def test_progress_of_another_token_goes_to_the_sink() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(notification("notifications/progress", progressToken="other", progress=1))
        await reply.event(answer(1))
        await reply.end()

    async def on_progress(params: dict[str, Any]) -> None:
        raise AssertionError(params)

    noticed: Noticed = []
    async with serve(handler) as server, connect(server.url, noticed) as requester:
        await requester.request(1, "tools/call", WITH_PROGRESS, CallOptions(on_progress=on_progress))
    assert noticed == [("notifications/progress", {"progressToken": "other", "progress": 1})]


async def test_progress_that_nobody_asked_for_goes_to_the_sink() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(notification("notifications/progress", progressToken=1, progress=1))
        await reply.event(answer(1))
        await reply.end()

    noticed: Noticed = []
    async with serve(handler) as server, connect(server.url, noticed) as requester:
        await requester.request(1, "tools/call", WITH_PROGRESS, CallOptions())
    assert [method for method, _ in noticed] == ["notifications/progress"]


async def test_an_error_on_the_stream_is_raised() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "broken"}})
        await reply.end()

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(MCPError, match=r"^broken$"):
            await requester.request(1, "tools/call", MODERN, CallOptions())


async def test_the_answer_ends_the_call_though_the_stream_stays_open() -> None:
    closed = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(answer(1, done=True))
        await reply.disconnected()
        closed.set()

    async with serve(handler) as server, connect(server.url) as requester:
        with anyio.fail_after(5):
            assert await requester.request(1, "tools/call", MODERN, CallOptions()) == {"done": True}
            await closed.wait()


async def test_a_stream_that_ends_with_its_answer_leaves_the_connection_for_the_next_call() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(answer(request.message["id"]))
        await reply.end()

    async with serve(handler) as server, connect(server.url) as requester:
        for id in range(5):
            await requester.request(id, "tools/call", MODERN, CallOptions())
        assert server.connections == 1


async def test_a_stream_that_ends_without_an_answer_is_an_error() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(notification("notifications/message", data="x"))
        await reply.chunk(b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n')
        await reply.end()

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(ConnectionClosedError) as raised:
            await requester.request(1, "tools/call", MODERN, CallOptions())
    assert raised.value.message == f"The event stream from {server.origin} ended without an answer to the request"


async def test_what_does_not_belong_on_the_stream_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
        await reply.event(answer(2, wrong=True))
        await reply.chunk(b"data: not json\n\n")
        await reply.chunk(b"data:\n\nevent: ping\ndata: {}\n\n")
        await reply.event(answer(1, right=True))
        await reply.end()

    with caplog.at_level(logging.WARNING):
        async with serve(handler) as server, connect(server.url) as requester:
            assert await requester.request(1, "tools/call", MODERN, CallOptions()) == {"right": True}
    assert ["'sampling/createMessage'" in caplog.text, "no JSON-RPC message" in caplog.text] == [True, True]
    assert len(caplog.records) == 3


async def test_a_stream_whose_only_event_was_unreadable_says_so() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"data: not json\n\n")
        await reply.end()

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(ConnectionClosedError, match="it carried an event that is no JSON-RPC message: Parse error"):
            await requester.request(1, "tools/call", MODERN, CallOptions())


async def test_a_broken_answer_on_an_open_stream_fails_the_call_at_once() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "id": 1, "result": 7})
        await reply.disconnected()

    async with serve(handler) as server, connect(server.url) as requester:
        with anyio.fail_after(5), pytest.raises(HTTPResponseError, match="Its answer is no JSON-RPC message"):
            await requester.request(1, "tools/call", MODERN, CallOptions())


@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
async def test_a_result_of_eight_megabytes_arrives(events: bool) -> None:
    text = "x" * 8_000_000

    async def handler(request: Posted, reply: Reply) -> None:
        if not events:
            await reply.result(request, {"text": text})
            return
        await reply.open_events()
        await reply.event(answer(1, text=text))
        await reply.end()

    async with serve(handler) as server, connect(server.url) as requester:
        result = await requester.request(1, "tools/call", MODERN, CallOptions())
    assert result["text"] == text


@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
async def test_an_answer_over_the_limit_is_refused(events: bool) -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        message = answer(request.message["id"], text="x" * request.message["params"]["size"])
        if not events:
            await reply.json(message)
            return
        await reply.open_events()
        await reply.event(message)
        await reply.end()

    async with serve(handler) as server, connect(server.url, max_sse_event_size=1000) as requester:
        with pytest.raises(HTTPResponseError, match="is larger than 1000 bytes: raise `max_sse_event_size` to take it"):
            await requester.request(1, "tools/call", {**MODERN, "size": 1000}, CallOptions())
        result = await requester.request(2, "tools/call", {**MODERN, "size": 900}, CallOptions())
        assert len(result["text"]) == 900


async def test_an_answer_before_an_event_over_the_limit_counts() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"data: " + json.dumps(answer(1, a=1)).encode() + b"\n\ndata: " + b"x" * 2000 + b"\n\n")
        await reply.end()

    async with serve(handler) as server, connect(server.url, max_sse_event_size=1000) as requester:
        assert await requester.request(1, "tools/call", MODERN, CallOptions()) == {"a": 1}


async def test_no_limit_takes_everything() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {"text": "x" * 100_000})

    async with serve(handler) as server, connect(server.url, max_sse_event_size=None) as requester:
        assert len((await requester.request(1, "tools/call", MODERN, CallOptions()))["text"]) == 100_000


async def test_thirty_calls_run_at_the_same_time() -> None:
    waiting = 0
    all_here = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 30:
            all_here.set()
        await all_here.wait()
        await reply.result(request, {"n": request.message["id"]})

    results: dict[int, dict[str, Any]] = {}
    async with serve(handler) as server, connect(server.url) as requester:

        async def call(id: int) -> None:
            results[id] = await requester.request(id, "tools/call", MODERN, CallOptions())

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for id in range(30):
                    group.start_soon(call, id)
    assert results == {id: {"n": id} for id in range(30)}
