"""Which HTTP requests the endpoint lets in, before it looks at a message: host, origin, verb, type, size."""

import logging
from typing import Any

import pytest
from asgi_driver import Pairs, ask, calling, headers, message, post, serving

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

pytestmark = pytest.mark.anyio

LIST = message("server/discover")


def server() -> Server[Any]:
    return Server("srv")


async def status_with(app: Any, **changed: str | None) -> tuple[int, str]:
    answer = await post(app, "server/discover", None, **changed)
    return answer.status, answer.body.decode() if answer.status != 200 else ""


# Host and origin.


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "[::1]:99"])
async def test_by_default_loopback_names_are_let_in(host: str) -> None:
    async with serving(server()) as app:
        assert await status_with(app, host=host) == (200, "")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost", "127.0.0.1", "[::1]", "LOCALHOST:5", "127.0.0.1:x", "", None],
)
async def test_any_other_host_is_misdirected(host: str | None, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(server()) as app:
        status, text = await status_with(app, host=host)
    assert (status, text.startswith("Invalid Host header: ")) == (421, True)
    assert "TransportSecuritySettings(allowed_hosts=[...])" in text
    logged = f"Invalid Host header: {host}" if host else "Missing Host header in request"
    assert [(record.name, record.levelno, record.message) for record in caplog.records] == [
        ("mcp.server.transport_security", logging.WARNING, logged)
    ]


@pytest.mark.parametrize("origin", [None, "", "http://localhost:123", "http://127.0.0.1:5", "http://[::1]:9"])
async def test_by_default_loopback_origins_are_let_in(origin: str | None) -> None:
    async with serving(server()) as app:
        assert await status_with(app, origin=origin) == (200, "")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost", "https://localhost:123", "null", "http://localhost:1.evil"]
)
async def test_any_other_origin_is_forbidden(origin: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(server()) as app:
        status, text = await status_with(app, origin=origin)
    assert (status, text.startswith("Invalid Origin header: ")) == (403, True)
    assert [record.message for record in caplog.records] == [f"Invalid Origin header: {origin}"]


SETTINGS = TransportSecuritySettings(
    allowed_hosts=["127.0.0.1:*", "example.com"], allowed_origins=["http://good.example", "http://port.example:*"]
)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "example.com"}, 200),
        ({"host": "example.com:80"}, 421),
        ({"host": "localhost:1"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"origin": "http://good.example"}, 200),
        ({"origin": "http://good.example:80"}, 403),
        ({"origin": "http://port.example:8"}, 200),
        ({"origin": "http://port.example"}, 403),
        ({"origin": "http://127.0.0.1:8"}, 403),
    ],
)
async def test_settings_say_who_is_let_in(changed: dict[str, str], status: int) -> None:
    async with serving(server(), transport_security=SETTINGS) as app:
        assert (await status_with(app, **changed))[0] == status


@pytest.mark.parametrize(
    "options",
    [
        {"host": "0.0.0.0"},
        {"host": "mcp.example"},
        {"transport_security": TransportSecuritySettings(enable_dns_rebinding_protection=False)},
    ],
)
async def test_elsewhere_than_on_loopback_or_when_told_so_everybody_is_let_in(options: dict[str, Any]) -> None:
    async with serving(server(), **options) as app:
        assert await status_with(app, host="evil.example", origin="http://evil.example") == (200, "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_a_loopback_address_arms_the_protection(host: str) -> None:
    async with serving(server(), host=host) as app:
        assert (await status_with(app, host="evil.example"))[0] == 421


async def test_many_different_hosts_are_all_judged() -> None:
    async with serving(server()) as app:
        for number in range(1100):
            assert (await status_with(app, host=f"h{number}.example"))[0] == 421
        assert (await status_with(app, host="localhost:7"))[0] == 200


# Verbs and content types.


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"])
async def test_only_post_is_allowed(verb: str) -> None:
    async with serving(server()) as app:
        answer = await ask(app, headers("server/discover"), b"", verb=verb)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;x"]
)
async def test_json_is_taken(content_type: str) -> None:
    async with serving(server()) as app:
        assert await status_with(app, content_type=content_type) == (200, "")


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/vnd.api+json", "application/json-rpc", "x/application/json"]
)
async def test_any_other_content_type_is_refused(content_type: str | None) -> None:
    async with serving(server()) as app:
        status, text = await status_with(app, content_type=content_type)
    assert (status, text) == (
        415,
        f"Invalid Content-Type header: expected application/json, got {content_type or ''!r}",
    )


BOTH = ["application/json, text/event-stream", "text/event-stream,application/json", "*/*", "application/*, text/*"]
JSON_ONLY = ["application/json", "application/*", "application/json;q=0.5, text/html", "APPLICATION/JSON"]
NEITHER = [None, "", "text/html", "text/event-stream", "text/*", "application/jsonx"]


@pytest.mark.parametrize("accept", [*BOTH, "application/json;q=0.9, text/event-stream;q=0.1"])
@pytest.mark.parametrize("json_response", [True, False])
async def test_a_client_that_accepts_both_forms_is_answered(accept: str, json_response: bool) -> None:
    async with serving(server(), json_response=json_response) as app:
        assert await status_with(app, accept=accept) == (200, "")


@pytest.mark.parametrize("accept", JSON_ONLY)
async def test_a_client_that_accepts_json_alone_is_answered_if_nothing_else_is_ever_sent(accept: str) -> None:
    async with serving(server(), json_response=True) as app:
        assert await status_with(app, accept=accept) == (200, "")
    async with serving(server()) as app:
        status, text = await status_with(app, accept=accept)
    wanted = "application/json and text/event-stream"
    assert (status, text) == (406, f"Invalid Accept header: it must list {wanted}, got {accept!r}")


@pytest.mark.parametrize("accept", NEITHER)
@pytest.mark.parametrize("json_response", [True, False])
async def test_a_client_that_accepts_no_json_is_refused(accept: str | None, json_response: bool) -> None:
    async with serving(server(), json_response=json_response) as app:
        assert (await status_with(app, accept=accept))[0] == 406


async def test_accept_may_come_in_several_lines() -> None:
    pairs = [*headers("server/discover", accept=None), (b"accept", b"application/json"), (b"accept", b"text/*")]
    async with serving(server()) as app:
        assert (await ask(app, pairs, LIST)).status == 200


async def test_many_different_accepts_are_all_judged() -> None:
    async with serving(server()) as app:
        for number in range(300):
            assert (await status_with(app, accept=f"text/html;q=0.{number}"))[0] == 406
        assert (await status_with(app, accept="*/*;q=0.1"))[0] == 200


# The size of the body.


def sized(pairs: Pairs, size: int | bytes) -> Pairs:
    return [*pairs, (b"content-length", size if isinstance(size, bytes) else b"%d" % size)]


async def test_a_body_of_the_largest_size_is_taken_and_one_byte_more_is_not() -> None:
    limit = 4 * 1024 * 1024
    exact = LIST + b" " * (limit - len(LIST))
    async with serving(server()) as app:
        assert (await ask(app, sized(headers("server/discover"), limit), exact)).status == 200
        answer = await ask(app, sized(headers("server/discover"), limit + 1), exact + b" ")
        assert (answer.status, answer.body) == (
            413,
            b"Request body too large: the limit is 4194304 bytes (max_request_body_size)",
        )
        pieces = [exact[:1000], exact[1000:], b" "]
        assert (await ask(app, headers("server/discover"), pieces[:2])).status == 200
        assert (await ask(app, headers("server/discover"), pieces)).status == 413


@pytest.mark.parametrize("declared", [b"101", b"9" * 5000])
async def test_a_body_that_says_it_is_too_large_is_not_read(declared: bytes) -> None:
    pairs = sized(headers("server/discover"), declared)
    async with serving(server(), max_request_body_size=100) as app, calling(app, pairs, b"x") as call:
        await call.finished()
    assert (call.answer.status, call.received_bytes) == (413, 0)


@pytest.mark.parametrize("declared", [b"-1", b"x", b"", b"1.5"])
async def test_a_size_that_is_none_is_left_to_the_count(declared: bytes) -> None:
    pairs = sized(headers("server/discover"), declared)
    async with serving(server(), max_request_body_size=len(LIST)) as app:
        assert (await ask(app, pairs, LIST)).status == 200
        assert (await ask(app, pairs, LIST + b" ")).status == 413


async def test_a_body_that_turns_out_too_large_is_read_no_further() -> None:
    pairs = headers("server/discover")
    async with serving(server(), max_request_body_size=100) as app, calling(app, pairs, [b" " * 60] * 9) as call:
        await call.finished()
    assert (call.answer.status, call.received_bytes) == (413, 120)


@pytest.mark.parametrize("size", [0, -1])
def test_a_limit_is_positive(size: int) -> None:
    with pytest.raises(ValueError, match="max_request_body_size must be"):
        server().streamable_http_app(max_request_body_size=size)


async def test_a_client_that_hangs_up_over_its_body_is_not_answered() -> None:
    async with (
        serving(server()) as app,
        calling(app, headers("server/discover"), [LIST[:10], LIST[10:]]) as call,
    ):
        call.hang_up()
        await call.finished()
    assert call.sent == []


# What is looked at first.


@pytest.mark.parametrize(
    ("changed", "verb", "status"),
    [
        ({"host": "evil.example", "origin": "http://evil.example"}, "PUT", 421),
        ({"origin": "http://evil.example", "content_type": None}, "PUT", 403),
        ({"content_type": None, "accept": None}, "PUT", 405),
        ({"content_type": None, "accept": None}, "POST", 415),
        ({"accept": None, "content_length": "99999999"}, "POST", 406),
        ({"content_length": "99999999", "mcp_protocol_version": None}, "POST", 413),
        ({"mcp_protocol_version": None}, "POST", 400),
    ],
)
async def test_a_request_that_is_not_let_in_gets_no_further(
    changed: dict[str, str | None], verb: str, status: int
) -> None:
    async with serving(server()) as app:
        answer = await ask(app, headers("server/discover", **changed), b"no JSON", verb=verb)
    assert answer.status == status
