"""What hostile and broken servers try with an OAuth client, and what they get."""

import gzip
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from oauth_peers import Resource, Storage, User, client_of, expire, peers, provider
from scripted_http_server import Posted, Reply, serve

from mcp.client.auth import OAuthFlowError, OAuthTokenError

pytestmark = pytest.mark.anyio

PRM = "/.well-known/oauth-protected-resource/mcp"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
FOLLOW = pytest.mark.parametrize("follow", [True, False], ids=["follows-redirects", "does-not"])

Handler = Callable[[Posted, Reply], Awaitable[None]]


def redirects(location: str, status: str = "302 Found") -> Handler:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.send(status, headers={"location": location})

    return handler


async def taken(request: Posted, reply: Reply) -> None:
    await reply.json({"access_token": "x"})


async def refused(resource: Resource, **options: Any) -> str:
    client = options.pop("client", None) or provider(resource)
    async with client_of(client, **options) as http:
        with pytest.raises(OAuthFlowError) as raised:
            await http.get(resource.url)
    return str(raised.value)


@FOLLOW
async def test_metadata_that_redirects_to_another_host_is_refused(follow: bool) -> None:
    async with peers() as resource, serve(taken) as other:
        resource.instead[PRM] = redirects(f"{other.origin}/x")
        text = await refused(resource, follow_redirects=follow)
        assert text == f"{resource.origin}{PRM} redirects to {other.origin}, another origin: it is not followed"
        resource.instead.clear()
        resource.auth.instead[SERVER_METADATA] = redirects(f"{other.origin}/x", "307 Temporary Redirect")
        assert "another origin" in await refused(resource, follow_redirects=follow)
        assert other.connections == 0


@FOLLOW
@pytest.mark.parametrize("address", ["169.254.169.254", "10.0.0.1", "[::1]:9"])
async def test_metadata_that_redirects_to_a_private_address_is_refused(follow: bool, address: str) -> None:
    async with peers() as resource:
        resource.instead[PRM] = redirects(f"http://{address}/latest/meta-data")
        assert f"redirects to http://{address}, another origin" in await refused(resource, follow_redirects=follow)


@FOLLOW
async def test_metadata_may_redirect_within_its_origin(follow: bool) -> None:
    async with peers() as resource:

        async def metadata(request: Posted, reply: Reply) -> None:
            await reply.json(resource.metadata())

        resource.instead[PRM] = redirects("/here?x=1")
        resource.instead["/here"] = redirects(f"{resource.origin}/there")
        resource.instead["/there"] = metadata
        async with client_of(provider(resource), follow_redirects=follow) as http:
            assert (await http.get(resource.url)).status_code == 200


async def test_metadata_that_redirects_to_itself_is_given_up() -> None:
    async with peers() as resource:
        resource.instead[PRM] = redirects(PRM)
        assert "answers with HTTP 302 (it redirects to" in await refused(resource, follow_redirects=False)
    assert resource.requested.count(PRM) == 5


@FOLLOW
async def test_metadata_that_redirects_to_no_url_is_given_up(follow: bool) -> None:
    async with peers() as resource:
        resource.instead[PRM] = redirects("http://x:port/")
        assert "redirects to something that is no URL" in await refused(resource, follow_redirects=follow)


@FOLLOW
@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
async def test_credentials_follow_no_redirect_to_another_host(follow: bool, status: str) -> None:
    async with peers() as resource, serve(taken) as other:
        resource.auth.instead["/token"] = redirects(f"{other.origin}/token", status)
        text = await refused(resource, follow_redirects=follow)
        assert text == f"{resource.auth.origin}/token redirects a request with credentials: expected an answer"
        resource.auth.instead = {"/register": redirects(f"{other.origin}/register", status)}
        assert "redirects a request with credentials" in await refused(resource, follow_redirects=follow)
        assert other.connections == 0


async def test_credentials_follow_no_redirect_within_a_host_either() -> None:
    async with peers() as resource:
        resource.auth.instead["/token"] = redirects("/elsewhere", "307 Temporary Redirect")
        assert "redirects a request with credentials" in await refused(resource)
    assert "/elsewhere" not in resource.auth.requested


async def test_a_token_follows_no_redirect_of_the_server_to_another_host() -> None:
    async with peers() as resource:
        other_saw: list[Posted] = []

        async def look(request: Posted, reply: Reply) -> None:
            other_saw.append(request)
            challenge = f'Bearer resource_metadata="{resource.origin}/trap"'
            await reply.send("401 Unauthorized", headers={"www-authenticate": challenge})

        async with serve(look) as other, client_of(provider(resource)) as http:
            assert (await http.get(resource.url)).status_code == 200
            resource.instead["/mcp"] = redirects(f"{other.origin}/mcp", "307 Temporary Redirect")
            # The other server's refusal is its own affair: nobody gets a token for it.
            assert (await http.get(resource.url)).status_code == 401
    assert [request.headers.get("authorization") for request in other_saw] == [None]
    assert "/trap" not in resource.requested


class Unwatched(httpx2.AsyncBaseTransport):
    """A transport that is no network connection: nothing of what goes on in it can be watched.

    Args:
        path: What redirects to `https://evil.example.com/x`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen: list[tuple[str, bytes]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        self.seen.append((str(request.url), b"".join([part async for part in request.stream])))
        if request.url.path == self.path:
            return httpx2.Response(307, headers={"location": "https://evil.example.com/x"})
        issuer = "https://as.example.com"
        metadata = {name: f"{issuer}/{name[:5]}" for name in ("authorization_endpoint", "token_endpoint")}
        documents: dict[str, dict[str, Any]] = {
            PRM: {"resource": "https://shop.example.com/mcp", "authorization_servers": [issuer]},
            SERVER_METADATA: {"issuer": issuer, "registration_endpoint": f"{issuer}/register", **metadata},
        }
        document = documents.get(request.url.path)
        return httpx2.Response(401) if document is None else httpx2.Response(200, json=document)


async def test_an_answer_from_another_origin_is_not_used_whatever_the_transport() -> None:
    async with peers() as resource:
        transport = Unwatched(PRM)
        client = provider(resource, server_url="https://shop.example.com/mcp")
        async with client_of(client, transport=transport) as http:
            with pytest.raises(OAuthFlowError, match=r"redirected to https://evil\.example\.com, another origin"):
                await http.get("https://shop.example.com/mcp")
    assert transport.seen[-1] == ("https://evil.example.com/x", b"")


async def test_a_body_with_credentials_is_sent_once_whatever_the_transport() -> None:
    async with peers() as resource:
        transport = Unwatched("/register")
        client = provider(resource, server_url="https://shop.example.com/mcp")
        async with client_of(client, transport=transport) as http:
            with pytest.raises(OAuthFlowError, match="redirects a request with credentials"):
                await http.get("https://shop.example.com/mcp")
    url, body = transport.seen[-1]
    assert (url, body[:1]) == ("https://as.example.com/register", b"{")


@pytest.mark.parametrize("where", ["resource", "auth"])
async def test_oversized_metadata_is_refused_before_it_is_read_to_its_end(where: str) -> None:
    async with peers() as resource:
        sent = 0

        async def endless(request: Posted, reply: Reply) -> None:
            nonlocal sent
            await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
            while True:
                await reply.chunk(b" " * 65536)
                sent += 65536

        if where == "resource":
            resource.instead[PRM] = endless
        else:
            resource.auth.instead[SERVER_METADATA] = endless
        assert "is larger than 262144 bytes: expected a short JSON document" in await refused(resource)
    assert sent < 64 * 1024 * 1024


async def test_metadata_that_unpacks_to_too_much_is_refused() -> None:
    async with peers() as resource:

        async def bomb(request: Posted, reply: Reply) -> None:
            body = gzip.compress(b" " * 10_000_000)
            await reply.send("200 OK", body, "application/json", {"content-encoding": "gzip"})

        resource.instead[PRM] = bomb
        assert "is larger than 262144 bytes" in await refused(resource)


async def test_metadata_that_cannot_be_unpacked_is_refused() -> None:
    async with peers() as resource:

        async def damaged(request: Posted, reply: Reply) -> None:
            await reply.send("200 OK", b"{}", "application/json", {"content-encoding": "gzip"})

        resource.instead[PRM] = damaged
        assert f"The answer of {resource.origin}{PRM} cannot be unpacked" in await refused(resource)


async def test_of_a_refusal_without_end_only_the_start_is_read() -> None:
    async with peers() as resource:

        async def endless(request: Posted, reply: Reply) -> None:
            if "authorization" in request.headers:
                await reply.json({"in": True})
                return
            await reply.raw(b"HTTP/1.1 401 Unauthorized\r\ntransfer-encoding: chunked\r\n\r\n")
            while True:
                await reply.chunk(b" " * 65536)

        resource.instead["/mcp"] = endless
        async with client_of(provider(resource)) as http:
            assert (await http.get(resource.url)).json() == {"in": True}


async def test_a_response_of_mixed_up_authorization_servers_is_refused() -> None:
    async with peers() as resource:
        user = User()
        for iss in ("https://evil.example.com", f"{resource.auth.origin}/", None):
            user.changes["iss"] = iss
            text = await refused(resource, client=provider(resource, user))
            assert ("missing iss" if iss is None else "iss mismatch") in text
    assert resource.auth.asked_for("/token") == []


async def test_a_response_to_another_request_is_refused() -> None:
    async with peers() as resource:
        user = User()
        for state, problem in (("other", "another state"), ("é", "another state"), (None, "no state")):
            user.changes["state"] = state
            assert problem in await refused(resource, client=provider(resource, user))
        user.changes = {"code": ""}
        assert "has no code" in await refused(resource, client=provider(resource, user))
    assert resource.auth.asked_for("/token") == []


async def test_no_secret_is_in_any_log_or_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with peers() as resource:
        user, storage = User(), Storage()
        resource.challenge["scope"] = "read"
        client = provider(resource, user, storage)
        async with client_of(client) as http:
            await http.get(resource.url)
            expire(client)
            await http.get(resource.url)
            resource.auth.live.clear()
            resource.auth.refreshable.clear()
            await http.get(resource.url)

            async def repeats(request: Posted, reply: Reply) -> None:
                words = f"I know {request.body.decode()}"
                await reply.json({"error": "invalid_request", "error_description": words}, "400 Bad Request")

            resource.auth.instead["/token"] = repeats
            resource.auth.live.clear()
            with pytest.raises(OAuthTokenError) as raised:
                await http.get(resource.url)
    forms = resource.auth.asked_for("/token")
    secrets = {form[name] for form in forms for name in ("code", "code_verifier", "refresh_token") if name in form}
    secrets |= {client["client_secret"] for client in resource.auth.clients.values()}
    secrets |= {header.removeprefix("Bearer ") for header in resource.seen if header}
    secrets |= {page["state"] for page in resource.auth.asked_for("/authorize")}
    assert len(secrets) >= 10
    # The browser of this test is an HTTP client of this process, whose own log shows where it goes.
    lines = [record.getMessage() for record in caplog.records if "/authorize?" not in record.getMessage()]
    logged = "\n".join(line for line in lines if "localhost:3030" not in line)
    assert "mcp.client.auth" in {record.name.rpartition(".")[0] for record in caplog.records}
    assert "httpx2" in {record.name for record in caplog.records}
    shown = f"{logged}\n{raised.value}\n{raised.value!r}\n{client.context!r}"
    assert [secret for secret in secrets if secret in shown] == []
    assert resource.auth.origin in logged
