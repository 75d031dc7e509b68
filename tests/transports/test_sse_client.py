"""The client's end of HTTP+SSE: opening, messages both ways, and what ends a connection."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from scripted_http_server import Posted, Reply, own_client, serve
from scripted_sse_server import ENDPOINT, ScriptedSSE, accept, serving_sse

from mcp.client.sse import open_sse_link, remove_request_params, sse_client
from mcp.client.streamable_http import create_mcp_http_client
from mcp.engine.streams import link_of
from mcp.shared.message import SessionMessage
from mcp.types.jsonrpc import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(sse: ScriptedSSE, **options: Any) -> AsyncGenerator[Any, None]:
    """The streams of a client of `sse`."""
    async with serving_sse(sse) as server, sse_client(f"{server.origin}/sse", **options) as streams:
        await sse.streaming()
        yield streams


def ask(id: int, method: str = "acme/do") -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=id, method=method))


def tell(method: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method))


# Opening.


async def test_the_stream_is_asked_for_as_such() -> None:
    sse = ScriptedSSE()
    async with connected(sse, headers={"X-Tenant": "blue"}):
        (get,) = sse.gets
    assert (get.method, get.target) == ("GET", "/sse")
    assert get.headers["accept"] == "text/event-stream"
    assert get.headers["x-tenant"] == "blue"


@pytest.mark.parametrize(
    ("endpoint", "id"),
    [("/m?session_id=one", "one"), ("/m?sessionId=two", "two"), ("m", None), ("/m?session_id=", None)],
)
async def test_the_id_of_the_session_is_told_if_there_is_one(endpoint: str, id: str | None) -> None:
    told: list[str] = []
    sse = ScriptedSSE(first=b"event: endpoint\ndata: %b\n\n" % endpoint.encode())
    async with connected(sse, on_session_created=told.append):
        pass
    assert told == ([] if id is None else [id])


@pytest.mark.parametrize("absolute", [True, False])
async def test_messages_go_to_the_endpoint_that_the_server_names(absolute: bool) -> None:
    sse = ScriptedSSE(first=b"")
    async with serving_sse(sse) as server:
        where = f"{server.origin}{ENDPOINT}" if absolute else ENDPOINT
        sse.first = f"event: endpoint\ndata: {where}\n\n".encode()
        async with sse_client(f"{server.origin}/sse", headers={"X-Tenant": "blue"}) as (_, write):
            await write.send(ask(1))
            await sse.until(lambda: len(sse.posts) == 1)
    (post,) = sse.posts
    assert (post.method, post.target) == ("POST", ENDPOINT)
    assert post.headers["content-type"] == "application/json"
    assert post.headers["x-tenant"] == "blue"


async def test_an_endpoint_is_relative_to_the_url_of_the_stream() -> None:
    sse = ScriptedSSE(first=b"event: endpoint\ndata: messages?session_id=a\n\n")
    async with serving_sse(sse) as server, sse_client(f"{server.origin}/deep/sse") as (_, write):
        await write.send(ask(1))
        await sse.until(lambda: len(sse.posts) == 1)
    assert sse.posts[0].target == "/deep/messages?session_id=a"


async def test_credentials_in_the_url_go_with_every_message() -> None:
    sse = ScriptedSSE()
    async with serving_sse(sse) as server:
        url = f"{server.origin}/sse".replace("http://", "http://user:word@")
        async with sse_client(url) as (_, write):
            await write.send(ask(1))
            await sse.until(lambda: len(sse.posts) == 1)
    assert sse.gets[0].headers["authorization"] == sse.posts[0].headers["authorization"]


async def test_a_factory_makes_the_http_client() -> None:
    made: list[tuple[Any, Any, Any]] = []
    auth = httpx2.BasicAuth("user", "word")

    def factory(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        made.append((headers, timeout, auth))
        return create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)

    sse = ScriptedSSE()
    options: dict[str, Any] = {"headers": {"A": "b"}, "timeout": 3, "sse_read_timeout": 70, "auth": auth}
    async with connected(sse, httpx_client_factory=factory, **options):
        pass
    assert made == [({"A": "b"}, httpx2.Timeout(3, read=70), auth)]
    assert "authorization" in sse.gets[0].headers


async def test_a_redirect_of_the_stream_is_followed_within_the_origin() -> None:
    sse = ScriptedSSE(first=b"event: endpoint\ndata: messages\n\n")

    async def moved(posted: Posted, reply: Reply) -> None:
        if posted.target == "/sse":
            await reply.send("301 Moved Permanently", headers={"location": "/new/sse"})
        else:
            await sse(posted, reply)

    async with serve(moved) as server, sse_client(f"{server.origin}/sse") as (_, write):
        await write.send(ask(1))
        await sse.until(lambda: len(sse.posts) == 1)
    assert sse.posts[0].target == "/new/messages"


# Messages.


async def test_messages_are_posted_one_after_the_other_in_order() -> None:
    busy = 0

    async def slowly(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        nonlocal busy
        busy += 1
        assert busy == 1
        await anyio.lowlevel.checkpoint()
        busy -= 1
        await reply.send("202 Accepted")

    sse = ScriptedSSE(slowly)
    names: list[str | None] = [f"acme/{number}" for number in range(20)]
    async with connected(sse) as (_, write):
        for name in names:
            await write.send(tell(str(name)))
        await sse.until(lambda: len(sse.posts) == 20)
    assert sse.methods == names


async def test_what_comes_on_the_stream_is_read() -> None:
    sse = ScriptedSSE()
    async with connected(sse) as (read, write):
        await write.send(ask(1, "acme/one"))
        message = (await read.receive()).message
    assert message == JSONRPCResponse(jsonrpc="2.0", id=1, result={"method": "acme/one"})


async def test_comments_and_other_events_are_passed_over() -> None:
    sse = ScriptedSSE()
    async with connected(sse) as (read, _):
        await sse.stream.chunk(b": ping\r\n\r\nevent: custom\r\ndata: {}\r\n\r\n")
        await sse.stream.chunk(b'data: {"jsonrpc": "2.0", "method": "acme/notice"}\n\n')
        assert (await read.receive()).message.method == "acme/notice"


async def test_a_client_may_skip_the_message_objects() -> None:
    async with connected(ScriptedSSE()) as (read, write):
        assert link_of(read, write) is not None


async def test_a_post_that_is_held_until_its_answer_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.sse.ORDER_SECONDS", 0.01)
    answered = anyio.Event()

    async def hold(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        if posted.message.get("method") == "acme/ask":
            await sse.stream.event({"jsonrpc": "2.0", "id": 7, "method": "ping"})
            await answered.wait()
            await reply.send("200 OK")
        else:
            await reply.send("202 Accepted")
            answered.set()

    sse = ScriptedSSE(hold)
    async with connected(sse) as (read, write):
        await write.send(ask(1, "acme/ask"))
        question = (await read.receive()).message
        await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=question.id, result={})))
        await answered.wait()
        await sse.until(lambda: len(sse.posts) == 2)
    assert [json.loads(post.body).get("id") for post in sse.posts] == [1, 7]


async def test_a_request_that_the_server_refuses_fails_and_the_connection_goes_on() -> None:
    async def refuse_one(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        if posted.message["method"] == "acme/large":
            await reply.send("413 Content Too Large", b"that is too much", "text/plain")
        else:
            await accept(sse, posted, reply)

    async with connected(ScriptedSSE(refuse_one)) as (read, write):
        await write.send(ask(1, "acme/large"))
        refused = (await read.receive()).message
        assert refused.id == 1
        assert "413" in refused.error.message
        assert "that is too much" in refused.error.message
        await write.send(ask(2))
        assert (await read.receive()).message.id == 2


async def test_a_notification_that_the_server_refuses_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("503 Service Unavailable")

    sse = ScriptedSSE(refuse)
    async with connected(sse) as (read, write):
        await write.send(tell("acme/notice"))
        await write.send(ask(1))
        assert (await read.receive()).message.id == 1
    assert [record.levelname for record in caplog.records if record.name == "mcp.client.sse"] == ["WARNING"]
    assert "a message was not delivered: HTTP 503" in caplog.text


async def test_a_post_without_a_response_leaves_its_request_waiting_for_the_stream() -> None:
    async def never(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await sse.answer(posted.message["id"], {})
        await reply.disconnected()

    async with connected(ScriptedSSE(never), sse_read_timeout=0.1) as (read, write):
        await write.send(ask(1))
        assert (await read.receive()).message.result == {}


# Ends.


async def test_leaving_posts_what_is_queued_and_closes_the_stream() -> None:
    sse = ScriptedSSE()
    async with serving_sse(sse) as server:
        async with sse_client(f"{server.origin}/sse") as (_, write):
            await write.send(tell("acme/last"))
        await sse.hung_up.wait()
    assert sse.methods == ["acme/last"]


async def test_a_link_leaves_the_http_client_open() -> None:
    sse = ScriptedSSE()
    async with serving_sse(sse) as server, own_client() as client:
        async with open_sse_link(client, f"{server.origin}/sse") as link:
            assert link.session_id == "abc123"
        await sse.hung_up.wait()
        assert not client.is_closed


async def test_a_stream_that_ends_ends_the_connection() -> None:
    sse = ScriptedSSE()
    async with connected(sse) as (read, write):
        await sse.stream.end()
        with pytest.raises(anyio.EndOfStream):
            await read.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await write.send(ask(1))


async def test_what_arrived_before_the_end_can_still_be_read() -> None:
    sse = ScriptedSSE()
    async with connected(sse) as (read, _):
        await sse.stream.chunk(b'data: {"jsonrpc": "2.0", "method": "acme/last"}\n\n')
        await sse.stream.end()
        assert (await read.receive()).message.method == "acme/last"
        with pytest.raises(anyio.EndOfStream):
            await read.receive()


async def test_a_cancelled_opening_leaves_nothing_behind() -> None:
    sse = ScriptedSSE(first=b": not yet\n\n")
    async with serving_sse(sse) as server, anyio.create_task_group() as group:

        async def open_it() -> None:
            async with sse_client(f"{server.origin}/sse"):
                pytest.fail("no endpoint was named")

        group.start_soon(open_it)
        await sse.until(lambda: len(sse.gets) == 1)
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await sse.hung_up.wait()


async def test_a_reader_that_is_behind_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.MAX_UNTAKEN", 1000)
    sse = ScriptedSSE()
    async with connected(sse) as (read, _):
        for number in range(20):
            await sse.stream.event({"jsonrpc": "2.0", "method": f"acme/{number}", "params": {"filler": "." * 300}})
        received = [(await read.receive()).message.method for _ in range(20)]
    assert received == [f"acme/{number}" for number in range(20)]


def test_a_url_is_shown_without_what_may_be_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert remove_request_params("https://example.com:8443/a/sse?token=secret#part") == "https://example.com:8443/a/sse"
    assert remove_request_params("/sse?token=secret") == "/sse"
