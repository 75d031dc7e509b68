"""Tokens that only this client can use: what it sends, and that it never sends it twice. RFC 9449."""

import logging
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from dpop_peers import binding_peers
from oauth_peers import Storage, User, client_of, peers, provider

from mcp.client.auth.dpop import DPoPKey, DPoPProver
from mcp.client.auth.exceptions import OAuthFlowError, OAuthTokenError
from mcp.client.auth.file_storage import FileTokenStorage
from mcp.shared.auth import OAuthToken

pytestmark = pytest.mark.anyio


class KeyStorage(Storage):
    """Keeps the key with the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.key: dict[str, Any] | None = None

    async def get_dpop_key(self) -> dict[str, Any] | None:
        return self.key

    async def set_dpop_key(self, key: dict[str, Any]) -> None:
        self.key = key


@pytest.mark.parametrize("nonces", [False, True])
async def test_every_request_carries_a_new_proof_for_it_and_the_token(nonces: bool) -> None:
    key, storage = DPoPKey.generate(), Storage()
    async with (
        binding_peers(nonces=nonces) as (resource, auth),
        client_of(provider(resource, storage=storage, dpop=key)) as http,
    ):
        for _ in range(3):
            assert (await http.post(resource.url, json={})).status_code == 200
    claims = [jwt.decode(proof, options={"verify_signature": False}) for proof in resource.sent]
    assert len({claim["jti"] for claim in claims}) == 3
    assert {(claim["htm"], claim["htu"]) for claim in claims} == {("POST", resource.url)}
    assert set(auth.keys.values()) == {key.thumbprint}
    assert auth.asked_for("/authorize")[0]["dpop_jkt"] == key.thumbprint
    kept = await storage.get_tokens()
    assert kept is not None
    assert kept.token_type == "DPoP"


async def test_a_nonce_costs_one_more_request_to_each_server_and_is_remembered() -> None:
    async with binding_peers(nonces=True) as (resource, auth), client_of(provider(resource, dpop=True)) as http:
        await http.get(resource.url)
        assert auth.proofs == 2
        assert len(resource.seen) == 3
        await http.get(resource.url)
        assert len(resource.seen) == 4


async def test_a_server_that_never_likes_its_own_nonce_is_asked_twice_and_no_more() -> None:
    async with binding_peers(nonces=True) as (resource, auth):

        async def never(asked: Any, reply: Any) -> None:
            await reply.json({"error": "use_dpop_nonce"}, "400 Bad Request", {"dpop-nonce": "again"})

        auth.instead["/token"] = never
        async with client_of(provider(resource, dpop=True)) as http:
            with pytest.raises(OAuthTokenError, match="use_dpop_nonce"):
                await http.get(resource.url)
        assert len(auth.asked_for("/token")) == 2


async def test_the_token_is_refreshed_with_a_proof_of_the_same_key() -> None:
    async with binding_peers(nonces=True) as (resource, auth):
        user = User()
        async with client_of(provider(resource, user, dpop=True)) as http:
            await http.get(resource.url)
            auth.live.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(auth.grants("refresh_token")) == 1
    assert len(user.visited) == 1
    assert len(set(auth.keys.values())) == 1


async def test_tokens_are_good_in_the_next_process_where_the_key_is_kept(tmp_path: Path) -> None:
    async with binding_peers() as (resource, _):
        users = [User(), User()]
        for user in users:
            storage: Any = FileTokenStorage(tmp_path / "tokens", resource.url)
            async with client_of(provider(resource, user, storage, dpop=True)) as http:
                assert (await http.get(resource.url)).status_code == 200
        assert [len(user.visited) for user in users] == [1, 0]


async def test_a_storage_that_keeps_no_key_costs_a_login_in_the_next_process() -> None:
    async with binding_peers() as (resource, _):
        users, storage = [User(), User()], Storage()
        for user in users:
            async with client_of(provider(resource, user, storage, dpop=True)) as http:
                assert (await http.get(resource.url)).status_code == 200
        assert [len(user.visited) for user in users] == [1, 1]


async def test_a_key_that_cannot_be_read_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    storage = KeyStorage()
    storage.key = {"kty": "EC", "d": "very-secret"}
    async with binding_peers() as (resource, _), client_of(provider(resource, storage=storage, dpop=True)) as http:
        assert (await http.get(resource.url)).status_code == 200
    assert "cannot be used, and is replaced" in caplog.text
    assert "very-secret" not in caplog.text
    assert storage.key["crv"] == "P-256"


async def test_requests_at_once_each_have_a_proof_of_their_own() -> None:
    async with binding_peers(nonces=True) as (resource, auth):
        async with client_of(provider(resource, dpop=True)) as http:
            statuses: list[int] = []

            async def get() -> None:
                statuses.append((await http.get(resource.url)).status_code)

            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(get)
        assert statuses == [200] * 20
        assert len(set(resource.sent)) == 20
        assert len(auth.grants("authorization_code")) == 2


async def test_a_server_that_does_not_bind_tokens_is_an_error_and_its_token_is_not_used() -> None:
    storage = Storage()
    async with peers() as resource, client_of(provider(resource, storage=storage, dpop=True)) as http:
        with pytest.raises(OAuthTokenError, match="of the type Bearer: expected DPoP"):
            await http.get(resource.url)
    assert resource.seen == [None]
    assert storage.tokens is None


@pytest.mark.parametrize("taken", [["RS256"], []])
async def test_a_server_that_cannot_check_our_proofs_is_an_error_before_the_user_is_asked(taken: list[str]) -> None:
    user = User()
    async with peers() as resource, client_of(provider(resource, user, dpop=True)) as http:
        resource.auth.changes["dpop_signing_alg_values_supported"] = taken
        with pytest.raises(OAuthFlowError, match=f"by {', '.join(taken) or 'nothing'}: expected ES256"):
            await http.get(resource.url)
    assert user.visited == []
    assert resource.auth.asked == []


async def test_nonces_of_many_servers_do_not_pile_up() -> None:
    prover = DPoPProver(DPoPKey.generate(), Storage())
    for number in range(40):
        request = httpx2.Request("GET", f"https://{number}.example.com/")
        prover.learn(request, httpx2.Response(200, headers={"dpop-nonce": f"n-{number}"}, request=request))
    huge = httpx2.Response(200, headers={"dpop-nonce": "n" * 2000})
    assert not prover.learn(httpx2.Request("GET", "https://huge.example.com/"), huge)
    assert len(prover._nonces) == 16
    assert prover._nonces["https://39.example.com"] == "n-39"


async def test_a_bound_token_that_nobody_asked_for_is_an_error() -> None:
    async with peers() as resource, client_of(provider(resource)) as http:

        async def bound(asked: Any, reply: Any) -> None:
            await reply.json({"access_token": "a", "token_type": "dpop"})

        resource.auth.instead["/token"] = bound
        with pytest.raises(OAuthTokenError, match="of the type DPoP: expected Bearer"):
            await http.get(resource.url)


async def test_neither_key_nor_token_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    storage = KeyStorage()
    async with (
        binding_peers(nonces=True) as (resource, auth),
        client_of(provider(resource, storage=storage, dpop=True)) as http,
    ):
        await http.get(resource.url)
    assert storage.key is not None
    for secret in (storage.key["d"], *auth.live, *auth.refreshable, *resource.sent):
        assert secret not in caplog.text


def test_a_token_type_may_be_in_any_case() -> None:
    assert OAuthToken.model_validate({"access_token": "t", "token_type": "dpop"}).token_type == "DPoP"
