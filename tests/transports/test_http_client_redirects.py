"""Redirects: followed within the origin with method, headers and body; never to another one."""

import httpx2
import pytest
from scripted_http_server import MODERN, Posted, Reply, Server, connect, own_client, serve

from mcp.engine.requester import CallOptions
from mcp.shared.exceptions import HTTPResponseError, TransportError

pytestmark = pytest.mark.anyio


async def fail(request: Posted, reply: Reply) -> None:
    await reply.send("500 Internal Server Error", b"a request came here", "text/plain")


def redirect(status: int, location: str, *, source: str = "/mcp"):
    async def handler(request: Posted, reply: Reply) -> None:
        if request.target == source:
            await reply.send(f"{status} Redirect", b"moved", "text/plain", {"location": location})
        else:
            await reply.result(request, {"at": request.target})

    return handler


async def refusal_of(server: Server, path: str = "/mcp", http_client: httpx2.AsyncClient | None = None) -> str:
    async with connect(f"{server.origin}{path}", http_client=http_client) as requester:
        with pytest.raises(HTTPResponseError) as raised:
            await requester.request(1, "tools/list", MODERN, CallOptions())
    assert "location" in raised.value.headers
    return raised.value.message


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_the_origin_keeps_method_headers_and_body(status: int) -> None:
    async with serve(redirect(status, "/mcp/")) as server, connect(server.url) as requester:
        headers = {"Authorization": "Bearer secret", "Mcp-Param-Region": "eu"}
        result = await requester.request(1, "tools/call", {**MODERN, "name": "x"}, CallOptions(headers=headers))
        assert server.connections == 1
    assert result == {"at": "/mcp/"}
    first, second = server.posted
    assert (second.method, second.target, second.body) == ("POST", "/mcp/", first.body)
    assert second.headers == first.headers


async def test_an_absolute_location_within_the_origin_is_followed_with_its_credentials_for_basic_auth() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await redirect(307, f"{server.origin}/other?x=1")(request, reply)

    async with serve(handler) as server, connect(server.url.replace("http://", "http://user:word@")) as requester:
        assert await requester.request(1, "tools/list", MODERN, CallOptions()) == {"at": "/other?x=1"}
    first, second = server.posted
    assert second.headers["authorization"] == first.headers["authorization"]


@pytest.mark.parametrize("status", [301, 302, 303])
@pytest.mark.parametrize("follow", [False, True])
async def test_a_redirect_that_would_change_the_method_is_refused(status: int, follow: bool) -> None:
    async with serve(redirect(status, "/mcp/")) as server, own_client(follow_redirects=follow) as http_client:
        message = await refusal_of(server, http_client=http_client)
    assert message.startswith(f"HTTP {status} Redirect from {server.origin}. This redirect may turn a POST into a GET")
    assert "which has a slash at the end of the path" in message
    assert len(server.posted) == 1


@pytest.mark.parametrize(
    ("path", "location", "difference"),
    [("/mcp/", "/mcp", "has no slash at the end of the path"), ("/mcp", "/login", "has another path")],
)
async def test_a_refused_redirect_says_how_the_url_differs(path: str, location: str, difference: str) -> None:
    async with serve(redirect(302, location, source=path)) as server:
        assert difference in await refusal_of(server, path)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("follow", [False, True])
async def test_nothing_is_sent_to_another_origin(status: int, follow: bool) -> None:
    async with (
        serve(fail) as other,
        serve(redirect(status, f"{other.url}?token=secret")) as server,
        own_client(headers={"Authorization": "Bearer s"}, follow_redirects=follow) as http_client,
    ):
        message = await refusal_of(server, http_client=http_client)
    assert other.connections == 0
    assert f"redirects from {server.origin} to another origin, {other.origin}, and was not followed" in message
    assert "secret" not in message


async def test_our_own_client_sends_nothing_to_another_origin_either() -> None:
    async with serve(fail) as other, serve(redirect(307, other.url)) as server:
        await refusal_of(server)
    assert other.connections == 0


@pytest.mark.parametrize("location", ["//user@{other}/mcp", "http://{server}@{other}/mcp", "http:\\\\{other}\\mcp"])
async def test_a_disguised_origin_is_seen_through(location: str) -> None:
    async with serve(fail) as other:

        async def handler(request: Posted, reply: Reply) -> None:
            names = {"other": other.origin.removeprefix("http://"), "server": server.origin.removeprefix("http://")}
            await reply.send("307 Redirect", headers={"location": location.format(**names)})

        async with serve(handler) as server, connect(server.url) as requester:
            with pytest.raises(TransportError):
                await requester.request(1, "tools/list", MODERN, CallOptions())
    assert other.connections == 0


async def test_the_same_host_by_another_name_is_another_origin() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send("307 Redirect", headers={"location": f"http://localhost:{server.port}/mcp"})

    async with serve(handler) as server:
        assert "to another origin" in await refusal_of(server)
    assert len(server.posted) == 1


async def test_a_redirect_to_https_names_the_url_to_use() -> None:
    async with serve(redirect(308, "https://127.0.0.1/mcp")) as server:
        message = await refusal_of(server)
    assert f"redirects from {server.origin} to another origin, https://127.0.0.1, " in message
    assert message.endswith("Use the https:// URL.")


@pytest.mark.parametrize("location", ["http://[", "http://a:b:c/", "mailto:me@example.com"])
async def test_a_location_that_leads_nowhere_is_refused(location: str) -> None:
    async with serve(redirect(307, location)) as server, connect(server.url) as requester:
        with pytest.raises(TransportError, match=server.origin):
            await requester.request(1, "tools/list", MODERN, CallOptions())
    assert len(server.posted) == 1


async def test_endless_redirects_are_given_up() -> None:
    async with serve(redirect(307, "/mcp")) as server:
        message = await refusal_of(server)
    assert "It was redirected 5 times already" in message
    assert len(server.posted) == 6


async def test_a_redirect_without_a_location_is_a_refusal() -> None:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send("307 Temporary Redirect", b"", "text/plain")

    async with serve(handler) as server, connect(server.url) as requester:
        with pytest.raises(HTTPResponseError, match=r"^HTTP 307 Temporary Redirect from "):
            await requester.request(1, "tools/list", MODERN, CallOptions())
