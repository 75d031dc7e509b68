"""The server's end of HTTP+SSE: the event stream, the posts to it, and the session that the two make."""

import json
import logging
import re
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from asgi_driver import Call, scope_of
from sse_driver import HOST, JSON, PING, notice, post_to, streaming
from starlette.authentication import SimpleUser, UnauthenticatedUser

from mcp.engine.streams import link_of
from mcp.protocol.codec import DecodeError
from mcp.server import Server, ServerRequestContext
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp.types import RequestParams
from mcp.types.jsonrpc import JSONRPCRequest

pytestmark = pytest.mark.anyio


class Session:
    """Keeps what a session receives, and ends when it is told to or when the client is gone."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.write: Any = None
        self.raw = False
        self.ended = anyio.Event()
        self.finish = anyio.Event()
        self._changed = anyio.Event()

    async def serve(self, read: Any, write: Any) -> None:
        self.raw = link_of(read, write) is not None
        self.write = write
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, read)
            await self.finish.wait()
            group.cancel_scope.cancel()

    async def _read(self, read: Any) -> None:
        async for item in read:
            self.received.append(item)
            self._changed.set()
            self._changed = anyio.Event()
        self.ended.set()
        self.finish.set()

    async def next(self) -> Any:
        while not self.received:
            await self._changed.wait()
        return self.received.pop(0)


# The stream.


async def test_the_first_event_names_the_url_to_post_to() -> None:
    async with streaming(SseServerTransport("/messages/"), Session().serve) as stream:
        assert re.fullmatch(r"/messages/\?session_id=[0-9a-f]{32}", stream.endpoint)
        assert stream.head["status"] == 200
        headers = dict(stream.head["headers"])
        assert headers[b"content-type"].startswith(b"text/event-stream")
        assert headers[b"cache-control"].startswith(b"no-")


@pytest.mark.parametrize(
    ("endpoint", "root_path", "path"),
    [
        ("/messages/", "/api", "/api/messages/"),
        ("/messages/", "/api/", "/api/messages/"),
        ("messages", "", "/messages"),
        ("/my messages/", "/ü", "/%C3%BC/my%20messages/"),
    ],
)
async def test_the_url_has_the_path_that_the_application_is_mounted_at(
    endpoint: str, root_path: str, path: str
) -> None:
    async with streaming(SseServerTransport(endpoint), Session().serve, root_path=root_path) as stream:
        assert stream.endpoint.partition("?")[0] == path


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1/messages", "//host/messages", "/messages?a=b", "/messages#a"])
def test_an_endpoint_that_is_no_path_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"expected the path that clients post to, such as '/messages/', got"):
        SseServerTransport(endpoint)


def test_a_size_limit_that_lets_nothing_in_is_refused() -> None:
    with pytest.raises(ValueError, match="max_request_body_size must be"):
        SseServerTransport("/messages/", max_request_body_size=0)


async def test_what_the_session_sends_is_a_message_event() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        await session.write.send(notice("one\ntwo"))
        event = await stream.event()
        assert event.event == "message"
        assert json.loads(event.raw)["params"]["text"] == "one\ntwo"


async def test_a_server_may_skip_the_message_objects() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve):
        assert session.raw


async def test_messages_that_are_sent_together_are_written_together() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        for number in range(10):
            await session.write.send(notice(str(number)))
        assert [(await stream.message())["params"]["text"] for _ in range(10)] == [str(number) for number in range(10)]
        assert len(stream.chunks) < 10


async def test_a_silent_stream_is_kept_alive_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.server.sse.KEEP_ALIVE_SECONDS", 0.01)
    async with streaming(SseServerTransport("/messages/"), Session().serve) as stream:
        assert (await stream.chunk()).startswith(b":")
        assert (await stream.chunk()).startswith(b":")


async def test_the_stream_ends_with_the_block_after_everything_that_was_sent() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        await session.write.send(notice("last words"))
        session.finish.set()
        await stream.call.finished()
        assert (await stream.message())["params"]["text"] == "last words"
    assert stream.call.answer.status == 200


# Messages.


async def test_a_posted_message_reaches_its_session() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        answer = await stream.post()
        assert (answer.status, answer.body) == (202, b"Accepted")
        message: SessionMessage = await session.next()
        assert message.message == JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")


async def test_a_message_may_come_in_pieces() -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        assert (await stream.post([PING[:5], PING[5:20], PING[20:]])).status == 202
        assert (await session.next()).message.id == 1


async def test_sessions_do_not_mix() -> None:
    transport = SseServerTransport("/messages/")
    one, two = Session(), Session()
    async with streaming(transport, one.serve) as first, streaming(transport, two.serve) as second:
        assert first.endpoint != second.endpoint
        await second.post()
        await two.next()
        await one.write.send(notice("for the first"))
        assert (await first.message())["params"]["text"] == "for the first"
    assert one.received == []


@pytest.mark.parametrize("body", [b"{nope", b"", b'{"a": 1}', b"\xff", b'{"jsonrpc": "2.0", "id": 5, "method": 7}'])
async def test_what_is_no_message_is_refused_and_the_session_is_told(body: bytes) -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        answer = await stream.post(body)
        assert answer.status == 400
        assert answer.body.startswith(b"Could not parse message: ")
        assert isinstance(await session.next(), DecodeError)
        assert (await stream.post()).status == 202


@pytest.mark.parametrize("content_type", [b"text/plain", b"", b"application/jsonp"])
async def test_a_post_must_be_json(content_type: bytes) -> None:
    async with streaming(SseServerTransport("/messages/"), Session().serve) as stream:
        answer = await stream.post(pairs=[*HOST, (b"content-type", content_type)])
    assert answer.status == 400
    assert answer.body.startswith(b"Invalid Content-Type header: expected application/json, got ")


async def test_a_content_type_may_name_a_charset() -> None:
    async with streaming(SseServerTransport("/messages/"), Session().serve) as stream:
        assert (await stream.post(pairs=[(b"content-type", b"application/json; charset=utf-8")])).status == 202


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("", 400, "session_id is required"),
        ("?session_id=", 400, "session_id is required"),
        ("?session_id=zzz", 400, "Invalid session ID"),
        (f"?session_id={'A' * 32}", 400, "Invalid session ID"),
        (f"?session_id={'0' * 32}", 404, "Could not find session"),
    ],
)
async def test_a_post_must_name_an_open_session(query: str, status: int, text: str) -> None:
    transport = SseServerTransport("/messages/")
    async with streaming(transport, Session().serve):
        answer = await post_to(transport, f"/messages/{query}")
    assert answer.status == status
    assert answer.body.startswith(text.encode())


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
async def test_only_posts_are_taken_at_the_endpoint(verb: str) -> None:
    async with streaming(SseServerTransport("/messages/"), Session().serve) as stream:
        answer = await stream.post(b"", verb=verb)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


async def test_a_body_over_the_limit_is_refused_and_not_read_further() -> None:
    transport = SseServerTransport("/messages/", max_request_body_size=100)
    session = Session()
    async with streaming(transport, session.serve) as stream:
        answer = await stream.post([b"x" * 60, b"x" * 60, b"x" * 60])
        assert (answer.status, answer.body) == (
            413,
            b"Request body too large: the limit is 100 bytes (max_request_body_size)",
        )
        declared = await stream.post(b"", [*JSON, (b"content-length", b"101")])
        assert declared.status == 413
        assert (await stream.post(PING)).status == 202
        await session.next()
        assert session.received == []


async def test_a_client_that_hangs_up_over_its_post_is_answered_nothing() -> None:
    transport = SseServerTransport("/messages/")
    async with streaming(transport, Session().serve) as stream:
        call = Call([])
        call.hang_up()
        path, _, query = stream.endpoint.partition("?")
        scope = {**scope_of(JSON, "POST", path), "query_string": query.encode()}
        await transport.handle_post_message(scope, call.receive, call.send)
    assert call.sent == []


async def test_messages_are_refused_while_too_many_wait_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.MAX_UNTAKEN", 3 * len(PING))
    may_read = anyio.Event()
    session = Session()

    async def serve(read: Any, write: Any) -> None:
        await may_read.wait()
        await session.serve(read, write)

    async with streaming(SseServerTransport("/messages/"), serve) as stream:
        statuses = [(await stream.post()).status for _ in range(6)]
        assert statuses == [202, 202, 202, 202, 503, 503]
        assert (await stream.post()).headers["retry-after"] == "1"
        may_read.set()
        await session.next()
        assert (await stream.post()).status == 202


# Who a session belongs to.


class Member:
    """A user that says who it is as Starlette's own do not."""

    def __init__(self, identity: str) -> None:
        self.identity = identity


def holder(client: str, subject: str, issuer: str = "here") -> Any:
    """A user with an access token."""
    token = SimpleNamespace(client_id=client, subject=subject, claims={"iss": issuer})
    return SimpleNamespace(is_authenticated=True, access_token=token)


@pytest.mark.parametrize(
    ("opener", "poster", "allowed"),
    [
        (SimpleUser("alice"), SimpleUser("alice"), True),
        (SimpleUser("alice"), SimpleUser("bob"), False),
        (SimpleUser("alice"), None, False),
        (SimpleUser("alice"), UnauthenticatedUser(), False),
        (None, SimpleUser("alice"), False),
        (None, UnauthenticatedUser(), True),
        ("alice", "alice", True),
        ("alice", "bob", False),
        (Member("alice"), Member("alice"), True),
        (Member("alice"), Member("bob"), False),
        (holder("app", "alice"), holder("app", "alice"), True),
        (holder("app", "alice"), holder("app", "bob"), False),
        (holder("app", "alice"), holder("app", "alice", "elsewhere"), False),
    ],
)
async def test_a_session_takes_messages_of_its_own_user_only(opener: Any, poster: Any, allowed: bool) -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve, user=opener) as stream:
        answer = await stream.post(user=poster)
        assert answer.status == (202 if allowed else 404)
        assert (await stream.post(user=opener)).status == 202
        await session.next()
        assert len(session.received) == (1 if allowed else 0)


# Ends.


async def test_a_client_that_hangs_up_ends_its_session() -> None:
    transport = SseServerTransport("/messages/")
    session = Session()
    async with streaming(transport, session.serve) as stream:
        stream.call.hang_up()
        await session.ended.wait()
        await stream.call.finished()
        assert (await stream.post()).status == 404


async def test_a_send_that_fails_ends_the_session_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    session = Session()
    async with streaming(SseServerTransport("/messages/"), session.serve) as stream:
        stream.call.broken = True
        await session.write.send(notice())
        await session.ended.wait()
        await stream.call.finished()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


class Stuck:
    """A client that stops reading, with buffers on the way that are full."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.full = False

    async def send(self, message: Any) -> None:
        if self.full:
            await anyio.sleep_forever()
        await self._call.send(message)


async def test_a_client_that_does_not_read_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp.engine.queuelink.MAX_UNSENT", 1000)
    monkeypatch.setattr("mcp.server.sse.CLOSE_TIMEOUT", 0.01)
    call = Call([b""])
    client = Stuck(call)
    scope = scope_of(HOST, "GET", "/sse")
    async with SseServerTransport("/messages/").connect_sse(scope, call.receive, client.send) as (read, write):
        client.full = True
        await write.send(notice(size=800))
        await write.send(notice(size=800))
        with pytest.raises(anyio.BrokenResourceError):
            await write.send(notice(size=800))
        with pytest.raises(anyio.EndOfStream):
            await read.receive()
    assert "the peer does not read" in caplog.text


async def test_a_session_that_is_over_is_forgotten() -> None:
    transport = SseServerTransport("/messages/")
    for _ in range(3):
        session = Session()
        async with streaming(transport, session.serve) as stream:
            stream.call.hang_up()
            await stream.call.finished()
    assert transport._sessions == {}


# A whole server.


async def test_a_handler_sees_the_request_that_its_message_came_in() -> None:
    server = Server("srv")

    async def look(ctx: ServerRequestContext[Any, Any], params: RequestParams) -> dict[str, Any]:
        assert ctx.request is not None
        return {"client": ctx.request.headers["user-agent"], "path": ctx.request.url.path}

    server.add_request_handler("acme/look", RequestParams, look)

    async def serve(read: Any, write: Any) -> None:
        await server.run(read, write, server.create_initialization_options())

    async with streaming(SseServerTransport("/messages/"), serve) as stream:
        client = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        await stream.post(request(1, "initialize", client))
        assert (await stream.message())["result"]["protocolVersion"] == "2024-11-05"
        for name in ("one", "two"):
            await stream.post(request(2, "acme/look"), [*JSON, (b"user-agent", name.encode())])
            assert (await stream.message())["result"] == {"client": name, "path": "/messages/"}


def request(id: int, method: str, params: Any = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}).encode()
