"""The whole way in: from a refusal to an answer, and what every request on it carries."""

import pytest
from oauth_peers import CALLBACK, Storage, User, client_of, peers, provider

pytestmark = pytest.mark.anyio


async def test_a_refused_request_is_sent_again_with_a_token_once_the_user_has_signed_in() -> None:
    user, storage = User(), Storage()
    async with peers() as resource, client_of(provider(resource, user, storage)) as http:
        response = await http.post(resource.url, json={"a": 1})
        assert (response.status_code, response.json()) == (200, {"path": "/mcp"})
        again = await http.get(resource.url)
        assert again.status_code == 200
    assert len(user.visited) == 1
    token = next(iter(resource.auth.live))
    assert resource.seen == [None, f"Bearer {token}", f"Bearer {token}"]
    assert resource.auth.requested == ["/.well-known/oauth-authorization-server", "/register", "/authorize", "/token"]
    kept = await storage.get_tokens()
    assert kept is not None
    assert kept.access_token == token
    assert kept.issuer == resource.auth.origin
    info = await storage.get_client_info()
    assert info is not None
    assert info.issuer == resource.auth.origin


async def test_authorization_and_exchange_name_the_resource_and_prove_the_code_is_ours() -> None:
    async with peers() as resource, client_of(provider(resource)) as http:
        await http.get(resource.url)
    (page,) = resource.auth.asked_for("/authorize")
    (form,) = resource.auth.asked_for("/token")
    assert page["resource"] == form["resource"] == resource.url
    assert page["code_challenge_method"] == "S256"
    assert page["redirect_uri"] == form["redirect_uri"] == CALLBACK
    assert len(page["state"]) >= 43
