"""What the client's end of HTTP+SSE says when a server is none, or stops to be one."""

from typing import Any

import httpx2
import pytest
from held_port import held_port
from scripted_http_server import Posted, Reply, own_client, serve
from scripted_sse_server import ScriptedSSE, serving_sse

from mcp import Client, types
from mcp.client.sse import open_sse_link, sse_client
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError, TransportError
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio


async def opening_error(sse: Any, **options: Any) -> TransportError:
    """The error of opening a stream."""
    async with serve(sse) as server:
        with pytest.raises(TransportError) as raised:
            async with sse_client(f"{server.origin}/sse?token=secret", **options):
                pytest.fail("it was opened")
    assert "secret" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed", "500 Oops"])
async def test_a_refused_stream_says_status_headers_and_body(status: str) -> None:
    async def refuse(posted: Posted, reply: Reply) -> None:
        await reply.send(status, b"go away", "text/plain", {"x-why": "because"})

    error = await opening_error(refuse)
    assert isinstance(error, HTTPResponseError)
    assert error.status == int(status[:3])
    assert error.headers["x-why"] == "because"
    assert error.body == "go away"
    assert error.message.startswith(f"HTTP {status} from http://127.0.0.1:")


async def test_something_else_than_an_event_stream_is_named() -> None:
    async def page(posted: Posted, reply: Reply) -> None:
        await reply.send("200 OK", b"<html>Hello", "text/html")

    error = await opening_error(page)
    assert isinstance(error, HTTPResponseError)
    assert "its content type is 'text/html' where 'text/event-stream' was expected" in error.message
    assert error.body == "<html>Hello"


async def test_a_stream_that_starts_with_another_event_is_not_taken() -> None:
    error = await opening_error(ScriptedSSE(first=b'event: message\ndata: {"jsonrpc": "2.0"}\n\n'))
    assert isinstance(error, HTTPResponseError)
    assert "The first event of its stream is 'message' where 'endpoint' was expected" in error.message
    assert error.body == '{"jsonrpc": "2.0"}'


@pytest.mark.parametrize(
    "endpoint", ["http://evil.example/m", "https://127.0.0.1/m", "//evil.example/m", "http://127.0.0.1:1/m"]
)
async def test_messages_are_never_posted_to_another_origin(endpoint: str) -> None:
    error = await opening_error(ScriptedSSE(first=f"event: endpoint\ndata: {endpoint}\n\n".encode()))
    assert "Its 'endpoint' event names another origin, http" in error.message


async def test_an_endpoint_that_is_no_url_is_refused() -> None:
    error = await opening_error(ScriptedSSE(first=b"event: endpoint\ndata: http://127.0.0.1:bad/\n\n"))
    assert "Its 'endpoint' event holds no URL" in error.message


async def test_a_redirect_to_another_origin_is_not_followed() -> None:
    async def elsewhere(posted: Posted, reply: Reply) -> None:
        await reply.send("302 Found", headers={"location": "http://evil.example/sse"})

    error = await opening_error(elsewhere)
    assert isinstance(error, HTTPResponseError)
    assert "to another origin, http://evil.example, and was not followed" in error.message


async def test_a_server_that_names_no_endpoint_is_given_up() -> None:
    error = await opening_error(ScriptedSSE(first=b": wait\n\n"), timeout=0.05)
    assert error.code == types.REQUEST_TIMEOUT
    assert "opened an event stream, but named no endpoint within 0.05s" in error.message


async def test_a_stream_that_ends_before_its_endpoint_is_no_connection() -> None:
    async def end(posted: Posted, reply: Reply) -> None:
        await reply.open_events()
        await reply.end()

    assert "Its event stream ended without an 'endpoint' event" in (await opening_error(end)).message


async def test_a_silent_server_is_given_up() -> None:
    async def silent(posted: Posted, reply: Reply) -> None:
        await reply.disconnected()

    error = await opening_error(silent, sse_read_timeout=0.05)
    assert error.code == types.REQUEST_TIMEOUT
    assert "sent nothing within 0.05s" in error.message


async def test_a_server_that_is_not_there_is_named() -> None:
    with (
        held_port() as port,
        pytest.raises(TransportError, match=f"Cannot connect to http://127.0.0.1:{port}") as raised,
    ):
        async with sse_client(f"http://127.0.0.1:{port}/sse"):
            pytest.fail("it was opened")
    assert isinstance(raised.value.__cause__, httpx2.ConnectError)


@pytest.mark.parametrize("url", ["/sse", "ftp://example.com/sse", "http://", "http://127.0.0.1:bad/sse"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected the URL of a server, such as 'https://example.com/sse'"):
        async with sse_client(url):
            pytest.fail("it was opened")


class Refusing(httpx2.Auth):
    """Fails to authorize anything."""

    def auth_flow(self, request: httpx2.Request) -> Any:
        raise LookupError("no token for this server")
        yield request


async def test_what_an_auth_raises_reaches_whoever_opens() -> None:
    async with serving_sse(ScriptedSSE()) as server:
        with pytest.raises(LookupError, match="no token for this server"):
            async with sse_client(f"{server.origin}/sse", auth=Refusing()):
                pytest.fail("it was opened")


async def test_a_stream_may_be_silent_for_longer_than_answers_may() -> None:
    limits: list[Any] = []

    async def note(request: httpx2.Request) -> None:
        limits.append(request.extensions["timeout"])

    async with (
        serving_sse(ScriptedSSE()) as server,
        own_client(timeout=5, event_hooks={"request": [note]}) as client,
        open_sse_link(client, f"{server.origin}/sse"),
    ):
        assert limits == [{"connect": 5, "read": 300, "write": 5, "pool": 5}]


# Once it is open.


class Legacy(ScriptedSSE):
    """Answers `initialize`, and leaves all other requests to `on_post`."""

    async def __call__(self, posted: Posted, reply: Reply) -> None:
        if posted.method == "POST" and posted.message.get("method") in ("initialize", "notifications/initialized"):
            await self.streaming()
            await reply.send("202 Accepted")
            if "id" in posted.message:
                await self.answer(
                    posted.message["id"],
                    {
                        "protocolVersion": "2024-11-05",
                        "capabilities": {},
                        "serverInfo": {"name": "old", "version": "1"},
                    },
                )
            return
        await super().__call__(posted, reply)


async def ping(client: Client) -> None:
    await client.session.send_ping()


async def ping_error(sse: ScriptedSSE, **options: Any) -> MCPError:
    async with (
        serving_sse(sse) as server,
        Client(sse_client(f"{server.origin}/sse", **options), mode="legacy") as client,
    ):
        with pytest.raises(MCPError) as raised:
            await ping(client)
        with pytest.raises(type(raised.value)):
            await ping(client)
    return raised.value


async def test_a_stream_that_ends_fails_what_is_pending_and_says_so() -> None:
    async def end(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("202 Accepted")
        await sse.stream.end()

    error = await ping_error(Legacy(end))
    assert isinstance(error, ConnectionClosedError)
    assert error.message.startswith("Connection closed: the event stream from http://127.0.0.1:")


async def test_a_stream_that_breaks_fails_what_is_pending() -> None:
    async def hang_up(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("202 Accepted")
        await sse.stream.hang_up()

    error = await ping_error(Legacy(hang_up))
    assert isinstance(error, ConnectionClosedError)
    assert "broke before the answer was complete" in error.message


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone"])
async def test_a_session_that_the_server_has_forgotten_is_over(status: str) -> None:
    async def forget(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send(status, b"no such session", "text/plain")

    error = await ping_error(Legacy(forget))
    assert isinstance(error, HTTPResponseError)
    assert error.status == int(status[:3])
    assert error.body == "no such session"
    assert "It no longer knows the session." in error.message
    assert "path" not in error.message


async def test_an_event_over_the_limit_ends_the_connection() -> None:
    async def flood(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("202 Accepted")
        await sse.answer(posted.message["id"], {"filler": "." * 2000})

    error = await ping_error(Legacy(flood), max_sse_event_size=1000)
    assert isinstance(error, HTTPResponseError)
    assert "An event of its stream is larger than 1000 bytes: raise `max_sse_event_size` to take it" in error.message


async def test_a_refused_request_is_an_error_of_its_own() -> None:
    async def refuse(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("429 Too Many Requests", b"slow down", "text/plain", {"retry-after": "7"})

    error = await ping_error(Legacy(refuse))
    assert isinstance(error, HTTPResponseError)
    assert (error.status, error.headers["retry-after"], error.body) == (429, "7", "slow down")
    assert error.message.startswith("HTTP 429 Too Many Requests from http://127.0.0.1:")
    assert error.message.endswith("The body starts with: slow down")


async def test_a_request_that_breaks_off_is_a_transport_error_of_its_own() -> None:
    async def break_off(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.hang_up()

    error = await ping_error(Legacy(break_off))
    assert isinstance(error, ConnectionClosedError)
    assert "broke before the answer was complete" in error.message
    assert isinstance(error.__cause__, httpx2.HTTPError)


async def test_a_refused_request_is_an_error_message_to_whoever_reads_the_streams() -> None:
    async def refuse(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("503 Service Unavailable")

    async with serving_sse(ScriptedSSE(refuse)) as server, sse_client(f"{server.origin}/sse") as (read, write):
        await write.send(SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id="a", method="ping")))
        answer = await read.receive()
    assert isinstance(answer, SessionMessage)
    assert isinstance(answer.message, types.JSONRPCError)
    assert answer.message.id == "a"
    assert answer.message.error.message.startswith("HTTP 503 Service Unavailable")


async def test_a_redirected_post_stays_with_its_server() -> None:
    async def elsewhere(sse: ScriptedSSE, posted: Posted, reply: Reply) -> None:
        await reply.send("307 Temporary Redirect", headers={"location": "http://evil.example/m"})

    assert "another origin, http://evil.example, and was not followed" in (await ping_error(Legacy(elsewhere))).message
