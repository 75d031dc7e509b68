"""Which requests a protected endpoint lets in, and what it answers the others."""

import logging
import time
from typing import Any

import pytest
from protecting import METADATA_URL, RESOURCE, Known, challenge_of, http_to, modern, settings, token
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import (
    AuthenticatedUser,
    BearerAuthBackend,
    RequireAuthMiddleware,
    authorization_context,
)
from mcp.server.auth.protection import protection
from mcp.server.auth.provider import AccessToken, TokenVerifier, VerifierUnavailable

pytestmark = pytest.mark.anyio

GOOD = token("good-token", "read")


def app_of(verifier: TokenVerifier, **changed: Any) -> Any:
    """An application with one tool that says who has called it."""
    mcp = MCPServer("notes", token_verifier=verifier, auth=settings(**changed))

    @mcp.tool()
    async def whoami() -> str:
        found = get_access_token()
        return "nobody" if found is None else found.token

    return mcp.streamable_http_app(json_response=True)


async def answer_to(
    authorization: str | list[str] | None, verifier: TokenVerifier | None = None, **changed: Any
) -> Any:
    """The answer to a call with these `Authorization` headers."""
    values = [authorization] if isinstance(authorization, str) else authorization or []
    async with http_to(app_of(verifier or Known(GOOD), **changed)) as http:
        http.headers = [*http.headers.raw, *[(b"authorization", value.encode("latin-1")) for value in values]]
        return await modern(http, "tools/call", name="whoami", arguments={})


async def test_a_good_token_is_let_in_and_the_handler_has_what_the_verifier_returned() -> None:
    answer = await answer_to("Bearer good-token")
    assert answer.status_code == 200
    assert answer.json()["result"]["content"][0]["text"] == "good-token"


async def test_a_request_without_a_token_is_told_where_to_get_one_and_of_no_error() -> None:
    answer = await answer_to(None)
    assert answer.status_code == 401
    assert challenge_of(answer) == {"resource_metadata": METADATA_URL, "scope": "read"}
    assert answer.json() == {"error": "invalid_token", "error_description": "Authentication required"}


async def test_a_token_that_the_verifier_does_not_know_is_an_error() -> None:
    text = "Authentication required: the access token is not valid or no longer valid"
    answer = await answer_to("Bearer other-token")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        f'Bearer error="invalid_token", error_description="{text}", resource_metadata="{METADATA_URL}", scope="read"'
    )
    assert answer.json() == {"error": "invalid_token", "error_description": text}


async def test_a_token_with_too_few_scopes_is_told_what_it_needs() -> None:
    answer = await answer_to("Bearer poor", Known(token("poor", "other")), required_scopes=["read", "write"])
    assert answer.status_code == 403
    assert challenge_of(answer) == {
        "error": "insufficient_scope",
        "error_description": "Required scope: read write",
        "resource_metadata": METADATA_URL,
        "scope": "read write",
    }
    assert answer.json() == {"error": "insufficient_scope", "error_description": "Required scope: read write"}


async def test_without_required_scopes_and_metadata_the_challenge_says_neither() -> None:
    answer = await answer_to(None, required_scopes=None, resource_server_url=None)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    answer = await answer_to("Bearer poor", Known(token("poor")), required_scopes=None, resource_server_url=None)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "header", ["bearer good-token", "BEARER good-token", "Bearer  good-token ", " Bearer good-token"]
)
async def test_the_case_of_the_scheme_and_spaces_do_not_matter(header: str) -> None:
    assert (await answer_to(header)).status_code == 200


@pytest.mark.parametrize(
    ("header", "status", "error"),
    [
        pytest.param("Bearer", 400, "invalid_request", id="no token"),
        pytest.param("Bearer ", 400, "invalid_request", id="empty token"),
        pytest.param(["Bearer good-token", "Bearer good-token"], 400, "invalid_request", id="two headers"),
        pytest.param(["Bearer good-token", "Basic YTpi"], 400, "invalid_request", id="two schemes"),
        pytest.param("Bearer good-token more", 401, "invalid_token", id="a space in it"),
        pytest.param("Bearer good-tok\xe9n", 401, "invalid_token", id="not ASCII"),
        pytest.param("Bearer " + "a" * 20_000, 401, "invalid_token", id="huge"),
        pytest.param("Basic YTpi", 401, None, id="another scheme"),
        pytest.param("Bearergood-token", 401, None, id="no space"),
        pytest.param("", 401, None, id="empty header"),
    ],
)
async def test_a_malformed_header_has_a_clear_answer_and_the_verifier_is_not_asked(
    header: str | list[str], status: int, error: str | None
) -> None:
    verifier = Known(GOOD)
    answer = await answer_to(header, verifier)
    assert answer.status_code == status
    assert challenge_of(answer).get("error") == error
    assert answer.json()["error_description"]
    assert verifier.asked == []


@pytest.mark.parametrize("ago", [0, 1, 3600])
async def test_an_expired_token_is_refused_whatever_the_verifier_says(ago: int) -> None:
    expired = token("late", "read", expires_at=int(time.time()) - ago)
    answer = await answer_to("Bearer late", Known(expired))
    assert answer.status_code == 401
    assert challenge_of(answer)["error_description"] == "The access token has expired"


async def test_a_token_that_ends_later_is_let_in() -> None:
    answer = await answer_to("Bearer early", Known(token("early", "read", expires_at=int(time.time()) + 60)))
    assert answer.status_code == 200


# What a token is for.

OTHER = [
    "https://other.example.com/mcp",
    "http://127.0.0.1:9000/mcp",
    f"{RESOURCE}/deeper",
    "http://127.0.0.1:8000",
    "no",
]


@pytest.mark.parametrize("resource", OTHER)
@pytest.mark.parametrize("mode", [None, True])
async def test_a_token_for_another_resource_is_refused(resource: str, mode: bool | None) -> None:
    answer = await answer_to(
        "Bearer foreign", Known(token("foreign", "read", resource=resource)), validate_token_resource=mode
    )
    assert answer.status_code == 401
    assert challenge_of(answer)["error"] == "invalid_token"
    assert challenge_of(answer)["error_description"] == "The access token was issued for another resource"


@pytest.mark.parametrize("resource", [RESOURCE, f"{RESOURCE}/", "HTTP://127.0.0.1:8000/mcp"])
@pytest.mark.parametrize("mode", [None, True, False])
async def test_a_token_for_this_resource_is_let_in(resource: str, mode: bool | None) -> None:
    answer = await answer_to("Bearer own", Known(token("own", "read", resource=resource)), validate_token_resource=mode)
    assert answer.status_code == 200


@pytest.mark.parametrize(("mode", "status"), [(None, 200), (True, 401), (False, 200)])
async def test_a_token_that_names_no_resource_is_refused_where_all_must_name_it(mode: bool | None, status: int) -> None:
    assert (await answer_to("Bearer good-token", validate_token_resource=mode)).status_code == status


async def test_the_check_of_the_resource_can_be_left_to_the_verifier() -> None:
    foreign = Known(token("foreign", "read", resource=OTHER[0]))
    assert (await answer_to("Bearer foreign", foreign, validate_token_resource=False)).status_code == 200


def test_a_check_of_the_resource_needs_a_resource() -> None:
    with pytest.raises(ValueError, match="validate_token_resource requires resource_server_url"):
        settings(resource_server_url=None, validate_token_resource=True)


# Verifiers that fail.


class Failing(TokenVerifier):
    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    async def verify_token(self, token: str) -> AccessToken | None:
        raise self._failure


JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


async def test_a_verifier_that_raises_lets_nobody_in_and_its_token_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    failure = ValueError(f"cannot read {JWT}, which begins with {JWT.split('.')[0]}")
    answer = await answer_to(f"Bearer {JWT}", Failing(failure))
    assert answer.status_code == 500
    assert answer.json() == {"error": "server_error", "error_description": "The token could not be verified"}
    assert "www-authenticate" not in answer.headers
    assert "ValueError: cannot read [token], which begins with [token]" in caplog.text
    for secret in (JWT, *JWT.split(".")):
        assert secret not in caplog.text


async def test_a_verifier_that_cannot_decide_now_makes_it_503(caplog: pytest.LogCaptureFixture) -> None:
    answer = await answer_to("Bearer good-token", Failing(VerifierUnavailable("no key server for good-token")))
    assert answer.status_code == 503
    assert answer.json()["error"] == "temporarily_unavailable"
    assert "no key server for [token]" in caplog.text


@pytest.mark.parametrize("result", [True, "good-token", {"scopes": ["read"]}, object()])
async def test_a_verifier_that_returns_something_else_lets_nobody_in(result: Any) -> None:
    class Wrong(TokenVerifier):
        async def verify_token(self, token: str) -> AccessToken | None:
            return result

    assert (await answer_to("Bearer good-token", Wrong())).status_code == 500


# The pieces, put together by hand.


async def test_the_pieces_protect_a_route_of_ones_own() -> None:
    async def show(request: Request) -> JSONResponse:
        found = get_access_token()
        assert found is request.user.access_token
        return JSONResponse({"user": request.user.username, "scopes": list(request.auth.scopes)})

    protected = RequireAuthMiddleware(Route("/own", show).app, ["read"])
    app = Starlette(
        routes=[Route("/own", protected)],
        middleware=[
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(Known(GOOD))),
            Middleware(AuthContextMiddleware),
        ],
    )
    async with http_to(app) as http:
        let_in = await http.get("/own", headers={"authorization": "Bearer good-token"})
        assert let_in.json() == {"user": "app", "scopes": ["read"]}
        refused = await http.get("/own")
        assert (refused.status_code, challenge_of(refused)) == (401, {"scope": "read"})
        wrong = await http.get("/own", headers={"authorization": "Bearer wrong"})
        assert challenge_of(wrong)["error"] == "invalid_token"


async def test_a_route_of_ones_own_behind_the_protection_of_the_endpoint_takes_the_same_tokens() -> None:
    async def show(request: Request) -> JSONResponse:
        return JSONResponse(request.user.username)

    tokens = Known(GOOD, token("elsewhere", "read", resource="https://other.example.com/mcp"), token("poor"))
    guard = protection(settings(), tokens, None)
    app = Starlette(routes=[Route("/own", guard.endpoint(Route("/own", show).app))])
    async with http_to(app) as http:
        for sent, status in ((GOOD.token, 200), ("elsewhere", 401), ("poor", 403), ("wrong", 401)):
            assert (await http.get("/own", headers={"authorization": f"Bearer {sent}"})).status_code == status
        assert challenge_of(await http.get("/own")) == {"resource_metadata": METADATA_URL, "scope": "read"}


async def test_a_verifier_that_is_not_async_lets_nobody_in_and_the_log_says_what_to_write(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Plain:
        def verify_token(self, token: str) -> AccessToken:
            return GOOD

    verifier: Any = Plain()
    answer = await answer_to("Bearer good-token", verifier)
    assert answer.status_code == 500
    assert "it must be `async def verify_token(self, token)`" in caplog.text


async def test_a_user_that_somebody_else_has_found_is_not_let_in() -> None:
    for sent, error in (([], None), ([(b"authorization", b"Bearer good-token")], b'error="invalid_token"')):
        answers: list[Any] = []

        async def send(message: Any, answers: list[Any] = answers) -> None:
            answers.append(message)

        async def inside(scope: Any, receive: Any, send: Any) -> None:
            raise AssertionError("let in")

        scope = {"type": "http", "headers": sent, "user": SimpleUser("eve"), "auth": AuthCredentials(["read"])}
        await RequireAuthMiddleware(inside, ["read"])(scope, _never, send)
        assert answers[0]["status"] == 401
        header = dict(answers[0]["headers"])[b"www-authenticate"]
        assert (b"error" in header) is (error is not None)


async def _never() -> Any:
    raise AssertionError("nothing is to be read")


async def test_what_is_in_front_cannot_stand_for_a_token_that_is_not_there() -> None:
    inner = app_of(Known(GOOD))

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["user"] = AuthenticatedUser(GOOD)
            scope["auth"] = AuthCredentials(["read"])
        await inner(scope, receive, send)

    outer_app: Any = outer
    outer_app.router = inner.router
    async with http_to(outer_app) as http:
        assert (await modern(http, "tools/list")).status_code == 401


async def test_a_websocket_is_closed_and_a_lifespan_goes_through() -> None:
    sent: list[Any] = []
    seen: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    protected = RequireAuthMiddleware(AuthContextMiddleware(inside), [])
    await protected({"type": "websocket", "headers": []}, _never, send)
    assert (sent[0]["type"], seen) == ("websocket.close", [])
    await protected({"type": "lifespan"}, _never, send)
    assert seen == ["lifespan"]


async def test_a_preflight_is_answered_by_cors_in_front_and_a_bare_one_by_a_challenge() -> None:
    asked = {
        "origin": "https://page.example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    app = app_of(Known(GOOD))
    async with http_to(app) as http:
        assert (await http.options("/mcp", headers=asked)).status_code == 401
    app = app_of(Known(GOOD))
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["POST"],
        allow_headers=["*"],
        expose_headers=["WWW-Authenticate"],
    )
    async with http_to(app) as http:
        assert (await http.options("/mcp", headers=asked)).status_code == 200
        refused = await http.post("/mcp", headers={"origin": "https://page.example.org"})
        assert refused.status_code == 401
        assert refused.headers["access-control-expose-headers"] == "WWW-Authenticate"


def test_a_user_says_who_it_is_and_what_tells_it_from_others() -> None:
    user = AuthenticatedUser(token("t", "read", client_id="app", subject="alice", claims={"iss": "https://a", "x": 1}))
    assert (user.username, user.client_id, user.subject, user.scopes) == ("app", "app", "alice", ["read"])
    assert user.claims == {"iss": "https://a", "x": 1}
    assert authorization_context(user) == {"client_id": "app", "issuer": "https://a", "subject": "alice"}
    assert AuthenticatedUser(token("t")).claims == {}
    assert get_access_token() is None
