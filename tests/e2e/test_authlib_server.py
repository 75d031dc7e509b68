"""An authorization server that others wrote, with authlib: our client gets in by a code, and stays in by refreshing."""

from typing import Any

import pytest
from authlib_server import AuthlibServer, Client, served_authlib
from oauth_peers import CALLBACK, AuthServer, Resource, Storage, User, client_of, expire, provider
from scripted_http_server import serve

from mcp.client.auth import OAuthTokenError
from mcp.shared.auth import OAuthClientInformationFull

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with served_authlib() as server:
        yield server


def protected_by(server: AuthlibServer) -> Resource:
    """A resource that takes the tokens of the server."""
    known: Any = server
    auth = AuthServer(server.issuer)
    auth.live = known.live
    return Resource(auth, challenge={"scope": "read"})


async def get_in(server: AuthlibServer, **options: Any) -> None:
    """Gets in, then again with a token that has ended, and again after a restart."""
    resource, storage, user = protected_by(server), options.pop("storage", None) or Storage(), User()
    async with serve(resource.handle) as running:
        resource.origin = running.origin
        client = provider(resource, user, storage, **options)
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
            expire(client)
            assert (await http.get(resource.url)).status_code == 200
        later = provider(resource, user, storage, **options)
        async with client_of(later) as http:
            await http.get(resource.url)
            expire(later)
            assert (await http.get(resource.url)).status_code == 200
    assert server.granted == ["authorization_code", "refresh_token", "refresh_token"]
    assert len(user.visited) == 1
    assert set(server.resources) == {resource.url}


async def test_our_client_registers_gets_in_with_pkce_and_refreshes(server: AuthlibServer) -> None:
    await get_in(server)
    (client,) = server.clients.values()
    assert client.scope == "read"
    assert client.client_metadata["redirect_uris"] == [CALLBACK]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none", None])
async def test_our_client_authenticates_itself_in_each_way(server: AuthlibServer, method: str | None) -> None:
    secret = "" if method == "none" else "a secret: with signs & letters é"
    known = Client("by hand/1", secret, [CALLBACK], "read", token_endpoint_auth_method=method or "client_secret_basic")
    server.clients[known.client_id] = known
    storage = Storage()
    info = OAuthClientInformationFull(
        client_id=known.client_id,
        client_secret=secret or None,
        token_endpoint_auth_method=method,
        issuer=server.issuer,
    )
    await storage.set_client_info(info)
    await get_in(server, storage=storage)
    assert list(server.clients) == [known.client_id]


async def test_a_wrong_secret_is_an_error_that_does_not_show_it(server: AuthlibServer) -> None:
    server.clients["by-hand"] = Client("by-hand", "right", [CALLBACK], "read")
    resource, storage = protected_by(server), Storage()
    await storage.set_client_info(OAuthClientInformationFull(client_id="by-hand", client_secret="wrong-secret"))
    async with serve(resource.handle) as running:
        resource.origin = running.origin
        async with client_of(provider(resource, storage=storage)) as http:
            with pytest.raises(OAuthTokenError, match="invalid_client") as raised:
                await http.get(resource.url)
    assert "wrong-secret" not in str(raised.value)
