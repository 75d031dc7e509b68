"""What a caller is told when a server refuses, answers nonsense, or cannot be reached."""

import pickle
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream
from held_port import held_port
from scripted_http_server import MODERN, Posted, Reply, connect, own_client, serve

from mcp.engine.requester import CallOptions
from mcp.shared.exceptions import ConnectionClosedError, HTTPResponseError, MCPError, TransportError
from mcp.types.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT

pytestmark = pytest.mark.anyio


async def failure_of(url: str, **options: Any) -> MCPError:
    async with connect(url, **options) as requester:
        with pytest.raises(MCPError) as raised:
            await requester.request(1, "tools/list", MODERN, CallOptions())
    return raised.value


async def refusal(status: str, body: bytes, content_type: str | None = "text/plain") -> HTTPResponseError:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send(status, body, content_type, {"X-Request-Id": "abc"})

    async with serve(handler) as server:
        failure = await failure_of(f"{server.url}?token=secret")
        assert isinstance(failure, HTTPResponseError)
        assert f"from {server.origin}." in failure.message
        assert "secret" not in failure.message
        return failure


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Internal Server Error"])
async def test_a_json_rpc_error_under_any_status_is_raised_as_it_is(status: str) -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        error = {"code": -32022, "message": "unsupported", "data": {"supported": ["2025-11-25"]}}
        await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, status)

    async with serve(handler) as server:
        failure = await failure_of(server.url)
    assert type(failure) is MCPError
    assert (failure.code, failure.message, failure.data) == (-32022, "unsupported", {"supported": ["2025-11-25"]})


async def test_a_refusal_keeps_status_headers_and_body() -> None:
    failure = await refusal("421 Misdirected Request", b"Invalid Host header")
    assert (failure.status, failure.body) == (421, "Invalid Host header")
    assert failure.headers["x-request-id"] == "abc"
    assert failure.message.startswith("HTTP 421 Misdirected Request from http://127.0.0.1:")
    assert failure.message.endswith(". The body starts with: Invalid Host header")
    assert "`transport_security=`" in failure.message


@pytest.mark.parametrize(
    ("status", "hint", "code"),
    [
        ("401 Unauthorized", "authorization", INTERNAL_ERROR),
        ("403 Forbidden", "host and origin protection", INTERNAL_ERROR),
        ("404 Not Found", "check the path of the URL", METHOD_NOT_FOUND),
        ("405 Method Not Allowed", "no MCP endpoint", INTERNAL_ERROR),
        ("413 Content Too Large", "larger than the server takes", INTERNAL_ERROR),
        ("429 Too Many Requests", "fewer requests", INTERNAL_ERROR),
        ("502 Bad Gateway", "gateway", INTERNAL_ERROR),
        ("503 Service Unavailable", "does not serve now", INTERNAL_ERROR),
        ("418 I'm a teapot", "The body starts with: nope", INTERNAL_ERROR),
        ("304 Not Modified", "", INTERNAL_ERROR),
    ],
)
async def test_a_refusal_says_where_to_look(status: str, hint: str, code: int) -> None:
    failure = await refusal(status, b"" if status.startswith("304") else b"nope")
    assert hint in failure.message
    assert failure.code == code
    assert failure.status == int(status[:3])


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
async def test_a_web_page_is_called_one(status: str) -> None:
    failure = await refusal(status, b"<html>\n  <h1>Welcome</h1></html>", "text/html; charset=utf-8")
    assert "text/html" in failure.message or "web page" in failure.message
    assert failure.message.endswith("The body starts with: <html> <h1>Welcome</h1></html>")


async def test_only_the_start_of_a_long_body_is_kept() -> None:
    failure = await refusal("500 Internal Server Error", b"x" * 3_000_000)
    assert failure.body == "x" * 500


@pytest.mark.parametrize("body", ['{"detail":"Not Found"}', '{"jsonrpc":"2.0","id":1,"result":{}}', "[1]"])
async def test_json_that_is_no_json_rpc_error_is_a_refusal(body: str) -> None:
    failure = await refusal("404 Not Found", body.encode(), "application/json")
    assert body in failure.message


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", None])
async def test_a_success_of_another_content_type_says_what_was_expected(content_type: str | None) -> None:
    failure = await refusal("200 OK", b"hello", content_type)
    assert "'application/json' or 'text/event-stream' was expected" in failure.message
    assert (repr(content_type) if content_type else "no content type") in failure.message
    assert (failure.code, failure.status, failure.body) == (INVALID_REQUEST, 200, "hello")


async def test_accepting_a_request_without_an_answer_is_an_error() -> None:
    failure = await refusal("202 Accepted", b"", None)
    assert failure.status == 202
    assert "It answers a request, but it has no content type" in failure.message


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"{oops", PARSE_ERROR, "Its body is no JSON-RPC message: Parse error"),
        (b"", PARSE_ERROR, "Its body is no JSON-RPC message: Parse error: the message is empty"),
        (b'{"jsonrpc":"2.0","id":1,"result":NaN}', PARSE_ERROR, "no JSON-RPC message"),
        (b'{"jsonrpc":"2.0","id":1,"result":3}', INVALID_REQUEST, "result must be an object"),
        (b'{"jsonrpc":"2.0","id":2,"result":{}}', INVALID_REQUEST, "Its body does not answer the request 1"),
        (b'{"jsonrpc":"2.0","id":"2","result":{}}', INVALID_REQUEST, "Its body does not answer the request 1"),
        (b'{"jsonrpc":"2.0","method":"x"}', INVALID_REQUEST, "Its body does not answer the request 1"),
    ],
)
async def test_a_json_body_that_is_no_answer_is_an_error(body: bytes, code: int, text: str) -> None:
    failure = await refusal("200 OK", body, "application/json")
    assert text in failure.message
    assert failure.code == code


async def test_the_connection_is_used_on_after_a_refusal() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        if len(server.posted) == 1:
            await reply.send("500 Internal Server Error", b"once", "text/plain")
        else:
            await reply.result(request, {})

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(HTTPResponseError):
            await requester.request(1, "tools/list", MODERN, CallOptions())
        assert await requester.request(2, "tools/list", MODERN, CallOptions()) == {}
        assert server.connections == 1


async def test_a_refused_connection_says_so_without_the_secrets_of_the_url() -> None:
    with held_port() as port:
        failure = await failure_of(f"http://user:word@127.0.0.1:{port}/secret/mcp?key=secret")
    assert isinstance(failure, TransportError)
    assert failure.message == f"Cannot connect to http://127.0.0.1:{port}: Connection refused"
    assert isinstance(failure.__cause__, httpx2.ConnectError)


async def test_an_unknown_host_says_so() -> None:
    failure = await failure_of("http://no-such-host.invalid/mcp")
    assert isinstance(failure, TransportError)
    assert failure.message.startswith("Cannot connect to http://no-such-host.invalid: ")
    assert "attempts" not in failure.message


async def test_a_server_without_tls_says_what_tls_says() -> None:
    async def converse(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port: int = listener.extra(SocketAttribute.local_port)
    failures: list[MCPError] = []
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, converse)
        failures.append(await failure_of(f"https://127.0.0.1:{port}/mcp"))
        group.cancel_scope.cancel()
    [failure] = failures
    assert isinstance(failure, TransportError)
    assert failure.message.startswith(f"Cannot connect to https://127.0.0.1:{port}: ")
    assert "SSL" in failure.message


@pytest.mark.parametrize("part", ["nothing", "half a body", "half a stream"])
async def test_a_connection_that_breaks_is_closed_for_the_caller(part: str) -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        if part == "half a body":
            await reply.raw(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"json')
        elif part == "half a stream":
            await reply.open_events()
            await reply.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        await reply.hang_up()

    async with serve(handler) as server:
        failure = await failure_of(server.url)
    assert isinstance(failure, ConnectionClosedError)
    expected = f"The connection to {server.origin} broke before the answer was complete: "
    assert failure.message.startswith(expected)
    assert len(failure.message) > len(expected)


async def test_a_response_that_is_no_http_is_an_error() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.raw(b"220 smtp.example.com ESMTP\r\n\r\n")

    async with serve(handler) as server:
        failure = await failure_of(server.url)
    assert isinstance(failure, ConnectionClosedError)


# On trio, httpx2 leaves an iterator of its own to the garbage collector here.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_damaged_encoding_is_an_error() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send("200 OK", b"no gzip", "application/json", {"content-encoding": "gzip"})

    async with serve(handler) as server:
        failure = await failure_of(server.url)
    assert failure.message.startswith(f"The body of the answer from {server.origin} is damaged: ")


async def test_a_silent_server_runs_into_the_read_timeout_of_the_http_client() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.disconnected()

    async with serve(handler) as server, own_client(timeout=httpx2.Timeout(5, read=0.05)) as http_client:
        failure = await failure_of(server.url, http_client=http_client)
    assert isinstance(failure, TransportError)
    assert failure.code == REQUEST_TIMEOUT
    assert failure.message == f"{server.origin} sent nothing within 0.05s (the read timeout of the HTTP client)"


async def test_a_full_pool_runs_into_the_pool_timeout_of_the_http_client() -> None:
    arrived = anyio.Event()

    async def handler(request: Posted, reply: Reply) -> None:
        arrived.set()
        await reply.disconnected()

    limits = httpx2.Limits(max_connections=1)
    async with (
        serve(handler) as server,
        own_client(timeout=httpx2.Timeout(5, pool=0.05), limits=limits) as http_client,
        connect(server.url, http_client=http_client) as requester,
        anyio.create_task_group() as group,
    ):

        async def occupy() -> None:
            await requester.request(1, "tools/list", MODERN, CallOptions())

        group.start_soon(occupy)
        await arrived.wait()
        with pytest.raises(TransportError, match=r"Too many calls at once: no free connection to http://127.0.0.1"):
            await requester.request(2, "tools/list", MODERN, CallOptions())
        group.cancel_scope.cancel()


async def test_an_unreachable_proxy_says_so() -> None:
    with held_port() as port:
        async with own_client(proxy=f"http://user:word@127.0.0.1:{port}") as http_client:
            failure = await failure_of("http://example.com/mcp", http_client=http_client)
    assert isinstance(failure, TransportError)
    assert "Connection refused" in failure.message
    assert "word" not in failure.message


async def test_a_proxy_that_refuses_to_connect_says_so() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send("407 Proxy Authentication Required", headers={"proxy-authenticate": "Basic"})

    async with serve(handler) as proxy, own_client(proxy=proxy.origin) as http_client:
        failure = await failure_of("https://example.com/mcp", http_client=http_client)
    assert isinstance(failure, TransportError)
    assert failure.message.startswith("Cannot reach https://example.com through the HTTP proxy: 407 Proxy Auth")


async def test_a_closed_http_client_is_a_closed_connection() -> None:
    async with (
        own_client() as http_client,
        connect("http://127.0.0.1:1/mcp", http_client=http_client) as requester,
    ):
        await http_client.aclose()
        with pytest.raises(ConnectionClosedError):
            await requester.request(1, "tools/list", MODERN, CallOptions())


async def test_an_error_survives_pickling() -> None:
    failure = await refusal("421 Misdirected Request", b"Invalid Host header")
    copy = pickle.loads(pickle.dumps(failure))
    assert (copy.message, copy.status, copy.body, copy.headers) == (
        failure.message,
        failure.status,
        failure.body,
        failure.headers,
    )
