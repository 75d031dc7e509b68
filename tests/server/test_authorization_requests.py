"""What every endpoint of an authorization server does with requests that are not in order."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from authorization_desk import FORM, Desk, refusal

from mcp.server.auth.parameters import MAX_BODY_SIZE

pytestmark = pytest.mark.anyio

FORM_PATHS = ["/token", "/revoke", "/authorize"]


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client()
    return desk


@pytest.mark.parametrize("path", [*FORM_PATHS, "/register"])
async def test_a_body_that_is_too_large_is_refused(desk: Desk, path: str) -> None:
    body = b"a=" + b"x" * MAX_BODY_SIZE
    content_type = "application/json" if path == "/register" else FORM
    refused = await desk.post(path, body, content_type=content_type, origin="https://page.example.com")
    assert refusal(refused) == (
        413,
        "invalid_request",
        f"Request body too large: the limit is {MAX_BODY_SIZE} bytes",
    )
    assert ("access-control-allow-origin" in refused.headers) == (path != "/authorize")


@pytest.mark.parametrize("path", [*FORM_PATHS, "/register"])
async def test_a_body_is_not_read_on_that_turns_out_too_large(desk: Desk, path: str) -> None:
    read = 0

    async def endless() -> dict[str, Any]:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"x" * 1024, "more_body": True}

    status = await _status(desk, path, endless)
    assert (status, read) == (413, MAX_BODY_SIZE // 1024 + 1)


@pytest.mark.parametrize("path", [*FORM_PATHS, "/register"])
async def test_a_client_that_hangs_up_over_the_body_does_no_harm(desk: Desk, path: str) -> None:
    async def hang_up() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    assert await _status(desk, path, hang_up) == 400


async def _status(desk: Desk, path: str, receive: Callable[[], Awaitable[dict[str, Any]]]) -> int:
    """The status of the answer to a POST whose body a test sends."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    content_type = b"application/json" if path == "/register" else FORM.encode()
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "query_string": b""}
    scope["headers"] = [(b"content-type", content_type)]
    with anyio.fail_after(5):
        await desk.app(scope, receive, send)
    return sent[0]["status"]


@pytest.mark.parametrize("path", FORM_PATHS)
@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
async def test_a_form_says_that_it_is_one(desk: Desk, path: str, content_type: str) -> None:
    refused = await desk.post(path, b"client_id=shelf", content_type=content_type)
    description = f"Invalid Content-Type header: expected {FORM}, got '{content_type}'"
    assert refusal(refused) == (400, "invalid_request", description)


async def test_a_form_may_say_in_which_characters_it_is(desk: Desk) -> None:
    answer = await desk.post("/revoke", b"client_id=shelf&token=x", content_type=f"{FORM.title()}; charset=UTF-8")
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/token", "/revoke"])
async def test_nothing_may_be_given_twice(desk: Desk, path: str) -> None:
    refused = await desk.post(path, b"client_id=shelf&grant_type=a&grant_type=a&token=x&token=y")
    description = "Parameters must not be given more than once: grant_type, token"
    assert refusal(refused) == (400, "invalid_request", description)
    refused = await desk.post(path, b"client_id=shelf&unheard_of=1&unheard_of=2")
    assert refusal(refused)[2] == "Parameters must not be given more than once: unheard_of"
    refused = await desk.post(path, b"client_id=shelf&resource=https://a.example&resource=https://b.example")
    assert refusal(refused)[:2] == (400, "invalid_target")


async def test_what_is_empty_is_not_there(desk: Desk) -> None:
    answer = await desk.post("/revoke", b"client_id=shelf&client_secret=&token=&token=x&token_type_hint=&=")
    assert answer.status_code == 200


@pytest.mark.parametrize("path", FORM_PATHS)
@pytest.mark.parametrize(
    ("body", "description"),
    [
        (b"client_id=shelf%00", "Parameters must not hold control characters: client_id"),
        (b"client_id=shelf%0d%0a", "Parameters must not hold control characters: client_id"),
        (b"client_id=shelf&%1b=x", "Parameters must not hold control characters: ?"),
        (b"client_id=shelf%ff", "The parameters are not UTF-8"),
        (b"client_id=shelf\xff", "The parameters are not UTF-8"),
        (b"client_id=%ed%a0%80", "The parameters are not UTF-8"),
        (b"&".join(b"%d=x" % n for n in range(101)), "Too many parameters: the limit is 100"),
    ],
)
async def test_odd_bytes_are_refused(desk: Desk, path: str, body: bytes, description: str) -> None:
    assert refusal(await desk.post(path, body)) == (400, "invalid_request", description)


async def test_odd_bytes_in_a_query_are_refused(desk: Desk) -> None:
    refused = await desk.request("GET", "/authorize?client_id=shelf%00")
    assert refusal(refused) == (400, "invalid_request", "Parameters must not hold control characters: client_id")


@pytest.mark.parametrize("path", ["/token", "/revoke"])
async def test_what_stands_in_the_query_of_a_post_is_not_read(desk: Desk, path: str) -> None:
    refused = await desk.post(f"{path}?client_id=shelf&token=x", b"")
    assert refusal(refused)[:2] == (401, "invalid_client")


@pytest.mark.parametrize("path", ["/token", "/revoke", "/register"])
@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "DELETE"])
async def test_only_posts_are_taken(desk: Desk, path: str, verb: str) -> None:
    answer = await desk.request(verb, path)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"POST", "OPTIONS"})


@pytest.mark.parametrize("path", ["/token", "/revoke", "/register", "/.well-known/oauth-authorization-server"])
async def test_pages_of_every_origin_may_ask(desk: Desk, path: str) -> None:
    verb = "GET" if path.startswith("/.") else "POST"
    headers = {"origin": "https://page.example.com", "access-control-request-method": verb}
    headers["access-control-request-headers"] = "authorization, content-type, mcp-protocol-version"
    answer = await desk.request("OPTIONS", path, headers=headers)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert verb in answer.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_reads_why_it_was_refused(desk: Desk) -> None:
    refused = await desk.post("/token", b"client_id=nobody", origin="https://page.example.com")
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "*")


async def test_a_body_that_was_read_before_can_be_read_again(desk: Desk) -> None:
    inner = desk.app

    async def reads_first(scope: Any, receive: Any, send: Any) -> None:
        from starlette.middleware.base import BaseHTTPMiddleware

        async def dispatch(request: Any, call_next: Any) -> Any:
            await request.body()
            return await call_next(request)

        await BaseHTTPMiddleware(inner, dispatch)(scope, receive, send)

    desk.app = reads_first  # type: ignore[assignment]
    assert (await desk.post("/revoke", b"client_id=shelf&token=x")).status_code == 200
