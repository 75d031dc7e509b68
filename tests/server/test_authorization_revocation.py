"""The revocation endpoint. What one flow shows of it is in test_authorization_server_flow.py."""

import logging

import pytest
from authorization_desk import ISSUER, Desk, logged, refusal
from sign_in import SignIn

from mcp.server.auth.provider import AccessToken, RefreshToken

pytestmark = pytest.mark.anyio


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client()
    return desk


async def test_a_token_that_is_not_there_is_no_error(desk: Desk) -> None:
    answer = await desk.post("/revoke", {"token": "made-up", "client_id": "shelf"})
    assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (200, b"", "no-store")


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "id_token", ""])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_a_hint_that_is_wrong_does_no_harm(desk: Desk, kind: str, hint: str) -> None:
    tokens = (await desk.exchange(await desk.code())).json()
    form = {"token": tokens[kind], "token_type_hint": hint, "client_id": "shelf"}
    assert (await desk.post("/revoke", form)).status_code == 200
    assert (desk.provider.access, desk.provider.refresh) == ({}, {})


async def test_a_revocation_names_a_token_and_a_client(desk: Desk) -> None:
    refused = await desk.post("/revoke", {"client_id": "shelf"})
    assert refusal(refused) == (400, "invalid_request", "token: Field required")
    refused = await desk.post("/revoke", {"token": "x"})
    assert refusal(refused) == (401, "invalid_client", "Missing client_id")
    assert refused.headers["www-authenticate"] == 'Basic realm="oauth"'
    refused = await desk.post("/revoke", {"token": "x", "client_secret": "x"}, authorization="Basic x")
    assert refusal(refused)[:2] == (400, "invalid_request")


async def test_a_provider_that_fails_tells_the_client_nothing_and_the_log_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    class Failing(SignIn):
        async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
            raise RuntimeError(f"cannot delete {token.token}")

    desk = Desk(Failing(ISSUER, asks=False))
    desk.client()
    tokens = (await desk.exchange(await desk.code())).json()
    refused = await desk.post("/revoke", {"token": tokens["access_token"], "client_id": "shelf"})
    assert refusal(refused) == (500, "server_error", "An unexpected error occurred")
    assert "RuntimeError: cannot delete [secret]" in logged(caplog)
    assert tokens["access_token"] not in logged(caplog)


async def test_nobody_revokes_unless_that_is_switched_on() -> None:
    desk = Desk(revocation_options=None)
    assert (await desk.post("/revoke", {"token": "x"})).status_code == 404
