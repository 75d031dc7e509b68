"""The guards of the endpoint for use in applications of one's own: body limit, host and origin."""

from typing import Any

import pytest
from asgi_driver import Call, Pairs, ask, scope_of
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
    _BodyTooLargeError,
    declares_more,
    settings_for_host,
)

pytestmark = pytest.mark.anyio


# The body limit.


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the size of the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


async def test_a_body_within_the_limit_passes() -> None:
    answer = await ask(RequestBodyLimitMiddleware(echo, 10), [(b"content-length", b"10")], [b"12345", b"67890"])
    assert (answer.status, answer.body) == (200, b"10 bytes")


async def test_a_declared_size_over_the_limit_is_refused_before_the_application_runs() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("never called")

    for declared in (b"11", b"9" * 5000):
        answer = await ask(RequestBodyLimitMiddleware(never, 10), [(b"content-length", declared)], b"")
        assert (answer.status, answer.body) == (413, b"Request body too large")


async def test_a_body_that_turns_out_too_large_is_refused() -> None:
    answer = await ask(RequestBodyLimitMiddleware(echo, 10), [], [b"12345", b"67890", b"!"])
    assert (answer.status, answer.body) == (413, b"Request body too large")


async def test_an_answer_that_has_begun_cannot_be_taken_back() -> None:
    async def eager(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await Request(scope, receive).body()

    call = Call([b"12345", b"678901"])
    with pytest.raises(_BodyTooLargeError):
        await RequestBodyLimitMiddleware(eager, 10)(scope_of([], "POST", "/"), call.receive, call.send)
    assert [message.get("status") for message in call.sent] == [200]


async def test_what_is_not_http_passes_untouched() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    call = Call([])
    await RequestBodyLimitMiddleware(app, 10)({"type": "lifespan"}, call.receive, call.send)
    assert seen == ["lifespan"]


@pytest.mark.parametrize("size", [0, -1])
def test_the_limit_is_positive(size: int) -> None:
    with pytest.raises(ValueError, match=f"max_body_size must be positive, got {size}"):
        RequestBodyLimitMiddleware(echo, size)


@pytest.mark.parametrize(
    ("declared", "more"),
    [(b"", False), (b"x", False), (b"-11", False), (b"10", False), (b"0010", False), (b"11", True), (b"9" * 20, True)],
)
def test_a_content_length_announces_more_only_if_it_is_a_larger_number(declared: bytes, more: bool) -> None:
    assert declares_more(declared, 10) is more


def test_the_default_limit_is_four_mebibytes() -> None:
    assert DEFAULT_MAX_REQUEST_BODY_SIZE == 4_194_304


# Host and origin.


async def judged(middleware: TransportSecurityMiddleware, pairs: Pairs, *, is_post: bool = False) -> Response | None:
    return await middleware.validate_request(Request(scope_of(pairs, "POST", "/")), is_post)


SETTINGS = TransportSecuritySettings(allowed_hosts=["example.com:*"], allowed_origins=["https://example.com"])


async def test_a_request_that_is_let_in_gets_no_response() -> None:
    middleware = TransportSecurityMiddleware(SETTINGS)
    good: Pairs = [(b"host", b"example.com:1"), (b"origin", b"https://example.com")]
    assert await judged(middleware, good) is None
    assert await judged(middleware, [*good, (b"content-type", b"application/json")], is_post=True) is None


@pytest.mark.parametrize(
    ("pairs", "is_post", "status", "text"),
    [
        ([(b"host", b"evil.example")], False, 421, "Invalid Host header"),
        ([], False, 421, "Invalid Host header"),
        ([(b"host", b"example.com:1"), (b"origin", b"null")], False, 403, "Invalid Origin header"),
        ([(b"host", b"example.com:1")], True, 415, "Invalid Content-Type header"),
        ([(b"host", b"example.com:1"), (b"content-type", b"text/plain")], True, 415, "Invalid Content-Type header"),
    ],
)
async def test_a_request_that_is_not_let_in_gets_the_response_that_says_why(
    pairs: Pairs, is_post: bool, status: int, text: str
) -> None:
    response = await judged(TransportSecurityMiddleware(SETTINGS), pairs, is_post=is_post)
    assert response is not None
    assert response.status_code == status
    assert bytes(response.body).decode().startswith(text)


async def test_without_settings_everybody_is_let_in() -> None:
    middleware = TransportSecurityMiddleware()
    assert not middleware.settings.enable_dns_rebinding_protection
    assert await judged(middleware, [(b"host", b"evil.example"), (b"origin", b"null")]) is None


def test_settings_protect_unless_told_otherwise_and_let_nobody_in_by_themselves() -> None:
    settings = TransportSecuritySettings()
    assert (settings.enable_dns_rebinding_protection, settings.allowed_hosts, settings.allowed_origins) == (
        True,
        [],
        [],
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_settings_for_a_loopback_address_name_all_three(host: str) -> None:
    settings = settings_for_host(host)
    assert settings.enable_dns_rebinding_protection
    assert settings.allowed_hosts == ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    assert settings.allowed_origins == ["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "mcp.example", ""])
def test_the_settings_for_any_other_address_check_nothing(host: str) -> None:
    assert not settings_for_host(host).enable_dns_rebinding_protection
