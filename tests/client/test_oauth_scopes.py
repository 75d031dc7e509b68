"""Which scopes a client asks for, first and later, and as whom."""

import json
from typing import Any

import httpx2
import pytest
from oauth_peers import CALLBACK, Resource, Storage, User, another_auth_server, client_of, expire, peers, provider
from scripted_http_server import Posted, Reply

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.exceptions import AuthorizationResponseError
from mcp.client.auth.headless import HeadlessLogin, LoginRequired
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

pytestmark = pytest.mark.anyio

DOCUMENT = "https://app.example.com/client.json"


def asked(resource: Resource) -> list[str | None]:
    """The scope of each authorization request."""
    return [query.get("scope") for query in resource.auth.asked_for("/authorize")]


async def get_in(resource: Resource, **options: Any) -> None:
    async with client_of(provider(resource, **options)) as http:
        assert (await http.get(resource.url)).status_code == 200


@pytest.mark.parametrize(
    ("challenge", "offered", "configured", "expected"),
    [
        ("read write", ["a", "b"], "mine", "read write"),
        (None, ["a", "b"], "mine", "a b"),
        (None, None, "mine", "mine"),
        (None, None, None, None),
    ],
)
async def test_the_scopes_are_those_of_the_challenge_or_of_the_resource_or_of_the_program(
    challenge: str | None, offered: list[str] | None, configured: str | None, expected: str | None
) -> None:
    async with peers() as resource:
        resource.challenge |= {} if challenge is None else {"scope": challenge}
        resource.changes["scopes_supported"] = offered
        resource.auth.changes["scopes_supported"] = ["x", "y"]
        await get_in(resource, scope=configured)
    assert asked(resource) == [expected]
    assert resource.auth.asked_for("/register")[0].get("scope") == expected


async def test_offline_access_is_asked_for_where_the_authorization_server_has_it() -> None:
    async with peers() as resource:
        resource.challenge["scope"] = "read"
        resource.auth.changes["scopes_supported"] = ["read", "offline_access"]
        await get_in(resource)
        await get_in(resource, grant_types=["authorization_code"])
    assert asked(resource) == ["read offline_access", "read"]
    pages = resource.auth.asked_for("/authorize")
    assert [page.get("prompt") for page in pages] == ["consent", None]
    assert resource.auth.asked_for("/register")[0]["scope"] == "read offline_access"


async def test_a_request_that_needs_more_is_sent_again_with_more_and_nothing_is_lost() -> None:
    async with peers() as resource:
        user = User()
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/write"] = "write"
        async with client_of(provider(resource, user)) as http:
            assert (await http.get(resource.url)).status_code == 200
            response = await http.post(f"{resource.url}/write", content=b"x")
            assert response.json() == {"path": "/mcp/write"}
            assert (await http.post(f"{resource.url}/write", content=b"x")).status_code == 200
    assert asked(resource) == ["read", "read write"]
    assert resource.auth.grants("refresh_token") == []


async def test_a_client_registers_anew_for_scopes_that_it_was_not_registered_for() -> None:
    async with peers() as resource:
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/write"] = "write"
        async with client_of(provider(resource)) as http:
            await http.get(resource.url)
            assert (await http.get(f"{resource.url}/write")).status_code == 200
    assert [body["scope"] for body in resource.auth.asked_for("/register")] == ["read", "read write"]


@pytest.mark.parametrize(
    ("has", "offers", "expected"),
    [
        (["read", "new"], None, "read new"),
        (["new"], ["read"], "read new"),
        (["new"], None, "new"),
        ([], None, "new"),
        (None, None, "read new"),
    ],
)
async def test_scopes_of_before_that_no_server_has_any_more_are_not_asked_for_again(
    has: list[str] | None, offers: list[str] | None, expected: str
) -> None:
    storage = Storage()
    async with peers() as resource:
        resource.challenge["scope"] = "read"
        await get_in(resource, storage=storage)
        resource.challenge["scope"] = "new"
        resource.auth.changes["scopes_supported"] = has
        resource.changes["scopes_supported"] = offers
        resource.auth.live.clear()
        resource.auth.refreshable.clear()
        await get_in(resource, storage=storage)
    assert asked(resource) == ["read", expected]


async def test_scopes_that_are_not_granted_are_not_asked_for_over_and_over() -> None:
    async with peers() as resource:
        user = User()

        async def never(request: Posted, reply: Reply) -> None:
            challenge = 'Bearer error="insufficient_scope", scope="admin"'
            await reply.send("403 Forbidden", b"never", "text/plain", {"www-authenticate": challenge})

        resource.instead["/mcp/admin"] = never
        async with client_of(provider(resource, user)) as http:
            await http.get(resource.url)
            for _ in range(3):
                response = await http.get(f"{resource.url}/admin")
                assert (response.status_code, response.text) == (403, "never")
    assert asked(resource) == [None, "admin"]


async def test_a_server_that_wants_ever_more_is_given_up() -> None:
    async with peers() as resource:
        wanted: list[str] = []

        async def more(request: Posted, reply: Reply) -> None:
            wanted.append(f"s{len(wanted)}")
            challenge = f'Bearer error="insufficient_scope", scope="{wanted[-1]}"'
            await reply.send("403 Forbidden", headers={"www-authenticate": challenge})

        resource.instead["/mcp/more"] = more
        async with client_of(provider(resource)) as http:
            await http.get(resource.url)
            assert (await http.get(f"{resource.url}/more")).status_code == 403
    assert asked(resource) == [None, "s0", "s0 s1"]


async def test_a_server_that_wants_ever_more_with_every_call_shows_a_user_five_pages() -> None:
    async with peers() as resource:
        wanted: list[str] = []

        async def more(request: Posted, reply: Reply) -> None:
            wanted.append(f"s{len(wanted)}")
            challenge = f'Bearer error="insufficient_scope", scope="{wanted[-1]}"'
            await reply.send("403 Forbidden", headers={"www-authenticate": challenge})

        resource.instead["/mcp/more"] = more
        async with client_of(provider(resource)) as http:
            for _ in range(2):
                assert (await http.get(f"{resource.url}/more")).status_code == 403
            with pytest.raises(OAuthFlowError, match="has had the user log in 5 times within 60 seconds"):
                await http.get(f"{resource.url}/more")
            # What the user has is good for the rest.
            assert (await http.get(resource.url)).status_code == 200
    assert len(asked(resource)) == 5


def refuses_scope(resource: Resource, endpoint: str, scope: str) -> None:
    """Has an endpoint refuse whatever asks for a scope."""
    usual = resource.auth.handle

    async def handler(request: Posted, reply: Reply) -> None:
        parameters = resource.auth.asked[-1].parameters
        if scope in parameters.get("scope", "").split():
            await reply.json({"error": "invalid_scope"}, "400 Bad Request")
            return
        del resource.auth.instead[endpoint], resource.auth.asked[-1]
        await usual(request, reply)
        resource.auth.instead[endpoint] = handler

    resource.auth.instead[endpoint] = handler


async def test_a_scope_that_is_refused_is_not_asked_for_in_later_logins() -> None:
    async with peers() as resource:
        user = User()
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/admin"] = "read admin"
        refuses_scope(resource, "/register", "admin")
        async with client_of(provider(resource, user)) as http:
            assert (await http.get(resource.url)).status_code == 200
            with pytest.raises(OAuthRegistrationError, match="invalid_scope"):
                await http.get(f"{resource.url}/admin")
            again = r"needs the scopes admin read, which were just asked for in vain: Registration failed.*not asked"
            with pytest.raises(OAuthFlowError, match=again):
                await http.get(f"{resource.url}/admin")
            resource.auth.live.clear()
            resource.auth.refreshable.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert asked(resource) == ["read", "read"]


async def test_what_there_was_is_still_good_when_the_user_grants_no_more() -> None:
    async with peers() as resource:
        user, storage = User(), Storage()
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/write"] = "write"
        client = provider(resource, user, storage)

        async def refuse() -> None:
            raise AuthorizationResponseError("access_denied", iss=resource.auth.origin)

        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
            registered, user.before = storage.client_info, refuse
            for _ in range(3):
                with pytest.raises(OAuthFlowError, match="access_denied"):
                    await http.get(f"{resource.url}/write")
            assert len(user.visited) == 2
            assert storage.client_info == registered
            expire(client)
            assert (await http.get(resource.url)).status_code == 200
    (refresh,) = resource.auth.grants("refresh_token")
    assert refresh["client_id"] == json.loads(registered or "")["client_id"]


async def test_more_scopes_are_asked_for_by_a_login_that_is_finished_later() -> None:
    async with peers() as resource:
        user, storage, login = User(), Storage(), HeadlessLogin()
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/write"] = "write"
        await get_in(resource, storage=storage)
        metadata = OAuthClientMetadata.model_validate({"redirect_uris": [CALLBACK]})
        service = OAuthClientProvider(resource.url, metadata, storage, login.redirect_handler, login.callback_handler)
        browser = httpx2.AsyncClient()
        async with client_of(service) as http, browser:
            with pytest.raises(LoginRequired):
                await http.get(f"{resource.url}/write")
            with pytest.raises(LoginRequired) as needed:
                await http.get(f"{resource.url}/write")
            login.finish((await browser.get(needed.value.url)).headers["location"])
            assert (await http.get(f"{resource.url}/write")).status_code == 200
    assert asked(resource) == ["read", "read write"]
    assert user.visited == []


@pytest.mark.parametrize("challenge", ['Bearer error="access_denied"', 'Bearer error="insufficient_scope"', None])
async def test_a_403_that_names_no_scope_is_the_answer(challenge: str | None) -> None:
    async with peers() as resource:

        async def forbid(request: Posted, reply: Reply) -> None:
            headers = {} if challenge is None else {"www-authenticate": challenge}
            await reply.send("403 Forbidden", b"no", "text/plain", headers)

        resource.instead["/mcp/closed"] = forbid
        async with client_of(provider(resource)) as http:
            await http.get(resource.url)
            assert (await http.get(f"{resource.url}/closed")).text == "no"
    assert len(asked(resource)) == 1


async def test_more_scopes_are_asked_for_after_a_restart_as_well() -> None:
    async with peers() as resource:
        storage = Storage()
        resource.challenge["scope"] = "read"
        resource.needs["/mcp/write"] = "write"
        await get_in(resource, storage=storage)
        async with client_of(provider(resource, storage=storage)) as http:
            assert (await http.get(f"{resource.url}/write")).status_code == 200
    assert asked(resource) == ["read", "read write"]


async def test_a_client_is_registered_once_and_used_again() -> None:
    async with peers() as resource:
        storage = Storage()
        await get_in(resource, storage=storage)
        storage.tokens = None
        await get_in(resource, storage=storage)
    assert len(resource.auth.asked_for("/register")) == 1
    (body,) = resource.auth.asked_for("/register")
    assert (body["application_type"], body["grant_types"]) == ("native", ["authorization_code", "refresh_token"])


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"redirect_uris": ["https://app.example.com/cb"]}, "web"),
        ({"redirect_uris": ["https://app.example.com/cb"], "application_type": "native"}, "native"),
        ({"redirect_uris": ["https://localhost/cb"]}, "native"),
        ({"redirect_uris": ["app.example:/cb"]}, "native"),
    ],
)
async def test_a_client_whose_users_come_back_to_a_site_registers_as_a_web_application(
    metadata: dict[str, Any], expected: str
) -> None:
    async with peers() as resource:
        user = User()
        client = OAuthClientProvider(
            resource.url, OAuthClientMetadata.model_validate(metadata), Storage(), user.open, user.come_back
        )
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert resource.auth.asked_for("/register")[0]["application_type"] == expected


@pytest.mark.parametrize(
    ("offered", "registered"),
    [
        (["client_secret_post", "none"], "client_secret_post"),
        (["none"], "none"),
        (["client_secret_basic", "none"], None),
        (["private_key_jwt"], None),
        (None, None),
    ],
)
async def test_a_client_registers_to_authenticate_in_a_way_that_the_server_takes(
    offered: list[str] | None, registered: str | None
) -> None:
    async with peers() as resource:
        resource.auth.changes["token_endpoint_auth_methods_supported"] = offered
        await get_in(resource)
    assert resource.auth.asked_for("/register")[0].get("token_endpoint_auth_method") == registered


async def test_a_published_document_takes_the_place_of_a_registration() -> None:
    async with peers() as resource, another_auth_server() as other:
        storage = Storage()
        resource.auth.changes["client_id_metadata_document_supported"] = True
        client = provider(resource, storage=storage, client_metadata_url=DOCUMENT)
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
            assert resource.auth.asked_for("/token")[0]["client_id"] == DOCUMENT
            # It is good at another authorization server as well.
            other.changes["client_id_metadata_document_supported"] = True
            resource.changes["authorization_servers"] = [other.origin]
            resource.auth, first = other, resource.auth
            assert (await http.get(resource.url)).status_code == 200
    assert other.asked_for("/token")[0]["client_id"] == DOCUMENT
    assert first.asked_for("/register") == other.asked_for("/register") == []


async def test_without_support_for_the_document_the_client_registers() -> None:
    async with peers() as resource:
        await get_in(resource, client_metadata_url=DOCUMENT)
    assert len(resource.auth.asked_for("/register")) == 1


async def test_a_client_that_was_registered_by_hand_is_used_as_it_is() -> None:
    async with peers() as resource:
        storage = Storage()
        await storage.set_client_info(OAuthClientInformationFull(client_id="by-hand", client_secret="a secret"))
        resource.auth.clients["by-hand"] = {"client_secret": "a secret"}
        resource.auth.changes["registration_endpoint"] = None
        await get_in(resource, storage=storage, client_metadata_url=DOCUMENT)
    assert resource.auth.asked_for("/token")[0]["client_id"] == "by-hand"
    assert json.loads(storage.client_info or "")["client_id"] == "by-hand"


@pytest.mark.parametrize("says_whose", [True, False])
async def test_a_secret_that_goes_wherever_the_server_says_is_warned_of_once(
    says_whose: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with peers() as resource:
        storage = Storage()
        issuer = resource.auth.origin if says_whose else None
        info = OAuthClientInformationFull(client_id="by-hand", client_secret="a secret", issuer=issuer)
        await storage.set_client_info(info)
        resource.auth.clients["by-hand"] = {"client_secret": "a secret"}
        async with client_of(provider(resource, storage=storage)) as http:
            for _ in range(2):
                assert (await http.get(resource.url)).status_code == 200
                resource.auth.live.clear()
                resource.auth.refreshable.clear()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == (0 if says_whose else 1)
    assert all(f"secret goes to {resource.auth.origin}" in text and "set the issuer" in text for text in warnings)


async def test_credentials_of_another_authorization_server_are_said_to_be() -> None:
    async with peers() as resource:
        storage = Storage()
        info = OAuthClientInformationFull(client_id="by-hand", issuer="https://as.example.com")
        await storage.set_client_info(info)
        resource.auth.changes["registration_endpoint"] = None
        with pytest.raises(OAuthRegistrationError, match=r"credentials are of https://as\.example\.com"):
            await get_in(resource, storage=storage)
    assert resource.auth.asked == []


async def test_a_client_without_credentials_is_told_how_it_gets_them() -> None:
    async with peers() as resource:
        resource.auth.changes["registration_endpoint"] = None
        with pytest.raises(OAuthRegistrationError, match=r"has no registration endpoint.*get_client_info"):
            await get_in(resource)


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        ({"error": "invalid_redirect_uri"}, "400 Bad Request", "Registration failed: HTTP 400, invalid_redirect_uri"),
        ({"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}, "201 Created", "'private_key_jwt'"),
        ({"client_id": "c", "token_endpoint_auth_method": "client_secret_post"}, "201 Created", "no client_secret"),
    ],
)
async def test_a_registration_that_is_of_no_use_ends_the_flow(answer: Any, status: str, text: str) -> None:
    async with peers() as resource:

        async def register(request: Posted, reply: Reply) -> None:
            await reply.json(answer, status)

        resource.auth.instead["/register"] = register
        storage = Storage()
        with pytest.raises(OAuthRegistrationError, match=text):
            await get_in(resource, storage=storage)
    assert storage.client_info is None


async def test_a_provider_without_handlers_says_that_a_user_is_needed() -> None:
    async with peers() as resource:
        metadata = OAuthClientMetadata.model_validate({"redirect_uris": ["http://localhost/cb"]})
        client = OAuthClientProvider(resource.url, metadata, Storage())
        async with client_of(client) as http:
            with pytest.raises(OAuthFlowError, match="give the provider a redirect_handler and a callback_handler"):
                await http.get(resource.url)


async def test_a_provider_without_redirect_uris_says_that_one_is_needed() -> None:
    async with peers() as resource:
        user = User()
        metadata = OAuthClientMetadata(redirect_uris=None)
        client = OAuthClientProvider(resource.url, metadata, Storage(), user.open, user.come_back)
        async with client_of(client) as http:
            with pytest.raises(OAuthFlowError, match="client_metadata has no redirect_uris"):
                await http.get(resource.url)
