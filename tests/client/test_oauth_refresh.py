"""Tokens that end: refreshed before the user is asked, once for all who wait, and in a later process too."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import pytest
from oauth_peers import (
    CALLBACK,
    Resource,
    Storage,
    User,
    another_auth_server,
    client_of,
    expire,
    peers,
    provider,
)
from scripted_http_server import Posted, Reply

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError, _sending
from mcp.client.auth.headless import HeadlessLogin, LoginRequired
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

pytestmark = pytest.mark.anyio

CALLERS = 50


class DocumentedStorage(Storage):
    """One that was written for the documented fields, and keeps no other."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = {"access_token", "token_type", "expires_in", "scope", "refresh_token"}
        self.tokens = tokens.model_dump_json(include=kept)


async def signed_in(
    resource: Resource, user: User | None = None, storage: Storage | None = None, **options: Any
) -> OAuthClientProvider:
    """A provider whose user has signed in, and whose token has ended since."""
    client = provider(resource, user, storage, **options)
    async with client_of(client) as http:
        assert (await http.get(resource.url)).status_code == 200
    resource.auth.live.clear()
    expire(client)
    return client


async def all_at_once(client: OAuthClientProvider, url: str, **options: Any) -> list[int | str]:
    """What each of many callers gets: a status, the text of an error of the flow, or the class of another."""
    outcomes: list[int | str] = []

    async def call() -> None:
        try:
            outcomes.append((await http.get(url)).status_code)
        except OAuthFlowError as failure:
            outcomes.append(str(failure))
        except Exception as failure:
            outcomes.append(type(failure).__name__)

    async with client_of(client, **options) as http, anyio.create_task_group() as group:
        for _ in range(CALLERS):
            group.start_soon(call)
    assert len(outcomes) == CALLERS
    return outcomes


def refuses(error: str, status: str = "400 Bad Request") -> Callable[[Posted, Reply], Awaitable[None]]:
    async def handler(request: Posted, reply: Reply) -> None:
        await reply.json({"error": error}, status)

    return handler


async def test_an_ended_token_is_refreshed_before_it_is_refused() -> None:
    async with peers() as resource:
        user = User()
        client = await signed_in(resource, user)
        before = len(resource.seen)
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 1
    (form,) = resource.auth.grants("refresh_token")
    assert form["resource"] == resource.url
    assert len(resource.seen) == before + 1


@pytest.mark.parametrize("known_to_be_ended", [True, False])
async def test_fifty_callers_with_an_ended_token_send_one_refresh(known_to_be_ended: bool) -> None:
    async with peers() as resource:
        user = User()
        client = await signed_in(resource, user)
        if not known_to_be_ended:
            client.context.token_expiry_time = None
        assert await all_at_once(client, resource.url) == [200] * CALLERS
    assert len(resource.auth.grants("refresh_token")) == 1
    assert len(user.visited) == 1


async def test_fifty_callers_whose_refresh_is_refused_send_the_user_to_one_page() -> None:
    async with peers() as resource:
        user = User()
        client = await signed_in(resource, user)
        resource.auth.refreshable.clear()
        assert await all_at_once(client, resource.url) == [200] * CALLERS
    assert len(resource.auth.grants("refresh_token")) == 1
    assert len(user.visited) == 2


async def test_fifty_callers_whose_user_says_no_are_all_told_after_one_page() -> None:
    async with peers() as resource:
        user = User()
        user.changes["state"] = "of-another-flow"
        client = provider(resource, user)
        outcomes = await all_at_once(client, resource.url)
        assert set(outcomes) == {
            "The authorization response has another state: expected the one that was sent, and refused it"
        }
        assert len(user.visited) == 1
        user.changes.clear()
        async with client_of(client) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("where", ["discovery", "refresh"])
async def test_fifty_callers_wait_once_for_a_server_that_never_answers(where: str) -> None:
    async def never(request: Posted, reply: Reply) -> None:
        await reply.disconnected()

    async with peers() as resource:
        client = provider(resource) if where == "discovery" else await signed_in(resource)
        path = "/.well-known/oauth-authorization-server" if where == "discovery" else "/token"
        resource.auth.instead[path] = never
        start, known = time.monotonic(), resource.auth.requested.count(path)
        outcomes = await all_at_once(client, resource.url)
        assert time.monotonic() - start < 15
    assert outcomes == ["ReadTimeout"] * CALLERS
    assert resource.auth.requested.count(path) == known + 1


async def test_fifty_callers_whose_metadata_is_oversized_ask_for_it_once() -> None:
    async def large(request: Posted, reply: Reply) -> None:
        await reply.send("200 OK", b" " * 300_000, "application/json")

    async with peers() as resource:
        resource.auth.instead["/.well-known/oauth-authorization-server"] = large
        (outcome,) = set(await all_at_once(provider(resource), resource.url))
    assert "is larger than" in str(outcome)
    assert len(resource.auth.requested) == 1


async def test_a_refresh_token_that_is_not_replaced_is_used_again() -> None:
    async with peers() as resource:
        client = await signed_in(resource)
        (first,) = resource.auth.refreshable
        resource.auth.issues_refresh_tokens = False
        async with client_of(client) as http:
            await http.get(resource.url)
            resource.auth.refreshable[first] = ""
            expire(client)
            assert (await http.get(resource.url)).status_code == 200
    assert [form["refresh_token"] for form in resource.auth.grants("refresh_token")] == [first, first]


async def test_a_token_that_is_revoked_before_it_ends_is_refreshed() -> None:
    async with peers() as resource:
        user = User()
        client = provider(resource, user)
        async with client_of(client) as http:
            await http.get(resource.url)
            resource.auth.live.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.grants("refresh_token")) == 1
    assert len(user.visited) == 1


async def test_a_server_that_takes_no_token_sends_the_user_to_one_page() -> None:
    async with peers() as resource:
        user = User()

        async def refuse(request: Posted, reply: Reply) -> None:
            await reply.send("401 Unauthorized", b"never", "text/plain")

        client = provider(resource, user)
        resource.instead["/mcp"] = refuse
        async with client_of(client) as http:
            response = await http.get(resource.url)
            assert (response.status_code, response.text) == (401, "never")
            with pytest.raises(OAuthFlowError, match=r"/mcp refuses the token that the user has just logged in for"):
                await http.get(resource.url)
            resource.instead.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 1
    assert len(resource.auth.grants("refresh_token")) == 1


async def test_a_token_endpoint_that_is_out_of_order_does_not_cost_the_user_their_login() -> None:
    async with peers() as resource:
        user = User()
        client = await signed_in(resource, user)
        resource.auth.instead["/token"] = refuses("temporarily_unavailable", "503 Service Unavailable")
        async with client_of(client) as http:
            with pytest.raises(OAuthTokenError, match="HTTP 503, temporarily_unavailable") as raised:
                await http.get(resource.url)
            assert f"No token from {resource.auth.origin}/token" in str(raised.value)
            resource.auth.instead.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 1


async def test_a_cancelled_flow_leaves_the_way_free_for_the_next() -> None:
    async with peers() as resource:
        user, waiting = User(), anyio.Event()

        async def think() -> None:
            waiting.set()
            await anyio.sleep_forever()

        user.before = think
        client = provider(resource, user)
        async with client_of(client) as http:
            async with anyio.create_task_group() as group:
                group.start_soon(http.get, resource.url)
                await waiting.wait()
                group.cancel_scope.cancel()
            user.before = None
            with anyio.fail_after(20):
                assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 2


@pytest.mark.parametrize("grant", ["refresh_token", "authorization_code"])
async def test_what_a_token_request_brings_is_kept_although_its_call_is_cancelled(grant: str) -> None:
    async with peers() as resource:
        user, storage = User(), Storage()
        client = provider(resource, user, storage)
        if grant == "refresh_token":
            client = await signed_in(resource, user, storage)
        asked, answer = anyio.Event(), anyio.Event()

        async def slow(request: Posted, reply: Reply) -> None:
            asked.set()
            await answer.wait()
            # It has used up what it was sent.
            resource.auth.refreshable.clear()
            await reply.json(resource.auth.issue())

        resource.auth.instead["/token"] = slow
        async with client_of(client) as http:
            async with anyio.create_task_group() as group:
                group.start_soon(http.get, resource.url)
                await asked.wait()
                group.cancel_scope.cancel()
                answer.set()
            (kept,) = resource.auth.live
            assert kept in (storage.tokens or "")
            resource.auth.instead.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.grants(grant)) == 1
    assert len(user.visited) == 1


@pytest.mark.parametrize("ending", ["silent", "trickling"])
async def test_a_cancelled_call_does_not_wait_for_ever_for_its_token_and_leaves_the_way_free(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sending, "ANSWER_SECONDS", 0.5)
    async with peers() as resource:
        client = await signed_in(resource)
        asked = anyio.Event()

        async def never(request: Posted, reply: Reply) -> None:
            asked.set()
            if ending == "trickling":
                await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
            await reply.disconnected()

        resource.auth.instead["/token"] = never
        async with client_of(client) as http:
            with anyio.fail_after(5):
                async with anyio.create_task_group() as group:
                    group.start_soon(http.get, resource.url)
                    await asked.wait()
                    group.cancel_scope.cancel()
            resource.auth.instead.clear()
            with anyio.fail_after(20):
                assert (await http.get(resource.url)).status_code == 200


async def test_a_token_request_that_takes_too_long_ends_the_calls_that_wait_for_it_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_sending, "ANSWER_SECONDS", 0.5)

    async def never(request: Posted, reply: Reply) -> None:
        await reply.disconnected()

    async with peers() as resource:
        client = await signed_in(resource)
        resource.auth.instead["/token"] = never
        outcomes = await all_at_once(client, resource.url)
    assert outcomes == [f"No answer from {resource.auth.origin}/token within 0.5 seconds"] * CALLERS
    assert len(resource.auth.grants("refresh_token")) == 1


async def test_metadata_whose_headers_trickle_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sending, "ANSWER_SECONDS", 0.5)

    async def trickle(request: Posted, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\nX: ")
        await reply.disconnected()

    async with peers() as resource:
        path = "/.well-known/oauth-authorization-server"
        resource.auth.instead[path] = trickle
        outcomes = await all_at_once(provider(resource), resource.url)
    assert outcomes == [f"No answer from {resource.auth.origin}{path} within 0.5 seconds"] * CALLERS
    assert resource.auth.requested == [path]


async def test_a_refresh_that_fails_in_a_transport_of_the_program_fails_all_who_wait_for_it() -> None:
    sent: list[str] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.path)
        await anyio.sleep(0.05)
        raise httpx2.ReadTimeout("no answer")

    async with peers() as resource:
        client = await signed_in(resource)
        outcomes = await all_at_once(client, resource.url, transport=httpx2.MockTransport(answer))
    assert outcomes == ["ReadTimeout"] * CALLERS
    assert sent == ["/token"]


async def test_an_exception_that_cannot_be_copied_is_told_to_those_who_wait() -> None:
    class Odd(Exception):
        def __init__(self, first: str, second: str) -> None:
            super().__init__(f"{first} {second}")

    async def answer(request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep(0.05)
        raise Odd("all", "wrong")

    async with peers() as resource:
        client = await signed_in(resource)
        outcomes = await all_at_once(client, resource.url, transport=httpx2.MockTransport(answer))
    shared = "Another request had to get a token, and failed: Odd: all wrong"
    assert sorted(map(str, outcomes)) == [*[shared] * (CALLERS - 1), "Odd"]


async def test_a_login_in_another_program_is_found_in_the_storage_before_the_user_is_asked() -> None:
    async with peers() as resource:
        resource.auth.issues_refresh_tokens = False
        here, there, storage = User(), User(), Storage()
        first, second = provider(resource, here, storage), provider(resource, there, storage)
        async with client_of(first) as http, client_of(second) as other:
            assert (await http.get(resource.url)).status_code == 200
            # The other one has the same token, and finds it refused.
            resource.auth.live.clear()
            assert (await other.get(resource.url)).status_code == 200
            assert (await http.get(resource.url)).status_code == 200
    assert (len(here.visited), len(there.visited)) == (1, 1)


async def test_a_service_without_a_user_goes_on_when_another_program_has_logged_in() -> None:
    async with peers() as resource:
        user, storage, login = User(), Storage(), HeadlessLogin()
        metadata = OAuthClientMetadata.model_validate({"redirect_uris": [CALLBACK]})
        service = OAuthClientProvider(resource.url, metadata, storage, login.redirect_handler, login.callback_handler)
        async with client_of(service) as http, client_of(provider(resource, user, storage)) as other:
            with pytest.raises(LoginRequired):
                await http.get(resource.url)
            assert (await other.get(resource.url)).status_code == 200
            before = len(resource.seen)
            assert (await http.get(resource.url)).status_code == 200
            assert len(resource.seen) == before + 1
            # It refreshes as the client that has logged in.
            expire(service)
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.grants("refresh_token")) == 1
    assert len(user.visited) == 1


async def test_a_later_process_refreshes_before_it_asks_the_user_and_needs_no_discovery() -> None:
    async with peers() as resource:
        user, storage = User(), Storage()
        resource.auth.lifetime = 0
        await signed_in(resource, user, storage)
        resource.auth.lifetime = 3600
        resource.auth.requested.clear()
        resource.requested.clear()
        async with client_of(provider(resource, user, storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert resource.auth.requested == ["/token"]
    assert resource.requested == ["/mcp"]
    assert len(user.visited) == 1
    assert resource.auth.grants("refresh_token")[0]["resource"] == resource.url


async def test_the_time_that_is_left_is_right_in_a_later_process() -> None:
    async with peers() as resource:
        storage = Storage()
        first = provider(resource, storage=storage)
        async with client_of(first) as http:
            await http.get(resource.url)
        assert storage.tokens is not None
        # As it is an hour and a bit later: what was issued lived for an hour.
        stored = json.loads(storage.tokens)
        storage.tokens = json.dumps(stored | {"expires_at": stored["expires_at"] - 3700})
        resource.seen.clear()
        async with client_of(provider(resource, storage=storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.seen) == 1
    assert stored["access_token"] not in str(resource.seen)


async def test_a_storage_that_keeps_only_the_documented_fields_still_saves_the_user_a_login() -> None:
    async with peers() as resource:
        user, storage = User(), DocumentedStorage()
        await signed_in(resource, user, storage)
        async with client_of(provider(resource, user, storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 1
    assert len(resource.auth.grants("refresh_token")) == 1


async def test_tokens_that_another_process_has_refreshed_are_taken_from_the_storage() -> None:
    async with peers() as resource:
        user, storage = User(), Storage()
        first = await signed_in(resource, user, storage)
        second = provider(resource, user, storage)
        async with client_of(second) as http:
            expire(second)
            second.context.current_tokens = None
            assert (await http.get(resource.url)).status_code == 200
        async with client_of(first) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.grants("refresh_token")) == 1
    assert len(user.visited) == 1


@pytest.mark.parametrize("storage", [Storage(), DocumentedStorage()])
async def test_a_refresh_token_goes_to_no_other_authorization_server(storage: Storage) -> None:
    async with peers() as resource, another_auth_server() as other:
        user = User()
        await signed_in(resource, user, storage)
        resource.changes["authorization_servers"] = [other.origin]
        resource.auth, first = other, resource.auth
        async with client_of(provider(resource, user, storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
        assert [form["grant_type"] for form in other.asked_for("/token")] == ["authorization_code"]
    ours = {*first.clients} | {client["client_secret"] for client in first.clients.values()}
    assert not any(secret in json.dumps([asked.parameters for asked in other.asked]) for secret in ours)


async def test_credentials_that_do_not_say_whose_they_are_get_no_refresh_token_sent_after_a_restart() -> None:
    async with peers() as resource:
        user, storage = User(), DocumentedStorage()
        await storage.set_client_info(OAuthClientInformationFull(client_id="by-hand"))
        resource.auth.clients["by-hand"] = {}
        await signed_in(resource, user, storage)
        async with client_of(provider(resource, user, storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert resource.auth.grants("refresh_token") == []
    assert len(user.visited) == 2


async def test_a_stored_token_that_never_ends_is_used_until_it_is_refused() -> None:
    async with peers() as resource:
        resource.auth.lifetime = None
        storage = Storage()
        await signed_in(resource, storage=storage)
        resource.auth.live[json.loads(storage.tokens or "")["access_token"]] = ""
        async with client_of(provider(resource, storage=storage)) as http:
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.asked_for("/token")) == 1


async def test_a_storage_that_fails_is_heard_of() -> None:
    class Broken(Storage):
        async def set_tokens(self, tokens: OAuthToken) -> None:
            raise OSError("the disk is full")

    async with peers() as resource, client_of(provider(resource, storage=Broken())) as http:
        with pytest.raises(OSError, match="the disk is full"):
            await http.get(resource.url)


@pytest.mark.parametrize("has_refresh_token", [True, False])
async def test_a_client_that_is_no_longer_known_registers_anew(has_refresh_token: bool) -> None:
    async with peers() as resource:
        resource.auth.issues_refresh_tokens = has_refresh_token
        user, storage = User(), Storage()
        await signed_in(resource, user, storage)
        resource.auth.clients.clear()
        # In a later process.
        async with client_of(provider(resource, user, storage)) as http:
            if not has_refresh_token:
                with pytest.raises(OAuthTokenError, match="invalid_client"):
                    await http.get(resource.url)
            assert (await http.get(resource.url)).status_code == 200
    assert len(resource.auth.asked_for("/register")) == 2
    assert [*resource.auth.clients] == [json.loads(storage.client_info or "")["client_id"]]


@pytest.mark.parametrize(
    "answer",
    [("403 Forbidden", "text/html"), ("404 Not Found", "text/plain"), ("200 OK", "text/html"), ("302 Found", "x/y")],
)
async def test_an_answer_that_is_no_refusal_does_not_cost_the_user_their_login(answer: tuple[str, str]) -> None:
    async with peers() as resource:
        user = User()
        client = await signed_in(resource, user)

        async def intrude(request: Posted, reply: Reply) -> None:
            await reply.send(answer[0], b"<html>Sign in to the hotel's network", answer[1])

        resource.auth.instead["/token"] = intrude
        async with client_of(client) as http:
            with pytest.raises(OAuthTokenError, match=f"No token from {resource.auth.origin}/token"):
                await http.get(resource.url)
            resource.auth.instead.clear()
            assert (await http.get(resource.url)).status_code == 200
    assert len(user.visited) == 1


@pytest.mark.parametrize("bad", ["t\u00f6k\u00e9n", "a\r\nX: y", "two words"])
async def test_a_token_that_no_header_can_hold_is_refused_and_one_that_is_stored_is_passed_over(bad: str) -> None:
    async with peers() as resource:
        storage = Storage()

        async def issue(request: Posted, reply: Reply) -> None:
            await reply.json({"access_token": bad, "token_type": "Bearer"})

        resource.auth.instead["/token"] = issue
        async with client_of(provider(resource, storage=storage)) as http:
            with pytest.raises(OAuthTokenError, match="access_token: expected visible ASCII characters"):
                await http.get(resource.url)
        assert storage.tokens is None
        resource.auth.instead.clear()
        await storage.set_tokens(OAuthToken(access_token=bad))
        async with client_of(provider(resource, storage=storage)) as http:
            assert (await http.get(resource.url)).status_code == 200


async def test_a_client_that_was_registered_by_hand_and_is_not_known_is_said_to_be() -> None:
    async with peers() as resource:
        storage = Storage()
        await storage.set_client_info(OAuthClientInformationFull(client_id="by-hand", issuer=resource.auth.origin))
        resource.auth.clients["by-hand"] = {}
        client = provider(resource, storage=storage)
        async with client_of(client) as http:
            await http.get(resource.url)
            resource.auth.clients.clear()
            resource.auth.live.clear()
            with pytest.raises(OAuthTokenError, match="invalid_client") as raised:
                await http.get(resource.url)
    assert raised.value.error == "invalid_client"


async def test_a_token_that_was_given_up_meanwhile_is_not_sent_again() -> None:
    async with peers() as resource:
        client = provider(resource)
        async with client_of(client) as http:
            await http.get(resource.url)
            sent: list[str | None] = []

            async def refuse(request: Posted, reply: Reply) -> None:
                sent.append(request.headers.get("authorization"))
                if len(sent) == 1:
                    # As another request does whose refresh was refused.
                    client.context.clear_tokens()
                    await reply.send("401 Unauthorized")
                else:
                    await reply.json({})

            resource.instead["/mcp"] = refuse
            assert (await http.get(resource.url)).status_code == 200
    assert sent[0] is not None
    assert sent[1:] == [None]
