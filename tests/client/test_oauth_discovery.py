"""From a server to its authorization server: what is asked, in which order, and what is not believed."""

from typing import Any

import httpx2
import pytest
from oauth_peers import AuthServer, Resource, User, another_auth_server, client_of, peers, provider
from scripted_http_server import Posted, Reply

from mcp.client.auth import OAuthFlowError

pytestmark = pytest.mark.anyio

PRM = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


def answers(document: Any, status: str = "200 OK"):
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.json(document() if callable(document) else document, status)

    return handler


async def missing(request: Posted, reply: Reply) -> None:
    await reply.send("404 Not Found")


async def a_page(request: Posted, reply: Reply) -> None:
    await reply.send("200 OK", b"<html>Everything is here</html>", "text/html")


async def get_in(resource: Resource, user: User | None = None, **options: Any) -> httpx2.Response:
    async with client_of(provider(resource, user, **options)) as http:
        return await http.get(options.get("server_url", resource.url), headers={"mcp-protocol-version": "2026-07-28"})


async def refused(resource: Resource, **options: Any) -> str:
    """What the user is told, who was shown no page; no credentials went anywhere."""
    user = User()
    with pytest.raises(OAuthFlowError) as raised:
        await get_in(resource, user, **options)
    assert user.visited == []
    assert resource.auth.asked_for("/token") == []
    return str(raised.value)


async def test_the_place_that_the_challenge_names_is_asked_first() -> None:
    async with peers() as resource:
        resource.instead["/custom/place.json"] = answers(resource.metadata)
        resource.names_metadata = False
        resource.challenge["resource_metadata"] = f"{resource.origin}/custom/place.json"
        assert (await get_in(resource)).status_code == 200
    assert resource.requested == ["/mcp", "/custom/place.json", "/mcp"]


async def test_without_a_place_in_the_challenge_the_path_of_the_server_is_asked_before_its_root() -> None:
    async with peers() as resource:
        resource.names_metadata = False
        assert (await get_in(resource)).status_code == 200
        assert resource.requested == ["/mcp", f"{PRM}/mcp", "/mcp"]
        resource.requested.clear()
        resource.instead[f"{PRM}/mcp"] = missing
        resource.instead[PRM] = answers(resource.metadata)
        assert (await get_in(resource)).status_code == 200
    assert resource.requested == ["/mcp", f"{PRM}/mcp", PRM, "/mcp"]


async def test_a_web_page_in_the_place_of_metadata_is_none() -> None:
    async with peers() as resource:
        resource.instead[f"{PRM}/mcp"] = a_page
        resource.instead[PRM] = answers(resource.metadata)
        assert (await get_in(resource)).status_code == 200


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("", [SERVER_METADATA, OPENID]),
        ("/tenant", [f"{SERVER_METADATA}/tenant", f"{OPENID}/tenant", f"/tenant{OPENID}"]),
    ],
)
async def test_the_places_of_an_authorization_servers_metadata_are_asked_in_order(path: str, places: list[str]) -> None:
    async with peers() as resource:
        auth = resource.auth
        auth.changes["issuer"] = f"{auth.origin}{path}"
        resource.changes["authorization_servers"] = [auth.changes["issuer"]]
        auth.instead |= dict.fromkeys(places[:-1], missing)
        auth.instead[places[-1]] = answers(auth.metadata)
        assert (await get_in(resource)).status_code == 200
    assert auth.requested[: len(places)] == places


async def test_the_client_asks_the_authorization_server_that_knows_it() -> None:
    async with peers() as resource, another_auth_server() as other:
        resource.changes["authorization_servers"] = [resource.auth.origin, other.origin]
        client = provider(resource)
        async with client_of(client) as http:
            await http.get(resource.url)
            resource.auth.live.clear()
            resource.auth.refreshable.clear()
            resource.changes["authorization_servers"].reverse()
            assert (await http.get(resource.url)).status_code == 200
    assert other.requested == []


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
async def test_a_server_without_metadata_is_its_own_authorization_server(revision: str) -> None:
    async with peers() as resource:
        auth = AuthServer(resource.origin)
        resource.auth = auth

        async def hand_over(request: Posted, reply: Reply) -> None:
            await auth.handle(request, reply)

        resource.instead[f"{PRM}/mcp"] = missing
        resource.instead |= dict.fromkeys([SERVER_METADATA, "/register", "/authorize", "/token"], hand_over)
        async with client_of(provider(resource)) as http:
            response = await http.get(resource.url, headers={"mcp-protocol-version": revision})
            assert response.status_code == 200
        auth.instead[SERVER_METADATA] = missing
        auth.changes["authorization_response_iss_parameter_supported"] = None
        async with client_of(provider(resource)) as http:
            response = await http.get(resource.url, headers={"mcp-protocol-version": revision})
            assert response.status_code == 200
    assert auth.requested == [SERVER_METADATA, "/register", "/authorize", "/token"] * 2
    told = {form.get("resource") for path in ("/authorize", "/token") for form in auth.asked_for(path)}
    assert told == ({None} if revision == "2025-03-26" else {resource.url})


async def test_a_server_whose_metadata_cannot_be_had_is_not_taken_for_one_without() -> None:
    async with peers() as resource:
        resource.instead[f"{PRM}/mcp"] = answers({}, "503 Service Unavailable")
        text = await refused(resource)
    assert f"{resource.origin}{PRM}/mcp answers with HTTP 503" in text
    assert f"{resource.origin}{PRM} answers with HTTP 404" in text
    assert resource.requested == ["/mcp", f"{PRM}/mcp", PRM]


async def test_metadata_without_authorization_servers_is_of_no_use() -> None:
    async with peers() as resource:
        resource.changes["authorization_servers"] = None
        text = await refused(resource)
    assert f"The protected resource metadata at {resource.origin}{PRM}/mcp is of no use: authorization_servers" in text


async def test_metadata_of_another_resource_is_refused() -> None:
    async with peers() as resource:
        resource.changes["resource"] = "https://evil.example.com/mcp"
        text = await refused(resource)
    expected = f"expected {resource.url}, or a parent of it"
    assert text == f"The protected resource metadata is of https://evil.example.com/mcp: {expected}"
    assert resource.auth.requested == []


async def test_a_program_decides_itself_which_resource_it_means() -> None:
    async with peers() as resource:
        asked: list[tuple[str, str | None]] = []

        async def decide(server_url: str, named: str | None) -> None:
            asked.append((server_url, named))
            if len(asked) > 1:
                raise ValueError("another one this time")

        resource.changes["resource"] = f"{resource.origin}/other"
        client = provider(resource, validate_resource_url=decide)
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
            resource.auth.live.clear()
            with pytest.raises(ValueError, match="another one this time"):
                await http.get(resource.url)
    assert asked == [(resource.url, f"{resource.origin}/other")] * 2


@pytest.mark.parametrize("issuer", ["{origin}/", "https://evil.example.com", "{origin}/tenant"])
async def test_metadata_of_another_authorization_server_is_refused(issuer: str) -> None:
    async with peers() as resource:
        resource.auth.changes["issuer"] = issuer.format(origin=resource.auth.origin)
        text = await refused(resource)
    assert text.startswith(
        f"Authorization server metadata issuer mismatch: the metadata of {resource.auth.origin} says"
    )
    assert resource.auth.asked == []


async def test_metadata_without_endpoints_is_of_no_use() -> None:
    async with peers() as resource:
        resource.auth.changes["token_endpoint"] = None
        text = await refused(resource)
    assert f"{resource.auth.origin}{SERVER_METADATA} is of no use: token_endpoint: Field required" in text


@pytest.mark.parametrize("methods", [["plain"], []])
async def test_an_authorization_server_that_says_it_cannot_do_pkce_is_refused(methods: list[str]) -> None:
    async with peers() as resource:
        resource.auth.changes["code_challenge_methods_supported"] = methods
        assert "expected S256 (PKCE)" in await refused(resource)


async def test_one_that_does_not_say_gets_the_challenge_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async with peers() as resource:
        resource.auth.changes["code_challenge_methods_supported"] = None
        assert (await get_in(resource)).status_code == 200
    assert f"{resource.auth.origin} does not say whether it checks code challenges" in caplog.text
    assert resource.auth.asked_for("/authorize")[0]["code_challenge_method"] == "S256"


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_endpoints_without_https_are_refused(name: str) -> None:
    async with peers() as resource:
        resource.auth.changes[name] = "http://as.example.com/x"
        text = await refused(resource)
    assert f"The {name} of {resource.auth.origin} is 'http://as.example.com/x': expected https://" in text
    assert resource.auth.asked == []


async def test_a_server_without_https_gets_no_token() -> None:
    async with peers() as resource:
        url = "http://shop.example.com/mcp"
        client = provider(resource, server_url=url)
        transport = httpx2.MockTransport(lambda request: httpx2.Response(401))
        async with client_of(client, transport=transport) as http:
            with pytest.raises(OAuthFlowError) as raised:
                await http.get(url)
    assert str(raised.value).startswith("The server URL is 'http://shop.example.com/mcp': expected https://")


async def test_a_closed_network_may_do_without_https() -> None:
    seen: list[str] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(401 if request.url.path == "/mcp" else 503)

    async with peers() as resource:
        client = provider(resource, server_url="http://shop.internal/mcp")
        client.requires_https = False
        async with client_of(client, transport=httpx2.MockTransport(refuse)) as http:
            with pytest.raises(OAuthFlowError, match="answers with HTTP 503"):
                await http.get("http://shop.internal/mcp")
    assert seen[1:] == [f"http://shop.internal{PRM}/mcp", f"http://shop.internal{PRM}"]


async def test_a_server_on_the_internet_names_no_place_in_a_private_network() -> None:
    seen: list[str] = []
    challenge = {"www-authenticate": 'Bearer resource_metadata="http://169.254.169.254/latest/meta-data"'}

    def refuse(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(401, headers=challenge)

    async with peers() as resource:
        client = provider(resource, server_url="https://shop.example.com/mcp")
        async with client_of(client, transport=httpx2.MockTransport(refuse)) as http:
            with pytest.raises(OAuthFlowError, match="in a private network"):
                await http.get("https://shop.example.com/mcp")
    assert seen == ["https://shop.example.com/mcp"]


async def test_credentials_go_to_no_other_server_than_the_one_of_the_provider() -> None:
    async with peers() as resource, peers() as other:
        client = provider(resource)
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
            with pytest.raises(
                OAuthFlowError, match=rf"server_url of this OAuthClientProvider is at {resource.origin}"
            ):
                await http.get(other.url)
            assert (await http.get(f"{other.origin}/open")).status_code == 404
    assert other.seen == [None]
    assert other.auth.requested == []


def test_a_client_metadata_url_is_checked_at_once() -> None:
    resource = Resource(AuthServer(), "https://shop.example.com")
    with pytest.raises(ValueError, match="must be an HTTPS URL with a path other than '/'"):
        provider(resource, client_metadata_url="https://app.example.com/")


def test_a_blocking_http_client_is_told_that_it_will_not_do() -> None:
    resource = Resource(AuthServer(), "https://shop.example.com")
    http = httpx2.Client(auth=provider(resource))
    with pytest.raises(RuntimeError, match=r"OAuthClientProvider needs an httpx2\.AsyncClient"):
        http.get(resource.url)
    http.close()
