"""What users report of OAuth at the client: B110 to B113, B118 and B119."""

import json
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import pytest
from oauth_peers import AuthServer, Resource, Storage, User, client_of, expire, peers, provider
from scripted_http_server import Posted, Reply
from tls_proxy import https_proxy

from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

pytestmark = pytest.mark.anyio

PRM = "/.well-known/oauth-protected-resource/mcp"
SERVER_METADATA = "/.well-known/oauth-authorization-server"


@pytest.mark.parametrize("status", ["502 Bad Gateway", "404 Not Found"])
async def test_b110_no_credential_goes_to_a_guessed_endpoint_when_discovery_fails(status: str) -> None:
    async def fail(request: Posted, reply: Reply) -> None:
        await reply.send(status)

    async with peers() as resource:
        user, storage = User(), Storage()
        client = provider(resource, user, storage)
        async with client_of(client) as http:
            await http.get(resource.url)
            resource.auth.instead |= {SERVER_METADATA: fail, "/.well-known/openid-configuration": fail}
            resource.auth.live.clear()
            before = len(resource.auth.asked)
            resource.requested.clear()
            with pytest.raises(OAuthFlowError, match=f"HTTP {status[:3]}"):
                await http.get(resource.url)
    assert len(resource.auth.asked) == before
    assert resource.requested == ["/mcp", PRM]
    assert len(user.visited) == 1


@pytest.mark.parametrize(("challenge", "scope"), [({}, "mcp:read mcp:write"), ({"scope": "mcp:admin"}, "mcp:admin")])
async def test_b111_the_scopes_are_those_of_the_challenge_or_else_of_the_metadata(
    challenge: dict[str, str], scope: str
) -> None:
    async with peers() as resource:
        resource.changes["scopes_supported"] = ["mcp:read", "mcp:write"]
        resource.challenge |= challenge
        async with client_of(provider(resource)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert [query["scope"] for query in resource.auth.asked_for("/authorize")] == [scope]


async def test_b112_a_registration_carries_the_scopes_that_will_be_asked_for() -> None:
    async with peers() as resource:
        resource.changes["scopes_supported"] = ["mcp:read", "mcp:write"]
        resource.auth.changes["scopes_supported"] = ["mcp:read", "mcp:write", "offline_access", "other"]
        async with client_of(provider(resource)) as http:
            assert (await http.get(resource.url)).status_code == 200
    (query,) = resource.auth.asked_for("/authorize")
    (body,) = resource.auth.asked_for("/register")
    assert query["scope"] == body["scope"] == "mcp:read mcp:write offline_access"


@pytest.mark.parametrize("path", ["", "/", "/mcp"])
async def test_b113_authorization_exchange_and_refresh_name_one_resource(path: str) -> None:
    async with peers() as resource:
        resource.changes["resource"] = f"{resource.origin}{path}"
        storage = Storage()
        client = provider(resource, storage=storage)
        async with client_of(client) as http:
            await http.get(resource.url)
            expire(client)
            assert (await http.get(resource.url)).status_code == 200
        assert storage.tokens is not None
        storage.tokens = json.dumps(json.loads(storage.tokens) | {"expires_at": 1.0})
        async with client_of(provider(resource, storage=storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    forms = [*resource.auth.asked_for("/authorize"), *resource.auth.asked_for("/token")]
    assert [form["resource"] for form in forms] == [f"{resource.origin}{path}"] * 4


async def test_b118_the_life_that_is_left_of_a_token_is_right_in_another_process() -> None:
    async with peers() as resource:
        storage = Storage()
        resource.auth.lifetime = 1
        async with client_of(provider(resource, storage=storage)) as http:
            await http.get(resource.url)
        kept = await storage.get_tokens()
        assert kept is not None
        assert kept.expires_at is not None
        assert 0 <= kept.expires_at - time.time() <= 1
        later = provider(resource, storage=storage)
        async with client_of(later) as http:
            assert (await http.get(resource.url)).status_code == 200
            while time.time() <= kept.expires_at:
                await anyio.sleep(0.1)
            assert (await http.get(resource.url)).status_code == 200
    assert [form["grant_type"] for form in resource.auth.asked_for("/token")] == ["authorization_code", "refresh_token"]
    # The token that had ended was not sent again.
    assert len(set(resource.seen[-2:])) == 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("part", ["all", "body"])
async def test_b119_discovery_at_a_server_that_never_answers_ends_after_ten_seconds(part: str) -> None:
    async def never(request: Posted, reply: Reply) -> None:
        if part == "body":
            await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
            while True:
                await anyio.sleep(0.5)
                await reply.raw(b" ")
        await reply.disconnected()

    async with peers() as resource:
        resource.auth.instead[SERVER_METADATA] = never
        async with client_of(provider(resource), timeout=None) as http:
            start = time.monotonic()
            with pytest.raises((OAuthFlowError, httpx2.ReadTimeout)) as raised:
                await http.get(resource.url)
            assert 9 < time.monotonic() - start < 13
    if part == "body":
        assert (
            str(raised.value) == f"The answer of {resource.auth.origin}{SERVER_METADATA} did not end within 10 seconds"
        )
    else:
        assert isinstance(raised.value, httpx2.ReadTimeout)
        assert str(raised.value.request.url) == f"{resource.auth.origin}{SERVER_METADATA}"


async def test_b119_a_whole_flow_goes_through_the_proxy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = AuthServer("https://as.example.com")
    resource = Resource(auth, "https://shop.example.com")
    shown: list[str] = []

    async def show(url: str) -> None:
        shown.append(url)

    async def come_back() -> AuthorizationCodeResult:
        browser = httpx2.AsyncClient()
        try:
            answer = await browser.get(shown[-1])
        finally:
            await browser.aclose()
        return AuthorizationCodeResult.model_validate(dict(parse_qsl(urlsplit(answer.headers["location"]).query)))

    user = User()
    vars(user).update(open=show, come_back=come_back)
    hosts = {"shop.example.com": resource.handle, "as.example.com": auth.handle}
    async with https_proxy(hosts, tmp_path) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
        async with client_of(provider(resource, user)) as http:
            assert (await http.get(resource.url)).status_code == 200
            evil = "https://evil.example.com/x"

            async def moved(request: Posted, reply: Reply) -> None:
                await reply.send("302 Found", headers={"location": evil})

            resource.instead[PRM] = moved
            auth.live.clear()
            with pytest.raises(OAuthFlowError, match=r"redirects to https://evil\.example\.com, another origin"):
                await http.get(resource.url)
    assert set(proxy.reached) == {"shop.example.com:443", "as.example.com:443"}
