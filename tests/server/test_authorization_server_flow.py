"""An authorization server on a socket: a program gets in, comes back, and is thrown out."""

import logging

import anyio
import pytest
from authorization_server import AuthorizationServer, Browser, Program, served_authorization_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server():
    with served_authorization_server() as server:
        yield server


async def test_a_user_agrees_and_the_program_gets_tokens(server: AuthorizationServer) -> None:
    program = Program(server)
    await program.register(client_name="Shelf & Co")
    answer = await program.ask(scope="read", resource="https://mcp.example.com/mcp")
    assert answer == {"code": answer["code"], "state": "the-state", "iss": server.issuer}
    tokens = (await program.exchange(answer["code"])).json()
    assert tokens == {
        "access_token": tokens["access_token"],
        "token_type": "Bearer",
        "expires_in": 3600,
        "scope": "read",
        "refresh_token": tokens["refresh_token"],
    }
    access = await server.provider.load_access_token(tokens["access_token"])
    assert access is not None
    assert (access.client_id, access.scopes, access.subject) == (program.client_id, ["read"], "alice")
    assert access.resource == "https://mcp.example.com/mcp"


async def test_a_user_says_no(server: AuthorizationServer) -> None:
    program = Program(server, Browser(agrees=False))
    await program.register()
    assert await program.ask() == {"error": "access_denied", "state": "the-state", "iss": server.issuer}


async def test_a_code_that_comes_twice_ends_what_it_was_exchanged_for(server: AuthorizationServer) -> None:
    program = Program(server)
    await program.register()
    code = (await program.ask())["code"]
    tokens = (await program.exchange(code)).json()
    again = await program.exchange(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert await server.provider.load_access_token(tokens["access_token"]) is None
    assert (await program.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_of_two_exchanges_of_one_code_at_the_same_time_one_succeeds(server: AuthorizationServer) -> None:
    program = Program(server)
    await program.register()
    code = (await program.ask())["code"]
    statuses: list[int] = []

    async def exchange() -> None:
        statuses.append((await program.exchange(code)).status_code)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(exchange)
    assert sorted(statuses) == [200, 400, 400, 400, 400]


async def test_a_refresh_token_is_good_for_one_time_and_its_replay_ends_the_grant(server: AuthorizationServer) -> None:
    program = Program(server)
    first = await program.get_in()
    second = (await program.refresh(first["refresh_token"])).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert second["access_token"] != first["access_token"]
    replayed = await program.refresh(first["refresh_token"])
    assert replayed.json()["error"] == "invalid_grant"
    assert (await program.refresh(second["refresh_token"])).json()["error"] == "invalid_grant"
    assert await server.provider.load_access_token(second["access_token"]) is None


async def test_a_refresh_asks_for_less_but_never_for_more(server: AuthorizationServer) -> None:
    program = Program(server)
    tokens = await program.get_in(scope="read write")
    narrowed = (await program.refresh(tokens["refresh_token"], scope="read")).json()
    assert narrowed["scope"] == "read"
    whole = (await program.refresh(narrowed["refresh_token"])).json()
    assert whole["scope"] == "read write"
    other = Program(server)
    tokens = await other.get_in(scope="read")
    refused = await other.refresh(tokens["refresh_token"], scope="read write")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_scope")


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
async def test_a_revoked_token_takes_its_grant_with_it(server: AuthorizationServer, kind: str) -> None:
    program = Program(server)
    tokens = await program.get_in()
    assert (await program.post("/revoke", token=tokens[kind], token_type_hint=kind)).status_code == 200
    assert await server.provider.load_access_token(tokens["access_token"]) is None
    assert (await program.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_one_client_cannot_use_or_revoke_what_another_one_has(server: AuthorizationServer) -> None:
    program, thief = Program(server), Program(server)
    await program.register()
    await thief.register()
    code = (await program.ask())["code"]
    assert (await thief.exchange(code)).json()["error"] == "invalid_grant"
    tokens = (await program.exchange(code)).json()
    assert (await thief.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    for kind in ("access_token", "refresh_token"):
        answer = await thief.post("/revoke", token=tokens[kind])
        assert (answer.status_code, answer.content) == (200, b"")
    assert await server.provider.load_access_token(tokens["access_token"]) is not None
    assert (await program.refresh(tokens["refresh_token"])).status_code == 200


async def test_a_refresh_token_is_no_access_token_and_the_other_way_round(server: AuthorizationServer) -> None:
    program = Program(server)
    tokens = await program.get_in()
    assert await server.provider.load_access_token(tokens["refresh_token"]) is None
    assert (await program.refresh(tokens["access_token"])).json()["error"] == "invalid_grant"


async def test_tokens_stay_with_the_resource_that_the_user_agreed_to(server: AuthorizationServer) -> None:
    program = Program(server)
    await program.register()
    code = (await program.ask(resource="https://mcp.example.com/mcp"))["code"]
    refused = await program.exchange(code, resource="https://other.example.com/mcp")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_target")
    tokens = (await program.exchange(code, resource="HTTPS://MCP.example.com/mcp")).json()
    refused = await program.refresh(tokens["refresh_token"], resource="https://other.example.com/mcp")
    assert refused.json()["error"] == "invalid_target"
    assert (await program.refresh(tokens["refresh_token"], resource="https://mcp.example.com/mcp")).status_code == 200


async def test_an_access_token_ends() -> None:
    with served_authorization_server(access_seconds=-1, asks=False) as server:
        tokens = await Program(server).get_in()
        assert await server.provider.load_access_token(tokens["access_token"]) is None


async def test_nothing_secret_is_logged_on_the_way_in_and_out(
    server: AuthorizationServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    program = Program(server)
    await program.register()
    code = (await program.ask())["code"]
    tokens = (await program.exchange(code)).json()
    await program.exchange(code, code_verifier="wrong")
    await program.refresh(tokens["refresh_token"])
    await program.post("/token", grant_type="refresh_token", client_secret="guessed-secret")
    await program.post("/revoke", token=tokens["access_token"])
    # The HTTP client is the test's, and logs the URLs that it goes to.
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    secrets = [code, program.VERIFIER, program.secret["client_secret"], tokens["access_token"], tokens["refresh_token"]]
    assert [secret for secret in [*secrets, "guessed-secret", "wonderland"] if secret in logged] == []
