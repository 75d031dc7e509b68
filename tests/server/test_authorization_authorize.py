"""The authorization endpoint: what is shown, what is redirected, and where to."""

import logging
from typing import Any

import pytest
from authorization_desk import CALLBACK, ISSUER, Desk, logged, refusal, sent_back
from authorization_server import Program
from sign_in import SignIn

from mcp.server.auth.provider import AuthorizationParams, AuthorizeError
from mcp.shared.auth import OAuthClientInformationFull

pytestmark = pytest.mark.anyio


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client()
    return desk


@pytest.mark.parametrize(
    ("changed", "description"),
    [
        ({"client_id": None}, "client_id: Field required"),
        ({"client_id": ""}, "client_id: Field required"),
        ({"client_id": "nobody"}, "Client ID 'nobody' not found"),
        ({"client_id": ["shelf", "shelf"]}, "Parameters must not be given more than once: client_id"),
        (
            {"redirect_uri": [CALLBACK, "https://evil.example.com"]},
            "Parameters must not be given more than once: redirect_uri",
        ),
        (
            {"redirect_uri": "https://evil.example.com/"},
            "Redirect URI 'https://evil.example.com/' not registered for client",
        ),
        ({"redirect_uri": "/callback"}, "redirect_uri: Input should be a valid URL, relative URL without a base"),
        ({"redirect_uri": f"{CALLBACK}#x"}, f"Redirect URI '{CALLBACK}#x' not registered for client"),
        (
            {"redirect_uri": CALLBACK.replace("//127", "\\\\127")},
            "redirect_uri: it must be of the characters of a URI alone",
        ),
        ({"redirect_uri": f" {CALLBACK}"}, "redirect_uri: it must be of the characters of a URI alone"),
    ],
)
async def test_what_is_wrong_with_the_client_or_the_redirect_uri_is_shown_and_never_redirected(
    desk: Desk, changed: dict[str, Any], description: str
) -> None:
    answer = await desk.authorize(**changed)
    assert refusal(answer) == (400, "invalid_request", description)
    assert answer.json()["state"] == "the-state"
    assert "location" not in answer.headers


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "data:text/html,x", "https://shelf.example.com/#x"])
async def test_an_unsafe_redirect_uri_is_not_used_whoever_registered_it(desk: Desk, uri: str) -> None:
    desk.client(redirect_uris=[uri])
    for asked in (uri, None):
        status, error, description = refusal(await desk.authorize(redirect_uri=asked))
        assert (status, error) == (400, "invalid_request")
        assert description.startswith("redirect_uri: it")


@pytest.mark.parametrize(
    ("changed", "error", "description"),
    [
        ({"response_type": None}, "invalid_request", "response_type: Field required"),
        ({"response_type": "token"}, "unsupported_response_type", "response_type: Input should be 'code'"),
        ({"code_challenge": None}, "invalid_request", "code_challenge: Field required"),
        (
            {"code_challenge": "x" * 42},
            "invalid_request",
            "code_challenge: expected 43 characters, as of S256",
        ),
        ({"code_challenge_method": "plain"}, "invalid_request", "code_challenge_method: Input should be 'S256'"),
        ({"scope": "read admin"}, "invalid_scope", "Client was not registered with scope admin"),
        ({"scope": ["read", "read"]}, "invalid_request", "Parameters must not be given more than once: scope"),
        (
            {"resource": ["https://a.example", "https://b.example"]},
            "invalid_target",
            "resource: this server issues tokens for one resource at a time",
        ),
        (
            {"resource": "mcp.example.com"},
            "invalid_target",
            "resource: expected an absolute URI without a fragment",
        ),
        (
            {"resource": "https://mcp.example.com/#x"},
            "invalid_target",
            "resource: expected an absolute URI without a fragment",
        ),
        (
            {"resource": "https://[mcp"},
            "invalid_target",
            "resource: expected an absolute URI without a fragment",
        ),
    ],
)
async def test_what_else_is_wrong_goes_back_to_the_client_with_its_state_and_whose_answer_it_is(
    desk: Desk, changed: dict[str, Any], error: str, description: str
) -> None:
    assert sent_back(await desk.authorize(**changed)) == {
        "error": error,
        "error_description": description,
        "state": "the-state",
        "iss": ISSUER,
    }


async def test_a_state_that_came_twice_is_not_given_back(desk: Desk) -> None:
    back = sent_back(await desk.authorize(state=["one", "two"]))
    assert back["error_description"] == "Parameters must not be given more than once: state"
    assert "state" not in back


async def test_a_client_that_is_not_registered_for_codes_gets_none(desk: Desk) -> None:
    desk.client(grant_types=["refresh_token"])
    assert sent_back(await desk.authorize())["error"] == "unauthorized_client"


async def test_the_method_may_be_left_out_since_there_is_one_only(desk: Desk) -> None:
    assert set(sent_back(await desk.authorize(code_challenge_method=None))) == {"code", "state", "iss"}


async def test_a_client_with_one_redirect_uri_need_not_name_it_here_nor_later(desk: Desk) -> None:
    code = await desk.code(redirect_uri=None)
    assert (await desk.exchange(code, redirect_uri=None)).status_code == 200


async def test_a_program_on_the_users_machine_comes_back_on_any_port(desk: Desk) -> None:
    callback = CALLBACK.replace("3000", "50123")
    answer = await desk.authorize(redirect_uri=callback)
    assert answer.headers["location"].startswith(f"{callback}?code=")
    code = await desk.code(redirect_uri=callback)
    assert (await desk.exchange(code, redirect_uri=callback)).status_code == 200
    code = await desk.code(redirect_uri=callback)
    assert refusal(await desk.exchange(code))[1] == "invalid_grant"


async def test_a_form_may_be_posted_as_well(desk: Desk) -> None:
    form = {"client_id": "shelf", "response_type": "code", "code_challenge": Program.CHALLENGE}
    assert set(sent_back(await desk.post("/authorize", form))) == {"code", "iss"}


async def test_no_other_verb_begins_to_ask_the_user(desk: Desk) -> None:
    answer = await desk.request("HEAD", "/authorize", params={"client_id": "shelf"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    for verb in ("PUT", "OPTIONS"):
        assert (await desk.request(verb, "/authorize")).status_code == 405


async def test_a_code_is_not_told_to_the_pages_that_are_linked_where_it_goes(desk: Desk) -> None:
    assert (await desk.authorize()).headers["referrer-policy"] == "no-referrer"


async def test_pages_of_other_origins_cannot_read_what_it_says(desk: Desk) -> None:
    answer = await desk.request("GET", "/authorize", headers={"origin": "https://evil.example.com"})
    assert "access-control-allow-origin" not in answer.headers


class Scripted(SignIn):
    """Answers what a test says."""

    answer: str | Exception
    asked: AuthorizationParams

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.asked = params
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def scripted() -> Scripted:
    return Scripted(ISSUER)


async def test_the_provider_is_told_all_that_was_asked(scripted: Scripted) -> None:
    desk = Desk(scripted)
    desk.client()
    scripted.answer = "https://login.example.com/page?code=1"
    answer = await desk.authorize(scope="read", resource="https://mcp.example.com/mcp")
    assert answer.headers["location"] == "https://login.example.com/page?code=1"
    assert scripted.asked.model_dump(mode="json") == {
        "state": "the-state",
        "scopes": ["read"],
        "code_challenge": Program.CHALLENGE,
        "redirect_uri": CALLBACK,
        "redirect_uri_provided_explicitly": True,
        "resource": "https://mcp.example.com/mcp",
        "issuer": ISSUER,
    }


async def test_an_answer_says_whose_it_is_also_where_the_provider_forgets_to(scripted: Scripted) -> None:
    desk = Desk(scripted)
    desk.client()
    scripted.answer = f"{CALLBACK}?code=1"
    assert sent_back(await desk.authorize()) == {"code": "1", "iss": ISSUER}
    scripted.answer = f"{CALLBACK}?code=1&iss=https%3A%2F%2Felsewhere.example.com"
    assert sent_back(await desk.authorize()) == {"code": "1", "iss": "https://elsewhere.example.com"}


async def test_a_refusal_of_the_provider_goes_back_in_printable_ascii(scripted: Scripted) -> None:
    desk = Desk(scripted)
    desk.client()
    scripted.answer = AuthorizeError("access_denied", 'not "today"\\\r\ncafé')
    assert sent_back(await desk.authorize(state=None)) == {
        "error": "access_denied",
        "error_description": "not 'today'???caf?",
        "iss": ISSUER,
    }
    scripted.answer = AuthorizeError("temporarily_unavailable")
    assert sent_back(await desk.authorize(state=None)) == {"error": "temporarily_unavailable", "iss": ISSUER}


async def test_a_provider_that_fails_tells_the_client_nothing_and_the_log_no_secret(
    scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(scripted)
    desk.client()
    scripted.answer = KeyError("the-state")
    caplog.set_level(logging.DEBUG)
    back = sent_back(await desk.authorize())
    assert (back["error"], back["error_description"]) == ("server_error", "An unexpected error occurred")
    assert "KeyError: '[secret]'" in logged(caplog)
    assert "the-state" not in logged(caplog)


async def test_a_provider_that_cannot_look_up_clients_is_an_error_of_the_server(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.provider.clients = None  # type: ignore[assignment]
    assert refusal(await desk.authorize()) == (500, "server_error", "An unexpected error occurred")
    assert "AttributeError" in logged(caplog)
