"""Calls that end before their answer: time limits, cancelled callers, closed connections. The server sees them all."""

import asyncio
from typing import Any

import anyio
import pytest
from scripted_http_server import MODERN, Posted, Reply, connect, own_client, serve

from mcp.client.streamable_http import streamable_http_client
from mcp.engine.requester import CallOptions
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, RequestTimeoutError

pytestmark = pytest.mark.anyio


class Unanswered:
    """Never answers, and knows when the client has gone."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.arrived = anyio.Event()
        self.gone = anyio.Event()

    async def __call__(self, request: Posted, reply: Reply) -> None:
        if request.message["method"] == "ping":
            await reply.result(request, {})
            return
        if self.stage == "half a body":
            await reply.raw(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"json')
        elif self.stage == "an open stream":
            await reply.open_events()
            await reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        self.arrived.set()
        await reply.disconnected()
        self.gone.set()


@pytest.fixture(params=["no response", "half a body", "an open stream"])
def unanswered(request: pytest.FixtureRequest) -> Unanswered:
    return Unanswered(request.param)


async def test_a_time_limit_ends_the_call_and_closes_its_connection(unanswered: Unanswered) -> None:
    async with serve(unanswered) as server, connect(server.url) as requester:
        with anyio.fail_after(5):
            with pytest.raises(RequestTimeoutError) as raised:
                await requester.request(1, "tools/call", MODERN, CallOptions(timeout=0.1))
            await unanswered.gone.wait()
        assert raised.value.message == "Timed out after 0.1s waiting for 'tools/call'"
        assert await requester.request(2, "ping", MODERN, CallOptions(timeout=5)) == {}


async def test_a_cancelled_scope_closes_the_connection(unanswered: Unanswered) -> None:
    async with serve(unanswered) as server, connect(server.url) as requester, anyio.create_task_group() as group:
        with anyio.fail_after(5):
            group.start_soon(requester.request, 1, "tools/call", MODERN, CallOptions())
            await unanswered.arrived.wait()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await unanswered.gone.wait()
                assert await requester.request(2, "ping", MODERN, CallOptions()) == {}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_task_closes_the_connection(unanswered: Unanswered) -> None:
    async with serve(unanswered) as server, connect(server.url) as requester:
        task = asyncio.ensure_future(requester.request(1, "tools/call", MODERN, CallOptions(timeout=30)))
        await unanswered.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with anyio.fail_after(5):
            await unanswered.gone.wait()
            assert await requester.request(2, "ping", MODERN, CallOptions()) == {}


async def test_a_caller_cancelled_inside_its_progress_callback_closes_the_connection() -> None:
    inside = anyio.Event()
    gone = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.open_events()
        params = {"progressToken": 1, "progress": 1}
        await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await reply.disconnected()
        gone.set()

    async def on_progress(params: dict[str, Any]) -> None:
        inside.set()
        await anyio.sleep_forever()

    params = {"_meta": {**MODERN["_meta"], "progressToken": 1}}
    async with serve(handler) as server, connect(server.url) as requester:
        async with anyio.create_task_group() as group:
            group.start_soon(requester.request, 1, "tools/call", params, CallOptions(on_progress=on_progress))
            await inside.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            await gone.wait()


async def test_closing_the_requester_fails_what_is_in_flight(unanswered: Unanswered) -> None:
    async with serve(unanswered) as server, own_client() as http_client:
        async with connect(server.url, http_client=http_client) as requester, anyio.create_task_group() as group:

            async def call() -> None:
                with pytest.raises(ConnectionClosedError):
                    await requester.request(1, "tools/call", MODERN, CallOptions(timeout=30))

            group.start_soon(call)
            await unanswered.arrived.wait()
            await requester.aclose()
        with anyio.fail_after(5):
            await unanswered.gone.wait()
        with pytest.raises(ConnectionClosedError):
            await requester.request(2, "ping", MODERN, CallOptions())
        with pytest.raises(ConnectionClosedError):
            await requester.notify("notifications/x", None)


async def test_leaving_the_transport_fails_what_is_in_flight(unanswered: Unanswered) -> None:
    failed = anyio.Event()
    async with serve(unanswered) as server, anyio.create_task_group() as group:
        async with connect(server.url) as requester:

            async def call() -> None:
                with pytest.raises(ConnectionClosedError):
                    await requester.request(1, "tools/call", MODERN, CallOptions())
                failed.set()

            group.start_soon(call)
            await unanswered.arrived.wait()
        with anyio.fail_after(5):
            await failed.wait()
            await unanswered.gone.wait()


async def test_no_time_is_no_time() -> None:
    handler = Unanswered("no response")
    async with serve(handler) as server, connect(server.url) as requester:
        with anyio.fail_after(5), pytest.raises(RequestTimeoutError):
            await requester.request(1, "tools/call", MODERN, CallOptions(timeout=0))


async def test_a_refusal_whose_body_never_ends_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client._http_answers._REFUSAL_SECONDS", 0.1)

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.raw(
            b"HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n4\r\nwell\r\n"
        )
        await reply.disconnected()

    async with serve(handler) as server, connect(server.url) as requester:
        with anyio.fail_after(5), pytest.raises(HTTPResponseError, match="The body starts with: well"):
            await requester.request(1, "tools/call", MODERN, CallOptions())


async def test_an_error_in_the_block_leaves_the_transport_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with streamable_http_client("http://127.0.0.1:1/mcp"):
            raise KeyError("mine")


async def test_our_own_client_waits_longer_where_a_call_may_take_longer() -> None:
    waited: list[Any] = []

    async def handler(request: Posted, reply: Reply) -> None:
        await reply.result(request, {})

    async with serve(handler) as server, streamable_http_client(server.url) as (read, _):
        connection = read.connection

        async def hook(request: Any) -> None:
            waited.append(request.extensions["timeout"]["read"])

        async def sink(method: str, params: dict[str, Any] | None) -> None:
            raise AssertionError(method)

        connection.client.event_hooks["request"].append(hook)
        requester = connection.open(sink)
        for timeout in (None, 10, 900):
            await requester.request(1, "tools/call", MODERN, CallOptions(timeout=timeout))
        # A bound that nobody chose is a time that a call is allowed all the same.
        for bound in (300, 3600):
            await requester.request(1, "tools/call", MODERN, CallOptions(bound=bound))
    assert waited == [300, 300, 900, 300, 3600]
