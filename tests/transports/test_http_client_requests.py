"""What a client posts: the body, and the headers that repeat parts of it."""

import base64

import httpx2
import pytest
from scripted_http_server import MODERN, PROTOCOL_VERSION, Posted, Reply, connect, own_client, serve

from mcp.client.streamable_http import create_mcp_http_client
from mcp.engine.requester import CallOptions
from mcp.shared.exceptions import HTTPResponseError, MCPError, TransportError

pytestmark = pytest.mark.anyio


async def answer_empty(request: Posted, reply: Reply) -> None:
    await reply.result(request, {})


async def accept(request: Posted, reply: Reply) -> None:
    await reply.send("202 Accepted")


async def test_a_request_is_one_post_with_the_headers_of_the_protocol() -> None:
    params = {**MODERN, "name": "add", "arguments": {"a": 1}}
    async with serve(answer_empty) as server, connect(server.url) as requester:
        await requester.request("one", "tools/call", params, CallOptions())
    [posted] = server.posted
    assert (posted.method, posted.target) == ("POST", "/mcp")
    assert posted.message == {"jsonrpc": "2.0", "id": "one", "method": "tools/call", "params": params}
    names = ("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name")
    assert {name: posted.headers[name] for name in names} == {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": PROTOCOL_VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }
    assert len(posted.header_names) == len(set(posted.header_names))


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "greet"}, "greet"),
        ("resources/read", {"uri": "file:///a b.txt"}, "file:///a b.txt"),
        ("tools/list", {"name": "not a name"}, None),
        ("x/custom", {"name": "not a name"}, None),
    ],
)
async def test_the_name_header_repeats_what_the_method_names(
    method: str, params: dict[str, str], name: str | None
) -> None:
    async with serve(answer_empty) as server, connect(server.url) as requester:
        await requester.request(1, method, {**MODERN, **params}, CallOptions())
    assert server.posted[0].headers.get("mcp-name") == name


@pytest.mark.parametrize(
    "name",
    ["w\u00e9ather", " padded ", "a\r\nx-evil: 1", "a\nb", "tab\tbed", "=?base64?YQ==?=", "\u4e16\u754c", "\x00"],
)
async def test_a_name_no_header_can_hold_is_encoded(name: str) -> None:
    async with serve(answer_empty) as server, connect(server.url) as requester:
        await requester.request(1, "tools/call", {**MODERN, "name": name}, CallOptions())
    [posted] = server.posted
    value = posted.headers["mcp-name"]
    assert value.startswith("=?base64?")
    assert base64.b64decode(value.removeprefix("=?base64?").removesuffix("?=")).decode() == name
    assert "x-evil" not in posted.headers


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nx-evil: 1", "a\x00", "\u00e9", "\u4e16"])
async def test_a_header_that_http_does_not_allow_is_refused_without_showing_it(value: str) -> None:
    async with serve(answer_empty) as server, connect(server.url) as requester:
        with pytest.raises(TransportError) as raised:
            await requester.request(1, "tools/call", MODERN, CallOptions(headers={"Mcp-Param-Region": value}))
        assert value not in str(raised.value)
        assert "header" in str(raised.value)
        assert await requester.request(2, "tools/call", MODERN, CallOptions()) == {}
    assert len(server.posted) == 1


async def test_a_method_cannot_bring_headers_of_its_own() -> None:
    async with serve(answer_empty) as server, connect(server.url) as requester:
        with pytest.raises(TransportError):
            await requester.request(1, "tools/call\r\nx-evil: 1", MODERN, CallOptions())
    assert server.posted == []


async def test_headers_of_one_call_are_sent_with_it_and_cannot_contradict_the_body() -> None:
    headers = {"Mcp-Param-Region": "eu", "MCP-Method": "tools/list", "Content-Type": "text/plain"}
    async with serve(answer_empty) as server, connect(server.url) as requester:
        await requester.request(1, "tools/call", MODERN, CallOptions(headers=headers))
        await requester.request(2, "tools/call", MODERN, CallOptions())
    first, second = server.posted
    assert first.headers["mcp-param-region"] == "eu"
    assert first.headers["mcp-method"] == "tools/call"
    assert first.headers["content-type"] == "application/json"
    assert first.header_names.count("mcp-method") == 1
    assert "mcp-param-region" not in second.headers


async def test_the_headers_cookies_auth_and_hooks_of_the_given_client_are_used() -> None:
    statuses: list[int] = []

    async def hook(response: httpx2.Response) -> None:
        await response.aread()
        statuses.append(response.status_code)

    async with (
        serve(answer_empty) as server,
        own_client(
            headers={"X-Mine": "1", "Accept": "text/html"},
            cookies={"a": "b"},
            auth=("user", "word"),
            event_hooks={"response": [hook]},
        ) as http_client,
    ):
        async with connect(server.url, http_client=http_client) as requester:
            assert await requester.request(1, "tools/list", MODERN, CallOptions()) == {}
        assert not http_client.is_closed
    headers = server.posted[0].headers
    assert (headers["x-mine"], headers["cookie"]) == ("1", "a=b")
    assert headers["authorization"].startswith("Basic ")
    assert headers["accept"] == "application/json, text/event-stream"
    assert statuses == [200]


async def test_a_relative_url_counts_from_the_base_url_of_the_given_client() -> None:
    async with (
        serve(answer_empty) as server,
        own_client(base_url=f"{server.origin}/api") as http_client,
        connect("mcp", http_client=http_client) as requester,
    ):
        await requester.request(1, "tools/list", MODERN, CallOptions())
    assert server.posted[0].target == "/api/mcp"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("localhost:8000/mcp", "without 'http://' or 'https://'"),
        ("example.com", "without 'http://' or 'https://'"),
        ("/mcp", "without 'http://' or 'https://'"),
        ("http:///mcp", "without 'http://' or 'https://'"),
        ("ftp://example.com/mcp", "starts with 'ftp:'"),
        ("http://example.com:65536/", "the port 65536"),
        ("http://example.com/\x00", "such as 'https://example.com/mcp'"),
    ],
)
async def test_what_is_no_http_url_is_refused_when_the_transport_opens(url: str, found: str) -> None:
    with pytest.raises(ValueError) as raised:
        async with connect(url):
            raise AssertionError("opened")
    assert found in str(raised.value)


async def test_a_notification_is_posted_and_needs_no_answer() -> None:
    async with serve(accept) as server, connect(server.url) as requester:
        await requester.notify("notifications/x", {**MODERN, "a": 1})
        await requester.notify("notifications/x", None)
        assert server.connections == 1
    first, second = server.posted
    assert first.message == {"jsonrpc": "2.0", "method": "notifications/x", "params": {**MODERN, "a": 1}}
    assert second.message == {"jsonrpc": "2.0", "method": "notifications/x"}
    assert first.headers["mcp-method"] == "notifications/x"


async def test_a_notification_names_the_version_of_the_requests_before_it() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await (accept if "id" not in request.message else answer_empty)(request, reply)

    async with serve(handler) as server, connect(server.url) as requester:
        await requester.request(1, "tools/list", MODERN, CallOptions())
        await requester.notify("notifications/x", None)
    assert server.posted[1].headers["mcp-protocol-version"] == PROTOCOL_VERSION


async def test_a_refused_notification_raises() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        if request.message["method"] == "notifications/x":
            error = {"code": -32600, "message": "not now"}
            await reply.json({"jsonrpc": "2.0", "id": None, "error": error}, "400 Bad Request")
        else:
            await reply.send("500 Internal Server Error", b"oh no", "text/plain")

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(MCPError, match="not now"):
            await requester.notify("notifications/x", None)
        with pytest.raises(HTTPResponseError, match="oh no"):
            await requester.notify("notifications/y", None)


async def test_our_own_client_waits_as_documented() -> None:
    client = create_mcp_http_client(headers={"X-Mine": "1"})
    assert client.timeout == httpx2.Timeout(30.0, read=300.0)
    assert client.headers["x-mine"] == "1"
    await client.aclose()
    client = create_mcp_http_client(timeout=httpx2.Timeout(1.0))
    assert client.timeout == httpx2.Timeout(1.0)
    await client.aclose()


async def test_no_secret_of_a_url_is_sent_as_one_but_the_credentials_for_basic_auth() -> None:
    async with serve(answer_empty) as server:
        url = server.url.replace("http://", "http://user:word@")
        async with connect(url) as requester:
            await requester.request(1, "tools/list", MODERN, CallOptions())
    headers = server.posted[0].headers
    assert headers["authorization"] == "Basic " + base64.b64encode(b"user:word").decode()
    assert "word" not in headers["host"]
